//! Conditions that a long run must fulfil. A run without data fails too.

/// Largest change of the total energy per atom, in units of epsilon. The fluctuation of the
/// integrator does not grow.
const MOST_DRIFT: f64 = 5e-3;
/// Number of steps from which growth is judged. Before that, buffers still grow to their final
/// size.
pub(crate) const STEPS_TO_JUDGE: u64 = 100_000;

/// Memory of a rank before and after the second half of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Maximum in the second quarter. The first quarter is the warm-up.
    pub(crate) before_kb: u64,
    /// Minimum in the last quarter, so that temporary memory, such as that of a trial of `auto`,
    /// does not count as growth.
    pub(crate) after_kb: u64,
}

/// Checks samples of memory, in kB, which may grow by `growth_kb`.
pub(crate) fn memory(what: &str, samples: &[u64], steps: u64, growth_kb: u64) -> Result<Memory, String> {
    let (quarter, half) = (samples.len() / 4, samples.len() / 2);
    let early = samples.iter().take(half + 1).skip(quarter).max();
    let late = samples.iter().skip(3 * samples.len() / 4).min();
    let (Some(&before_kb), Some(&after_kb)) = (early, late) else {
        return Err(format!("{what} memory has never been seen"));
    };
    if after_kb > before_kb + growth_kb && steps >= STEPS_TO_JUDGE {
        return Err(format!("{what} memory has grown from {before_kb} to {after_kb} kB"));
    }
    Ok(Memory { before_kb, after_kb })
}

/// Returns the largest difference between a row's total energy per atom and that of the first row,
/// which is step 0. The last row must be the last step.
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

/// Checks that the judge rejects bad data.
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
    let memory = |samples: &[u64]| memory("private", samples, STEPS_TO_JUDGE, 10);
    let kept = |before_kb, after_kb| Ok(Memory { before_kb, after_kb });
    assert_eq!(memory(&[]), Err("private memory has never been seen".to_owned()));
    assert_eq!(memory(&[7]), kept(7, 7));
    assert_eq!(memory(&[1, 100, 110, 130, 130, 140, 130, 120]), kept(130, 120));
    let grown = Err("private memory has grown from 120 to 131 kB".to_owned());
    assert_eq!(memory(&[1, 100, 110, 120, 115, 140, 131, 132]), grown);
}
