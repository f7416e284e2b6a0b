//! Fuzz tests of scenarios, overrides, particle files, trajectories, checkpoints, LAMMPS scripts,
//! machines, timelines and tables: nothing panics or hangs; a refusal names its key or line; an
//! accepted case is run, with the forces of the direct sum, or yields numbers that times can have.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `MD_FUZZ_CASES` | number of cases (2000) |
//! | `MD_FUZZ_SECONDS` | continue for this time, with new seeds |
//! | `MD_FUZZ_SEED` | the first seed (1) |
//!
//! A case that fails is made smaller and written to `proptest-regressions/`, from where it is tried
//! first the next time; texts that once caused a problem are in `corpus/`.

#![expect(clippy::expect_used, clippy::print_stdout, reason = "this is a test, which says how fast it was")]

mod balancings;
mod beside_lammps;
mod binary;
mod boxes;
mod case;
mod checkpoints;
mod files;
mod grids;
mod images;
mod netcdf;
mod predictions;
mod scenarios;
mod scripts;
mod tables;
mod timelines;
mod xtc;

use std::fmt::Debug;
use std::path::Path;
use std::time::{Duration, Instant};

use case::{Case, Trial};
use checkpoints::{Changed, Place};
use files::{Features, Trajectory};
use md_cli::input::{InputError, Problem};
use md_core::Particle;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};

/// Returns a number from the environment.
fn variable(name: &str) -> Option<u64> {
    Some(std::env::var(name).ok()?.parse().unwrap_or_else(|_| panic!("{name} must be a number")))
}

/// Tries this share of all cases and prints how fast that was.
fn fuzz<S: Strategy, T: Trial>(name: &str, share: f64, strategy: S, case_of: impl Fn(&S::Value) -> T)
where
    S::Value: Debug,
{
    let cases = variable("MD_FUZZ_CASES").unwrap_or(2000) as f64 * share;
    let until = Duration::from_secs(variable("MD_FUZZ_SECONDS").unwrap_or(0));
    let begun = Instant::now();
    let (mut seed, mut tried) = (variable("MD_FUZZ_SEED").unwrap_or(1), 0);
    loop {
        let config = Config {
            cases: cases.ceil() as u32,
            rng_seed: RngSeed::Fixed(seed),
            source_file: Some(file!()),
            max_shrink_time: 60_000,
            ..Config::default()
        };
        tried += config.cases;
        let outcome = TestRunner::new(config)
            .run(&strategy, |value| case_of(&value).check().map_err(TestCaseError::fail));
        if let Err(error) = outcome {
            panic!("{name}, seed {seed}: {error}");
        }
        if begun.elapsed() >= until {
            break;
        }
        seed += 1;
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("{name}: {tried} cases in {seconds:.1} s, {:.0} per second", f64::from(tried) / seconds);
}

/// Defines a test of each kind of input, with its share of all cases.
macro_rules! kinds {
    ($($test:ident, $name:literal, $share:literal, $strategy:expr, $case:expr;)*) => {
        $(#[test]
        fn $test() {
            fuzz($name, $share, $strategy, $case);
        })*
    };
}

kinds! {
    scenarios, "scenarios", 0.3, scenarios::changed(), scenarios::Changed::case;
    overrides, "overrides", 0.15, scenarios::overridden(), scenarios::Overridden::case;
    particle_files, "particle files", 0.15, files::changed(), files::Changed::case;
    image_counts, "image counts", 0.1, images::files(), Clone::clone;
    trajectories, "trajectories", 0.1, files::trajectories(), Trajectory::case;
    compressed_particle_files, "compressed particle files", 0.05, files::compressed(), files::Compressed::case;
    scenarios_on_grids, "scenarios on grids", 0.1, grids::changed(), Clone::clone;
    masks_of_obstacles, "masks of obstacles", 0.05, grids::masks(), Clone::clone;
    netcdf_trajectories, "NetCDF trajectories", 0.1, netcdf::changed(), Clone::clone;
    xtc_trajectories, "XTC trajectories", 0.1, xtc::changed(), Clone::clone;
    checkpoints, "checkpoints", 0.1, checkpoints::changed(), Clone::clone;
    checkpoints_of_grids, "checkpoints of grids", 0.05, checkpoints::changed_on_grids(), Clone::clone;
    tables_of_balancings, "tables of balancings", 0.05, balancings::changed(), Clone::clone;
    machines, "machines", 0.05, predictions::changed(), predictions::Changed::case;
    runaway_boxes, "boxes that run away", 0.05, boxes::hostile(), Clone::clone;
    timelines, "timelines", 0.1, timelines::changed(), Clone::clone;
    lammps_scripts, "LAMMPS scripts", 0.1, scripts::damaged(), Clone::clone;
    tables_of_sweeps, "tables of sweeps", 0.05, tables::changed(), Clone::clone;
}

#[test]
fn unchanged_checkpoints_are_gone_on_from() {
    for valid in checkpoints::valid() {
        assert_eq!(valid.goes_on(), Ok(Ok(())), "{valid:?}");
    }
}

/// The checksums are right and the numbers are wrong: each refusal states which.
#[test]
fn numbers_of_a_checkpoint_that_no_run_has_are_refused() {
    let (nan, far) = (f64::NAN.to_bits(), 1e300_f64.to_bits());
    for (place, word, text) in [
        (Place::Index(0), 8, "it is damaged: 256 rows of rank 0 do not fit at byte 8"),
        (
            Place::Index(1),
            u64::MAX,
            "it is damaged: 18446744073709551615 rows of rank 0 do not fit at byte 16432",
        ),
        (Place::Row(0), nan, "the checkpoint has numbers of a particle that no run has"),
        (Place::Row(2), far, "the checkpoint has numbers of a particle that no run has"),
        (Place::Row(6), 0, "the checkpoint has numbers of a particle that no run has"),
        (Place::Row(6), 5, "the checkpoint has more than one particle with id 5"),
        (Place::Row(7), 1, "the checkpoint has particles of more than 1 species"),
    ] {
        let refusal = Changed::refusal(0, place, word).expect_err("it is refused");
        assert!(refusal.ends_with(text), "{place:?}: {refusal}");
    }
}

/// The words of a division begin with their number; then come partition, ranks, three numbers of
/// cells, the form, and the data of the form.
#[test]
fn divisions_of_a_checkpoint_that_no_run_has_are_refused() {
    let none = "the division of the work in the checkpoint is none of its box among 2 ranks";
    let foreign = "the state of the checkpoint is not one of this version of md";
    for base in 1..=5 {
        for (place, word, text) in [
            (0, 4, none),
            (0, u64::MAX, foreign),
            (1, 9, none),
            (2, 3, none),
            (3, 0, none),
            (4, u64::MAX, none),
            (5, 4, none),
            (6, 99, none),
            (7, u64::MAX, none),
        ] {
            let refusal = Changed::refusal(base, Place::Division(place), word).expect_err("it is refused");
            assert!(refusal.ends_with(text), "{base}, {place}: {refusal}");
        }
    }
}

#[test]
fn of_a_trajectory_the_frame_that_is_asked_for_is_read() {
    for format in ["extxyz", "lammpstrj"] {
        expect_frames(|count, wanted| files::particles(&Trajectory::valid(format, count, wanted).case()));
    }
}

fn expect_frames(frames: impl Fn(u64, Option<u64>) -> Result<Vec<Particle>, String>) {
    let all: Vec<_> = (1..=4).map(|count| frames(count, None)).collect();
    assert!(all.windows(2).all(|pair| pair[0] != pair[1] && pair[1].is_ok()), "{all:?}");
    for (index, alone) in all.iter().enumerate() {
        assert_eq!(frames(4, Some(index as u64 + 1)), *alone);
    }
    for number in [0, 5] {
        let refusal = frames(4, Some(number)).expect_err("there is none");
        assert!(refusal.contains("frame"), "{refusal}");
    }
}

/// Otherwise all trials could be refusals.
#[test]
fn unchanged_machines_timelines_and_tables_are_accepted() {
    for (name, accepted) in [
        ("machine", predictions::valid().accepted()),
        ("timeline", timelines::valid().accepted()),
        ("table", tables::valid().accepted().map(drop)),
        ("table of balancings", balancings::valid().accepted().and_then(|accepted| accepted)),
    ] {
        accepted.unwrap_or_else(|fault| panic!("{name}: {fault}"));
    }
}

/// Otherwise all trials could be refusals.
#[test]
fn a_usual_barostat_runs_to_its_end() {
    boxes::valid().check().unwrap_or_else(|fault| panic!("{fault}"));
}

/// Otherwise all trials could be refusals.
#[test]
fn unchanged_files_are_accepted() {
    for file in files::valid() {
        let accepted = file.case().accepted();
        accepted.and_then(|_| file.case().check()).unwrap_or_else(|fault| panic!("{file:?}: {fault}"));
    }
}

/// Otherwise all trials could be refusals.
#[test]
fn unchanged_binary_trajectories_are_accepted() {
    for file in netcdf::valid() {
        let accepted = file.case().accepted();
        accepted.and_then(|_| file.clone().check()).unwrap_or_else(|fault| panic!("{file:?}: {fault}"));
    }
    for file in xtc::valid() {
        let accepted = file.case().accepted();
        accepted.and_then(|_| file.clone().check()).unwrap_or_else(|fault| panic!("{file:?}: {fault}"));
    }
}

/// Otherwise all trials could be refusals.
#[test]
fn unchanged_scenarios_on_grids_and_masks_are_accepted() {
    for case in grids::all_valid() {
        case.clone().check().unwrap_or_else(|fault| panic!("{case:?}: {fault}"));
    }
}

/// A refusal of a file that contains only its name must not pass.
#[test]
fn a_refusal_without_a_place_is_found() {
    let refusal = |line| {
        let problem = Problem::TypeRange { kind: 3, largest: 2 };
        case::check_refusal(&InputError { file: "particles".to_owned(), line, problem }.into())
    };
    let text =
        "refused with exit code 2 and these words: particles: type 3 does not exist: the types are 1 to 2";
    assert_eq!(refusal(None), Err(text.to_owned()));
    assert_eq!(refusal(Some(1)), Ok(()));
}

/// Tries every text in `corpus/`: scenarios (`.toml`), machines, timelines and tables, and particle
/// files with their format as extension.
#[test]
fn corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    let mut tried = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let format = path.extension().unwrap().to_str().unwrap();
        let checked = match format {
            "toml" => Case::of_scenario(bytes).check(),
            "machine" => predictions::Prediction { machine: bytes, ..predictions::valid() }.check(),
            "trace" => timelines::Text(bytes).check(),
            "sweep" => tables::Text(bytes).check(),
            _ => files::case(format, Features::new([false; 4]), bytes).check(),
        };
        checked.unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
        tried += 1;
    }
    assert!(tried >= 5, "{tried}");
}
