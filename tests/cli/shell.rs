//! `md-cli completions` and `man`: how shells and man process their output.

use std::process::Command;

use clap::CommandFactory;
use md_cli::args::Cli;

use crate::support::{MELT, Start, Workdir, launch};

fn commands() -> Vec<String> {
    Cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

#[test]
fn completions_know_every_command() {
    let workdir = Workdir::new(MELT);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let said = workdir.call(Start::Plain, &format!("completions {shell}"));
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{shell}");
        let missing: Vec<_> = commands().into_iter().filter(|name| !said.stdout.contains(name)).collect();
        assert!(missing.is_empty(), "{shell}: {missing:?}");
        workdir.write(&format!("{shell}.sh"), &said.stdout);
    }
    // The completions of bash after `md-cli trace-`, and after `run --wall`.
    let mut bash = Command::new("bash");
    bash.current_dir(workdir.path(".")).args([
        "-ec",
        "bash -n bash.sh; . ./bash.sh; offers=$(complete -p md-cli | sed 's/.* -F \\([^ ]*\\) .*/\\1/'); try() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
         $offers md-cli \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"; echo \"${COMPREPLY[@]}\"; }; \
         try md-cli trace-; try md-cli run --wall",
    ]);
    let ended = launch::run_with_timeout(bash, std::time::Duration::from_secs(60));
    assert_eq!(ended.map(|ended| ended.stdout).ok().as_deref(), Some("trace-summary\n--wall-time\n"));
    let said = workdir.call(Start::Plain, "completions csh");
    assert!(said.code == Some(2) && said.stderr.contains("invalid value 'csh'"), "{said:?}");
}

#[test]
fn pages_for_man() {
    let workdir = Workdir::new(MELT);
    let whole = workdir.call(Start::Plain, "man");
    assert_eq!(whole.code, Some(0), "{whole:?}");
    assert!(whole.stdout.contains(".TH md-cli 1"), "{}", whole.stdout);
    for name in commands() {
        let page = workdir.call(Start::Plain, &format!("man {name}"));
        // roff treats a bare hyphen as a soft one.
        let escaped = name.replace('-', "\\-");
        assert!(whole.stdout.contains(&format!("md\\-cli\\-{escaped}")), "{name}: {}", whole.stdout);
        assert!(page.code == Some(0) && page.stdout.contains(".SH SYNOPSIS"), "{name}: {page:?}");
    }
    let page = workdir.call(Start::Plain, "man run").stdout;
    assert!(page.contains(".TH md-cli-run 1") && page.contains("\\-\\-wall\\-time"), "{page}");
    let said = workdir.call(Start::Plain, "man minimize");
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("there is no command `minimize`: did you mean `minimise`?"), "{said:?}");
}
