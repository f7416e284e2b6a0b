#!/usr/bin/env bash
# Runs race and memory checkers on md-comm. Tools that are not installed are skipped with a message.
# Last line: `check-races: N passed, N failed, N skipped`.
#
#   Miri                 the unsafe-free parts and their threads: flag protocol, `local`, ledger
#                        (needs nightly with miri)
#   ThreadSanitizer      the same parts and the whole conformance suite on `local` (needs nightly
#                        with rust-src: without a standard library built for it, false errors in
#                        its channels are reported)
#   AddressSanitizer     all unit tests and the suite on `local`, including leaks; the suite with
#                        messages, windows and shared memory, 2 ranks (works with the installed
#                        compiler: RUSTC_BOOTSTRAP enables the option)
#   valgrind memcheck    the suite with 2 ranks: no error below a function of md-comm
#
# Not run: helgrind and drd do not support the locks of Rust's standard library (futexes), and no
# tool detects races between processes; these are covered by the models of flags and rings (`make
# loom`).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
host=$(rustc -vV | sed -n 's/^host: //p')
supported=(local:: flag_protocol:: ledger:: negotiation:: buffer:: spec::)
backends=(shm p2p rma-notify rma-lock rma-pscw)
passed=0 failed=0 skipped=0

skip() {
    echo "skipped $1: $2"
    skipped=$((skipped + 1))
}

# check NAME COMMAND...
check() {
    local name=$1 log
    shift
    log=$(mktemp)
    if "$@" >"$log" 2>&1; then
        echo "ok      $name"
        passed=$((passed + 1))
    else
        echo "FAILED  $name"
        tail -n 60 "$log"
        failed=$((failed + 1))
    fi
    rm -f "$log"
}

nightly_has() {
    rustup component list --toolchain nightly --installed 2>/dev/null | grep -q "^$1"
}

under_miri() {
    CARGO_TARGET_DIR="$target/miri" cargo +nightly miri test -p md-comm --no-default-features --lib -- "${supported[@]}"
}

# A race does not fail a test automatically, so the sanitizer must stop the test.
under_tsan() {
    CARGO_TARGET_DIR="$target/tsan" RUSTFLAGS="-Zsanitizer=thread --cfg own_buffers" TSAN_OPTIONS="exitcode=66 halt_on_error=1 allocator_may_return_null=1" \
        cargo +nightly test -Zbuild-std -p md-comm --no-default-features --lib --test conformance --target "$host"
}

# asan COMMAND...: runs a cargo command for md-comm. One test requests more memory than there is.
asan() {
    CARGO_TARGET_DIR="$target/asan" RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address --cfg own_buffers" \
        ASAN_OPTIONS=allocator_may_return_null=1 cargo "$@" -p md-comm --target "$host"
}

under_asan() {
    asan test --no-default-features --lib --test conformance
}

# under_asan_mpi PROGRAM BACKEND: without leak detection, because the MPI library keeps memory until
# the program ends.
under_asan_mpi() {
    ASAN_OPTIONS=detect_leaks=0 MD_COMM_TEST_ROLE=suite MD_COMM_TEST_BACKEND=$2 timeout 600 scripts/mpirun.sh 2 "$1"
}

# Prints the path of the conformance program that a cargo command builds.
conformance_of() {
    "$@" --test conformance --no-run --message-format=json 2>/dev/null |
        sed -n 's/.*"executable":"\([^"]*conformance-[^"]*\)".*/\1/p'
}

# Errors below MPI_Init are those of the library.
md_errors() {
    cat "$@" | sed 's/^==[0-9]*== \{0,1\}//' |
        awk 'BEGIN { RS = ""; FS = "\n" } /(at|by) 0x.*md_comm/ && !/MPI_Init/ { print; print ""; bad = 1 } END { exit bad }'
}

# under_memcheck PROGRAM BACKEND
under_memcheck() {
    local logs suppressions=() known=/usr/share/openmpi/openmpi-valgrind.supp
    logs=$(mktemp -d)
    [ -f "$known" ] && suppressions=(--suppressions="$known")
    MD_COMM_TEST_ROLE=suite MD_COMM_TEST_BACKEND=$2 timeout 600 scripts/mpirun.sh 2 \
        valgrind ${suppressions[@]+"${suppressions[@]}"} --num-callers=50 --log-file="$logs/%p" "$1" &&
        [ "$(ls "$logs" | wc -l)" = 2 ] && md_errors "$logs"/*
    local outcome=$?
    rm -rf "$logs"
    return $outcome
}

if nightly_has miri; then check Miri under_miri; else skip Miri "rustup component add --toolchain nightly miri"; fi
if nightly_has rust-src; then
    check ThreadSanitizer under_tsan
else
    skip ThreadSanitizer "rustup component add --toolchain nightly rust-src"
fi
check AddressSanitizer under_asan
if command -v mpirun >/dev/null; then
    program=$(conformance_of asan test)
    for backend in "${backends[@]}"; do
        check "AddressSanitizer, $backend on 2 ranks" under_asan_mpi "$program" "$backend"
    done
else
    skip "AddressSanitizer over MPI" "needs mpirun"
fi
if command -v valgrind >/dev/null && command -v mpirun >/dev/null; then
    program=$(CARGO_TARGET_DIR="$target/memcheck" RUSTFLAGS="--cfg own_buffers" conformance_of cargo test -p md-comm)
    for backend in "${backends[@]}"; do
        check "memcheck, $backend on 2 ranks" under_memcheck "$program" "$backend"
    done
else
    skip memcheck "needs valgrind and mpirun"
fi
echo "check-races: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
