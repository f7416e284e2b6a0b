#!/usr/bin/env bash
# usage: bench.sh [ROUNDS [BYTES,BYTES...]], multiples of 8.
#
# Compares `md-cli bench` with its plain C twins and OSU's definitions (bench.c) on two ranks, run
# in turns. For each it prints the smallest sample: the time per message where several messages of a
# rank are in flight at once (for elementwise per put, for overlap the time that the exchange adds
# to the computation), one way in the definition of osu_latency, and the ratio. `within` is a tenth
# or 0.2 us of that time. It also prints the twins with their memory in plain pages, which programs
# get by default (a context requests large pages).
#
# The results are meaningful only on a quiet machine. On another one, more samples have a smaller
# minimum, so both programs should take the same number: SAMPLES=60 EFFORT="--runs 60 --budget 600".
# Environment variables: BENCHMARKS selects benchmarks; SAMPLES is the number of samples of the
# twins [default: 10]; EFFORT contains options for `md-cli bench` instead of --budget 25, which
# gives 6 to 10 samples; WALK is the number of bytes that pushes and pulls pass through, at least 32
# MiB [default: the size of the last cache, which the two ranks share].
set -euo pipefail
least_walk=$((32 << 20)) cache=$(getconf LEVEL3_CACHE_SIZE || echo 0)
walk=${WALK:-$((cache > least_walk ? cache : least_walk))}
samples=${SAMPLES:-10}
benchmarks=${BENCHMARKS:-roundtrip bandwidth sync26 elementwise ringshift strided push pull packing overlap passive copy}
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
        scripts/mpirun.sh 2 "$folder/bench-c" $samples "$pages" "$walk" ${sizes//,/ } >"$folder/$pages-$round.csv"
    done
    # shellcheck disable=SC2086
    scripts/mpirun.sh 2 "$md" bench $benchmarks --backends p2p --sizes "$sizes" --walk "$walk" --quiet \
        ${EFFORT:---budget 25} --output "$folder/md-$round"
done
# shellcheck disable=SC2086
python3 - "$folder" $benchmarks <<'EOF_PYTHON'
import csv, statistics, sys
from pathlib import Path

# By twin: benchmark and mechanism of md-cli, and the divisor of a sample, which is the number of a
# rank's messages in flight at once; osu_latency is half a round trip.
MANY, NEIGHBOURS, ARRAYS, NUMBER = 64, 26, 3, 8
ONE, TWO = lambda size: 1, lambda size: 2
TWINS = {
    "roundtrip": ("roundtrip", "p2p", ONE), "nonblocking": ("roundtrip", "p2p", ONE), "put": ("roundtrip", "put", ONE),
    "bandwidth": ("bandwidth", "p2p", lambda size: MANY), "sync26": ("sync26", "p2p", lambda size: NEIGHBOURS),
    "ringshift": ("ringshift-both", "p2p", TWO),
    "elementwise": ("elementwise", "put", lambda size: size // NUMBER), "push": ("push", "put", ONE), "pull": ("pull", "get", ONE),
    "packing_three": ("packing-three", "fence", lambda size: ARRAYS * NEIGHBOURS), "packing_packed": ("packing-packed", "fence", lambda size: NEIGHBOURS),
    "overlap_communication": ("overlap-communication", "p2p", TWO),
    "overlap_both": ("overlap-both", "p2p", TWO), "overlap_progress": ("overlap-progress", "p2p", TWO), "passive": ("passive", "lock", ONE),
    "strided": ("strided-datatype", "put", ONE), "strided_packed": ("strided-packed", "put", ONE), "copy": ("copy-1-stream", "memory", ONE),
    "copy_19": ("copy-19-streams", "memory", ONE), "copy_streaming": ("copy-streaming", "memory", ONE),
    "osu_latency": ("roundtrip", "p2p", TWO), "osu_bw": ("bandwidth-one-buffer", "p2p", lambda size: MANY),
    "osu_put_latency": ("elementwise-whole", "put", ONE), "osu_get_latency": ("roundtrip", "get", ONE),
}
# Each program chooses a computation as long as its own exchange, anew in each round. The result is
# the time that the exchange adds to it, in the median round.
ADDED = {"overlap_both", "overlap_progress"}
COMPUTATION = "overlap_computation", ("overlap-computation", "p2p")
folder, asked = Path(sys.argv[1]), sys.argv[2:]
theirs, ours = {"large": {}, "plain": {}}, {}
for pages, times in theirs.items():
    for file in sorted(folder.glob(f"{pages}-*.csv")):
        for name, size, time in csv.reader(file.open()):
            times.setdefault((name, int(size)), []).append(float(time))
for file in sorted(folder.glob("md-*/bench.csv")):
    for row in csv.DictReader(file.open()):
        if row["status"] == "ok":
            key = row["benchmark"], row["mechanism"], int(row["bytes"])
            ours.setdefault(key, []).append(float(row["min_s"]))


def one(rounds, alone, many):
    taken = statistics.median(both - computed for both, computed in zip(rounds, alone)) if alone else min(rounds)
    return 1e6 * taken / many


print("twin,bytes,per,c_us,md_us,ratio,difference_us,within,plain_c_us,plain_difference_us")
for name, size in sorted(theirs["large"]):
    if name not in TWINS:
        continue
    benchmark, mechanism, per = TWINS[name]
    found = ours.get((benchmark, mechanism, size))
    if not found and benchmark.split("-")[0] in asked:
        print(f"no time for the twin of {name} with {size} bytes", file=sys.stderr)
    if found:
        alone = lambda times, computation: times.get((*computation, size)) if name in ADDED else None
        c, plain = (one(times[name, size], alone(times, COMPUTATION[:1]), per(size)) for times in theirs.values())
        md = one(found, alone(ours, COMPUTATION[1]), per(size))
        within = "yes" if abs(md - c) <= max(0.1 * c, 0.2) else "no"
        print(f"{name},{size},{per(size)},{c:.3f},{md:.3f},{md / c:.3f},{md - c:+.3f},{within},{plain:.3f},{md - plain:+.3f}")
EOF_PYTHON
