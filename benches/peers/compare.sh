#!/usr/bin/env bash
# Compares md-cli with LAMMPS, GROMACS, OpenMM, miniMD and MD-Bench, as far as they are found, for
# the standard melt: fcc, density 0.8442, temperature 1.44, cutoff 2.5. The results are meaningful
# only on a quiet machine.
set -euo pipefail

usage() {
    cat <<'EOF_USAGE'
usage: compare.sh [--accurate|--literal] [OPTION...]
  --accurate        every program as its users should run it (default): lists of md and LAMMPS are rebuilt in time, so
                    that no pair is missed; GROMACS has a thermostat and lists for a tolerated drift, and md-drift is md
                    with the drift that was measured for GROMACS. miniMD and MD-Bench cannot do this and are left out
  --literal         LAMMPS's benchmark to the letter: skin 0.3, lists rebuilt every 20 steps, which is too rare: pairs
                    are missed
  --cells N         unit cells per dimension, 4 N^3 atoms (default 32: 131,072 atoms)
  --steps N         (default 100)
  --ranks N         (default 1)
  --repeat N        how often all programs take turns (default 5)
  --drift-steps N   steps of one more run of each program with at most 32,000 atoms, which measures the drift of the
                    energy; 0 leaves it out (default: 10000 with --accurate, otherwise 0)
  --precision LIST  of md-cli: double, mixed (default double,mixed)
  --output FILE     (default: out/peers.csv)
Programs: lmp (as it is, with -sf opt, and with -sf intel in double and mixed precision), gmx, miniMD, as far as they
are found; or what $LMP, $GMX, $MINIMD and $MDBENCH name: each a program or a list with blanks. $OPENMM names a Python
that has OpenMM, which is left out of --literal. build-peers.sh builds or fetches these programs. md-cli is built here,
unless $MD_CLI names it. $MD_SIMD chooses its instruction set.
Says first what vectors each program was built for, with a warning where the CPU (or $MD_SIMD) has better ones.
Writes code,precision,simd,ranks,atoms,steps,repeat,ns_per_atom_step,drift_per_atom_time; prints fastest, median and
slowest times, the drift, and how many times md-cli is as fast: minimum, median and maximum of the ratios within a
repetition.
EOF_USAGE
}

cells=32 steps=100 ranks=1 repeat=5 precisions=double,mixed output=out/peers.csv
mode=accurate drift_steps=''
refuse() { echo "compare.sh: $*" >&2 && exit 2; }
while [ $# -gt 0 ]; do
    case $1 in
        --help) usage && exit ;;
        --accurate | --literal)
            mode=${1#--}
            shift
            continue
            ;;
        --cells | --steps | --ranks | --repeat | --precision | --output | --drift-steps)
            [ $# -gt 1 ] || refuse "$1: a value is missing (see --help)" ;;
        *) refuse "$1: there is no such option (see --help)" ;;
    esac
    case $1 in
        --cells) cells=$2 ;;
        --steps) steps=$2 ;;
        --ranks) ranks=$2 ;;
        --repeat) repeat=$2 ;;
        --precision) precisions=$2 ;;
        --output) output=$2 ;;
        --drift-steps) drift_steps=$2 ;;
    esac
    case $1 in
        --cells | --steps | --ranks | --repeat)
            [[ $2 =~ ^[1-9][0-9]*$ ]] || refuse "$1 $2: not a whole number above 0" ;;
        --drift-steps)
            [[ $2 =~ ^(0|[2-9][0-9]{3,}|[1-9][0-9]{4,})$ ]] || refuse "$1 $2: 0 or at least 2000 is wanted" ;;
        --precision)
            [[ $2 =~ ^(double|mixed)(,(double|mixed))?$ ]] || refuse "$1 $2: a list of double, mixed is wanted" ;;
    esac
    shift 2
done

if [ -z "$drift_steps" ]; then
    [ "$mode" = accurate ] && drift_steps=10000 || drift_steps=0
fi
export MELT=$mode

fail() { echo "compare.sh: $*" >&2 && exit 1; }

# Prints the programs in the variable $1, or the default $2, as far as they are installed.
found() {
    local program
    for program in ${!1:-$2}; do
        if command -v "$program" >/dev/null; then
            # Python finds its environment by the path of a link.
            realpath --no-symlinks "$(command -v "$program")"
        elif [ -n "${!1:-}" ]; then
            refuse "\$$1: there is no program $program"
        fi
    done
}

# GROMACS's names of vector levels, from the narrowest to the widest.
levels=(SSE2 SSE4.1 AVX_128_FMA AVX_256 AVX2_128 AVX2_256 AVX_512)
# Prints the index of a level. Names that are not listed rank below all others: GROMACS's None, and
# unknown levels without objdump.
rank() {
    local index
    for index in "${!levels[@]}"; do [ "${levels[index]}" != "$1" ] || { echo "$index" && return; }; done
    echo -1
}

cpu_level() {
    local flags
    flags=" $(grep -m 1 '^flags' /proc/cpuinfo 2>/dev/null || true) "
    case $flags in
        *" avx512f "*) echo AVX_512 ;;
        *" avx2 "*) echo AVX2_256 ;;
        *" avx "*) echo AVX_256 ;;
        *" sse4_1 "*) echo SSE4.1 ;;
        *) echo unknown ;;
    esac
}

# Prints the level of a program's own code, found in its instructions, because the program does not
# report it.
level_in() {
    { echo "$1" && ldd "$1" | awk '/liblammps/ { print $3 }'; } | xargs -n 1 objdump -d 2>/dev/null | awk '
        /%zmm|%[xy]mm(1[6-9]|2[0-9]|3[01])|\{%k/ { level = "AVX_512"; exit }
        /vfn?m(add|sub).*%ymm/ { level = "AVX2_256" }
        /%ymm/ { if (!level) level = "AVX_256" }
        END { print level ? level : NR ? "SSE2" : "unknown" }' || true
}

# Prints the level that md-cli reports. Its errors are printed, for example if this CPU does not
# have the level in $MD_SIMD.
md_level() {
    local directory code=0
    directory=$(mktemp -d)
    { "$md_cli" forces configs/lj-bench.toml --quiet --output "$directory" --set "system.lattice.cells=[6,6,6]" \
        --set "neighbor.precision='$1'" >&2 &&
        python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["simd"])' "$directory/summary.json"; } ||
        code=$?
    rm -r "$directory"
    return "$code"
}

mkdir -p "$(dirname "$output")"
output=$(realpath "$output")
lmps=$(found LMP lmp)
gmxs=$(found GMX gmx)
minimds=$(found MINIMD miniMD)
mdbenches=$(found MDBENCH "")
openmms=$(found OPENMM "")
md_cli=$(found MD_CLI "")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [ -z "$md_cli" ]; then
    cargo build --quiet --release -p md-cli
    md_cli=$(realpath "${CARGO_TARGET_DIR:-target}/release/md-cli")
fi

# Each program is a line: code, precision, vectors, script, path and the script's last argument.
programs=()
add() { programs+=("$*"); }
for precision in ${precisions//,/ }; do
    level=$(md_level "$precision")
    add md "$precision" "$level" melt-md.sh "$md_cli" "$precision"
    [ "$mode" = literal ] || add md-drift "$precision" "$level" melt-md.sh "$md_cli" "$precision" 2.4e-3
done
for lmp in $lmps; do
    level=$(level_in "$lmp") packages=$("$lmp" -h)
    # "22 Jul 2025", of the first line.
    version=$(sed -n 's/^Large-scale.* - \([0-9]*\) \([A-Z][a-z]*\) \([0-9]*\).*/\1\2\3/p' <<<"$packages")
    add "lammps-$version-plain" double "$level" melt-lmp.sh "$lmp" plain
    # Not every build includes these packages.
    [[ ! $packages =~ [[:space:]]OPT[[:space:]] ]] || add "lammps-$version-opt" double "$level" melt-lmp.sh "$lmp" opt
    [[ ! $packages =~ [[:space:]]INTEL[[:space:]] ]] || for precision in double mixed; do
        add "lammps-$version-intel" "$precision" "$level" melt-lmp.sh "$lmp" "intel-$precision"
    done
done
for gmx in $gmxs; do
    # GROMACS's precision and SIMD instructions.
    read -r version precision level <<<"$("$gmx" --version 2>&1 |
        awk '/^GROMACS version:|^Precision:|^SIMD instr/ { printf "%s ", $NF }')"
    # The interval of rebuilds at which GROMACS is fastest depends on the CPU.
    [ "$mode" = accurate ] && intervals=(20 40 80) || intervals=(20)
    for interval in "${intervals[@]}"; do
        add "gromacs-${version%%-*}-nstlist-$interval" "${precision/single/mixed}" "$level" melt-gmx.sh "$gmx" "$interval"
    done
done
if [ "$mode" = accurate ] && [ -n "$minimds$mdbenches" ]; then
    echo "compare.sh: miniMD and MD-Bench are left out: they do not check displacements (see --literal)" >&2
    minimds='' mdbenches=''
fi
[ "$mode" = accurate ] || openmms=''
for openmm in $openmms; do
    version=$("$openmm" -c 'import openmm; print(openmm.__version__)')
    add "openmm-$version" single "$(cpu_level)" melt-openmm.sh "$openmm"
done
for minimd in $minimds; do
    add minimd double "$(level_in "$minimd")" melt-minimd.sh "$minimd"
done
for mdbench in $mdbenches; do
    # The name describes the variant: MDBench-CP-GCC-X86-AVX2-DP. Half or full lists are used,
    # whichever are faster.
    code=mdbench-verlet half=0 precision=double
    [[ $mdbench != *-CP-* ]] || code=mdbench-cluster half=1
    [[ $mdbench != *-SP ]] || precision=single
    add "$code" "$precision" "$(level_in "$mdbench")" melt-mdbench.sh "$mdbench" "$half"
done

case ${MD_SIMD:-} in
    '') best=$(cpu_level) ;;
    sse2) best=SSE2 ;;
    sse4.2) best=SSE4.1 ;;
    avx2+fma) best=AVX2_256 ;;
    avx512*) best=AVX_512 ;;
    # For other architectures there are no level names to compare.
    *) best=unknown ;;
esac
echo "CPU: $(cpu_level)${MD_SIMD:+, \$MD_SIMD: $MD_SIMD}" >&2
for program in "${programs[@]}"; do
    read -r code precision level script path _ <<<"$program"
    echo "$code $precision: $level, $path" >&2
    [[ $code =~ ^md(-drift)?$ ]] || [ "$best" = unknown ] || [ "$(rank "$level")" -ge "$(rank "$best")" ] ||
        echo "compare.sh: warning: $path is built for $level, md may use $best (see build-peers.sh)" >&2
done

echo code,precision,simd,ranks,atoms,steps,repeat,ns_per_atom_step,drift_per_atom_time >"$output"
# Runs all programs once: repetition, cells, steps.
take_turns() {
    local program code precision level script path argument found
    for program in "${programs[@]}"; do
        read -r code precision level script path argument <<<"$program"
        found=$("benches/peers/$script" "$path" "$2" "$3" "$ranks" ${argument:+"$argument"}) || fail "$code failed"
        # Programs of --literal may print the time only.
        [[ $found == *" "* ]] || found+=" -"
        echo "$code,$precision,$level,$ranks,$((4 * $2 ** 3)),$3,$1,${found/ /,}" | tee -a "$output" >&2
    done
}
for turn in $(seq "$repeat"); do
    take_turns "$turn" "$cells" "$steps"
done
[ "$drift_steps" = 0 ] || take_turns drift $((cells < 20 ? cells : 20)) "$drift_steps"
python3 benches/peers/compare.py "$output"
