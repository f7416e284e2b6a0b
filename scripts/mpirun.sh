#!/usr/bin/env bash
# mpirun.sh RANKS PROGRAM [ARGUMENT...]: runs mpirun with only the options that this machine
# requires. By default, Open MPI refuses to run as root and to start more ranks than there are
# cores.
set -euo pipefail

if [ $# -lt 2 ]; then
    echo "usage: mpirun.sh RANKS PROGRAM [ARGUMENT...]" >&2
    exit 2
fi
ranks=$1
shift

# Open MPI's slots are cores, not hardware threads.
cores() {
    if command -v lscpu >/dev/null; then
        local physical usable
        physical=$(lscpu --parse=CORE,SOCKET | grep -v '^#' | sort -u | wc -l)
        usable=$(nproc)
        echo $((physical < usable ? physical : usable))
    else
        sysctl -n hw.physicalcpu 2>/dev/null || getconf _NPROCESSORS_ONLN
    fi
}

options=()
if mpirun --version 2>/dev/null | grep -qi "open *mpi\|open-mpi\|openrte"; then
    if [ "$(id -u)" = 0 ]; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
    if [ "$ranks" -gt "$(cores)" ]; then
        options+=(--oversubscribe)
    fi
fi
exec mpirun -n "$ranks" ${options[@]+"${options[@]}"} "$@"
