//! Boxes that barostats make too small, too large or too thin: there is an early warning, and a run
//! that must end is ended with complete files and a checkpoint.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use crate::support::{Start, Workdir, p2p_available};
use serde_json::Value;

/// Returns a scenario with this source of particles, this integrator and these outputs.
fn scenario(particles: &str, integrator: &str, rest: &str) -> Workdir {
    Workdir::new(&format!(
        "[simulation]\nsteps = 3000\ntimestep = 0.004\nseed = 3\n[system]\n{particles}\ntemperature = 1.0\n\
         [integrator]\nkind = \"csvr\"\ntemperature = 1.0\nrelaxation = 0.1\n{integrator}\n[output]\nthermo = {{ every = 20 }}\n{rest}"
    ))
}

const LIQUID: &str = "lattice = { kind = \"fcc\", density = 0.8442, cells = [4, 4, 4] }";
const GAS: &str = "gas = { atoms = 12, box = [9.0, 9.0, 9.0] }";

fn barostat(keys: &str) -> String {
    format!("barostat = {{ kind = \"berendsen\", relaxation = 0.5, compressibility = 1.0, {keys} }}")
}

/// Runs until the box ends the run, and checks that all files are complete. Returns the output and
/// the last step.
fn ends(workdir: &Workdir, start: Start) -> (String, u64) {
    let said = workdir.call(start, "run melt.toml --quiet");
    assert_eq!(said.code, Some(1), "{start:?}: {said:?}");
    let summary: Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    let done = summary["steps"].as_u64().unwrap();
    assert_eq!(summary["ended"], "box");
    assert!(workdir.files("out").contains(&format!("checkpoint-{done}.mdc")), "{start:?}");
    let thermo = workdir.read("out/thermo.csv");
    let mut numbers = thermo.lines().skip(1).flat_map(|row| row.split(','));
    assert!(numbers.all(|number| number.parse::<f64>().unwrap().is_finite()), "{thermo}");
    assert_eq!(thermo.lines().last().unwrap().split(',').next(), Some(&*done.to_string()));
    let head = format!(
        "error: ended after {done} of 3000 steps, since the barostat asks for a box in which the run cannot go on: "
    );
    assert!(said.stderr.contains(&head), "{start:?}: {}", said.stderr);
    (said.stderr, done)
}

/// Returns the warnings about the box, in order, and then the reason for the end, without numbers.
fn story(stderr: &str) -> Vec<String> {
    let digits = |text: &str| text.replace(|letter: char| letter.is_ascii_digit() || letter == '.', "");
    let is_told = |line: &&str| line.starts_with("warning: step") || line.starts_with("error: ");
    stderr.lines().filter(is_told).map(digits).collect()
}

fn expect(stderr: &str, warnings: &[&str], problem: &str) {
    let story = story(stderr);
    let [before @ .., error] = &story[..] else { panic!("{stderr}") };
    for (found, expected) in before.iter().zip(warnings) {
        assert!(found.contains(expected), "{found}\nnot: {expected}");
    }
    assert_eq!(before.len(), warnings.len(), "{stderr}");
    assert!(error.contains(problem), "{error}\nnot: {problem}");
}

const GROWN: &str = "the barostat, with a `pressure` of -, has made the box  times as large as it was at first: no gas has such a pressure, so that \
                     what has boiled away expands without end";

#[test]
fn a_liquid_that_boils_away_is_warned_of_and_ends() {
    let workdir = scenario(LIQUID, &barostat("pressure = -30.0, every = 1"), "");
    let ahead =
        "the run will end if the box grows by another  % of a length, because then the box reaches to x";
    for start in [Start::Threads(1), Start::Threads(2)] {
        let (stderr, _) = ends(&workdir, start);
        expect(
            &stderr,
            &[GROWN, ahead],
            "the box reaches to x = , beyond e cutoffs of : coordinates there have too few digits",
        );
    }
    // The files are complete: the run resumes from them, and ends again.
    let said = workdir.call(Start::Threads(1), "run melt.toml --quiet --resume out");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("beyond 1e9 cutoffs"), "{said:?}");
}

#[test]
fn a_gas_becomes_as_thin_as_its_pressure_without_a_warning() {
    let workdir = scenario(GAS, &barostat("pressure = 0.002"), "");
    let said = workdir.succeed(Start::Threads(1), "run melt.toml --quiet --steps 400");
    assert!(!said.stderr.contains("warning: step"), "{}", said.stderr);
}

#[test]
fn a_box_shorter_than_twice_the_largest_distance_ends_a_run_in_order() {
    let workdir = scenario(
        GAS,
        &barostat("pressure = 2.0, axes = \"xyz\""),
        "rdf = { every = 10, bins = 30, max = 3.5 }\n",
    );
    let ahead = "the run will end if the box shrinks by another  % of a length, because then `outputrdfmax` is , but half the shortest periodic side \
                 of the box is ";
    let mut starts = vec![Start::Threads(1), Start::Threads(2)];
    if p2p_available() {
        starts.push(Start::Mpirun(2));
    }
    for start in starts {
        let (stderr, _) = ends(&workdir, start);
        expect(&stderr, &[ahead], "`outputrdfmax` is , but half the shortest periodic side of the box is ");
        assert!(workdir.read("out/rdf.csv").lines().count() == 31);
    }
}

/// The distances are those of a later stage.
#[test]
fn outputs_of_stages_to_come_need_the_box_too() {
    let stages = "[[stage]]\nname = \"shrink\"\nsteps = 1500\n[[stage]]\nname = \"look\"\nsteps = 1500\nintegrator = { kind = \"velocity-verlet\" }\n\
                  output = { rdf = { every = 10, max = 3.5 } }\n";
    let workdir = scenario(GAS, &barostat("pressure = 2.0"), stages);
    workdir.write("melt.toml", &workdir.read("melt.toml").replace("steps = 3000\n", ""));
    let (stderr, done) = ends(&workdir, Start::Threads(1));
    assert!(done < 1500, "{done}");
    expect(&stderr, &["if the box shrinks"], "outputs of stage `look`: `outputrdfmax` is ");
}

#[test]
fn a_box_too_small_for_the_cutoff_or_the_ranks_ends_a_run_in_order() {
    let workdir = scenario(GAS, &barostat("pressure = 2.0"), "");
    for (start, problem) in [
        (
            Start::Threads(1),
            "the box is  long in x, shorter than cutoff + skin = ; one layer of periodic images cannot hold",
        ),
        (Start::Threads(2), "the box is too thin for the ranks"),
    ] {
        let (stderr, _) = ends(&workdir, start);
        expect(
            &stderr,
            &[&format!(
                "the run will end if the box shrinks by another  % of a length, because then {problem}"
            )],
            problem,
        );
    }
}

#[test]
fn a_box_too_large_for_a_format_or_for_mixed_precision_ends_a_run_in_order() {
    let workdir = scenario(
        GAS,
        &barostat("pressure = -9.0, every = 1"),
        "trajectory = { path = \"t.xtc\", every = 50 }\n",
    );
    let (stderr, _) = ends(&workdir, Start::Threads(1));
    let held = "a trajectory `xtc` holds coordinates up to , but the box is  long";
    expect(
        &stderr,
        &[
            GROWN,
            &format!("the run will end if the box grows by another  % of a length, because then {held}"),
        ],
        held,
    );
    let workdir =
        scenario(GAS, &barostat("pressure = -9.0, every = 1"), "[neighbor]\nprecision = \"mixed\"\n");
    let (stderr, _) = ends(&workdir, Start::Threads(2));
    let lost = "mixed precision would lose digits: so few particles in so large a box that cells are  long";
    expect(
        &stderr,
        &[
            GROWN,
            &format!("the run will end if the box grows by another  % of a length, because then {lost}"),
        ],
        lost,
    );
}

/// A pressure that no liquid has. The run ends before particles are lost.
#[test]
fn a_box_that_is_pressed_together_too_fast_ends_a_run_in_order() {
    // Long enough for two ranks until the end.
    let long = LIQUID.replace("[4, 4, 4]", "[8, 4, 4]");
    let workdir = scenario(&long, &barostat("pressure = 1e6, every = 1"), "");
    for start in [Start::Threads(1), Start::Threads(2)] {
        let (stderr, _) = ends(&workdir, start);
        assert!(
            stderr.contains(
                "the box shrinks by 5 % at a time and has brought particles so close that a force of"
            ),
            "{stderr}"
        );
    }
}

/// Convergence would not depend on the pressure.
#[test]
fn a_minimisation_has_no_barostat() {
    let workdir = Workdir::new(
        "[simulation]\nsteps = 200\n[system]\nlattice = { kind = \"fcc\", density = 0.8442, cells = [4, 4, 4] }\n\
         temperature = 0.0\n[integrator]\nkind = \"fire\"\nbarostat = { kind = \"berendsen\", pressure = 5.0, relaxation = 1.0 }\n",
    );
    let said = workdir.call(Start::Threads(1), "run melt.toml --quiet");
    assert_eq!(said.code, Some(2), "{said:?}");
    let expected = "`integrator.barostat` cannot be beside `fire`, which ends when forces are small, whatever the pressure";
    let text = said.stderr.replace("\n  │ ", " ");
    assert!(text.contains(expected), "{text}");
}
