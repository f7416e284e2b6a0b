//! `[integrator]` and `[[stage]]`
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use insta::assert_snapshot;
use md_cli::scenario::load;

use crate::scenario_common::{MELT, source};

/// Returns the key path and the first line of the error after an override.
fn said(change: &str) -> String {
    let error = load(&source(MELT, &[change])).unwrap_err();
    format!("{}: {}", error.key_path(), error.render().lines().next().unwrap_or_default().trim())
}

#[test]
fn keys_of_thermostats_that_cannot_be() {
    let cases = [
        "integrator={kind=\"langevin\",temperature=1.0}",
        "integrator={kind=\"langevin\",temperature=-1.0,friction=1.0}",
        "integrator={kind=\"langevin\",temperature=1.0,friction=0.0}",
        "integrator={kind=\"csvr\",temperature={from=1.0},relaxation=0.5}",
        "integrator={kind=\"csvr\",temperature={from=1.0,to=inf},relaxation=0.5}",
        "integrator={kind=\"csvr\",temperature=1.0,relaxation=0.5,every=0}",
        "integrator={kind=\"nose-hoover\",temperature=1.0,relaxation=0.5,chain=21}",
        "integrator={kind=\"rescale\",temperature=1.0,relaxation=0.5}",
        "integrator={kind=\"fire\",force_tolerance=0.0}",
    ];
    let texts: Vec<String> = cases.into_iter().map(said).collect();
    assert_snapshot!(texts.join("\n"), @r"
    integrator.friction: × missing key `friction` in [integrator]
    integrator.temperature: × `integrator.temperature` must be a finite number of at least 0, found -1.0
    integrator.friction: × `integrator.friction` must be a finite number above 0, found 0.0
    integrator.temperature.to: × missing key `to` in [integrator.temperature]
    integrator.temperature.to: × `integrator.temperature.to` must be a finite number of at least 0, found inf
    integrator.every: × `integrator.every` must be at least 1, found 0
    integrator.chain: × `integrator.chain` must be from 1 to 20, found 21
    integrator.relaxation: × unknown key `relaxation` in [integrator] of kind `rescale`
    integrator.force_tolerance: × `integrator.force_tolerance` must be a finite number above 0, found 0.0
    ");
}

#[test]
fn keys_of_barostats_that_cannot_be() {
    let barostat = |thermostat: &str, keys: &str| {
        said(&format!("integrator={{{thermostat}barostat={{kind=\"stochastic-cell-rescaling\",{keys}}}}}"))
    };
    let csvr = "kind=\"csvr\",temperature=1.0,relaxation=0.5,";
    let texts = [
        barostat("", "pressure=1.0,relaxation=1.0"),
        barostat(csvr, "relaxation=1.0"),
        barostat(csvr, "pressure=inf,relaxation=1.0"),
        barostat(csvr, "pressure=1.0,relaxation=0.0"),
        barostat(csvr, "pressure=1.0,relaxation=1.0,compressibility=-0.1"),
        barostat(csvr, "pressure=-1e300,relaxation=1.0"),
        barostat(csvr, "pressure=1.0,relaxation=1.0,compressibility=1e300"),
        barostat(csvr, "pressure=1.0,relaxation=1e-300"),
        barostat(csvr, "pressure=1.0,relaxation=0.04,every=10"),
        barostat(csvr, "pressure=1.0,relaxation=1.0,axes=[\"x\",\"z\",\"x\"]"),
        barostat(csvr, "pressure=1.0,relaxation=1.0,axes=[]"),
        barostat(csvr, "pressure=1.0,relaxation=1.0,axes=[\"z\",\"w\"]"),
        barostat(csvr, "pressure=1.0,relaxation=1.0,axes=\"zy\""),
        barostat(csvr, "pressure=1.0,relaxation=1.0,axes=3"),
        said(
            "stage=[{steps=1000,integrator={kind=\"csvr\",temperature=1.0,relaxation=0.5,barostat={kind=\"berendsen\",pressure=1.0,relaxation=1e-3}}}]",
        ),
    ];
    assert_snapshot!(texts.join("\n"), @r#"
    integrator.barostat.kind: × `integrator.barostat.kind` needs an integrator with a temperature to be `stochastic-cell-
    integrator.barostat.pressure: × missing key `pressure` in [integrator.barostat]
    integrator.barostat.pressure: × `integrator.barostat.pressure` must be a finite number, found inf
    integrator.barostat.relaxation: × `integrator.barostat.relaxation` must be a finite number above 0, found 0.0
    integrator.barostat.compressibility: × `integrator.barostat.compressibility` must be a finite number above 0, found -0.1
    integrator.barostat.pressure: × `integrator.barostat.pressure` is -1e300, but must be of a size from 1e-100 to 1e100, so that
    integrator.barostat.compressibility: × `integrator.barostat.compressibility` is 1e300, but must be of a size from 1e-100 to 1e100, so
    integrator.barostat.relaxation: × `integrator.barostat.relaxation` is 1e-300, shorter than the 0.005 between two changes of the
    integrator.barostat.relaxation: × `integrator.barostat.relaxation` is 0.04, shorter than the 0.05 between two changes of the box
    integrator.barostat.axes: × `integrator.barostat.axes` names x more than once
    integrator.barostat.axes: × `integrator.barostat.axes` names no axis
    integrator.barostat.axes[1]: × `integrator.barostat.axes[1]` cannot be "w"
    integrator.barostat.axes: × `integrator.barostat.axes` cannot be "zy"
    integrator.barostat.axes: × `integrator.barostat.axes` must be a name or an array of names, found the integer 3
    stage[0].integrator.barostat.relaxation: × `stage[0].integrator.barostat.relaxation` is 0.001, shorter than the 0.005 between two changes
    "#);
}

#[test]
fn stages_that_contradict_the_rest() {
    let texts = [
        said("stage=[{steps=10}]"),
        said("stage=[{steps=1000,integrator={kind=\"csvr\",temperature=1.0,relaxation=-1.0}}]"),
        said("stage=[{steps=0}]"),
        said("stage=[{steps=9223372036854775807},{steps=9223372036854775807},{steps=9223372036854775807}]"),
    ];
    assert_snapshot!(texts.join("\n"), @r"
    simulation.steps: × `simulation.steps` is 1000, but the stages have 10 steps
    stage[0].integrator.relaxation: × `stage[0].integrator.relaxation` must be a finite number above 0, found -1.0
    stage[0].steps: × `stage[0].steps` must be at least 1, found 0
    stage: × the stages have more than 9223372036854775807 steps together
    ");
    let text = MELT.replace("steps = 1000\n", "") + "[[stage]]\nsteps = 30\n[[stage]]\nsteps = 12\n";
    let scenario = load(&source(&text, &[])).unwrap();
    assert_eq!((scenario.simulation.steps, scenario.stages().len()), (42, 2));
    let without = load(&source(&text, &["stage=[]"])).unwrap_err();
    assert_eq!(
        (without.key_path(), without.message()),
        ("simulation.steps", "missing key `steps` in [simulation]")
    );
}
