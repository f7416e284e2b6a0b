#!/usr/bin/env bash
# Runs a short two-species simulation and lets ASE read its trajectory. `--only-venv` stops after installing ASE.
# Skipped, with a word, where ASE cannot be installed, except in CI (CI=true).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=${CARGO_TARGET_DIR:-target}
venv=$target/ase-venv
steps=20
every=10
frames=$((steps / every + 1))
atoms=864

install_ase() {
    "$venv/bin/python" -c "import ase" 2>/dev/null && return
    python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check "ase>=3.22,<4"
}

if ! install_ase; then
    echo "test-ase: ASE cannot be installed here (needs python3 with venv, and PyPI)" >&2
    [ "${CI:-}" = true ] && exit 1
    echo "test-ase: skipped" >&2
    exit 0
fi
[ "${1:-}" = "--only-venv" ] && exit 0

output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
# With a test among what is built, dependencies get the features that they have for tests, and nothing is built twice.
cargo build --quiet --workspace --bin md-cli --test truth
"$target/debug/md-cli" run configs/two-species.toml --quiet --steps "$steps" --output "$output" \
    --set "output.trajectory.every=$every"
"$venv/bin/python" scripts/check_ase.py "$output/traj.extxyz" "$frames" "$atoms"
