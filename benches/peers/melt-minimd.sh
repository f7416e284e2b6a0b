#!/usr/bin/env bash
# melt-minimd.sh MINIMD CELLS STEPS RANKS: the standard melt with miniMD (reference version 2.0,
# half lists), which has no check of displacements: only as $MELT=literal, see compare.sh. Prints
# nanoseconds per atom and step. The potential energy at step 0 is that of bench/in.lj;
# the velocities are miniMD's own.
set -euo pipefail
minimd=$1 cells=$2 steps=$3 ranks=$4
scripts=$(dirname "${BASH_SOURCE[0]}")/../../scripts
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cat >"$directory/in.melt" <<EOF_INPUT
Lennard-Jones input file for MD

lj             units
none           data file
lj             force style
1.0 1.0        LJ parameters
$cells $cells $cells       size of problem
$steps            timesteps
0.005          timestep size
1.44           initial temperature
0.8442         density
20             reneighboring every this many steps
2.5 0.30       force cutoff and neighbor skin
$steps            thermo calculation every this many steps
EOF_INPUT
"$scripts/mpirun.sh" "$ranks" "$minimd" -i "$directory/in.melt" -t 1 --half_neigh 1 \
    >"$directory/out" || { cat "$directory/out" >&2; exit 1; }
# Columns: ranks, threads, steps, atoms, total seconds, ...
awk '/PERF_SUMMARY/ && !/^#/ { printf "%.3f\n", $5 / $3 / $4 * 1e9; found = 1 } END { exit !found }' "$directory/out"
