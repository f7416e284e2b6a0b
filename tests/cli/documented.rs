//! The command lines of the documentation: the program accepts them, and their files and targets
//! exist.

use std::path::{Path, PathBuf};

use clap::Parser;
use md_cli::args::{Cli, Command};
use md_cli::grid_inputs::AnyInputs;

use crate::support::{repository, text_of};

/// Possible beginnings of a line that calls the program.
const LAUNCHERS: [&str; 5] = ["md-cli", "mpirun", "srun", "scripts/mpirun.sh", "scripts/nodes.sh"];
/// Parts of a code span that show that it is a call, such as `make soak` or `cargo run --example
/// embed`.
const CALLS: [&str; 3] = ["configs/", "--example ", "make "];

fn pages_in(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let pages = files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "md"));
    pages.chain(folders.iter().flat_map(|folder| pages_in(folder))).collect()
}

/// Returns the lines of code blocks, and the calls in the text.
fn lines(page: &str) -> Vec<String> {
    let page = page.replace("\\\n", " ");
    let mut lines = Vec::new();
    for (number, part) in page.split("\n```").enumerate() {
        if number % 2 == 1 {
            lines.extend(part.lines().skip(1).map(str::to_owned));
        } else {
            let spans = part.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " "));
            lines.extend(spans.filter(|span| CALLS.iter().any(|call| span.contains(call))));
        }
    }
    lines
}

fn expect(what: &str, is_there: bool) -> Result<(), String> {
    if is_there { Ok(()) } else { Err(format!("there is no {what}")) }
}

/// Checks a line. Returns whether it calls the program.
fn check(line: &str) -> Result<bool, String> {
    let words: Vec<&str> =
        line.split_whitespace().take_while(|word| !word.starts_with('#') && *word != ">").collect();
    match words[..] {
        ["make", target, ..] => {
            expect(target, text_of(&repository("Makefile")).contains(&format!("\n{target}:")))?;
        }
        ["cargo", .., "--example", name] => {
            expect(name, repository(&format!("examples/{name}.rs")).exists())?;
        }
        [script, ..] if script.starts_with("scripts/") => expect(script, repository(script).exists())?,
        _ => (),
    }
    let is_program = |word: &&str| word.rsplit('/').next() == Some("md-cli");
    let is_call = words.first().is_some_and(|first| LAUNCHERS.contains(first) || is_program(first));
    let Some(place) = words.iter().position(|word| is_call && is_program(word)) else { return Ok(false) };
    let cli = match Cli::try_parse_from(&words[place..]) {
        Ok(cli) => cli,
        Err(help) if !help.use_stderr() => return Ok(true),
        Err(error) => return Err(error.to_string()),
    };
    let args = match cli.command {
        Command::Run(args) => args.scenario(),
        Command::Check(args) => args.scenario(),
        Command::Stencil(args) | Command::Lbm(args) => args.scenario(),
        Command::Forces(args) => args.scenario,
        Command::Minimise(args) => args.scenario,
        Command::Compare(args) => args.scenario,
        Command::Predict(args) => args.scenario,
        Command::Partition(args) => args.scenario,
        Command::Sweep(args) => args.scenario(),
        Command::Analyse(_)
        | Command::Backends
        | Command::Bench(_)
        | Command::Completions(_)
        | Command::Fit(_)
        | Command::FromLammps(_)
        | Command::Inspect(_)
        | Command::Man(_)
        | Command::Plot(_)
        | Command::Schema(_)
        | Command::TraceSummary(_) => {
            return Ok(true);
        }
    };
    AnyInputs::read_file(&args).map(|_| true).map_err(|error| error.to_string())
}

#[test]
fn every_command_line_of_the_documentation_is_taken() {
    let mut pages = pages_in(&repository("docs"));
    pages.extend(["README.md", "benches/README.md"].map(repository));
    let mut calls = 0;
    for page in pages {
        // Scenarios that an earlier line has created.
        let mut made = Vec::new();
        for line in lines(&text_of(&page)) {
            made.extend(line.split_once(" > ").map(|(_, file)| file.trim().to_owned()));
            if line
                .split_whitespace()
                .any(|word| made.iter().any(|file| file == word) && !line.contains(" > "))
            {
                continue;
            }
            let is_call = check(&line).unwrap_or_else(|why| panic!("{}: `{line}`: {why}", page.display()));
            calls += usize::from(is_call);
        }
    }
    assert!(calls >= 20, "only {calls} were found");
}

#[test]
fn what_is_wrong_in_a_command_line_is_found() {
    for (line, why) in [
        ("scripts/mpirun.sh 2 target/release/md-cli run configs/none.toml", "configs/none.toml"),
        ("md-cli run configs/lj-melt.toml --sset a=1  # one rank", "unexpected argument '--sset'"),
        ("md-cli run configs/lj-melt.toml --set parallel.shel=full", "unknown key `shel` in [parallel]"),
        ("scripts/none.sh", "there is no scripts/none.sh"),
        ("cargo run --release --example none", "there is no none"),
        ("make none", "there is no none"),
    ] {
        let said = check(line).unwrap_err();
        assert!(said.contains(why), "{line}: {said}");
    }
}
