#!/usr/bin/env bash
# Runs a short two-species simulation and reads its trajectories with ASE, MDAnalysis and OVITO.
# `--only-venv` stops after their installation. Skipped with a message if ASE or MDAnalysis cannot
# be installed, except in CI (CI=true); OVITO is used if it can be installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
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
# With a test among the targets, dependencies get the features that they have for tests, and nothing
# is built twice.
cargo build --quiet --workspace --bin md-cli --test truth
# write_all RANKS FOLDER [CHANGE...]: makes one run for each format, with these changes to the
# scenario.
all='"velocity", "mass", "images", "force", "energy"'
write_all() {
    local ranks=$1 folder=$output/$2 path columns
    shift 2
    mkdir "$folder"
    for path in traj.extxyz traj.extxyz.gz traj.lammpstrj traj.lammpstrj.gz traj.nc traj.xtc; do
        case $path in
            *.extxyz*) columns="\"momentum\", $all" ;;
            *.xtc) columns= ;;
            *) columns=$all ;;
        esac
        scripts/mpirun.sh "$ranks" "$target/debug/md-cli" run "$output/scenario.toml" --quiet --steps "$steps" --output "$output/run" \
            --set "output.trajectory.every=$every" --set "output.trajectory.path=$path" --set "output.trajectory.columns=[$columns]" "$@"
        mv "$output/run/$path" "$folder/"
    done
    "$venv/bin/python" scripts/check_ase.py "$folder/traj.extxyz" "$frames" "$atoms"
    "$venv/bin/python" scripts/check_readers.py "$folder"
}
cp configs/two-species.toml "$output/scenario.toml"
write_all 1 plain
# Two ranks, starting from one of these files, in a box that has another origin and changes, with
# positions outside it.
sed 's/Origin="0.0 0.0 0.0"/Origin="-3.5 10.25 0.125"/' "$output/plain/traj.extxyz" > "$output/moved.extxyz"
sed -e 's|^lattice = .*|file = { path = "moved.extxyz", format = "extxyz" }|' -e '/^temperature\|^fraction/d' -e "\$a [integrator]\n\
kind = \"langevin\"\ntemperature = 1.0\nfriction = 1.0\n\
barostat = { kind = \"berendsen\", pressure = 3.0, relaxation = 0.5 }" configs/two-species.toml > "$output/scenario.toml"
write_all 2 moved --set 'output.trajectory.positions="unwrapped"'

# The commands in the guide, as they are printed there; OVITO's part only if its module is
# installed.
for path in traj.extxyz traj.lammpstrj traj.nc traj.xtc; do
    "$target/debug/md-cli" run configs/quickstart.toml --quiet --steps 100 --set "output.trajectory.path=$path" --output "$output/run"
    mkdir -p "$output/out/quickstart"
    mv "$output/run/$path" "$output/run/thermo.csv" "$output/out/quickstart/"
done
(cd "$output" && "$venv/bin/python" "$OLDPWD/scripts/check_guide.py" "$OLDPWD/docs/guide/ovito.md" out/quickstart)
