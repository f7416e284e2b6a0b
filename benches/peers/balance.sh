#!/usr/bin/env bash
# Speed-up of a step by load balancing, compared with LAMMPS's `fix balance` (shift, rcb) for the
# same particles.
#
# usage: benches/peers/balance.sh [SCENARIO...]
#   default: configs/droplet-off-centre.toml configs/two-droplets.toml
#   MD=target/release/md-cli  LMP=lmp  RANKS=2  REPEAT=5  STEPS= (of the scenario)
#   MPIRUN=scripts/mpirun.sh
#
# All variants are run in turn, REPEAT times. Ratios are computed within a round; the table has
# their median, minimum and maximum. Without balancing, the grid is a row of ranks along x. LAMMPS
# uses lj/cut/opt, checks the balance every 50 steps with threshold 1.05, and uses its own weights
# (one for each particle).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

md=$(realpath "${MD:-target/release/md-cli}") lmp=${LMP:-lmp} ranks=${RANKS:-2} repeat=${REPEAT:-5} mpirun=${MPIRUN:-scripts/mpirun.sh}
scenarios=("$@")
[ $# -eq 0 ] && scenarios=(configs/droplet-off-centre.toml configs/two-droplets.toml)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

key() { # file, key: a number of summary.json, or of the effective scenario
    python3 -c 'import re, sys; print(re.search(sys.argv[2] + r"\"?\s*[=:]\s*([0-9.e+-]+)", open(sys.argv[1]).read()).group(1))' "$1" "$2"
}

run_md() { # what, options
    local what=$1; shift
    "$mpirun" "$ranks" "$md" run "$scenario" --quiet --output "$folder/out" ${STEPS:+--set simulation.steps=$STEPS} "$@" \
        >"$folder/log" 2>&1 </dev/null || { cat "$folder/log" >&2; exit 1; }
    printf '%s\t%s\n' "$what" "$(key "$folder/out/summary.json" wall_s)" >>"$folder/times"
}

run_lmp() { # what, lines of input
    cat >"$folder/in.balance" <<END
units lj
atom_style atomic
processors $ranks 1 1
region box block 0 1 0 1 0 1
create_box 1 box
read_dump $folder/start/start.lammpstrj 0 x y z vx vy vz box yes add yes
mass 1 1.0
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 1 check yes
timestep $timestep
fix 1 all nve
$2
thermo $steps
run $steps
END
    OMP_NUM_THREADS=1 "$mpirun" "$ranks" "$lmp" -in "$folder/in.balance" -log none -sf opt >"$folder/log" 2>&1 </dev/null ||
        { cat "$folder/log" >&2; exit 1; }
    printf '%s\t%s\n' "$1" "$(awk '/^Loop time of/ { print $4 }' "$folder/log")" >>"$folder/times"
}

table() {
    python3 - "$folder/times" <<'END'
import statistics, sys
times = {}
for line in open(sys.argv[1]):
    what, seconds = line.split("\t")
    times.setdefault(what, []).append(float(seconds))
for what, found in times.items():
    base = times[what.split(",")[0] + ", not balanced"]
    ratios = [without / seconds for without, seconds in zip(base, found)]
    print(f"{what:24} {statistics.median(found):8.2f} s  {statistics.median(ratios):.2f} times as fast ({min(ratios):.2f} to {max(ratios):.2f})")
END
}

for scenario in "${scenarios[@]}"; do
    : >"$folder/times"
    rm -rf "$folder/start"
    "$mpirun" "$ranks" "$md" run "$scenario" --quiet --output "$folder/start" --set simulation.steps=1 \
        --set 'output.trajectory={ path = "start.lammpstrj", every = 1, columns = ["velocity"] }' >/dev/null </dev/null
    timestep=$(key "$folder/start/scenario.toml" timestep)
    steps=${STEPS:-$(key "$scenario" steps)}
    for _ in $(seq "$repeat"); do
        run_md "md, not balanced" --set 'parallel.partition="rect"' --set "parallel.grid=[$ranks, 1, 1]" --set 'parallel.balance="off"'
        run_md "md, rect" --set 'parallel.partition="rect"' --set "parallel.grid=[$ranks, 1, 1]"
        run_md "md, rcb" --set 'parallel.partition="rcb"'
        if command -v "$lmp" >/dev/null; then
            run_lmp "LAMMPS, not balanced" ""
            run_lmp "LAMMPS, shift" "fix 2 all balance 50 1.05 shift x 10 1.05"
            run_lmp "LAMMPS, rcb" $'comm_style tiled\nfix 2 all balance 50 1.05 rcb'
        fi
    done
    echo "$scenario, $ranks ranks, $steps steps"
    table
done
