#!/usr/bin/env bash
# Time per atom and step, and memory per atom, for growing systems: one rank, 4,000 to 8,000,000
# atoms of the melt or of the sparse scenario. The results are meaningful only on a quiet machine;
# the largest system takes about 2 GB.
set -euo pipefail

usage() {
    cat <<'EOF_USAGE'
usage: scaling.sh [OPTION...]
  --scenario NAME   lj-melt or sparse (default lj-melt)
  --cells LIST      unit cells: N x N x N of the melt, N x 2N x 4N of the sparse scenario
                    (default 10,16,20,25,32,40,50,63,80,100,126)
  --methods LIST    method:precision (default clusters:double,clusters:mixed; with sparse cells:double too)
  --work N          atoms times steps of a run, about (default 20000000; at least 40 steps, at most 2000)
  --repeat N        how often all take turns (default 3)
  --output NAME     (default docs/scaling, with sparse docs/scaling-sparse)
Writes NAME.csv (atoms,method,precision,ns_per_atom_step,bytes_per_atom) and NAME.svg. md-cli is built here, unless
$MD_CLI names it.
EOF_USAGE
}

fail() {
    echo "scaling.sh: $*" >&2
    exit 2
}

scenario=lj-melt cells=10,16,20,25,32,40,50,63,80,100,126 methods= work=20000000 repeat=3 output=
while [ $# -gt 0 ]; do
    [ "$1" = --help ] && usage && exit
    [ $# -gt 1 ] || { usage >&2 && exit 2; }
    case $1 in
        --scenario) scenario=$2 ;;
        --cells) cells=$2 ;;
        --methods) methods=$2 ;;
        --work) work=$2 ;;
        --repeat) repeat=$2 ;;
        --output) output=$(realpath "$2") ;;
        *) usage >&2 && exit 2 ;;
    esac
    shift 2
done
[[ $cells =~ ^[1-9][0-9]*(,[1-9][0-9]*)*$ ]] || fail "--cells $cells: whole numbers above 0 are wanted"
[[ $work =~ ^[1-9][0-9]*$ && $repeat =~ ^[1-9][0-9]*$ ]] || fail "--work and --repeat are whole numbers above 0"
case $scenario in
    lj-melt) name=scaling defaults=clusters:double,clusters:mixed ;;
    sparse) name=scaling-sparse defaults=clusters:double,clusters:mixed,cells:double ;;
    *) fail "--scenario $scenario: lj-melt or sparse" ;;
esac
methods=${methods:-$defaults}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
output=${output:-docs/$name}
mkdir -p "$(dirname "$output")"
if [ -z "${MD_CLI:-}" ]; then
    cargo build --quiet --release -p md-cli
    export MD_CLI=${CARGO_TARGET_DIR:-target}/release/md-cli
fi
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

echo atoms,method,precision,ns_per_atom_step,bytes_per_atom >"$output.csv"
for _ in $(seq "$repeat"); do
    for n in ${cells//,/ }; do
        case $scenario in
            lj-melt) lattice="[$n,$n,$n]" atoms=$((4 * n ** 3)) ;;
            sparse) lattice="[$n,$((2 * n)),$((4 * n))]" atoms=$((8 * n ** 3)) ;;
        esac
        # Round to whole intervals between rebuilds.
        steps=$((work / atoms / 20 * 20))
        steps=$((steps < 40 ? 40 : steps > 2000 ? 2000 : steps))
        for method in ${methods//,/ }; do
            python3 benches/scaling.py "${method%:*}" "$directory" "$MD_CLI" run "configs/$scenario.toml" --quiet --steps "$steps" \
                --output "$directory" --set "system.lattice.cells=$lattice" --set "output.thermo.every=$steps" \
                --set "neighbor.method=${method%:*}" --set "neighbor.precision=${method#*:}" | tee -a "$output.csv"
        done
    done
done
cargo run --quiet --release -p md-cli --example plot_scaling -- "$output.csv" "$output.svg"
