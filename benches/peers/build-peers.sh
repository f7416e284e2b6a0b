#!/usr/bin/env bash
# build-peers.sh: builds a program that compare.sh compares with md-cli, for this CPU, as its users
# would build it.
set -euo pipefail

usage() {
    cat <<'EOF_USAGE'
usage: build-peers.sh gromacs|lammps|minimd|mdbench|wheels [OPTION...]
  --source PATH  folder or tarball of the sources; without it those of GROMACS and LAMMPS are Debian's (apt-get source,
                 with a source list of its own: the system's configuration stays as it is)
  --simd LEVEL   AVX2_256 or AVX_512 (default: the best of this CPU)
  --into DIR     (default: out/peers/NAME-LEVEL)
  --jobs N       (default: all cores)
Started again, a build goes on where it was interrupted. GROMACS takes about 40 minutes of one core, LAMMPS 10, the
others a few seconds. Needs a C++ compiler, MPI and, for GROMACS and LAMMPS, CMake.
wheels installs the newest LAMMPS (for one rank, with MPICH) and OpenMM from PyPI, and takes --into only.
The sources of miniMD are github.com/Mantevo/miniMD, those of MD-Bench github.com/RRZE-HPC/MD-Bench.
The last line says how to hand the program to compare.sh.
EOF_USAGE
}

fail() { echo "build-peers.sh: $*" >&2 && exit 1; }
# Reports wrong arguments.
refuse() { echo "build-peers.sh: $*" >&2 && exit 2; }

name=${1:-} source='' into='' jobs=$(nproc)
simd=$(grep -qw avx512f /proc/cpuinfo 2>/dev/null && echo AVX_512 || echo AVX2_256)
case $name in
    gromacs | lammps | minimd | mdbench | wheels) shift ;;
    --help) usage && exit ;;
    '') usage >&2 && exit 2 ;;
    *) refuse "$name: gromacs, lammps, minimd, mdbench or wheels is wanted (see --help)" ;;
esac
while [ $# -gt 0 ]; do
    case $1 in
        --help) usage && exit ;;
        --source | --simd | --into | --jobs) [ $# -gt 1 ] || refuse "$1: a value is missing (see --help)" ;;
        *) refuse "$1: there is no such option (see --help)" ;;
    esac
    case $1 in
        --source) source=$2 ;;
        --simd) simd=$2 ;;
        --into) into=$2 ;;
        --jobs) jobs=$2 ;;
    esac
    shift 2
done
# The tools that the build needs, the file that identifies the sources, and the origin of sources
# that Debian does not have.
case $name in
    gromacs) tools=(cmake make c++) known_by=CMakeLists.txt home='' ;;
    lammps) tools=(cmake make c++ mpicxx) known_by=cmake/CMakeLists.txt home='' ;;
    wheels) tools=(python3) known_by='' home='' ;;
    minimd) tools=(make mpicxx) known_by=ref/Makefile.openmpi home=github.com/Mantevo/miniMD ;;
    mdbench) tools=(make gcc mpicc) known_by=make/include_GCC.mk home=github.com/RRZE-HPC/MD-Bench ;;
esac
# Compiler options for the level: without -mno-avx512f, native enables everything that the CPU has.
case $simd in
    AVX2_256) march=(-march=native -mno-avx512f) mdbench_simd=AVX2 ;;
    AVX_512) march=(-march=native) mdbench_simd=AVX512 ;;
    *) refuse "--simd $simd: AVX2_256 or AVX_512 is wanted" ;;
esac
[[ $jobs =~ ^[1-9][0-9]*$ ]] || refuse "--jobs $jobs: not a whole number above 0"
if [ -n "$source" ]; then
    [ -e "$source" ] || refuse "--source $source: there is no such file or folder"
    source=$(realpath "$source")
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
[ "$name" = wheels ] && into=${into:-$root/out/peers/wheels}
into=${into:-$root/out/peers/$name-$simd}
[ -z "$home" ] || [ -n "$source" ] || [ -d "$into/source" ] || refuse "--source is needed: a copy of $home"
for tool in "${tools[@]}"; do command -v "$tool" >/dev/null || fail "$name needs $tool, which is not installed"; done
mkdir -p "$into"
cd "$into"
into=$PWD
if [ "$name" = wheels ]; then
    python3 -m venv "$into"
    "$into/bin/pip" install --quiet --upgrade lammps mpich openmm numpy
    packages=$("$into/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
    echo "export LMP=\"$packages/lammps/lmp\" OPENMM=\"$into/bin/python\" LD_LIBRARY_PATH=\"$into/lib\""
    exit
fi

# Downloads Debian's tarball of the program to the current folder.
download() {
    command -v apt-get >/dev/null || fail "no apt-get: give the sources of $name with --source"
    mkdir -p apt/lists/partial
    local release
    release=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
    echo "deb-src http://deb.debian.org/debian $release main" >apt/sources.list
    local apt=(apt-get -qq -o "Dir::Etc::sourcelist=$PWD/apt/sources.list" -o Dir::Etc::sourceparts=-
        -o "Dir::State::lists=$PWD/apt/lists" -o APT::Sandbox::User=root)
    "${apt[@]}" update && "${apt[@]}" source --download-only "$name" ||
        fail "Debian's sources of $name cannot be fetched: give them with --source"
}

# The sources are copied, so that nothing is written to the given folder.
if [ ! -d source ]; then
    origin=$source
    if [ -z "$source" ]; then
        download
        source=$(echo "$PWD/${name}_"*.orig.tar.?z)
    fi
    rm -rf unpacked && mkdir unpacked
    if [ -d "$source" ]; then
        cp -r "$source/." unpacked
    else
        tar xf "$source" -C unpacked --strip-components=1 || refuse "--source $source: neither a folder nor a tarball"
    fi
    [ -e "unpacked/$known_by" ] || refuse "--source $source: no sources of $name, for they have no $known_by"
    echo "$origin" >origin
    mv unpacked source
elif [ -n "$source" ] && [ -f origin ] && [ "$source" != "$(cat origin)" ]; then
    refuse "--source $source: $into has a build of other sources; give another --into, or remove it"
fi

build_gromacs() {
    [ -f build/Makefile ] || cmake -S source -B build -G "Unix Makefiles" -DCMAKE_BUILD_TYPE=Release \
        -DGMX_SIMD="$simd" -DGMX_FFT_LIBRARY=fftpack -DGMX_MPI=OFF -DGMX_THREAD_MPI=ON -DGMX_GPU=OFF -DGMX_HWLOC=OFF \
        -DGMX_EXTERNAL_BLAS=OFF -DGMX_EXTERNAL_LAPACK=OFF -DBUILD_TESTING=OFF -DGMXAPI=OFF \
        -DGMX_INSTALL_NBLIB_API=OFF
    make -C build -j "$jobs" gmx
    programs=(build/bin/gmx) variable=GMX
}

# The INTEL package allocates classes with aligned members, but C++11's `new` does not support such
# alignment. Its loops are written for Intel's compilers (CXX=icpx): with g++ they are no faster
# than those of OPT, and slower with their pragmas ("omp simd") enabled.
build_lammps() {
    [ -f build/Makefile ] || cmake -S source/cmake -B build -G "Unix Makefiles" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_CXX_FLAGS_RELEASE="-O3 ${march[*]} -DNDEBUG -faligned-new" -DBUILD_MPI=ON -DPKG_OPT=ON \
        -DPKG_INTEL=ON -DWITH_GZIP=OFF -DWITH_JPEG=OFF -DWITH_PNG=OFF -DWITH_FFMPEG=OFF
    make -C build -j "$jobs" lmp
    programs=(build/lmp) variable=LMP
}

# Uses the flags of Makefile.openmpi with the CPU's instructions instead of AVX.
build_minimd() {
    make -C source/ref -j "$jobs" openmpi LINKFLAGS="-O3 ${march[*]} -fopenmp -DPRECISION=2" \
        CCFLAGS="-O3 ${march[*]} -fopenmp -DMPICH_IGNORE_CXX_SEEK -DNOCHUNK -DUSE_SIMD -DPRECISION=2"
    programs=(source/ref/miniMD_openmpi) variable=MINIMD
}

# The melt has one type of atoms, and all programs may make use of that.
build_mdbench() {
    local scheme precision
    for scheme in verletlist clusterpair; do
        for precision in DP SP; do
            make -C source -j "$jobs" TOOLCHAIN=GCC SIMD="$mdbench_simd" OPT_SCHEME="$scheme" DATA_TYPE="$precision" \
                ONE_ATOM_TYPE=true
        done
    done
    programs=(source/MDBench-*-"$mdbench_simd"-*) variable=MDBENCH
}

"build_$name"
echo "export $variable=\"${programs[*]/#/$PWD/}\""
