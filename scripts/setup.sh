#!/usr/bin/env bash
# Checks for the requirements of the build: cargo, an MPI library with its compiler wrapper, and
# libclang (for the MPI bindings). On Debian and Ubuntu, as root or with sudo, it installs missing
# packages; on other systems it prints the packages that contain them.
set -euo pipefail

DEBIAN_PACKAGES="libopenmpi-dev openmpi-bin libclang-dev"

has_libclang() {
    [ -n "${LIBCLANG_PATH:-}" ] && return 0
    local library
    for library in /usr/lib*/libclang*.so* /usr/lib/*/libclang*.so* /usr/lib/llvm-*/lib/libclang*.so* \
        /usr/lib64/llvm*/lib64/libclang*.so* /usr/local/lib/libclang*.so* \
        /opt/homebrew/opt/llvm/lib/libclang.dylib /usr/local/opt/llvm/lib/libclang.dylib \
        /Library/Developer/CommandLineTools/usr/lib/libclang.dylib \
        /Applications/Xcode.app/Contents/Developer/Toolchains/XcodeDefault.xctoolchain/usr/lib/libclang.dylib; do
        [ -e "$library" ] && return 0
    done
    command -v llvm-config >/dev/null && ls "$(llvm-config --libdir)"/libclang.* >/dev/null 2>&1
}

missing_parts() {
    command -v mpicc >/dev/null || echo "mpicc"
    command -v mpirun >/dev/null || echo "mpirun"
    has_libclang || echo "libclang"
}

# Prints the command that runs others as root, or fails. Without a terminal, sudo must not ask for a
# password.
become_root() {
    if [ "$(id -u)" = 0 ]; then
        echo "env"
    elif [ -t 0 ] && command -v sudo >/dev/null; then
        echo "sudo"
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        echo "sudo -n"
    else
        return 1
    fi
}

install_on_debian() {
    command -v apt-get >/dev/null || return 1
    local root
    root=$(become_root) || return 1
    echo "setup: installing $DEBIAN_PACKAGES"
    # shellcheck disable=SC2086 # both are lists of words
    $root apt-get update -qq &&
        $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $DEBIAN_PACKAGES
}

explain() {
    cat >&2 <<EOF
setup: missing: $(missing_parts | paste -sd' ' -)
  Debian, Ubuntu  sudo apt-get install $DEBIAN_PACKAGES
  Fedora          sudo dnf install openmpi-devel clang-devel
                  then: module load mpi/openmpi-\$(uname -m)    (or add /usr/lib64/openmpi/bin to PATH)
  macOS           brew install open-mpi llvm
  a cluster       load the modules of an MPI library and of LLVM; LIBCLANG_PATH names the folder of libclang
Without MPI, one process with several threads as ranks still works: cargo build --release --no-default-features
EOF
}

main() {
    if ! command -v cargo >/dev/null; then
        echo "setup: there is no cargo here; install Rust from https://rustup.rs" >&2
        exit 1
    fi
    [ -z "$(missing_parts)" ] && return
    install_on_debian || true
    [ -z "$(missing_parts)" ] && return
    explain
    exit 1
}

main
