//! `parallel.protocol`

use crate::scenario_common::error_with;

/// Returns the refusal of these settings of a scenario with method `cells`.
fn refusal(protocol: &str, settings: &[&str]) -> String {
    let protocol = format!("parallel.protocol={protocol}");
    let stripe =
        if protocol.ends_with("simple") { "parallel.partition=stripe" } else { "parallel.partition=rect" };
    let base = ["neighbor.method=cells", stripe, &protocol];
    let all: Vec<&str> = base.into_iter().chain(settings.iter().copied()).collect();
    let said = error_with(&all);
    let lines = said.lines().map(str::trim).filter(|line| line.starts_with(['×', 'h']));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_does_not_go_with_a_protocol_is_told_with_what_would() {
    for (protocol, setting, said) in [
        (
            "dist",
            "neighbor.method=clusters",
            "× protocol `dist` takes no method `clusters`\nhelp: write `method = \"cells\"`, or `protocol = \"one\"`",
        ),
        (
            "simple",
            "parallel.partition=rcb",
            "× protocol `simple` takes no partition `rcb`\nhelp: write `partition = \"stripe\"`, or `protocol = \"one\"`",
        ),
        (
            "dist",
            "parallel.shell=full",
            "× protocol `dist` takes no shell `full`\nhelp: write `shell = \"half\"`, or `protocol = \"one\"`",
        ),
        (
            "dist",
            "parallel.exchange=staged",
            "× protocol `dist` takes no exchange `staged`\nhelp: write `exchange = \"direct\"`, or `protocol = \"one\"`",
        ),
        (
            "dist",
            "parallel.threads=2",
            "× protocol `dist` takes no 2 threads\nhelp: write `threads = 1`, or `protocol = \"one\"`",
        ),
        (
            "dist",
            "parallel.overlap=false",
            "× protocol `dist` knows no `overlap`: messages are sent between computations\nhelp: leave it out",
        ),
        (
            "simple",
            "parallel.second_share=0.25",
            "× protocol `simple` knows no `second_share`: messages are sent between computations\nhelp: leave it out",
        ),
        (
            "simple",
            "parallel.balance.every=50",
            "× protocol `simple` keeps its rows: the work is not balanced\nhelp: leave it out, or use `protocol = \"dist\"`",
        ),
    ] {
        assert_eq!(refusal(protocol, &[setting]), said, "{setting}");
    }
}
