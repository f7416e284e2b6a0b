#!/usr/bin/env bash
# `md-cli bench` beside its plain C twins and OSU's definitions (bench.c) on two ranks, in turns: the smallest sample of each, and the
# ratio. usage: bench.sh [ROUNDS [BYTES,BYTES...]]. Numbers are worth something on a quiet machine only.
set -euo pipefail
rounds=${1:-5} sizes=${2:-8,1024,16384,262144}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
target=${CARGO_TARGET_DIR:-target} md=${MD_CLI:-}
[ -n "$md" ] || { cargo build --quiet --release -p md-cli && md=$target/release/md-cli; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${MPICC:-mpicc}" -O3 -march=native -std=gnu11 -o "$folder/bench-c" benches/peers/bench.c
for round in $(seq "$rounds"); do
    # shellcheck disable=SC2086
    scripts/mpirun.sh 2 "$folder/bench-c" 31 ${sizes//,/ } >"$folder/c-$round.csv"
    scripts/mpirun.sh 2 "$md" bench roundtrip bandwidth sync26 elementwise --backends p2p --sizes "$sizes" --quiet \
        --budget 4 --output "$folder/md-$round"
done
python3 - "$folder" <<'EOF_PYTHON'
import csv, sys
from pathlib import Path

# Twin: benchmark and mechanism of ours.
TWINS = {
    "roundtrip": ("roundtrip", "p2p"), "nonblocking": ("roundtrip", "p2p"), "put": ("roundtrip", "put"),
    "bandwidth": ("bandwidth", "p2p"), "sync26": ("sync26", "p2p"),
    "osu_latency": ("roundtrip", "p2p"), "osu_bw": ("bandwidth", "p2p"),
    "osu_put_latency": ("elementwise-whole", "put"), "osu_get_latency": ("roundtrip", "get"),
}
folder = Path(sys.argv[1])
theirs, ours = {}, {}
for file in folder.glob("c-*.csv"):
    for name, size, time in csv.reader(file.open()):
        theirs.setdefault((name, int(size)), []).append(float(time))
for file in folder.glob("md-*/bench.csv"):
    for row in csv.DictReader(file.open()):
        if row["status"] == "ok":
            key = row["benchmark"], row["mechanism"], int(row["bytes"])
            ours.setdefault(key, []).append(float(row["min_s"]))
print("twin,bytes,c_us,md_us,ratio,difference_us,within")
for (name, size), times in sorted(theirs.items()):
    benchmark, mechanism = TWINS[name]
    found = ours.get((benchmark, mechanism, size))
    if found:
        c, md = 1e6 * min(times), 1e6 * min(found)
        within = "yes" if abs(md - c) <= max(0.1 * c, 0.2) else "no"
        print(f"{name},{size},{c:.3f},{md:.3f},{md / c:.3f},{md - c:+.3f},{within}")
EOF_PYTHON
