#!/usr/bin/env bash
# melt-md.sh CELLS STEPS RANKS PRECISION: the standard melt with md-cli; prints nanoseconds per atom and step.
# The program is $MD_CLI, or md-cli.
set -euo pipefail
cells=$1 steps=$2 ranks=$3 precision=$4
root=$(dirname "${BASH_SOURCE[0]}")/../..
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$root/scripts/mpirun.sh" "$ranks" "${MD_CLI:-md-cli}" run "$root/configs/lj-melt.toml" --quiet --steps "$steps" \
    --output "$directory" --set "system.lattice.cells=[$cells,$cells,$cells]" \
    --set "neighbor.precision='$precision'" --set "output.thermo.every=$steps" >&2
python3 -c 'import json, sys; print("%.3f" % json.load(open(sys.argv[1]))["ns_per_atom_step"])' "$directory/summary.json"
