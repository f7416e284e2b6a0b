#!/usr/bin/env bash
# melt-mdbench.sh MDBENCH CELLS STEPS RANKS HALF: the standard melt with MD-Bench; prints
# nanoseconds per atom and step. HALF 1: half lists; 0: full lists.
#
# MD-Bench prints no energies. Its initial velocities are those of miniMD, and the temperatures of
# its scheme verletlist after 100 steps agree with miniMD's to all digits printed. The scheme
# clusterpair deviates by some 1e-4: it estimates 1/r^2 to 12 bits (AVX2) or 14 bits (AVX-512), in
# double precision too. The time includes one more force computation than there are steps.
set -euo pipefail
mdbench=$(realpath "$1") cells=$2 steps=$3 ranks=$4 half=$5
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scripts" && pwd)
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
printf '%s\n' "half_neigh $half" "reneigh_every 20" "cutforce 2.5" "skin 0.3" "dt 0.005" "temp 1.44" "rho 0.8442" \
    "nstat $steps" >melt.conf
"$scripts/mpirun.sh" "$ranks" "$mdbench" -p melt.conf -n "$steps" -nx "$cells" -ny "$cells" -nz "$cells" >out ||
    { cat out >&2; exit 1; }
# Seconds and millions of updates per second are printed with two decimals: the larger number is the
# more precise.
awk -v updates=$((4 * cells ** 3 * steps)) '
    /^TOTAL/ { seconds = $2 + 0 }
    /^Performance:/ { printf "%.3f\n", (seconds > $2 ? seconds / updates * 1e9 : 1000 / $2); found = 1 }
    END { exit !found }' out
