//! `make deny` where the database of vulnerabilities cannot be fetched: only a machine without
//! network passes, with a message about what is missing.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use crate::support::repository;

/// Script in place of cargo, with exit codes for a fetch and for a whole check.
const CARGO: &str = "#!/bin/sh\necho \"$*\"\ntest \"$2\" != fetch || exit FETCH\ntest \"$*\" != \"deny check\" || exit CHECK\n";
const WITHOUT_NETWORK: &str = "echo \"fatal: unable to access 'https://github.com/rustsec/advisory-db/': \
    Could not resolve host: github.com\" >&2; exit 128";
const WITH_ERROR: &str = "echo \"fatal: unable to access 'https://github.com/rustsec/advisory-db/': \
    The requested URL returned error: 503\" >&2; exit 128";
const WARNING: &str = "\
********************************************************************************
deny: warning: ADVISORIES ARE NOT CHECKED: there is no network to
https://github.com/rustsec/advisory-db
Known vulnerabilities of dependencies pass unseen. Run `make deny` with network.
********************************************************************************
";
const ERROR: &str =
    "deny: error: https://github.com/rustsec/advisory-db can be reached, but not fetched; see above\n";

/// Runs the script with a cargo that has these exit codes, and with this git.
fn deny(fetch: u8, check: u8, git: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let cargo = CARGO.replace("FETCH", &fetch.to_string()).replace("CHECK", &check.to_string());
    for (name, text) in
        [("cargo", cargo.clone()), ("cargo-deny", cargo), ("git", format!("#!/bin/sh\n{git}\n"))]
    {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    Command::new(repository("scripts/deny.sh")).env("PATH", path).output().unwrap()
}

#[test]
fn vulnerabilities_are_left_unchecked_only_without_network() {
    let all = "deny fetch db\ndeny check\n";
    let rest = "deny fetch db\ndeny check licenses bans sources\n";
    for (fetch, check, git, code, stdout, stderr) in [
        (0, 0, "exit 1", 0, all, ""),
        (0, 4, "exit 1", 4, all, ""),
        (1, 0, WITHOUT_NETWORK, 0, rest, WARNING),
        (1, 0, "exit 0", 1, "deny fetch db\n", ERROR),
        (1, 0, WITH_ERROR, 1, "deny fetch db\n", ERROR),
    ] {
        let ended = deny(fetch, check, git);
        assert_eq!(String::from_utf8_lossy(&ended.stdout), stdout, "{git}");
        assert_eq!(String::from_utf8_lossy(&ended.stderr), stderr, "{git}");
        assert_eq!(ended.status.code(), Some(code), "{git}");
    }
}
