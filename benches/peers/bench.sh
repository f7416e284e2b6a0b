#!/usr/bin/env bash
# `md-cli bench` beside its plain C twins and OSU's definitions (bench.c) on two ranks, in turns: of each the smallest sample, as time per
# message where many are under way at once, one way as osu_latency gives it, and the ratio; and beside the twins with their memory in plain pages, as
# programs have it that ask for nothing (a context asks for large ones). usage: bench.sh [ROUNDS [BYTES,BYTES...]].
# Numbers are worth something on a quiet machine only. In the environment: BENCHMARKS, fewer of them; EFFORT, options for `md-cli bench`
# instead of --budget 25.
set -euo pipefail
rounds=${1:-5} sizes=${2:-8,1024,16384,262144}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
target=${CARGO_TARGET_DIR:-target} md=${MD_CLI:-}
[ -n "$md" ] || { cargo build --quiet --release -p md-cli && md=$target/release/md-cli; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${MPICC:-mpicc}" -O3 -march=native -std=gnu11 -o "$folder/bench-c" benches/peers/bench.c
for round in $(seq "$rounds"); do
    for pages in large plain; do
        # shellcheck disable=SC2086 # a list of words
        scripts/mpirun.sh 2 "$folder/bench-c" 31 "$pages" ${sizes//,/ } >"$folder/$pages-$round.csv"
    done
    # shellcheck disable=SC2086
    scripts/mpirun.sh 2 "$md" bench ${BENCHMARKS:-roundtrip bandwidth sync26 elementwise ringshift strided push pull packing overlap passive copy} --backends p2p --sizes "$sizes" --quiet \
        ${EFFORT:---budget 25} --output "$folder/md-$round"
done
python3 - "$folder" <<'EOF_PYTHON'
import csv, sys
from pathlib import Path

# Twin: benchmark and mechanism of ours, and by how much a sample is divided: osu_bw counts messages, osu_latency is half a round trip.
MANY, NEIGHBOURS, ARRAYS, BOTH, WAYS = 64, 26, 3, 2, 2
NUMBERS = None  # of eight bytes
TWINS = {
    "roundtrip": ("roundtrip", "p2p", 1), "nonblocking": ("roundtrip", "p2p", 1), "put": ("roundtrip", "put", 1),
    "bandwidth": ("bandwidth", "p2p", MANY), "sync26": ("sync26", "p2p", NEIGHBOURS),
    "ringshift": ("ringshift-both", "p2p", BOTH),
    "elementwise": ("elementwise", "put", NUMBERS), "push": ("push", "put", 1), "pull": ("pull", "get", 1), "passive": ("passive", "lock", 1),
    "packing_three": ("packing-three", "fence", ARRAYS * NEIGHBOURS), "packing_packed": ("packing-packed", "fence", NEIGHBOURS),
    "overlap_communication": ("overlap-communication", "p2p", 1), "overlap_both": ("overlap-both", "p2p", 1),
    "overlap_progress": ("overlap-progress", "p2p", 1),
    "strided": ("strided-datatype", "put", 1), "strided_packed": ("strided-packed", "put", 1), "copy": ("copy-1-stream", "memory", 1),
    "osu_latency": ("roundtrip", "p2p", WAYS), "osu_bw": ("bandwidth-one-buffer", "p2p", MANY),
    "osu_put_latency": ("elementwise-whole", "put", 1), "osu_get_latency": ("roundtrip", "get", 1),
}
folder = Path(sys.argv[1])
theirs, ours = {"large": {}, "plain": {}}, {}
for pages, times in theirs.items():
    for file in folder.glob(f"{pages}-*.csv"):
        for name, size, time in csv.reader(file.open()):
            times.setdefault((name, int(size)), []).append(float(time))
for file in folder.glob("md-*/bench.csv"):
    for row in csv.DictReader(file.open()):
        if row["status"] == "ok":
            key = row["benchmark"], row["mechanism"], int(row["bytes"])
            ours.setdefault(key, []).append(float(row["min_s"]))
print("twin,bytes,per,c_us,md_us,ratio,difference_us,within,plain_c_us,plain_difference_us")
for (name, size), times in sorted(theirs["large"].items()):
    benchmark, mechanism, per = TWINS[name]
    found, per = ours.get((benchmark, mechanism, size)), size // 8 if per is NUMBERS else per
    if found:
        plain = theirs["plain"][name, size]
        c, md, plain = (1e6 * min(samples) / per for samples in (times, found, plain))
        within = "yes" if abs(md - c) <= max(0.1 * c, 0.2) else "no"
        print(f"{name},{size},{per},{c:.3f},{md:.3f},{md / c:.3f},{md - c:+.3f},{within},{plain:.3f},{md - plain:+.3f}")
EOF_PYTHON
