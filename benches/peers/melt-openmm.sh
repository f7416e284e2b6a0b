#!/usr/bin/env bash
# melt-openmm.sh PYTHON CELLS STEPS THREADS: the standard melt with OpenMM, see melt-openmm.py.
set -euo pipefail
exec "$1" "$(dirname "${BASH_SOURCE[0]}")/melt-openmm.py" "${@:2}"
