#!/usr/bin/env bash
# Several nodes on one machine: network namespaces with their own addresses and host names, joined
# by a bridge. Messages between nodes use TCP; shared memory is available only within a node.
#
#   nodes.sh up N [--rate 1gbit] [--delay 50us]    make N nodes
#   nodes.sh run RANKS_PER_NODE [MPIRUN OPTION...] PROGRAM [ARGUMENT...]
#   nodes.sh down                                  remove them with all that runs on them
#
# e.g. nodes.sh up 2; nodes.sh run 1 --mca osc pt2pt,sm target/release/md-cli backends;
#      nodes.sh down
# --rate limits the rate at which each node sends (tbf). --delay delays every packet in a relay
# (relay.py), which uses part of a core. MD_NODES=NAME (letters and digits, default mdnode) creates
# further independent sets of nodes. Needs Linux, root, iproute2 and util-linux. Tested with Open
# MPI 4.1.4 and 5.0.11, MPICH 5.0.2 and Intel MPI 2021.18; uses the library of the mpirun on PATH.
# Exit codes: 2 for wrong arguments, 3 if this machine does not support nodes, 1 for other failures.
set -euo pipefail

NAME=${MD_NODES:-mdnode}
SWITCH=$NAME-0
NETWORK=10.77.0
HERE=$(cd "$(dirname "$0")" && pwd)

fail() {
    echo "nodes.sh: $1" >&2
    exit "${2:-1}"
}

usage() {
    sed -n '5,7s/^# *//p' "$0" >&2
    exit 2
}

# Prints the namespaces, including that of the switch. The highest number is the number of nodes.
namespaces() {
    ip netns list | grep -o "^$NAME-[0-9][0-9]*" || true
}

check_machine() {
    [ "$(uname)" = Linux ] || fail "network namespaces are a matter of Linux" 3
    [ "$(id -u)" = 0 ] || fail "network namespaces need root: sudo $0 ..." 3
    for tool in ip unshare; do
        command -v $tool >/dev/null || fail "\`$tool\` is missing: apt-get install iproute2 util-linux" 3
    done
    unshare --net --uts --mount true 2>/dev/null ||
        fail "namespaces cannot be made here; a container needs --privileged" 3
}

up() {
    local nodes=${1:-} rate="" delay="" n
    [[ $nodes =~ ^[1-9][0-9]?$ ]] || usage
    shift
    while [ $# -gt 0 ]; do
        case $1 in
        --rate) rate=${2:-} && [ -n "$rate" ] || usage ;;
        --delay) delay=${2:-} && [ -n "$delay" ] || usage ;;
        *) usage ;;
        esac
        shift 2
    done
    [ -z "$(namespaces)" ] || fail "there are nodes already: nodes.sh down"
    trap down EXIT
    for n in $(seq 0 "$nodes"); do
        ip netns add "$NAME-$n"
    done
    if [ -n "$delay" ]; then
        ip netns exec "$SWITCH" python3 "$HERE/relay.py" "$delay" "$nodes"
    else
        ip -n "$SWITCH" link add bridge up type bridge
    fi
    for n in $(seq "$nodes"); do
        if [ -n "$delay" ]; then
            ip -n "$SWITCH" link set "tap$n" netns "$NAME-$n" name eth0 mtu 9000
        else
            ip -n "$SWITCH" link add "veth$n" type veth peer name eth0 netns "$NAME-$n"
            ip -n "$SWITCH" link set "veth$n" master bridge up
        fi
        ip -n "$NAME-$n" addr add "$NETWORK.$n/24" dev eth0
        ip -n "$NAME-$n" link set eth0 up
        ip -n "$NAME-$n" link set lo up
        [ -z "$rate" ] || tc -n "$NAME-$n" qdisc add dev eth0 root tbf rate "$rate" burst 64kb latency 50ms
    done
    trap - EXIT
}

# Replaces ssh: [OPTION...] HOST COMMAND...
agent() {
    unset MD_NODES_AGENT
    while [ "${1#-}" != "$1" ]; do shift; done
    on_node "${1##*.}" sh -c "${*:2}"
}

on_node() {
    # shellcheck disable=SC2016 # for the inner shell
    exec ip netns exec "$NAME-$1" unshare --uts sh -c 'echo "$0" >/proc/sys/kernel/hostname; exec "$@"' "$NAME-$1" "${@:2}"
}

run() {
    local ranks=${1:-} nodes hosts="" options base n
    [[ $ranks =~ ^[1-9][0-9]*$ ]] && [ $# -ge 2 ] || usage
    shift
    nodes=$(($(namespaces | wc -l) - 1))
    [ "$nodes" -gt 0 ] || fail "there are no nodes: nodes.sh up 2"
    # The agent is found by name on PATH, because Open MPI treats text after a space as an argument.
    export MD_NODES_AGENT=yes MD_NODES=$NAME PATH=$HERE:$PATH
    if mpirun --version 2>/dev/null | grep -qi "open *mpi\|open-mpi\|openrte"; then
        for n in $(seq "$nodes"); do hosts+="$NETWORK.$n:$ranks,"; done
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
        # A separate folder per job: the nodes share /tmp, and a job may begin while the previous
        # one is removing its folder.
        base=$(mktemp -d "${TMPDIR:-/tmp}/$NAME-XXXXXX")
        # Every node assumes that it has all cores. With binding, the first ranks of all nodes would
        # share a core.
        options=(--bind-to none --host "${hosts%,}" --mca plm_rsh_agent nodes.sh --mca plm_rsh_no_tree_spawn 1
            --mca orte_tmpdir_base "$base" --mca oob_tcp_if_include eth0
            --mca btl_tcp_if_include eth0 --mca btl self,vader,tcp --mca pml ob1)
        [ $((nodes * ranks)) -le "$(nproc)" ] || options+=(--mca mpi_yield_when_idle 1)
    else
        for n in $(seq "$nodes"); do hosts+="$NETWORK.$n,"; done
        # Otherwise the libraries below MPICH would detect that the nodes share a machine.
        export FI_PROVIDER=tcp UCX_TLS=tcp,self
        options=(-hosts "${hosts%,}" -ppn "$ranks" -n $((nodes * ranks)) -launcher ssh -launcher-exec nodes.sh -iface eth0)
    fi
    on_node 1 mpirun "${options[@]}" "$@"
}

down() {
    local n pids
    for n in $(namespaces); do
        pids=$(ip netns pids "$n")
        # shellcheck disable=SC2086 # a list of numbers
        [ -z "$pids" ] || kill -KILL $pids 2>/dev/null || true
        ip netns del "$n"
    done
    # Remove the files of jobs that did not terminate normally.
    rm -rf "${TMPDIR:-/tmp}/$NAME-"* /dev/shm/*".$NAME-"[0-9]*.*
}

[[ $NAME =~ ^[A-Za-z][A-Za-z0-9]*$ ]] || fail "MD_NODES=$NAME: letters and digits are wanted, a letter first" 2
[ -z "${MD_NODES_AGENT:-}" ] || agent "$@"
command=${1:-}
case $command in
up | run | down) shift ;;
*) usage ;;
esac
check_machine
"$command" "$@"
