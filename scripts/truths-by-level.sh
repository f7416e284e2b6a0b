#!/usr/bin/env bash
# truths-by-level.sh [TEST...]: runs the physics truths with every instruction set of this CPU, from
# narrow to wide; LEVELS="avx2+fma" selects one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Prints the level if the CPU has all of these flags.
level() {
    local name=$1 flag
    shift
    for flag in "$@"; do grep -qw "$flag" /proc/cpuinfo || return 0; done
    echo "$name"
}

levels() {
    [ "$(uname -m)" = x86_64 ] || { echo neon && return; }
    echo sse2
    level sse4.2 sse4_2
    level avx2+fma avx2 fma
    level avx512vl avx512f avx512bw avx512cd avx512dq avx512vl
    level avx512 avx512f avx512bw avx512cd avx512dq avx512vl
}

failed=''
for level in ${LEVELS:-$(levels)}; do
    echo "truths at level $level"
    MD_SIMD=$level cargo test --workspace --test truth -- "$@" || failed="$failed $level"
done
[ -z "$failed" ] || { echo "failed at:$failed" >&2 && exit 1; }
