#!/usr/bin/env bash
# melt-lmp.sh LMP CELLS STEPS RANKS STYLE: the standard melt with LAMMPS; prints nanoseconds per atom and step.
# STYLE plain, opt, intel-double or intel-mixed.
set -euo pipefail
lmp=$1 cells=$2 steps=$3 ranks=$4 style=$5
scripts=$(dirname "${BASH_SOURCE[0]}")/../../scripts
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cat >"$directory/in.melt" <<EOF_INPUT
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 $cells 0 $cells 0 $cells
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
thermo $steps
run $steps
EOF_INPUT
case $style in
    plain) suffix=() ;;
    intel-*) suffix=(-sf intel -pk intel 0 mode "${style#intel-}") ;;
    *) suffix=(-sf "$style") ;;
esac
export OMP_NUM_THREADS=1
"$scripts/mpirun.sh" "$ranks" "$lmp" -in "$directory/in.melt" -log none \
    ${suffix[@]+"${suffix[@]}"} >"$directory/out" || { cat "$directory/out" >&2; exit 1; }
awk -v atoms=$((4 * cells ** 3)) -v steps="$steps" '
    /^Loop time of/ { printf "%.3f\n", $4 / steps / atoms * 1e9; found = 1 }
    END { exit !found }' "$directory/out"
