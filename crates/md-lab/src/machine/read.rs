//! Reading, checking and writing `machine.toml`. Every fault is told with its line.

use md_comm::Backend;
use toml::de::{DeTable, DeValue};

use super::{ComputeCost, Distance, Machine, MessageCost, NegotiationCost};
use crate::{name_of, significant};

/// Why a machine was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}, line {line}: {message}")]
pub struct MachineError {
    /// The file, as typed.
    pub name: String,
    /// From 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// More of a kind are no machine's, but a mistake that would take long to read.
const MOST_ENTRIES: usize = 1000;

/// A day and more; sums of such costs over all particles and ranks are still numbers.
const MOST: f64 = 1e6;

/// A fault of a key in an entry of a list of tables.
struct Fault {
    table: &'static str,
    entry: usize,
    key: &'static str,
    message: String,
}

impl Machine {
    /// From the text of a file of that name.
    ///
    /// # Errors
    /// What is no TOML, an unknown or missing key, a number that no cost can be, the same entry twice, ranges of bytes with gaps.
    pub fn read(name: &str, text: &str) -> Result<Self, MachineError> {
        let refused = |offset: usize, message: String| MachineError {
            name: name.to_owned(),
            line: 1 + text[..offset.min(text.len())].matches('\n').count(),
            message,
        };
        let machine: Self = toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            refused(offset, error.message().replace('\n', " "))
        })?;
        match machine.fault() {
            None => Ok(machine),
            Some(fault) => Err(refused(offset(text, &fault), fault.message)),
        }
    }

    /// As the text of a file, with as many digits as a measurement has. A comment marks fits that nothing judges.
    pub fn to_toml(&self) -> String {
        const DIGITS: usize = 5;
        const MARK: &str = " # a coefficient for each of them: nothing tells how good the fit is";
        let messages = self.messages.iter().map(MessageCost::is_unjudged);
        let collectives = self.collectives.iter().map(|_| false);
        let mut unjudged =
            messages.chain(collectives).chain(self.computes.iter().map(ComputeCost::is_unjudged));
        // Nothing in a machine is without a form in TOML.
        let text = toml::to_string(self).unwrap_or_else(|error| format!("# {error}\n"));
        let mut mark = |line: &str| {
            if line.starts_with("samples = ") && unjudged.next() == Some(true) { MARK } else { "" }
        };
        let shortened = |line: &str| {
            let (key, value) = line.split_once(" = ").filter(|(_, value)| value.contains('.'))?;
            Some(format!("{key} = {}", significant(value.parse().ok()?, DIGITS)))
        };
        let line = |line: &str| shortened(line).unwrap_or_else(|| line.to_owned()) + mark(line) + "\n";
        text.lines().map(line).collect()
    }

    fn fault(&self) -> Option<Fault> {
        let (overlaps, collectives, computes) = (&self.overlaps, &self.collectives, &self.computes);
        let counts = [
            ("message", self.messages.len()),
            ("collective", collectives.len()),
            ("overlap", overlaps.len()),
            ("negotiation", self.negotiations.len()),
            ("compute", computes.len()),
        ];
        let too_many = counts.into_iter().find(|&(_, count)| count > MOST_ENTRIES).map(|(table, count)| {
            let message = format!("there are {count} [[{table}]], more than {MOST_ENTRIES}");
            Fault { table, entry: MOST_ENTRIES, key: "", message }
        });
        let twice = || {
            twice("collective", ["operation", "distance"], collectives, |it| (it.operation, it.distance))
                .or_else(|| {
                    twice("overlap", ["backend", "distance"], overlaps, |it| (it.backend, it.distance))
                })
                .or_else(|| {
                    let about = |it: &NegotiationCost| (it.backend, it.distance);
                    twice("negotiation", ["backend", "distance"], &self.negotiations, about)
                })
                .or_else(|| {
                    let keys = ["method", "precision and threads"];
                    twice("compute", keys, computes, |it| (it.method, it.precision, it.threads))
                })
        };
        too_many.or_else(|| self.number_fault()).or_else(twice)
    }

    fn number_fault(&self) -> Option<Fault> {
        let messages =
            self.messages.iter().enumerate().find_map(|(entry, cost)| self.message_fault(entry, cost));
        let collectives = || {
            let numbers = self
                .collectives
                .iter()
                .map(|it| [("base_s", it.base_s), ("per_doubling_s", it.per_doubling_s)]);
            numbers.enumerate().find_map(|(entry, numbers)| not_a_cost("collective", entry, &numbers))
        };
        let overlaps = || {
            self.overlaps.iter().enumerate().find_map(|(entry, it)| {
                let numbers = [("hidden_share", it.hidden_share), ("progress_call_s", it.progress_call_s)];
                let share = it.hidden_share;
                let message = || format!("`hidden_share` is {share}, more than 1");
                let too_large = || Fault { table: "overlap", entry, key: "hidden_share", message: message() };
                not_a_cost("overlap", entry, &numbers).or_else(|| (share > 1.0).then(too_large))
            })
        };
        let negotiations = || {
            let costs = self.negotiations.iter().map(|it| [("two_ranks_s", it.two_ranks_s)]);
            costs.enumerate().find_map(|(entry, numbers)| not_a_cost("negotiation", entry, &numbers))
        };
        let computes = || {
            self.computes
                .iter()
                .enumerate()
                .find_map(|(entry, it)| not_a_cost("compute", entry, &numbers(it)))
        };
        messages.or_else(collectives).or_else(overlaps).or_else(negotiations).or_else(computes)
    }

    fn message_fault(&self, entry: usize, cost: &MessageCost) -> Option<Fault> {
        let fault =
            |key: &'static str, message: String| Some(Fault { table: "message", entry, key, message });
        if matches!(cost.backend, Backend::Hybrid | Backend::Auto) {
            let name = name_of(cost.backend);
            return fault("backend", format!("`{name}` is made of other backends: give the costs of these"));
        }
        if cost.backend == Backend::Shm && cost.distance == Distance::Network {
            return fault("distance", "`shm` does not leave the node".to_owned());
        }
        let numbers = [
            ("latency_s", cost.latency_s),
            ("overhead_s", cost.overhead_s),
            ("seconds_per_byte", cost.seconds_per_byte),
        ];
        if let Some(fault) = not_a_cost("message", entry, &numbers) {
            return Some(fault);
        }
        // Where this range begins, one has to end; the first begins at 0.
        let others = self.ranges(cost.backend, cost.distance);
        let ends = others.iter().filter(|other| other.below_bytes == Some(cost.from_bytes)).count();
        let begins = others.iter().filter(|other| other.from_bytes == cost.from_bytes).count();
        if begins > 1 || ends != usize::from(cost.from_bytes > 0) {
            let name = name_of(cost.backend);
            let message = format!(
                "the ranges of `{name}` do not follow each other: none but one may begin at {} bytes, \
                 where the one before ends, and the first at 0",
                cost.from_bytes
            );
            return fault("from_bytes", message);
        }
        let is_last = others.iter().all(|other| other.from_bytes <= cost.from_bytes);
        if is_last != cost.below_bytes.is_none() {
            return fault("below_bytes", "the last range, and no other, is without `below_bytes`".to_owned());
        }
        None
    }
}

/// The first entry that says of what it is about what another has said before.
fn twice<E, K: PartialEq>(
    table: &'static str,
    [first, rest]: [&'static str; 2],
    entries: &[E],
    about: impl Fn(&E) -> K,
) -> Option<Fault> {
    let is_known = |entry: &usize| entries[..*entry].iter().any(|it| about(it) == about(&entries[*entry]));
    let entry = (0..entries.len()).find(is_known)?;
    let message = format!("another [[{table}]] has the same {first} and {rest}: which of them holds?");
    Some(Fault { table, entry, key: first, message })
}

fn numbers(cost: &ComputeCost) -> [(&'static str, f64); 12] {
    [
        ("threads", cost.threads as f64),
        ("per_computed_pair_s", cost.per_computed_pair_s),
        ("per_particle_forces_s", cost.per_particle_forces_s),
        ("per_cell_forces_s", cost.per_cell_forces_s),
        ("per_particle_s", cost.per_particle_s),
        ("per_list_entry_s", cost.per_list_entry_s),
        ("per_particle_rebuilt_s", cost.per_particle_rebuilt_s),
        ("per_cell_rebuilt_s", cost.per_cell_rebuilt_s),
        ("per_ghost_packed_s", cost.per_ghost_packed_s),
        ("per_ghost_unpacked_s", cost.per_ghost_unpacked_s),
        ("force_scatter", cost.force_scatter),
        ("particle_scatter", cost.particle_scatter),
    ]
}

fn not_a_cost(table: &'static str, entry: usize, numbers: &[(&'static str, f64)]) -> Option<Fault> {
    let is_fault = |&&(key, number): &&(&str, f64)| {
        let least_is_there = key != "threads" || number >= 1.0;
        !((0.0..=MOST).contains(&number) && least_is_there)
    };
    let &(key, number) = numbers.iter().find(is_fault)?;
    let message = format!("`{key}` is {number:?}, no cost: a number from 0 to {MOST:e}, of counts from 1");
    Some(Fault { table, entry, key, message })
}

/// Where the key stands, or else its table.
fn offset(text: &str, fault: &Fault) -> usize {
    let find = || {
        let document = DeTable::parse(text).ok()?.into_inner();
        let entries = document.get(fault.table)?;
        let DeValue::Array(entries) = entries.get_ref() else { return None };
        let entry = entries.get(fault.entry)?;
        let key = entry.get_ref().as_table()?.get_key_value(fault.key);
        Some(key.map_or(entry.span().start, |(key, _)| key.span().start))
    };
    find().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"[provenance]
host = "node-1"

[[message]]
backend = "p2p"
distance = "node"
from_bytes = 0
below_bytes = 4096
latency_s = 3e-7
overhead_s = 1e-7
seconds_per_byte = 1e-10

[[message]]
backend = "p2p"
distance = "node"
from_bytes = 4096
latency_s = 2e-6
overhead_s = 2e-7
seconds_per_byte = 8e-11

[[overlap]]
backend = "p2p"
distance = "node"
hidden_share = 0.5
progress_call_s = 2e-8

[[compute]]
method = "clusters"
precision = "double"
per_computed_pair_s = 3e-10
per_particle_s = 2e-9
per_ghost_packed_s = 1e-9
per_ghost_unpacked_s = 1e-9
force_scatter = 0.02
"#;

    fn refused(from: &str, to: &str) -> String {
        assert!(TEXT.contains(from));
        Machine::read("machine.toml", &TEXT.replacen(from, to, 1)).unwrap_err().to_string()
    }

    #[test]
    fn what_is_written_reads_back() {
        let machine = Machine::read("machine.toml", TEXT).unwrap();
        assert!((machine.ranges(Backend::P2p, Distance::Node)[1].one_way_s(1e6) - 8.2e-5).abs() < 1e-12);
        assert_eq!(Machine::read("again", &machine.to_toml()), Ok(machine));
    }

    #[test]
    fn fits_that_nothing_judges_are_marked() {
        let fitted = TEXT
            .replacen("seconds_per_byte = 1e-10", "seconds_per_byte = 1e-10\nsamples = 2", 1)
            .replacen("seconds_per_byte = 8e-11", "seconds_per_byte = 8e-11\nsamples = 3", 1)
            .replacen("force_scatter = 0.02", "force_scatter = 0.02\nsamples = 3", 1);
        let machine = Machine::read("machine.toml", &fitted).unwrap();
        let text = machine.to_toml();
        let samples: Vec<&str> = text.lines().filter(|line| line.starts_with("samples")).collect();
        let mark = "# a coefficient for each of them: nothing tells how good the fit is";
        assert_eq!(samples, [&format!("samples = 2 {mark}"), "samples = 3", &format!("samples = 3 {mark}")]);
        assert_eq!(Machine::read("again", &text), Ok(machine));
    }

    #[test]
    fn faults_are_told_with_their_line() {
        assert_eq!(
            refused("latency_s", "latency"),
            "machine.toml, line 9: unknown field `latency`, expected one of `backend`, `distance`, `from_bytes`, `below_bytes`, \
             `latency_s`, `overhead_s`, `seconds_per_byte`, `rms_residual`, `largest_residual`, `held_out_rms_residual`, \
             `held_out_largest_residual`, `samples`, `half_widths`"
        );
        assert_eq!(
            refused("3e-7", "-3e-7"),
            "machine.toml, line 9: `latency_s` is -3e-7, no cost: a number from 0 to 1e6, of counts from 1"
        );
        assert_eq!(
            refused("from_bytes = 4096", "from_bytes = 5000"),
            "machine.toml, line 16: the ranges of `p2p` do not follow each other: none but one may begin at 5000 bytes, where the \
             one before ends, and the first at 0"
        );
        assert_eq!(
            refused("hidden_share = 0.5", "hidden_share = 1.5"),
            "machine.toml, line 24: `hidden_share` is 1.5, more than 1"
        );
        assert!(refused("3e-10", "nan").starts_with("machine.toml, line 30: `per_computed_pair_s` is NaN"));
        let again = TEXT.split_once("[[overlap]]").unwrap().1;
        assert_eq!(
            refused("[[overlap]]", &format!("[[overlap]]{again}\n[[overlap]]")),
            "machine.toml, line 37: another [[overlap]] has the same backend and distance: which of them holds?"
        );
        let overlap =
            "[[overlap]]\nbackend = \"p2p\"\ndistance = \"node\"\nhidden_share = 0\nprogress_call_s = 0\n";
        assert_eq!(
            refused("[[overlap]]", &format!("{}[[overlap]]", overlap.repeat(1200))),
            "machine.toml, line 5021: there are 1201 [[overlap]], more than 1000"
        );
        assert!(
            refused("\"p2p\"", "\"auto\"")
                .starts_with("machine.toml, line 5: `auto` is made of other backends")
        );
        assert!(refused("[[overlap]]", "[[overlap]").starts_with("machine.toml, line 21: "));
    }
}
