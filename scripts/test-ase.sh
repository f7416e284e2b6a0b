#!/usr/bin/env bash
# Runs a short two-species simulation and lets ASE, MDAnalysis and OVITO read its trajectories. `--only-venv` stops after installing them.
# Skipped, with a word, where ASE or MDAnalysis cannot be installed, except in CI (CI=true); OVITO is used where it installs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=${CARGO_TARGET_DIR:-target}
venv=$target/ase-venv
steps=20
every=10
frames=$((steps / every + 1))
atoms=864

install_readers() {
    "$venv/bin/python" -c "import ase, MDAnalysis, netCDF4" 2>/dev/null && return
    python3 -m venv "$venv" || return
    local pip=("$venv/bin/pip" install --quiet --disable-pip-version-check)
    "${pip[@]}" "ase>=3.22,<4" MDAnalysis netCDF4 || return
    "${pip[@]}" ovito 2>/dev/null || echo "test-ase: OVITO's module does not install here" >&2
}

if ! install_readers; then
    echo "test-ase: ASE and MDAnalysis cannot be installed here (needs python3 with venv, and PyPI)" >&2
    [ "${CI:-}" = true ] && exit 1
    echo "test-ase: skipped" >&2
    exit 0
fi
[ "${1:-}" = "--only-venv" ] && exit 0

output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
# With a test among what is built, dependencies get the features that they have for tests, and nothing is built twice.
cargo build --quiet --workspace --bin md-cli --test truth
run() {
    "$target/debug/md-cli" run configs/two-species.toml --quiet --steps "$steps" --output "$output/run" \
        --set "output.trajectory.every=$every" --set "output.trajectory.path=$1" --set "output.trajectory.columns=$2"
    mv "$output/run/$1" "$output/"
}
all='"velocity", "mass", "images", "force", "energy"'
for path in traj.extxyz traj.extxyz.gz; do run "$path" "[\"momentum\", $all]"; done
for path in traj.lammpstrj traj.lammpstrj.gz traj.nc; do run "$path" "[$all]"; done
run traj.xtc "[]"
"$venv/bin/python" scripts/check_ase.py "$output/traj.extxyz" "$frames" "$atoms"
"$venv/bin/python" scripts/check_readers.py "$output"
