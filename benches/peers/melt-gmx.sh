#!/usr/bin/env bash
# melt-gmx.sh GMX CELLS STEPS RANKS [NSTLIST]: the standard melt with GROMACS (thread-MPI); prints
# nanoseconds per atom and step, and the drift of the conserved energy per atom and unit time.
# $MELT is accurate (the default) or literal, see compare.sh. Tested with 2022.5: the potential
# energy at step 0 is that of bench/in.lj.
#
# With sigma = 1 nm, epsilon = 1 kJ/mol and mass = 1 u the unit of time is 1 ps, and k_B T = 1.44
# epsilon is 173.19 K. accurate: as GROMACS is meant to be used, with a thermostat, here at the
# temperature of the molten crystal, and lists whose buffer follows from a tolerated drift; NSTLIST is the interval of rebuilds, and mdrun chooses the
# interval of pruning. literal: the list's radius and interval are fixed; without a thermostat mdrun
# does not prune. The second half of twice the steps is measured, so that the start does not count.
set -euo pipefail
gmx=$1 cells=$2 steps=$3 ranks=$4 nstlist=${5:-20}
slope=$(realpath "$(dirname "${BASH_SOURCE[0]}")")/slope.awk
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
case ${MELT:-accurate} in
    literal) lists="verlet-buffer-tolerance = -1
rlist = 2.8
tcoupl = no" ;;
    *) lists="verlet-buffer-tolerance = 0.005
tcoupl = v-rescale
tc-grps = System
tau-t = 1.0
ref-t = 86.6" ;;
esac
cat >melt.mdp <<EOF_MDP
integrator = md
dt = 0.005
nsteps = $((2 * steps))
cutoff-scheme = Verlet
$lists
nstlist = $nstlist
rvdw = 2.5
vdw-modifier = None
coulombtype = Cut-off
coulomb-modifier = None
rcoulomb = 2.5
pcoupl = no
gen-vel = yes
gen-temp = 173.19
gen-seed = 87287
comm-mode = None
nstcalcenergy = $((steps < 100 ? steps : 100))
nstenergy = $((steps < 2000 ? steps : steps / 50))
nstlog = $steps
EOF_MDP
cat >melt.top <<EOF_TOP
[ defaults ]
1 2 no 1.0 1.0
[ atomtypes ]
A 0 1.0 0.0 A 1.0 1.0
[ moleculetype ]
A 1
[ atoms ]
1 A 1 A A 1 0.0 1.0
[ system ]
melt
[ molecules ]
A $((4 * cells ** 3))
EOF_TOP
awk -v n="$cells" 'BEGIN {
    a = (4 / 0.8442) ^ (1 / 3)
    split("0 0 0 0.5 0.5 0 0.5 0 0.5 0 0.5 0.5", site, " ")
    printf "melt\n%d\n", 4 * n ^ 3
    for (z = 0; z < n; z++) for (y = 0; y < n; y++) for (x = 0; x < n; x++) for (s = 0; s < 4; s++) {
        atom++
        printf "%5d%-5s%5s%5d%8.3f%8.3f%8.3f\n", atom % 100000, "A", "A", atom % 100000, \
            (x + site[3 * s + 1]) * a, (y + site[3 * s + 2]) * a, (z + site[3 * s + 3]) * a
    }
    printf "%10.5f%10.5f%10.5f\n", n * a, n * a, n * a
}' >melt.gro
"$gmx" -quiet grompp -f melt.mdp -c melt.gro -p melt.top -o melt.tpr -maxwarn 5 >out 2>&1 &&
    "$gmx" -quiet mdrun -s melt.tpr -g melt.log -ntmpi "$ranks" -ntomp 1 -nb cpu -pin on -noconfout -resethway >>out 2>&1 ||
    { cat out >&2; exit 1; }
# Converts ns per day of simulated time, at 0.005 ps per step.
time_ns=$(awk -v atoms=$((4 * cells ** 3)) '
    /^Performance:/ { printf "%.3f", 86400 * 0.005e-3 / $2 / atoms * 1e9; found = 1 }
    END { exit !found }' melt.log)
drift=-
if [ "$steps" -ge 2000 ]; then
    echo Conserved-En. | "$gmx" -quiet energy -f ener.edr -o energy.xvg >>out 2>&1 || { cat out >&2; exit 1; }
    drift=$(awk -v atoms=$((4 * cells ** 3)) '!/^[#@]/ { print $1, $2 / atoms }' energy.xvg | awk -f "$slope")
fi
echo "$time_ns $drift"
