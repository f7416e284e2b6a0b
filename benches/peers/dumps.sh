#!/usr/bin/env bash
# Bytes and time per particle and frame of trajectories, compared with LAMMPS's dumps of the same
# columns (id, type, position, velocity).
#
# usage: benches/peers/dumps.sh [RANKS...]        (1 2)
#   MD=target/release/md-cli  LMP=lmp  CELLS=20 (32,000 atoms)  STEPS=100  EVERY=5  REPEAT=5
#   MPIRUN=scripts/mpirun.sh
#
# Time is that of the output phase on the slowest rank (md) or of `Output` (LAMMPS), over all
# frames: the median, minimum and maximum of REPEAT rounds through all formats.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

md=$(realpath "${MD:-target/release/md-cli}") lmp=${LMP:-lmp} mpirun=${MPIRUN:-scripts/mpirun.sh}
cells=${CELLS:-20} steps=${STEPS:-100} every=${EVERY:-5} repeat=${REPEAT:-5}
ranks=("${@:-1}")
[ $# -eq 0 ] && ranks=(1 2)
atoms=$((4 * cells * cells * cells)) frames=$((steps / every + 1))
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat > "$folder/melt.toml" <<END
[simulation]
steps = $steps
[system]
lattice = { kind = "fcc", density = 0.8442, cells = [$cells, $cells, $cells] }
temperature = 1.44
[output]
trajectory = { path = "t.extxyz", every = $every }
END

row() { # ranks, program, what, bytes, seconds
    (IFS=$'\t'; echo "$*") >> "$folder/rows"
}

table() {
    python3 - "$folder/rows" $((atoms * frames)) <<'END'
import statistics, sys
path, each = sys.argv[1], int(sys.argv[2])
rounds = {}
for line in open(path):
    *what, size, seconds = line.rstrip("\n").split("\t")
    rounds.setdefault(tuple(what), []).append((int(size) / each, float(seconds) / each * 1e9))
print("ranks  program format                      bytes/p/f      ns/p/f (least to most)")
for (ranks, program, what), found in rounds.items():
    size, times = found[0][0], [time for _, time in found]
    print(f"{ranks:>5}  {program:7} {what:27} {size:10.1f} {statistics.median(times):12.0f} ({min(times):.0f} to {max(times):.0f})")
END
}

run_md() { # ranks, what, file name, further options
    local ranks=$1 what=$2 name=$3; shift 3
    "$mpirun" "$ranks" "$md" run "$folder/melt.toml" --quiet --output "$folder/out" \
        --set "output.trajectory.path=$name" "$@" >/dev/null
    local seconds
    seconds=$(awk -F, '$1 == "output" { print $5 }' "$folder/out/timing.csv")
    row "$ranks" md "$what" "$(stat -c %s "$folder/out/$name")" "$seconds"
}

run_lmp() { # ranks, what, style, file name
    local ranks=$1 what=$2 style=$3 name=$4
    cat > "$folder/fixes" <<END
fix 1 all nve
dump 1 all $style $every $folder/$name id type x y z vx vy vz
${5:-}
END
    "$mpirun" "$ranks" "$lmp" -in benches/peers/in.melt -log none \
        -var cells "$cells" -var steps "$steps" -var fixes "$folder/fixes" > "$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
    local seconds
    seconds=$(awk -F'|' '/^Output/ { print $(NF > 4 ? 4 : 3) }' "$folder/log" | tr -d ' ')
    row "$ranks" LAMMPS "$what" "$(stat -c %s "$folder/$name")" "$seconds"
    rm -f "$folder/$name"
}

echo "$atoms particles, $frames frames"
for _ in $(seq "$repeat"); do
    for count in "${ranks[@]}"; do
        for name in t.extxyz t.extxyz.gz; do
            run_md "$count" "$name" "$name" --set 'output.trajectory.columns=["velocity","mass"]'
        done
        for name in t.lammpstrj t.lammpstrj.gz t.nc t.xtc; do run_md "$count" "$name" "$name"; done
        run_md "$count" "t.nc (double)" t.nc --set output.trajectory.precision=double
        if command -v "$lmp" >/dev/null; then
            run_lmp "$count" "dump custom (6 digits)" custom d.lammpstrj
            run_lmp "$count" "dump custom (17 digits)" custom d17.lammpstrj "dump_modify 1 format float %.17g"
            run_lmp "$count" "dump custom (binary)" custom d.bin
            run_lmp "$count" "dump custom (binary, by id)" custom ds.bin "dump_modify 1 sort id"
            run_lmp "$count" "dump custom (gzip)" custom/gz d.gz || true
        fi
    done
done
table
