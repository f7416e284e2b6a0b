//! The commands of the guide's pages on physics run, with fewer steps, and write the files that the
//! pages describe.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use serde_json::Value;

use crate::support::{Start, Workdir, repository, text_of};

/// Runs the command of a page, shortened by these options, and returns summary.json. `start` is set
/// to count from step 0.
fn run_page(page: &str, options: &str) -> (Workdir, Value) {
    let text = text_of(&repository(&format!("docs/guide/{page}.md")));
    let command = text.lines().find(|line| line.starts_with("md-cli run ")).unwrap();
    let scenario = command.trim_start_matches("md-cli run ");
    let workdir = Workdir::new(&text_of(&repository(scenario)));
    workdir.succeed(Start::Threads(2), &format!("run melt.toml --quiet --output out {options}"));
    let summary = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    (workdir, summary)
}

#[test]
fn diffusion() {
    let options =
        "--steps 300 --set output.averages.start=100 --set output.rdf.start=100 --set output.msd.start=100";
    let (workdir, summary) = run_page("diffusion", options);
    assert_eq!(summary["averages"]["rows"], 5);
    let temperature = &summary["averages"]["temperature"];
    assert!(
        temperature["mean"].as_f64().unwrap() > 0.5 && temperature["standard_error"].as_f64().unwrap() > 0.0
    );
    assert!(summary["diffusion"]["A"]["coefficient"].as_f64().unwrap() > 0.0, "{}", summary["diffusion"]);
    // Beyond the first peak, close to the 12 neighbours of the page, although the liquid is still
    // hot.
    let rdf = workdir.read("out/rdf.csv");
    let row = rdf.lines().nth(1 + 62).unwrap();
    let fields: Vec<f64> = row.split(',').map(|field| field.parse().unwrap()).collect();
    assert!((fields[0] - 1.5625).abs() < 1e-12 && (11.0..14.0).contains(&fields[2]), "{row}");
}

#[test]
fn slab() {
    let options = "--steps 60 --set output.averages.start=20";
    let (_, summary) = run_page("slab", options);
    assert_eq!(summary["averages"]["rows"], 5);
    let tension = &summary["surface_tension"];
    assert!(tension["mean"].is_f64() && tension["standard_error"].as_f64().unwrap() > 0.0, "{tension}");
}

/// No site of a region lies on the periodic image of another.
#[test]
fn regions() {
    let page = text_of(&repository("docs/guide/scenarios.md"));
    let from = page.find("[system.regions]").unwrap();
    let block = &page[from..from + page[from..].find("```").unwrap()];
    let workdir = Workdir::new(&format!(
        "[simulation]\nsteps = 20\n[[species]]\nname = \"A\"\n[[species]]\nname = \"B\"\n[system]\ntemperature = 1.0\n\
         {block}[interaction]\ncutoff = 2.5\n"
    ));
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet --output out");
}
