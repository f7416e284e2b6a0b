#!/usr/bin/env bash
# Compares the transports of md-comm with a plain C exchange of the same messages between two ranks:
# same MPI, same sizes, interleaved repetitions, one CSV and a table of ratios. The results are
# meaningful only on a quiet machine.
set -euo pipefail

usage() {
    cat <<'EOF_USAGE'
usage: exchange.sh [OPTION...]
  --backends LIST   transports beside C (default: p2p)
  --bytes LIST      sizes of messages beside the usual ones, 64 bytes to 1 MiB
  --only LIST       these sizes and no others
  --rounds N        how often all programs take turns (default 10)
  --samples N       samples per size and turn (default 5)
  --output FILE     (default: out/exchange.csv)
EOF_USAGE
}

backends=p2p
sizes=64,256,1024,4096,16384,65536,262144,1048576
rounds=10
samples=5
output=out/exchange.csv
while [ $# -gt 0 ]; do
    [ "$1" = --help ] && usage && exit
    [ $# -gt 1 ] || { usage >&2 && exit 2; }
    case $1 in
        --backends) backends=$2 ;;
        --bytes) sizes=$sizes,$2 ;;
        --only) sizes=$2 ;;
        --rounds) rounds=$2 ;;
        --samples) samples=$2 ;;
        --output) output=$2 ;;
        *) usage >&2 && exit 2 ;;
    esac
    shift 2
done
mkdir -p "$(dirname "$output")"
output=$(realpath "$output")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
target=${CARGO_TARGET_DIR:-target}

# The number of exchanges is chosen such that a sample takes some 20 ms.
plan=()
for bytes in ${sizes//,/ }; do
    exchanges=$((64 * 1024 * 1024 / (bytes + 3000)))
    plan+=("$bytes:$((exchanges > 100 ? exchanges : 100))")
done

cargo build --quiet --release -p md-comm --example exchange
"${MPICC:-mpicc}" -O3 -march=native -std=c11 -o "$target/release/examples/exchange-c" benches/peers/exchange.c
raw=$(mktemp)
trap 'rm -f "$raw"' EXIT
for _ in $(seq "$rounds"); do
    scripts/mpirun.sh 2 "$target/release/examples/exchange-c" "$samples" "${plan[@]}" >>"$raw"
    for backend in ${backends//,/ }; do
        scripts/mpirun.sh 2 "$target/release/examples/exchange" "$backend" "$samples" "${plan[@]}" >>"$raw"
    done
done
python3 benches/peers/exchange.py "$output" <"$raw"
