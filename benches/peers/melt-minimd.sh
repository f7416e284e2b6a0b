#!/usr/bin/env bash
# melt-minimd.sh CELLS STEPS RANKS: the standard melt with miniMD (reference version, half lists); prints nanoseconds per
# atom and step. The program is $MINIMD, or miniMD. Written from miniMD's documentation, never run.
set -euo pipefail
cells=$1 steps=$2 ranks=$3
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
"$scripts/mpirun.sh" "$ranks" "${MINIMD:-miniMD}" -i "$directory/in.melt" -t 1 --half_neigh 1 \
    >"$directory/out" || { cat "$directory/out" >&2; exit 1; }
# Columns: ranks, threads, steps, atoms, total seconds, ...
awk '/PERF_SUMMARY/ && !/^#/ { printf "%.3f\n", $5 / $3 / $4 * 1e9; found = 1 } END { exit !found }' "$directory/out"
