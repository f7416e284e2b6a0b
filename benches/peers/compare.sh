#!/usr/bin/env bash
# md-cli against whichever of lmp, gmx and miniMD is found, on the standard melt: fcc, density 0.8442, temperature 1.44,
# cutoff 2.5, skin 0.3, rebuild every 20 steps. Numbers are worth something on a quiet machine only.
set -euo pipefail

usage() {
    cat <<'EOF_USAGE'
usage: compare.sh [OPTION...]
  --cells N         unit cells per dimension, 4 N^3 atoms (default 32: 131,072 atoms)
  --steps N         (default 100)
  --ranks N         (default 1)
  --repeat N        how often all programs take turns (default 5)
  --precision LIST  of md-cli: double, mixed (default double,mixed)
  --output FILE     (default: out/peers.csv)
Programs: lmp (as it is, and with -sf opt), gmx, miniMD; or what $LMP, $GMX, $MINIMD name. md-cli is built here, unless
$MD_CLI names it. The script for miniMD is written from its documentation and has never been run.
Writes code,precision,ranks,atoms,steps,repeat,ns_per_atom_step; prints medians and how many times md-cli is as fast.
EOF_USAGE
}

cells=32 steps=100 ranks=1 repeat=5 precisions=double,mixed output=out/peers.csv
while [ $# -gt 0 ]; do
    [ "$1" = --help ] && usage && exit
    [ $# -gt 1 ] || { usage >&2 && exit 2; }
    case $1 in
        --cells) cells=$2 ;;
        --steps) steps=$2 ;;
        --ranks) ranks=$2 ;;
        --repeat) repeat=$2 ;;
        --precision) precisions=$2 ;;
        --output) output=$2 ;;
        *) usage >&2 && exit 2 ;;
    esac
    case $1 in
        --cells | --steps | --ranks | --repeat)
            [[ $2 =~ ^[1-9][0-9]*$ ]] || { echo "compare.sh: $1 $2: not a whole number above 0" >&2 && exit 2; } ;;
        --precision)
            [[ $2 =~ ^(double|mixed)(,(double|mixed))?$ ]] ||
                { echo "compare.sh: $1 $2: a list of double, mixed is wanted" >&2 && exit 2; } ;;
    esac
    shift 2
done
mkdir -p "$(dirname "$output")"
output=$(realpath "$output")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [ -z "${MD_CLI:-}" ]; then
    cargo build --quiet --release -p md-cli
    export MD_CLI=${CARGO_TARGET_DIR:-target}/release/md-cli
fi

# A program is a line: code, precision, script and its last argument.
programs=()
for precision in ${precisions//,/ }; do
    programs+=("md $precision melt-md.sh $precision")
done
if command -v "${LMP:-lmp}" >/dev/null; then
    programs+=("lammps-plain double melt-lmp.sh plain")
    # Not every build has the package.
    [[ $("${LMP:-lmp}" -h) != *" OPT "* ]] || programs+=("lammps-opt double melt-lmp.sh opt")
fi
if command -v "${GMX:-gmx}" >/dev/null; then
    precision=$("${GMX:-gmx}" --version 2>&1 | awk '/^Precision:/ { print $2 }')
    programs+=("gromacs ${precision:-mixed} melt-gmx.sh")
fi
if command -v "${MINIMD:-miniMD}" >/dev/null; then
    programs+=("minimd double melt-minimd.sh")
fi

echo code,precision,ranks,atoms,steps,repeat,ns_per_atom_step >"$output"
for turn in $(seq "$repeat"); do
    for program in "${programs[@]}"; do
        read -r code precision script argument <<<"$program"
        time_ns=$("benches/peers/$script" "$cells" "$steps" "$ranks" ${argument:+"$argument"}) ||
            { echo "compare.sh: $code failed" >&2 && exit 1; }
        echo "$code,$precision,$ranks,$((4 * cells ** 3)),$steps,$turn,$time_ns" | tee -a "$output" >&2
    done
done
python3 benches/peers/compare.py "$output"
