//! Pages of the guide: every `md-cli` line of their shell blocks is run, in order, in a copy of the
//! files that they need.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::fs;
use std::process::Command;
use std::time::Duration;

use crate::support::{Workdir, as_from_a_terminal, launch, md_cli, repository, text_of};

/// Returns the lines of shell blocks of a page that call the program.
fn calls(page: &str) -> Vec<String> {
    let text = text_of(&repository(&format!("docs/guide/{page}.md")));
    let blocks = text.split("```sh\n").skip(1).filter_map(|block| block.split("```").next());
    let lines = blocks.flat_map(str::lines).map(str::to_owned);
    lines.filter(|line| line.split_whitespace().next().is_some_and(|word| word.ends_with("md-cli"))).collect()
}

/// Runs the `expected` lines of a page. `shorten` is added to each call of `run`.
fn carry_out(page: &str, expected: usize, shorten: &str, files: &[(&str, String)]) -> Workdir {
    let workdir = Workdir::new("");
    fs::create_dir(workdir.path("configs")).unwrap();
    for config in fs::read_dir(repository("configs")).unwrap() {
        let config = config.unwrap();
        fs::copy(config.path(), workdir.path("configs").join(config.file_name())).unwrap();
    }
    files.iter().for_each(|(name, text)| workdir.write(name, text));
    let calls = calls(page);
    assert_eq!(calls.len(), expected, "{calls:?}");
    for line in calls {
        let (program, rest) = line.split_once(' ').unwrap();
        assert!(program.ends_with("md-cli"));
        let rest = rest.split(" #").next().unwrap().replace("--steps 2000", "--steps 200");
        // Options must precede a redirection.
        let (rest, file) =
            rest.split_once(" > ").map_or((rest.as_str(), None), |(rest, file)| (rest, Some(file)));
        let shorten = if rest.starts_with("run ") { shorten } else { "" };
        let redirected = file.map_or_else(String::new, |file| format!("> {file}"));
        let mut command: Command = as_from_a_terminal("bash");
        command.current_dir(workdir.path(".")).env("md", md_cli());
        command.args(["-c", &format!("$md {rest} {shorten} {redirected}")]);
        let ended = launch::run_with_timeout(command, Duration::from_secs(100)).unwrap();
        assert!(ended.succeeded(), "{line}: {ended:?}");
    }
    workdir
}

const ALONE: &str = "--set parallel.backend=local --quiet";

#[test]
fn a_liquid_at_a_temperature() {
    let workdir = carry_out("liquid", 3, ALONE, &[]);
    let thermo = workdir.read("out/denser/thermo.csv");
    assert_eq!(thermo.lines().count(), 4, "steps 0, 100, 200");
    assert!(workdir.read("out/minimised/minimised.extxyz").starts_with("864\n"));
    let summary: serde_json::Value =
        serde_json::from_str(&workdir.read("out/minimised/summary.json")).unwrap();
    assert_eq!(summary["converged"], true);
    assert!(summary["steps"].as_u64().unwrap() > 10, "it moves particles: {}", summary["steps"]);
}

#[test]
fn stop_and_go_on() {
    let workdir = carry_out("restart", 3, &format!("{ALONE} --set system.lattice.cells=[8,8,8]"), &[]);
    assert!(workdir.files("out/lj-melt").contains(&"checkpoint-200.mdc".to_owned()));
}

#[test]
fn from_lammps() {
    let script = "units lj\nlattice fcc 0.8442\nregion box block 0 6 0 6 0 6\ncreate_box 1 box\ncreate_atoms 1 box\n\
                  mass 1 1.0\nvelocity all create 1.44 87287\npair_style lj/cut 2.5\npair_coeff 1 1 1.0 1.0\nfix 1 all nve\nrun 20\n";
    let workdir = carry_out("from-lammps", 2, ALONE, &[("in.melt", script.to_owned())]);
    assert!(workdir.read("out/thermo.csv").lines().count() >= 2);
}

/// The page also leaves out steps in which the crystal melts, but this test leaves out fewer.
#[test]
fn diffusion() {
    let starts =
        ["averages", "rdf", "msd"].map(|output| format!("--set output.{output}.start=100")).join(" ");
    let workdir = carry_out("diffusion", 3, &format!("{ALONE} --steps 900 {starts}"), &[]);
    let summary = workdir.read("out/diffusion/analysis/summary.json");
    assert!(summary.contains("\"first_step\": 0") && summary.contains("\"last_step\": 900"), "{summary}");
    let rows = workdir.read("out/diffusion/analysis/msd.csv").lines().count();
    assert_eq!(rows, 1 + 9, "steps 100 to 900");
}
