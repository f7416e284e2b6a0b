#!/usr/bin/env bash
# Runs the halo exchange of a torus with md-comm's transports on 4 to 256 ranks, one per node, which
# SimGrid's MPI simulates, and compares its simulated time with `md-cli predict`.
#
#   simulate.sh [FOLDER [RANKS...]]  FOLDER (target/simulate): output; RANKS (4 8 16 32 64): powers of 2 from 4
#
# The machine of the prediction is fitted to the simulation of 2 (barrier: 16) ranks.
# MD_LEAST_SAME_ORDER=80: fails if less than this percentage of the pairs of backends are in the
# same order. Writes machine-SHARING.toml, simulated.csv, out/SHARING/CELLS/predict.csv and
# simulated.md. MD_CLI=PROGRAM is used instead of target/release/md-cli. Needs libsimgrid-dev
# (Debian 12 has SimGrid 3.32, the version for which it was written), a C compiler and libclang; an
# MPI library only for md-cli. Exit codes: 77 if SimGrid is not installed (automake's code for a
# skipped test), 2 for wrong arguments, 1 for other failures.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
sources=$root/scripts/simulate

# `shm`, `hybrid` and `neighbor-collective` are left out, because every rank is on its own node and
# SimGrid has no neighbourhood collectives. `rma-lock-epoch` is left out because a lock sends
# nothing in SimGrid, and unlocking all holds the window of each rank in turn.
backends=p2p,p2p-persistent,rma-fence,rma-pscw,rma-lock,rma-barrier,rma-notify,rma-ring
half_latency_s=5e-7 overhead_s=2e-7 bytes_per_s=12.5e9
# Number of cells of 8 particles along each side of a rank's cube: 512 and 13,824 particles.
sides=(4 12)
# The machine is fitted to one message of each length, and to several short and long messages.
fit_bytes=(64 1024 4096 16384 32768)
several=9 several_bytes=(8 16384)

skip() {
    echo "simulate.sh: skipped: $1"
    exit 77
}

usage() {
    sed -n '5s/^# *//p' "$0" >&2
    exit 2
}

[[ ${1:-} != -* ]] || usage
folder=$(realpath -m "${1:-$root/target/simulate}")
ranks=("${@:2}")
[ ${#ranks[@]} -gt 0 ] || ranks=(4 8 16 32 64)
for many in "${ranks[@]}"; do
    [[ $many =~ ^[1-9][0-9]{0,3}$ ]] && [ "$many" -ge 4 ] && [ $((many & (many - 1))) = 0 ] || usage
done
command -v smpirun >/dev/null && [ -f /usr/include/smpi/mpi.h ] || skip "SimGrid is not here: apt-get install libsimgrid-dev"
version=$(smpirun -version | grep -o '[0-9][0-9.]*' | head -n 1)
[ "$version" = 3.32 ] || echo "simulate.sh: made for SimGrid 3.32, this is $version" >&2
mkdir -p "$folder"

# The bindings query a compiler wrapper for flags and use it to compile their C files.
cat >"$folder/mpicc" <<EOF_WRAPPER
#!/bin/sh
if [ "\$1" = -show ]; then echo "cc -I$sources -lsimgrid"; exit; fi
exec cc -DMD_SIMULATED_BINDINGS -I"$sources" "\$@"
EOF_WRAPPER
chmod +x "$folder/mpicc"
cat >"$folder/Cargo.toml" <<EOF_MANIFEST
[package]
name = "simulated"
version = "0.0.0"
edition = "2024"

[lib]
path = "$sources/main.rs"
# glibc refuses a program that cannot be opened as a library.
crate-type = ["cdylib"]

[dependencies]
md-comm = { path = "$root/crates/md-comm" }

[profile.release]
opt-level = 2
strip = true

[workspace]
EOF_MANIFEST
# Use the same versions of the dependencies.
cp "$root/Cargo.lock" "$folder/Cargo.lock"
# The name changes with the contents, because cargo does not check the linked files for changes.
substitutes=$folder/substitutes-$(cat "$sources"/*.[ch] | cksum | cut -d ' ' -f 1).o
cc -O2 -Wall -fPIC -c "$sources/substitutes.c" -o "$substitutes"
MPICC=$folder/mpicc CARGO_TARGET_DIR=$folder/build cargo rustc --quiet --release --manifest-path "$folder/Cargo.toml" -- \
    -C link-arg="$substitutes"
md_cli=${MD_CLI:-${CARGO_TARGET_DIR:-$root/target}/release/md-cli}
[ -x "$md_cli" ] || (cd "$root" && cargo build --quiet --release -p md-cli)

# One rank per node. A message uses the links of two nodes, which carry both directions at once.
# FATPIPE: messages do not slow each other down; SHARED: those in the same direction share the link.
nodes=$(printf '%s\n' "${ranks[@]}" 16 | sort -n | tail -n 1)
for sharing in FATPIPE SHARED; do
    {
        echo '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
        echo '<platform version="4.1"><zone id="nodes" routing="Cluster">'
        for node in $(seq "$nodes"); do
            echo "<host id=\"$node\" speed=\"1Gf\"/>"
            for way in up down; do
                echo "<link id=\"$way-$node\" bandwidth=\"${bytes_per_s}Bps\" latency=\"${half_latency_s}s\" sharing_policy=\"$sharing\"/>"
            done
            echo "<host_link id=\"$node\" up=\"up-$node\" down=\"down-$node\"/>"
        done
        echo '</zone></platform>'
    } >"$folder/$sharing.xml"
done
seq "$nodes" >"$folder/hosts"

# simulate SHARING RANKS BACKENDS SHAPE CHANNELS BYTES: only messages take time, and all have the
# given latency, overhead and bandwidth. Each backend is run separately, because the state that
# contexts leave behind makes SimGrid slow.
simulate() {
    local sharing=$1 ranks=$2 backend costs="0:$overhead_s:0"
    for backend in ${3//,/ }; do
        MD_SIMULATED="$backend ${*:4}" timeout 3600 smpirun -quiet -np "$ranks" -platform "$folder/$sharing.xml" -hostfile "$folder/hosts" \
            --log=root.thresh:error --cfg=smpi/privatization:dlopen --cfg=smpi/simulate-computation:no --cfg=smpi/coll-selector:ompi \
            --cfg=smpi/allgather:rdb --cfg=smpi/barrier:ompi_bruck --cfg=smpi/test:0 --cfg=smpi/iprobe:0 --cfg=smpi/os:"$costs" --cfg=smpi/ois:"$costs" \
            --cfg=smpi/or:"$costs" --cfg=smpi/bw-factor:0:1 --cfg=smpi/lat-factor:0:1 --cfg=network/weight-S:0 --cfg=network/crosstraffic:0 \
            --cfg=smpi/async-small-thresh:65536 "$folder/build/release/libsimulated.so" </dev/null
    done
}

for sharing in FATPIPE SHARED; do
    {
        for bytes in "${fit_bytes[@]}"; do simulate $sharing 2 "$backends" 2x1x1 1 $((bytes / 2)),0,0; done
        for bytes in "${several_bytes[@]}"; do simulate $sharing 2 "$backends" 2x1x1 $several $((bytes / 2)),0,0; done
        for shape in 2x1x1 2x2x1 2x2x2 4x2x2; do simulate $sharing $((${shape//x/*})) barrier $shape 1 0,0,0; done
    } >"$folder/fit-$sharing.csv"
    "$sources/report.py" machine "$folder/fit-$sharing.csv" >"$folder/machine-$sharing.toml"
done

: >"$folder/simulated.csv"
for side in "${sides[@]}"; do
    # Full shell: one exchange per step, and no forces are returned. Costs of computation are 0.
    cat >"$folder/torus.toml" <<EOF_SCENARIO
[simulation]
steps = 1
[system]
lattice = { kind = "sc", spacing = 1.0, cells = [$((2 * side)), $((2 * side)), $((2 * side))] }
[interaction]
cutoff = 1.5
[neighbor]
method = "cells"
skin = 0.495
rebuild = { every = 20 }
[parallel]
shell = "full"
overlap = false
EOF_SCENARIO
    for sharing in FATPIPE SHARED; do
        "$md_cli" predict "$folder/torus.toml" --weak --ranks "$(IFS=,; echo "${ranks[*]}")" --ranks-per-node 1 --backends "$backends" \
            --machine "$folder/machine-$sharing.toml" --output "$folder/out/$sharing/$side" --quiet
    done
    bytes=$((side * side * 8 * 24)),$((side * 8 * 24)),$((8 * 24))
    "$sources/report.py" shapes "$folder/out/FATPIPE/$side/predict.csv" | while read -r many shape; do
        for sharing in FATPIPE SHARED; do
            simulate $sharing "$many" "$backends" "$shape" 1 "$bytes" | sed -u "s/^/$sharing,$side,/"
        done
    done >>"$folder/simulated.csv"
done
"$sources/report.py" table "$folder/simulated.csv" "$folder"/out/*/*/predict.csv | tee "$folder/simulated.md"
