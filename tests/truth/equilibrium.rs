//! The long runs of miniMD. Its initial velocities are different, but every correct program reaches
//! the same equilibrium from the same density, temperature and initial crystal.

use crate::support::{Backend, Run, numbers, table};

/// Temperature, potential energy and pressure of one step.
type Sample = [f64; 3];

const NAMES: [&str; 3] = ["temperature", "potential energy", "pressure"];
/// Standard deviations of one sample times the square root of the number of atoms, from miniMD's
/// own check of its results.
const SPREADS: [f64; 3] = [0.4, 0.575, 3.0];
const ATOMS: f64 = 4000.0;
/// First step of the equilibrium, after the crystal has melted and its transient has passed.
const EQUILIBRIUM_FROM: u64 = 2000;
const STEPS: u64 = 6000;
const BETWEEN_SAMPLES: u64 = 100;
/// Allowed difference in standard errors: the probability of a false alarm is below one in a
/// million.
const SIGMAS: f64 = 5.0;

fn minimd() -> Vec<(u64, Sample)> {
    let rows = table("miniMD/4k.csv", ["step", "temperature", "potential_per_atom", "pressure"]);
    let row = |fields: &[String; 4]| {
        let [step, temperature, potential, pressure] = numbers(fields);
        (step as u64, [temperature, potential, pressure])
    };
    rows.iter().map(row).collect()
}

fn ours(precision: &str) -> Vec<(u64, Sample)> {
    let scenario = format!(
        "[simulation]\nsteps = {STEPS}\ntimestep = 0.005\nseed = 87287\n\
         [system]\nlattice = {{ kind = \"fcc\", density = 0.8442, cells = [10, 10, 10] }}\ntemperature = 1.44\n\
         [interaction]\ncutoff = 2.5\n\
         [neighbor]\nskin = 0.3\nrebuild = {{ every = 20 }}\n\
         [output]\nthermo = {{ every = {BETWEEN_SAMPLES} }}\n"
    );
    let run = Run::new("run", scenario).set(format!("neighbor.precision={precision:?}"));
    let outcome = run.on(Backend::Local, 2).succeed();
    outcome.thermo().iter().map(|row| (row.step, [row.temperature, row.potential, row.pressure])).collect()
}

/// Returns the averages and the number of samples.
fn averages(samples: &[(u64, Sample)]) -> (Sample, f64) {
    let kept: Vec<&Sample> =
        samples.iter().filter(|(step, _)| *step >= EQUILIBRIUM_FROM).map(|(_, sample)| sample).collect();
    let count = kept.len() as f64;
    ([0, 1, 2].map(|index| kept.iter().map(|sample| sample[index]).sum::<f64>() / count), count)
}

fn total_energy([temperature, potential, _]: Sample) -> f64 {
    1.5 * temperature * (ATOMS - 1.0) / ATOMS + potential
}

#[test]
fn equilibrium_agrees_with_minimd() {
    agrees_with_minimd(&ours("double"));
}

#[test]
fn in_mixed_precision_too() {
    agrees_with_minimd(&ours("mixed"));
}

fn agrees_with_minimd(ours: &[(u64, Sample)]) {
    let theirs = minimd();
    assert_eq!(theirs.last().map(|(step, _)| *step), Some(10_000), "the file is whole");
    let ((their_averages, their_count), (our_averages, our_count)) = (averages(&theirs), averages(ours));
    assert_eq!((their_count, our_count), (81.0, 41.0), "numbers of samples");
    for index in 0..3 {
        let (name, spread) = (NAMES[index], SPREADS[index] / ATOMS.sqrt());
        // Samples are 0.5 tau apart, which is several correlation times.
        let band = SIGMAS * spread * (1.0 / their_count + 1.0 / our_count).sqrt();
        let difference = our_averages[index] - their_averages[index];
        assert!(difference.abs() < band, "average {name} is off by {difference}, allowed {band}");
        for (step, sample) in ours.iter().filter(|(step, _)| *step >= EQUILIBRIUM_FROM) {
            let away = (sample[index] - their_averages[index]).abs() / spread;
            assert!(
                away < SIGMAS,
                "{name} at step {step} is {}, {away} standard deviations off",
                sample[index]
            );
        }
    }
    // Both lose about 0.008 while the crystal melts, because the potential is cut off without a
    // shift. The exact value depends on the velocities. After that, the energy fluctuates by less
    // than a thousandth.
    let (our_energy, their_energy) = (total_energy(our_averages), total_energy(their_averages));
    assert!((our_energy - their_energy).abs() < 2e-3, "total energy {our_energy} instead of {their_energy}");
}
