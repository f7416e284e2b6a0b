//! What a long run must show. Nothing to look at is a failure too.

/// Largest change of the total energy per atom, in units of epsilon: the fluctuation of the integrator, which does not grow.
const MOST_DRIFT: f64 = 5e-3;
/// Growth of the resident memory of a rank that is called none: pages touched late.
const MOST_GROWTH_KB: u64 = 1_024;
/// Growth is judged from so many steps on.
const STEPS_TO_JUDGE_MEMORY: u64 = 100_000;
/// The first part of the samples, in which buffers reach their size: one of so many.
const WARM_UP_SHARE: usize = 4;

/// Resident memory of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    /// After the warm-up.
    pub(crate) first_kb: u64,
    /// At its largest afterwards.
    pub(crate) most_kb: u64,
    pub(crate) last_kb: u64,
}

/// Judges samples of resident memory, in kB.
pub(crate) fn memory(samples: &[u64], steps: u64) -> Result<Memory, String> {
    let settled = &samples[samples.len() / WARM_UP_SHARE..];
    let (&[first_kb, .., last_kb] | &[first_kb @ last_kb]) = settled else {
        return Err("the memory has never been seen".to_owned());
    };
    let most_kb = settled.iter().copied().max().unwrap_or(last_kb);
    if most_kb > first_kb + MOST_GROWTH_KB && steps >= STEPS_TO_JUDGE_MEMORY {
        return Err(format!("memory has grown from {first_kb} to {most_kb} kB"));
    }
    Ok(Memory { first_kb, most_kb, last_kb })
}

/// Largest distance of a row's total energy per atom from the first row's, which is step 0; the last must be the last step.
pub(crate) fn drift(thermo: &str, steps: u64) -> Result<f64, String> {
    let mut lines = thermo.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name| head.iter().position(|&found| found == name).ok_or(format!("no column {name}"));
    let (step, energy) = (column("step")?, column("total_per_atom")?);
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let whole = (fields.len() == head.len()).then_some(fields)?;
        Some((whole[step].parse::<u64>().ok()?, whole[energy].parse::<f64>().ok()?))
    };
    let rows = lines.map(|line| row(line).ok_or(format!("no numbers: {line}")));
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    let [(0, start), .., (last, _)] = rows[..] else { return Err(format!("only {} rows", rows.len())) };
    if last != steps {
        return Err(format!("the last row is of step {last}, not {steps}"));
    }
    rows.iter().try_fold(0.0, |most: f64, (step, energy)| {
        let change = (energy - start).abs();
        if change.is_nan() || change > MOST_DRIFT {
            return Err(format!("step {step}: energy per atom {energy}, {start} at the start"));
        }
        Ok(most.max(change))
    })
}

/// A judge that passes everything must not go unnoticed.
pub(crate) fn check_itself() {
    let fails = |rows: &str| drift(&format!("step,total_per_atom\n{rows}"), 2).unwrap_err();
    assert_eq!(
        drift("step,total_per_atom\n0,1.0\n2,1.001\n", 2).map(|drift| (drift * 1e6).round()),
        Ok(1000.0)
    );
    assert_eq!(fails("0,1.0\n1,NaN\n2,1.0\n"), "step 1: energy per atom NaN, 1 at the start");
    assert_eq!(fails("0,NaN\n2,1.0\n"), "step 0: energy per atom NaN, NaN at the start");
    assert_eq!(fails("0,1.0\n2,1.006\n"), "step 2: energy per atom 1.006, 1 at the start");
    assert_eq!(fails(""), "only 0 rows");
    assert_eq!(fails("0,1.0\n"), "only 1 rows");
    assert_eq!(fails("0,1.0\n1,1.0\n"), "the last row is of step 1, not 2");
    assert_eq!(fails("0,1.0\n2,\n"), "no numbers: 2,");
    assert_eq!(drift("", 2), Err("no column step".to_owned()));
    assert_eq!(memory(&[], 2), Err("the memory has never been seen".to_owned()));
    assert_eq!(memory(&[7], 2), Ok(Memory { first_kb: 7, most_kb: 7, last_kb: 7 }));
    let grown = Err("memory has grown from 100 to 2000 kB".to_owned());
    assert_eq!(memory(&[1, 100, 2000, 100], STEPS_TO_JUDGE_MEMORY), grown);
}
