//! Costs of a machine: messages fitted to `bench.csv`, computation to short runs.

mod compute;
mod least_squares;
mod measurements;
mod messages;
mod missing;
mod report;

use md_comm::{RmaOptions, World};
use md_engine::EngineError;

use crate::Transports;
use crate::machine::{Machine, Provenance};
pub use compute::{ComputeFit, Part, PartPoint};
pub use least_squares::{Coefficient, Fit, Residuals};
pub use measurements::Measurement;
pub use messages::{CollectiveFit, MessageFit, Point, movers};
pub use report::{picture, table};

/// Benchmarks to which messages are fitted.
pub const BENCHMARKS: [&str; 6] = ["roundtrip", "sync26", "overlap", "barrier", "allreduce", "negotiation"];

/// All fits of a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// Resulting machine.
    pub machine: Machine,
    /// Fits of messages.
    pub messages: Vec<MessageFit>,
    /// Fits of collective calls.
    pub collectives: Vec<CollectiveFit>,
    /// Fits of computation.
    pub computes: Vec<ComputeFit>,
    /// Missing measurements and unreliable fits.
    pub remarks: Vec<String>,
}

/// Measures the cost of a rank's own work on all ranks simultaneously, as in a simulation. All
/// ranks return equal fits. *Collective.*
///
/// # Errors
/// See [`EngineError`].
pub fn measure_compute(
    transports: &dyn Transports,
    budget_s: f64,
    tell: impl FnMut(usize, usize),
) -> Result<Vec<ComputeFit>, EngineError> {
    let world: Box<dyn World> = transports.world(transports.backends()[0], RmaOptions::default())?;
    compute::measure(&*world, budget_s, tell)
}

/// Fits the messages and combines all costs into a machine.
pub fn fit(rows: &[Measurement], computes: Vec<ComputeFit>, provenance: Provenance) -> Fitted {
    let rows = &measurements::nearest(rows)[..];
    let (messages, collectives) = (messages::messages(rows), messages::collectives(rows));
    let provenance = Provenance { messages: measurements::origin(rows), ..provenance };
    let machine = Machine {
        provenance,
        messages: messages.iter().map(|fit| fit.cost.clone()).collect(),
        collectives: collectives.iter().map(|fit| fit.cost.clone()).collect(),
        overlaps: messages::overlaps(&messages, rows),
        negotiations: messages::negotiations(rows),
        computes: computes.iter().map(|fit| fit.cost.clone()).collect(),
    };
    let mut remarks = missing::missing(rows);
    remarks.extend(is_of_two(&machine.provenance));
    remarks.extend(machine.doubts(|_| true));
    Fitted { machine, messages, collectives, computes, remarks }
}

/// Returns a remark if messages and computation were measured on different machines.
fn is_of_two(Provenance { host, cpu, messages, .. }: &Provenance) -> Option<String> {
    let it = messages.as_ref().filter(|it| (&it.host, &it.cpu) != (host, cpu))?;
    Some(format!(
        "messages were measured on {} ({}), computation on {host} ({cpu}): this machine is made of two",
        it.host, it.cpu
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_another_host_are_told_and_keep_their_provenance() {
        let text = "benchmark,mechanism,ranks,bytes,median_s,distance,mpi_library,host,version,cpu,date\n\
                    roundtrip-copied,p2p,4,8,1e-6,inside,Open MPI,far,1.0,Fast,2026-01-02\n\
                    barrier,collective,2,0,1e-6,inside,Open MPI,far,1.0,Fast,2026-01-01\n";
        let rows = Measurement::read("bench.csv", text.as_bytes()).unwrap();
        let fitted = |host: &str, cpu: &str| {
            let provenance =
                Provenance { host: host.to_owned(), cpu: cpu.to_owned(), ..Provenance::default() };
            fit(&rows, Vec::new(), provenance)
        };
        let Fitted { machine, remarks, .. } = fitted("here", "Slow");
        let origin = machine.provenance.messages.as_ref().unwrap();
        assert_eq!((origin.date.as_str(), &origin.ranks[..]), ("2026-01-01 to 2026-01-02", &[2, 4][..]));
        let remark =
            "messages were measured on far (Fast), computation on here (Slow): this machine is made of two";
        assert!(remarks.iter().any(|it| it == remark), "{remarks:?}");
        assert!(fitted("far", "Fast").remarks.iter().all(|it| !it.contains("made of two")));
        assert_eq!(Machine::read("again", &machine.to_toml()), Ok(machine));
    }

    #[test]
    fn times_that_nothing_explains_are_told() {
        let remarks = |times: [f64; 5]| {
            let row = |(number, time_s): (usize, f64)| {
                format!("roundtrip-copied,p2p,2,{},{time_s},inside\n", 1 << (4 * number + 4))
            };
            let rows: String = times.into_iter().enumerate().map(row).collect();
            let text = format!("benchmark,mechanism,ranks,bytes,median_s,distance\n{rows}");
            let rows = Measurement::read("bench.csv", text.as_bytes()).unwrap();
            fit(&rows, Vec::new(), Provenance::default()).remarks.pop().unwrap()
        };
        let busy = remarks([1e-6, 1e-6, 1e-3, 1e-6, 1e-6]);
        assert!(busy.starts_with("messages by p2p: the fit is off by "), "{busy}");
        assert!(busy.ends_with("; fit again with a larger --budget, on an idle machine"), "{busy}");
        assert!(!remarks([1e-6, 1e-6, 1e-6, 1e-6, 1e-6]).contains("idle"));
    }
}
