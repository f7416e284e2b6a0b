//! Scenarios, overrides and particle files that nobody has thought of: nothing panics or hangs, what is refused names its
//! key or line, and what is accepted is run, with the forces of the direct sum.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `MD_FUZZ_CASES` | how many cases (2000) |
//! | `MD_FUZZ_SECONDS` | go on for so long, with new seeds |
//! | `MD_FUZZ_SEED` | the first seed (1) |
//!
//! A case that fails is made smaller and written to `proptest-regressions/`, from where it is tried again first; texts that once were
//! a problem are in `corpus/`.

#![expect(clippy::expect_used, clippy::print_stdout, reason = "this is a test, which says how fast it was")]

mod case;
mod files;
mod scenarios;

use std::fmt::Debug;
use std::path::Path;
use std::time::{Duration, Instant};

use case::Case;
use files::Features;
use md_cli::input::{InputError, Problem};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};

/// A number from the environment.
fn variable(name: &str) -> Option<u64> {
    Some(std::env::var(name).ok()?.parse().unwrap_or_else(|_| panic!("{name} must be a number")))
}

/// Tries this share of all cases, and says how fast that went.
fn fuzz<S: Strategy>(name: &str, share: f64, strategy: S, case_of: impl Fn(&S::Value) -> Case)
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

#[test]
fn scenarios() {
    fuzz("scenarios", 0.35, scenarios::changed(), scenarios::Changed::case);
}

#[test]
fn overrides() {
    fuzz("overrides", 0.25, scenarios::overridden(), scenarios::Overridden::case);
}

#[test]
fn particle_files() {
    fuzz("particle files", 0.4, files::changed(), files::Changed::case);
}

/// Else nothing would be tried but refusals.
#[test]
fn unchanged_files_are_accepted() {
    for file in files::valid() {
        let accepted = file.case().is_accepted();
        accepted.and_then(|()| file.case().check()).unwrap_or_else(|fault| panic!("{file:?}: {fault}"));
    }
}

/// A refusal of a file that says no more than its name must not pass.
#[test]
fn a_refusal_without_a_place_is_found() {
    let refusal = |line| {
        let problem = Problem::NoFrame { number: 3, count: 2 };
        case::check_refusal(&InputError { file: "particles".to_owned(), line, problem }.into())
    };
    let text =
        "refused with exit code 2 and these words: particles: there is no frame 3: the frames are 1 to 2";
    assert_eq!(refusal(None), Err(text.to_owned()));
    assert_eq!(refusal(Some(1)), Ok(()));
}

/// Every text in `corpus/`: scenarios (`.toml`), and particle files by their format's ending.
#[test]
fn corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    let mut tried = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let format = path.extension().unwrap().to_str().unwrap();
        let case = if format == "toml" {
            Case::of_scenario(bytes)
        } else {
            files::case(format, Features::new([false; 4]), bytes)
        };
        case.check().unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
        tried += 1;
    }
    assert!(tried >= 5, "{tried}");
}
