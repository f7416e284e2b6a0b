#!/usr/bin/env bash
# Several nodes on one machine: network namespaces with addresses and host names of their own, joined by a bridge. Messages between
# ranks on different nodes go through TCP; shared memory ends at the node.
#
#   nodes.sh up N [--rate 1gbit] [--delay 50us]    make N nodes
#   nodes.sh run RANKS_PER_NODE [MPIRUN OPTION...] PROGRAM [ARGUMENT...]
#   nodes.sh down                                  remove them, and leave nothing behind
#
# e.g. nodes.sh up 2; nodes.sh run 1 --mca osc pt2pt,sm target/release/md-cli backends; nodes.sh down
# --rate limits what each node sends (tbf). --delay lets every packet wait in a relay (relay.py), which takes the time of about
# half a core. Needs Linux, root, iproute2 and util-linux; Open MPI, MPICH or Intel MPI.
set -euo pipefail

PREFIX=mdnode
NETWORK=10.77.0
STATE=/run/md-nodes
HERE=$(cd "$(dirname "$0")" && pwd)

fail() {
    echo "nodes.sh: $1" >&2
    exit "${2:-3}"
}

usage() {
    sed -n '5,7s/^# *//p' "$0" >&2
    exit 2
}

count() {
    ip netns list | grep -c "^$PREFIX" || true
}

check_machine() {
    [ "$(uname)" = Linux ] || fail "network namespaces are a matter of Linux"
    [ "$(id -u)" = 0 ] || fail "network namespaces need root: sudo $0 ..."
    for tool in ip unshare; do
        command -v $tool >/dev/null || fail "\`$tool\` is missing: apt-get install iproute2 util-linux"
    done
}

up() {
    local nodes=$1 rate="" delay="" n
    shift
    while [ $# -gt 0 ]; do
        case $1 in
        --rate) rate=${2:?} ;;
        --delay) delay=${2:?} ;;
        *) usage ;;
        esac
        shift 2
    done
    [[ $nodes =~ ^[1-9][0-9]?$ ]] || usage
    [ "$(count)" = 0 ] || fail "there are nodes already: nodes.sh down"
    trap down ERR
    mkdir -p "$STATE"
    for n in $(seq "$nodes"); do
        ip netns add "$PREFIX$n"
    done
    if [ -n "$delay" ]; then
        python3 "$HERE/relay.py" "$delay" "$nodes" </dev/null >"$STATE/relay.log" 2>&1 &
        echo $! >"$STATE/relay.pid"
        for n in $(seq 50); do
            [ "$(ip -o link | grep -c mdtap)" = "$nodes" ] && break
            sleep 0.1
        done
        for n in $(seq "$nodes"); do
            ip link set "mdtap$n" netns "$PREFIX$n" name eth0 mtu 9000
        done
    else
        ip link add mdbridge type bridge
        ip link set mdbridge up
        for n in $(seq "$nodes"); do
            ip link add "mdveth$n" type veth peer name eth0 netns "$PREFIX$n"
            ip link set "mdveth$n" master mdbridge up
        done
    fi
    for n in $(seq "$nodes"); do
        ip -n "$PREFIX$n" addr add "$NETWORK.$n/24" dev eth0
        ip -n "$PREFIX$n" link set eth0 up
        ip -n "$PREFIX$n" link set lo up
        [ -z "$rate" ] || tc -n "$PREFIX$n" qdisc add dev eth0 root tbf rate "$rate" burst 64kb latency 50ms
    done
}

# In place of ssh: AGENT [OPTION...] HOST COMMAND...
write_agent() {
    cat >"$1" <<EOF
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
node=$PREFIX\${1##*.}; shift
exec ip netns exec \$node unshare --uts sh -c "hostname \$node; \$*"
EOF
    chmod +x "$1"
}

run() {
    local ranks=$1 nodes hosts="" options n
    shift
    nodes=$(count)
    [ "$nodes" -gt 0 ] || fail "there are no nodes: nodes.sh up 2"
    agent=$(mktemp)
    trap 'rm -f "$agent"' EXIT
    write_agent "$agent"
    if mpirun --version 2>/dev/null | grep -qi "open *mpi\|open-mpi\|openrte"; then
        for n in $(seq "$nodes"); do hosts+="$NETWORK.$n:$ranks,"; done
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
        # Every node takes all cores for its own; bound, the first rank of each would sit on the same core.
        options=(--bind-to none --host "${hosts%,}" --mca plm_rsh_agent "$agent" --mca plm_rsh_no_tree_spawn 1
            --mca oob_tcp_if_include eth0 --mca btl_tcp_if_include eth0 --mca btl self,vader,tcp)
    else
        for n in $(seq "$nodes"); do hosts+="$NETWORK.$n,"; done
        options=(-hosts "${hosts%,}" -ppn "$ranks" -n $((nodes * ranks)) -launcher ssh -launcher-exec "$agent" -iface eth0)
    fi
    ip netns exec "${PREFIX}1" unshare --uts sh -c 'hostname "$0"; exec mpirun "$@"' "${PREFIX}1" "${options[@]}" "$@"
}

down() {
    local n
    if [ -e "$STATE/relay.pid" ]; then
        kill "$(cat "$STATE/relay.pid")" 2>/dev/null || true
    fi
    for n in $(ip netns list | grep -o "^$PREFIX[0-9]*"); do
        ip netns del "$n"
    done
    ip link del mdbridge 2>/dev/null || true
    rm -rf "$STATE"
}

command=${1:-}
[ $# -gt 0 ] && shift
case $command in
up | run | down) check_machine ;;
*) usage ;;
esac
case $command in
up) [ $# -ge 1 ] || usage ;;
run) [ $# -ge 2 ] || usage ;;
esac
"$command" "$@"
