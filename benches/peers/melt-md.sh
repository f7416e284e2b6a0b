#!/usr/bin/env bash
# melt-md.sh MD_CLI CELLS STEPS RANKS "PRECISION [DRIFT]": the standard melt with md-cli; prints
# nanoseconds per atom and step, and the drift of the energy per atom and unit time. With DRIFT,
# lists may miss pairs that change the energy by this much. $MELT is accurate (the default) or
# literal, see compare.sh.
set -euo pipefail
md_cli=$1 cells=$2 steps=$3 ranks=$4
read -r precision drift <<<"$5"
here=$(dirname "${BASH_SOURCE[0]}")
root=$here/../..
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
case ${MELT:-accurate} in
    literal) scenario=lj-bench ;;
    *) scenario=lj-melt ;;
esac
lists=()
[ -z "$drift" ] || lists=(--set neighbor.skin=auto --set "neighbor.rebuild={drift=$drift}")
"$root/scripts/mpirun.sh" "$ranks" "$md_cli" run "$root/configs/$scenario.toml" --quiet --steps "$steps" \
    --output "$directory" --set "system.lattice.cells=[$cells,$cells,$cells]" \
    --set "neighbor.precision='$precision'" "${lists[@]}" --set "output.thermo.every=$((steps < 2000 ? steps : steps / 100))" >&2
time_ns=$(python3 -c 'import json, sys; print("%.3f" % json.load(open(sys.argv[1]))["ns_per_atom_step"])' \
    "$directory/summary.json")
energies=$(python3 -c 'import csv, sys
for row in csv.DictReader(open(sys.argv[1])): print(row["time"], row["conserved_per_atom"])' "$directory/thermo.csv")
echo "$time_ns $(awk -f "$here/slope.awk" <<<"$energies")"
