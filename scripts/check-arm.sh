#!/usr/bin/env bash
# check-arm.sh [--run]: checks md-core, the crate that uses specific instructions, for 64-bit ARM
# (level `neon`). With --run, its tests are run in an emulator, which tests correctness but not
# speed. Debian and Ubuntu have the required packages: qemu-user gcc-aarch64-linux-gnu
# libc6-dev-arm64-cross. Missing programs are reported and their checks skipped, except with --run
# in continuous integration (CI=true).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=aarch64-unknown-linux-gnu
linker=aarch64-linux-gnu-gcc
emulator=qemu-aarch64

skip() { echo "check-arm: SKIPPED, $1" >&2; }

case ${1:-} in
    '' | --run) ;;
    *) echo "check-arm: $1: there is no such option, only --run" >&2 && exit 2 ;;
esac

has_target() { rustup target list --installed 2>/dev/null | grep -qx "$target"; }

if ! has_target && ! { command -v rustup >/dev/null && timeout 120 rustup target add "$target" && has_target; }; then
    skip "no standard library for it: rustup target add $target"
    exit 0
fi
if [ "${1:-}" != --run ]; then
    exec cargo clippy -p md-core --target "$target" -- -D warnings
fi
if ! command -v "$emulator" >/dev/null || ! command -v "$linker" >/dev/null; then
    skip "needs $emulator and $linker"
    [ "${CI:-}" != true ]
    exit
fi
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$linker
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$emulator -L /usr/aarch64-linux-gnu"
exec cargo test -p md-core --lib --target "$target"
