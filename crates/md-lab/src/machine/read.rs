//! Reading, checking and writing of `machine.toml`. Every error names its line.

use std::ops::RangeInclusive;

use md_comm::Backend;
use toml::de::{DeTable, DeValue};

use super::{ComputeCost, Distance, HalfWidths, Machine, MessageCost, NegotiationCost};
use crate::{name_of, significant};

/// Error in the text of a machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}, line {line}: {message}")]
pub struct MachineError {
    /// File name, as typed by the user.
    pub name: String,
    /// Line number, from 1.
    pub line: usize,
    /// Description of the error and of a correct value.
    pub message: String,
}

/// Maximum number of entries of a kind; more are a mistake that would take long to read.
const MOST_ENTRIES: usize = 1000;

/// Upper bound of the numbers: more than a day in seconds; sums over all particles and ranks stay
/// finite.
const MOST: f64 = 1e6;

/// Error of a key in an entry of an array of tables.
struct Fault {
    table: &'static str,
    entry: usize,
    key: &'static str,
    message: String,
}

impl Machine {
    /// Reads a machine from the text of the file `name`.
    ///
    /// # Errors
    /// Invalid TOML, an unknown or missing key, a number out of range, a duplicate entry, ranges of
    /// bytes with gaps.
    pub fn read(name: &str, text: &str) -> Result<Self, MachineError> {
        let refused = |offset: usize, message: String| MachineError {
            name: name.to_owned(),
            line: 1 + text[..offset.min(text.len())].matches('\n').count(),
            message,
        };
        let machine: Self = toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            refused(offset, in_words(text, offset, error.message()))
        })?;
        match machine.fault() {
            None => Ok(machine),
            Some(fault) => Err(refused(offset(text, &fault), fault.message)),
        }
    }

    /// Returns the text of a file, with as many digits as measurements have. A comment marks fits
    /// whose quality is unknown.
    pub fn to_toml(&self) -> String {
        const DIGITS: usize = 5;
        const MARK: &str = " # a coefficient for each of them: nothing tells how good the fit is";
        let messages = self.messages.iter().map(MessageCost::is_unjudged);
        let collectives = self.collectives.iter().map(|_| false);
        let mut unjudged =
            messages.chain(collectives).chain(self.computes.iter().map(ComputeCost::is_unjudged));
        // Every machine has a form in TOML.
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
        let across = |table, entry, distance| {
            let message = "`across` is of [[message]] alone: `node` or `network` is right".to_owned();
            (distance == Distance::Across).then_some(Fault { table, entry, key: "distance", message })
        };
        let messages =
            self.messages.iter().enumerate().find_map(|(entry, cost)| self.message_fault(entry, cost));
        let collectives = self.collectives.iter().enumerate().find_map(|(entry, it)| {
            let quality = quality(it.rms_residual, it.largest_residual, &it.half_widths);
            let own = [("base_s", it.base_s), ("per_doubling_s", it.per_doubling_s)];
            out_of_range("collective", entry, &own, quality)
                .or_else(|| across("collective", entry, it.distance))
        });
        let overlaps = self.overlaps.iter().enumerate().find_map(|(entry, it)| {
            let own = [("hidden_share", it.hidden_share), ("progress_call_s", it.progress_call_s)];
            out_of_range("overlap", entry, &own, []).or_else(|| across("overlap", entry, it.distance))
        });
        let negotiations = self.negotiations.iter().enumerate().find_map(|(entry, it)| {
            let own = [("two_ranks_s", it.two_ranks_s)];
            out_of_range("negotiation", entry, &own, []).or_else(|| across("negotiation", entry, it.distance))
        });
        let computes = self.computes.iter().enumerate().find_map(|(entry, it)| {
            let quality = quality(it.rms_residual, it.largest_residual, &it.half_widths);
            out_of_range("compute", entry, &numbers(it), quality)
        });
        messages.or(collectives).or(overlaps).or(negotiations).or(computes)
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
            ("serial_share", cost.serial_share),
        ];
        let quality = quality(cost.rms_residual, cost.largest_residual, &cost.half_widths);
        if let Some(fault) = out_of_range("message", entry, &numbers, quality) {
            return Some(fault);
        }
        // A range begins where another one ends; the first begins at 0.
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

/// Returns the parser's message on the value at this place, with its key and without backends that
/// messages cannot have.
fn in_words(text: &str, offset: usize, message: &str) -> String {
    const MADE_OF_OTHERS: &str = ", `hybrid`, `auto`";
    const TYPES: [(&str, &str); 3] = [
        ("f64", "a number"),
        ("u64", "a whole number of 0 or more"),
        ("usize", "a whole number of 0 or more"),
    ];
    let message = message.replace('\n', " ").replace(MADE_OF_OTHERS, "");
    let line = text.get(..offset).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
    let key = line.rsplit(['{', ',']).next().and_then(|it| it.trim().strip_suffix('='));
    let Some(key) = key.map(str::trim) else { return message };
    let wrong = message.split_once(": ").and_then(|(_, rest)| rest.split_once(", expected "));
    let Some((found, expected)) = wrong.filter(|_| message.starts_with("invalid")) else {
        return format!("`{key}`: {message}");
    };
    let expected = TYPES.iter().find(|it| it.0 == expected).map_or(expected, |it| it.1);
    format!("`{key}` is {found}, but {expected} is right")
}

/// Returns a fault for the first entry with the keys of an earlier one.
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

/// Returns the residuals and half widths of a fit.
fn quality(rms: f64, largest: f64, half_widths: &HalfWidths) -> impl Iterator<Item = (&'static str, f64)> {
    let residuals = [("rms_residual", rms), ("largest_residual", largest)];
    residuals.into_iter().chain(half_widths.values().map(|width| ("half_widths", *width)))
}

/// Returns a fault for the first number outside the range of its key.
fn out_of_range(
    table: &'static str,
    entry: usize,
    own: &[(&'static str, f64)],
    quality: impl IntoIterator<Item = (&'static str, f64)>,
) -> Option<Fault> {
    let mut all = own.iter().copied().chain(quality);
    let (key, number) = all.find(|(key, number)| !range(key).contains(number))?;
    let (least, most) = range(key).into_inner();
    let [number, most] = [number, most].map(|it| significant(it, 5));
    let message = format!("`{key}` is {number}: it is a number from {least} to {most}");
    Some(Fault { table, entry, key, message })
}

fn range(key: &str) -> RangeInclusive<f64> {
    /// Largest scatter, relative to the time; no machine scatters more.
    const MOST_SCATTER: f64 = 10.0;
    match key {
        "threads" => 1.0..=MOST,
        "hidden_share" | "serial_share" => 0.0..=1.0,
        "force_scatter" | "particle_scatter" => 0.0..=MOST_SCATTER,
        _ => 0.0..=MOST,
    }
}

/// Returns the offset of the key, or else of its table.
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
             `latency_s`, `overhead_s`, `seconds_per_byte`, `serial_share`, `rms_residual`, `largest_residual`, `held_out_rms_residual`, \
             `held_out_largest_residual`, `samples`, `half_widths`"
        );
        assert_eq!(
            refused("3e-7", "-3e-7"),
            "machine.toml, line 9: `latency_s` is -3e-07: it is a number from 0 to 1e+06"
        );
        assert_eq!(
            refused("from_bytes = 4096", "from_bytes = 5000"),
            "machine.toml, line 16: the ranges of `p2p` do not follow each other: none but one may begin at 5000 bytes, where the \
             one before ends, and the first at 0"
        );
        assert_eq!(
            refused("hidden_share = 0.5", "hidden_share = 1.5"),
            "machine.toml, line 24: `hidden_share` is 1.5: it is a number from 0 to 1"
        );
        assert_eq!(
            refused("seconds_per_byte = 1e-10", "seconds_per_byte = 1e-10\nserial_share = 2"),
            "machine.toml, line 12: `serial_share` is 2: it is a number from 0 to 1"
        );
        assert_eq!(
            refused("\"node\"\nhidden", "\"across\"\nhidden"),
            "machine.toml, line 23: `across` is of [[message]] alone: `node` or `network` is right"
        );
        assert!(refused("3e-10", "nan").starts_with("machine.toml, line 30: `per_computed_pair_s` is NaN: "));
        assert_eq!(
            refused("3e-7", "\"fast\""),
            "machine.toml, line 9: `latency_s` is string \"fast\", but a number is right"
        );
        assert_eq!(
            refused("from_bytes = 4096", "from_bytes = -1"),
            "machine.toml, line 16: `from_bytes` is integer `-1`, but a whole number of 0 or more is right"
        );
        let unknown = refused("\"p2p\"", "\"p3p\"");
        assert!(
            unknown.starts_with("machine.toml, line 5: `backend`: unknown variant `p3p`, expected one of")
        );
        assert!(unknown.ends_with("`rma-ring`"), "{unknown}");
        for (key, value) in [("force_scatter", "50"), ("rms_residual", "-3"), ("threads", "0")] {
            let fault = refused("force_scatter = 0.02", &format!("{key} = {value}"));
            assert!(
                fault.starts_with(&format!("machine.toml, line 34: `{key}` is {value}: it is")),
                "{fault}"
            );
        }
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
