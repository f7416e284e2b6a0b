#!/usr/bin/env bash
# melt-md.sh MD_CLI CELLS STEPS RANKS PRECISION: the standard melt with md-cli; prints nanoseconds
# per atom and step.
set -euo pipefail
md_cli=$1 cells=$2 steps=$3 ranks=$4 precision=$5
root=$(dirname "${BASH_SOURCE[0]}")/../..
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$root/scripts/mpirun.sh" "$ranks" "$md_cli" run "$root/configs/lj-bench.toml" --quiet --steps "$steps" \
    --output "$directory" --set "system.lattice.cells=[$cells,$cells,$cells]" \
    --set "neighbor.precision='$precision'" --set "output.thermo.every=$steps" >&2
python3 -c 'import json, sys; print("%.3f" % json.load(open(sys.argv[1]))["ns_per_atom_step"])' "$directory/summary.json"
