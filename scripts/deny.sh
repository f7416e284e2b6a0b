#!/usr/bin/env bash
# Licences, sources and known vulnerabilities of all dependencies, by cargo-deny (deny.toml). Installs it where it is
# missing. The database of vulnerabilities is fetched from GitHub; where that cannot be reached, this is said and the rest
# is checked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools=$(realpath -m "${CARGO_TARGET_DIR:-target}/tools")
export PATH="$PATH:$tools/bin"
# It runs for a second: optimising it would take longer than it ever gives back.
command -v cargo-deny >/dev/null || cargo install cargo-deny --locked --debug --root "$tools"

if cargo deny fetch db >/dev/null 2>&1; then
    exec cargo deny check
fi
echo "deny: the database of vulnerabilities cannot be fetched from GitHub: ADVISORIES ARE NOT CHECKED" >&2
exec cargo deny check licenses bans sources
