#!/usr/bin/env bash
# Builds md with several MPI libraries and runs the same test or benchmark with each: the installed
# Open MPI, and Open MPI 5, MPICH and Intel MPI from PyPI's wheels, which install headers, compiler
# wrapper and mpirun in a virtual environment. A library that cannot be installed or built is
# reported and left out.
set -euo pipefail

usage() {
    cat <<'EOF_USAGE'
usage: compare-mpi-libraries.sh [OPTION...] --suite
       compare-mpi-libraries.sh [OPTION...] --compare SCENARIO [OPTION OF md-cli compare...]
       compare-mpi-libraries.sh [OPTION...] --bench NAME [NAME OR OPTION OF md-cli bench...]
  --suite              the conformance suite of all backends
  --compare SCENARIO   `md-cli compare`, and one table of all libraries: compare-libraries.csv and .md
  --bench NAME         `md-cli bench`, and one table of all libraries: bench-libraries.csv
  --libraries LIST     of installed,openmpi,mpich,intel (default: all)
  --ranks LIST         suite: numbers of ranks (default 1,2,3,4,8); compare, bench: one number (default 2)
  --output DIR         (default: out/mpi-libraries)
EOF_USAGE
}

fail() {
    echo "compare-mpi-libraries: $1" >&2
    exit 2
}

libraries=installed,openmpi,mpich,intel
ranks=
output=out/mpi-libraries
mode=
scenario=
compare_options=()
while [ $# -gt 0 ]; do
    case $1 in
        --libraries | --ranks | --output | --compare | --bench) [ $# -gt 1 ] || fail "$1 needs a value" ;;
    esac
    case $1 in
        --libraries) libraries=$2 ;;
        --ranks) ranks=$2 ;;
        --output) output=$2 ;;
        --compare) mode=compare scenario=$2 ;;
        --bench) mode=bench bench_words=("${@:2}") && break ;;
        --suite) mode=suite && shift && continue ;;
        --help) usage && exit ;;
        *) usage >&2 && fail "unknown option $1" ;;
    esac
    shift 2
    if [ "$mode" = compare ]; then
        compare_options=("$@")
        break
    fi
done
[ -n "$mode" ] || { usage >&2 && fail "nothing to do: --suite, --compare or --bench"; }
[ "$mode" != compare ] || [ -f "$scenario" ] || fail "there is no scenario $scenario"
[ "$mode" != compare ] || scenario=$(realpath "$scenario")
mkdir -p "$output"
output=$(realpath "$output")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p "${CARGO_TARGET_DIR:-target}/mpi-libraries"
installed_target=$(realpath "${CARGO_TARGET_DIR:-target}")
environments=$installed_target/mpi-libraries

packages_of() {
    case $1 in
        openmpi | mpich) echo "$1" ;;
        intel) echo "impi-rt impi-devel" ;;
        *) fail "there is no library $1; choose from installed, openmpi, mpich, intel" ;;
    esac
}

install() {
    local home=$environments/$1 packages
    packages=$(packages_of "$1")
    [ -x "$home/bin/mpirun" ] && [ -e "$home/include/mpi.h" ] && return
    # shellcheck disable=SC2086 # a list of words
    python3 -m venv "$home" && "$home/bin/pip" install --quiet --disable-pip-version-check $packages
}

# Intel's own wrapper contains a placeholder for its folder, and quotes that the bindings' probe
# does not support.
intel_wrapper() {
    local wrapper=$1/bin/md-mpicc
    cat >"$wrapper" <<EOF_WRAPPER
#!/bin/sh
if [ "\$1" = -show ]; then echo "cc -I$1/include -L$1/lib -lmpi"; exit; fi
exec cc -I"$1/include" "\$@" -L"$1/lib" -lmpi
EOF_WRAPPER
    chmod +x "$wrapper"
    echo "$wrapper"
}

# Selects the library for building, loading and launching. Must be called in a subshell.
choose() {
    local home=$environments/$1
    if [ "$1" = installed ]; then
        MPICC=${MPICC:-$(command -v mpicc)} CARGO_TARGET_DIR=$installed_target
    else
        export PATH=$home/bin:$PATH LD_LIBRARY_PATH=$home/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        MPICC=$home/bin/mpicc CARGO_TARGET_DIR=$home/build
    fi
    case $1 in
        intel) MPICC=$(intel_wrapper "$home") && export I_MPI_ROOT=$home ;;
        # Without its device this component prints an error for every window.
        openmpi) export OMPI_MCA_osc=${OMPI_MCA_osc:-^ucx} ;;
    esac
    export MPICC CARGO_TARGET_DIR
    # A launcher of one library must not start the programs of another.
    unset MPIEXEC
}

# These functions are called in a condition, where `set -e` has no effect.
run_suite() (
    # MPICH's collectives over shared memory, including fences, spin before they yield: `rma-fence`
    # on 8 ranks of 2 cores takes two minutes (a sixth of that with
    # MPIR_CVAR_BARRIER_POSIX_INTRA_ALGORITHM=mpir and the same for BCAST, REDUCE and ALLREDUCE).
    export MD_CONFORMANCE_RANKS=${ranks:-1,2,3,4,8} MD_CONFORMANCE_LIMIT_S=${MD_CONFORMANCE_LIMIT_S:-300}
    choose "$1" && cargo test --quiet -p md-comm --test conformance
)

run_compare() (
    rm -f "$output/$1/compare.csv"
    choose "$1" && cargo build --quiet --release -p md-cli &&
        scripts/mpirun.sh "${ranks:-2}" "$CARGO_TARGET_DIR/release/md-cli" compare "$scenario" \
            --output "$output/$1" ${compare_options[@]+"${compare_options[@]}"}
)

run_bench() (
    rm -f "$output/$1/bench.csv"
    choose "$1" && cargo build --quiet --release -p md-cli &&
        scripts/mpirun.sh "${ranks:-2}" "$CARGO_TARGET_DIR/release/md-cli" bench "${bench_words[@]}" --output "$output/$1"
)

exit_code=0
names=()
for name in ${libraries//,/ }; do
    [ "$name" = installed ] || packages_of "$name" >/dev/null
    if [ "$name" = installed ] && ! command -v mpicc >/dev/null; then
        echo "== $name: left out, there is no mpicc on PATH"
    elif [ "$name" != installed ] && ! install "$name" >"$output/$name.install.log" 2>&1; then
        echo "== $name: left out, it cannot be installed:"
        tail -3 "$output/$name.install.log"
    else
        echo "== $name"
        if "run_$mode" "$name" >"$output/$name.$mode.log" 2>&1; then
            outcome=ok
        else
            outcome=FAILED exit_code=1
        fi
        grep -E "^FAILED|passed, .* failed$" "$output/$name.$mode.log" || true
        echo "$outcome, log in $output/$name.$mode.log"
        names+=("$name")
    fi
done
if [ "$mode" = compare ]; then
    python3 scripts/merge_compare.py "$output" ${names[@]+"${names[@]}"}
fi
if [ "$mode" = bench ]; then
    for name in ${names[@]+"${names[@]}"}; do
        [ -f "$output/$name/bench.csv" ] || continue
        awk -v name="$name" 'NR == 1 { print "library," $0 } NR > 1 { print name "," $0 }' "$output/$name/bench.csv"
    done | awk 'NR == 1 || !/^library,/' >"$output/bench-libraries.csv"
fi
exit "$exit_code"
