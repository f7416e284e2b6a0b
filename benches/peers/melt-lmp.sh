#!/usr/bin/env bash
# melt-lmp.sh LMP CELLS STEPS RANKS STYLE: the standard melt with LAMMPS; prints nanoseconds per
# atom and step, and the drift of the energy per atom and unit time. STYLE is plain, opt,
# intel-double or intel-mixed. $MELT is accurate (the default) or literal, see compare.sh.
set -euo pipefail
lmp=$1 cells=$2 steps=$3 ranks=$4 style=$5
here=$(dirname "${BASH_SOURCE[0]}")
scripts=$here/../../scripts
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
echo "fix 1 all nve" >"$directory/fixes"
case ${MELT:-accurate} in
    literal) ;;
    *) echo "neigh_modify delay 0 every 1 check yes" >>"$directory/fixes" ;;
esac
case $style in
    plain) suffix=() ;;
    intel-*) suffix=(-sf intel -pk intel 0 mode "${style#intel-}") ;;
    *) suffix=(-sf "$style") ;;
esac
export OMP_NUM_THREADS=1
launch=("$scripts/mpirun.sh" "$ranks")
# The program from PyPI uses MPICH, which another library's mpirun cannot start.
[ "$ranks" != 1 ] || [[ $(ldd "$lmp") != *libmpi.so.12* ]] || launch=()
${launch[@]+"${launch[@]}"} "$lmp" -in "$here/in.melt" -log none -var cells "$cells" -var steps "$steps" \
    -var every $((steps < 2000 ? steps : steps / 100)) -var fixes "$directory/fixes" \
    ${suffix[@]+"${suffix[@]}"} >"$directory/out" || { cat "$directory/out" >&2; exit 1; }
time_ns=$(awk -v atoms=$((4 * cells ** 3)) -v steps="$steps" '
    /^Loop time of/ { printf "%.3f\n", $4 / steps / atoms * 1e9; found = 1 }
    END { exit !found }' "$directory/out")
# Columns: step, temperature, pair energy, energy of molecules, total energy (per atom), pressure.
drift=$(awk '/^ *Step/ { inside = 1; next } /^Loop/ { inside = 0 } inside && NF == 6 { print $1 * 0.005, $5 }' \
    "$directory/out" | awk -f "$here/slope.awk")
echo "$time_ns $drift"
