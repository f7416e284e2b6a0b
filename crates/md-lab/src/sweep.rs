//! Sweeps over sizes, numbers of ranks and strategies: the rows of their table, and the scaling.

use std::collections::BTreeMap;

use md_core::lattice::LatticeKind;
use md_core::words::counted;
use md_engine::Phase;

use crate::EncodeError;
use crate::plot::{Line, Panel, Panels};
use crate::statistics::Interval;
use crate::tables::{CONTEXT_COLUMNS, table};

/// Upper limit of times and rates in a table.
const MOST: f64 = 1e30;

/// A kind of runs, with the columns of its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// Columns of the context.
    pub context: &'static str,
    /// The columns of the context that distinguish strategies.
    pub strategy: &'static [&'static str],
    /// The column with the size of the system; its name is also the unit.
    pub size: &'static str,
    /// Phases, in the order of timing.csv.
    pub phases: &'static [Phase],
    /// Name of the rate: steps of all particles, or updates of all nodes, per second.
    pub rate: &'static str,
}

/// Runs with particles.
pub const PARTICLES: Kind = Kind {
    context: CONTEXT_COLUMNS,
    strategy: &["backend", "shell", "exchange", "partition"],
    size: "atoms",
    phases: &Phase::ALL,
    rate: "atom_steps_per_s",
};

/// Dependence of the size of the system on the number of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    /// The size is constant.
    Strong,
    /// The size per rank is constant.
    Weak,
}

/// One row: a job and its repetitions.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Kind of the runs.
    pub kind: Kind,
    /// The context columns, as the jobs wrote them.
    pub context: Vec<String>,
    /// Seconds per step of the slowest rank.
    pub step: Interval,
    /// [`Kind::rate`] of all ranks together.
    pub rate_per_s: f64,
    /// Seconds per step, mean over ranks.
    pub phases_s: Vec<f64>,
}

/// Times of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    kind: Kind,
    context: Vec<String>,
    /// Seconds per step of the slowest rank.
    step_s: f64,
    phases_s: Vec<f64>,
}

impl Sample {
    /// Reads a run's timing.csv.
    ///
    /// # Errors
    /// [`EncodeError`]: a column, a phase or a number is missing or invalid.
    pub fn of_timing(timing_csv: &[u8], kind: Kind) -> Result<Self, EncodeError> {
        let mut reader = csv::Reader::from_reader(timing_csv);
        let columns = reader.headers().map_err(EncodeError::new)?.clone();
        let place = |name: &str| {
            let found = columns.iter().position(|column| column == name);
            found.ok_or_else(|| EncodeError::new(format!("timing.csv has no column `{name}`")))
        };
        let places = ["avg_s", "max_s", "steps"].map(place);
        let [avg_s, max_s, steps] = places;
        let (avg_s, max_s, steps) = (avg_s?, max_s?, steps?);
        let context = kind.context.split(',').map(place).collect::<Result<Vec<_>, _>>()?;
        let mut sample = Self { kind, context: Vec::new(), step_s: 0.0, phases_s: Vec::new() };
        for record in reader.records() {
            let record = record.map_err(EncodeError::new)?;
            let number = |place: usize| record[place].parse::<f64>().map_err(EncodeError::new);
            let steps = number(steps)?.max(1.0);
            sample.phases_s.push(number(avg_s)? / steps);
            // The last one is the total.
            sample.step_s = number(max_s)? / steps;
            sample.context = context.iter().map(|&place| record[place].to_owned()).collect();
        }
        if sample.phases_s.len() == kind.phases.len() {
            Ok(sample)
        } else {
            Err(EncodeError::new("timing.csv is not whole"))
        }
    }
}

impl Row {
    /// Returns the row with the medians of the samples; `None` without samples.
    pub fn of(samples: &[Sample]) -> Option<Self> {
        let step = Interval::of(&samples.iter().map(|sample| sample.step_s).collect::<Vec<_>>())?;
        let median = |phase: usize| {
            let times: Vec<f64> = samples.iter().map(|sample| sample.phases_s[phase]).collect();
            Interval::of(&times).map_or(0.0, |interval| interval.median_s)
        };
        let Sample { kind, context, .. } = samples.last()?.clone();
        let phases_s = (0..kind.phases.len()).map(median).collect();
        let row = Self { kind, context, step, rate_per_s: 0.0, phases_s };
        Some(Self { rate_per_s: row.size() / step.median_s, ..row })
    }

    /// Returns a column of the context; empty if there is no such column.
    pub fn column(&self, name: &str) -> &str {
        let place = self.kind.context.split(',').position(|column| column == name);
        place.and_then(|place| self.context.get(place)).map_or("", |text| text)
    }

    fn number(&self, name: &str) -> f64 {
        self.column(name).parse().unwrap_or(0.0)
    }

    /// Returns the number of particles, or of nodes times fields.
    fn size(&self) -> f64 {
        self.places() * self.column("fields").parse().unwrap_or(1.0)
    }

    /// Returns the number of particles or of nodes.
    fn places(&self) -> f64 {
        self.column(self.kind.size).split('x').map(|count| count.parse().unwrap_or(0.0)).product()
    }

    /// Returns the number of cores in use, assuming one core per thread.
    fn cores(&self) -> f64 {
        self.number("ranks") * self.number("threads")
    }

    /// Returns the rate with the interval that follows from that of the time per step.
    fn rate(&self) -> Interval {
        let Interval { median_s, low_s, high_s } = self.step;
        let size = self.rate_per_s * median_s;
        Interval { median_s: self.rate_per_s, low_s: size / high_s, high_s: size / low_s }
    }

    /// Returns the rate per core as a percentage of that of `first`.
    fn efficiency(&self, first: &Self) -> Interval {
        let per_core = |row: &Self| row.rate_per_s / row.cores().max(1.0);
        let share = 100.0 * per_core(self) / per_core(first);
        let Interval { median_s, low_s, high_s } = self.step;
        Interval { median_s: share, low_s: share * median_s / high_s, high_s: share * median_s / low_s }
    }
}

fn columns(Kind { context, phases, rate, .. }: Kind) -> String {
    let phases: Vec<String> = phases.iter().map(|phase| format!("{}_s", phase.name())).collect();
    format!("{context},step_median_s,step_low_s,step_high_s,{rate},{}", phases.join(","))
}

/// Returns the contents of sweep.csv.
///
/// # Errors
/// As [`crate::tables::table`].
pub fn sweep_csv(rows: &[Row], kind: Kind) -> Result<Vec<u8>, EncodeError> {
    let row = |row: &Row| {
        let Interval { median_s, low_s, high_s } = row.step;
        (row.context.clone(), [median_s, low_s, high_s, row.rate_per_s], row.phases_s.clone())
    };
    table(&[&columns(kind)], rows.iter().map(row))
}

/// Reads the rows of an earlier sweep.csv.
///
/// # Errors
/// [`EncodeError`]: the line that is not as in such a table, or has values that no job writes.
pub fn read_sweep(text: &str, kind: Kind) -> Result<Vec<Row>, EncodeError> {
    let own = columns(kind);
    if text.lines().next() != Some(own.as_str()) {
        return Err(EncodeError::new(format!("line 1: the columns are not {own}")));
    }
    if !text.ends_with('\n') {
        let line = text.lines().count();
        return Err(EncodeError::new(format!("line {line}: the file ends without a newline: it is cut")));
    }
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.records().map(|record| read_row(&record.map_err(EncodeError::new)?, kind)).collect()
}

fn read_row(record: &csv::StringRecord, kind: Kind) -> Result<Row, EncodeError> {
    let line = record.position().map_or(0, csv::Position::line);
    let fault = |what: String| EncodeError::new(format!("line {line}: {what}"));
    let number = |text: &str| {
        let value = text.parse::<f64>().ok().filter(|value| (0.0..=MOST).contains(value));
        value.ok_or_else(|| fault(format!("`{text}` is no number from 0 to {MOST:e}")))
    };
    let columns = kind.context.split(',').count();
    let numbers = record.iter().skip(columns).map(number).collect::<Result<Vec<_>, _>>()?;
    let [median_s, low_s, high_s, rate_per_s, phases_s @ ..] = &numbers[..] else {
        return Err(fault("it is too short".to_owned()));
    };
    let step = Interval { median_s: *median_s, low_s: *low_s, high_s: *high_s };
    if !(0.0 < *low_s && low_s <= median_s && median_s <= high_s && *rate_per_s > 0.0) {
        return Err(fault(format!(
            "step_low_s = {low_s}, step_median_s = {median_s} and step_high_s = {high_s} are no times of steps"
        )));
    }
    let context = record.iter().take(columns).map(str::to_owned).collect();
    let row = Row { kind, context, step, rate_per_s: *rate_per_s, phases_s: phases_s.to_vec() };
    for name in ["ranks", "threads", kind.size] {
        let value = row.column(name);
        if value.split('x').any(|part| part.parse::<u64>().map_or(true, |count| count == 0)) {
            return Err(fault(format!("`{name}` is `{value}`, no count")));
        }
    }
    Ok(row)
}

/// Returns the unit cells per dimension of a lattice of about `wanted` particles in the shape of
/// `cells`, which has `atoms` particles. A two-dimensional lattice keeps its single layer.
pub fn scaled_cells(kind: LatticeKind, cells: [u32; 3], atoms: u64, wanted: u64) -> [u32; 3] {
    let dimensions = kind.dimension().count();
    let flat = dimensions == 2;
    let factor = (wanted as f64 / atoms.max(1) as f64).powf(1.0 / dimensions as f64);
    let mut scaled = cells.map(|count| f64::from(count) * factor);
    if flat {
        scaled[2] = f64::from(cells[2]);
    }
    // Each dimension is rounded up or down; the combination that comes closest is taken.
    let ideal: f64 = scaled.iter().product();
    let rounded = |choice: usize| {
        [0, 1, 2]
            .map(|dim| (scaled[dim].floor() + f64::from(u8::from(choice >> dim & 1 == 1))).max(1.0) as u32)
    };
    let is_layer = |cells: &[u32; 3]| !flat || cells[2] == 1;
    let miss =
        |cells: &[u32; 3]| (cells.iter().map(|&count| f64::from(count)).product::<f64>() / ideal).ln().abs();
    let all = (0..8).map(rounded).filter(is_layer);
    all.min_by(|a, b| miss(a).total_cmp(&miss(b))).unwrap_or(cells)
}

/// Returns `copies` times the cells, in the shape closest to a cube among those with exactly this
/// number of cells: every rank of a weak sweep has the same number.
pub fn repeated_cells(kind: LatticeKind, mut cells: [u32; 3], mut copies: u32) -> [u32; 3] {
    let mut factors = Vec::new();
    let mut divisor = 2;
    while copies > 1 {
        if copies.is_multiple_of(divisor) {
            factors.push(divisor);
            copies /= divisor;
        } else {
            divisor += 1;
        }
    }
    for factor in factors.into_iter().rev() {
        let shortest = (0..kind.dimension().count()).min_by_key(|&dim| cells[dim]).unwrap_or(0);
        cells[shortest] = cells[shortest].saturating_mul(factor);
    }
    cells
}

/// Returns charts of time per step, rate and efficiency over the number of cores, or over the size
/// if all rows have the same number of cores.
pub fn scaling_picture(rows: &[Row], scaling: Scaling) -> Panels {
    let several = rows.iter().any(|row| row.cores() != rows[0].cores());
    let per_rank = |row: &Row| (row.places() / row.number("ranks").max(1.0)).round();
    let several_weak = scaling == Scaling::Weak && rows.iter().any(|row| per_rank(row) != per_rank(&rows[0]));
    let mut lines: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let Kind { size: unit, strategy, .. } = row.kind;
        let size = row.column(unit);
        let strategy = strategy.iter().map(|name| row.column(name)).collect::<Vec<_>>().join(" ");
        let size = match scaling {
            Scaling::Strong if several => format!(", {size} {unit}"),
            Scaling::Weak if several && several_weak => format!(", {} {unit} per rank", per_rank(row)),
            _ => String::new(),
        };
        let threads = counted(row.number("threads"), "thread");
        lines.entry(format!("{strategy}, {threads}{size}")).or_default().push(row);
    }
    let place = |row: &Row| if several { row.cores() } else { row.size() };
    lines.values_mut().for_each(|rows| rows.sort_by(|a, b| place(a).total_cmp(&place(b))));
    let panel = |title: &str, value: &dyn Fn(&Row, &Row) -> Interval| {
        let line = |(name, rows): (&String, &Vec<&Row>)| {
            let points = rows.iter().map(|row| (place(row), value(row, rows[0]))).collect();
            Line { name: name.clone(), points }
        };
        let unit = rows.first().map_or("size", |row| row.kind.size);
        let axis = if several { "ranks x threads" } else { unit }.to_owned();
        Panel { title: title.to_owned(), axis, lines: lines.iter().map(line).collect() }
    };
    let rate_name = rows.first().map_or("rate", |row| row.kind.rate);
    let name = if scaling == Scaling::Weak { "Weak scaling" } else { "Strong scaling" };
    let time = panel(&format!("{name}: time per step, s"), &|row, _| row.step);
    let rate = panel(rate_name, &|row, _| row.rate());
    let efficiency = panel("Efficiency: rate per core, % of the first", &Row::efficiency);
    Panels { panels: vec![time, rate, efficiency] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Picture;

    fn timing(ranks: u32, total_s: f64) -> Vec<u8> {
        let head = format!("phase,calls,min_s,avg_s,max_s,varavg_percent,share_percent,{CONTEXT_COLUMNS}\n");
        let rows = Phase::ALL.map(|phase| {
            let s = if phase == Phase::Total { total_s } else { 0.5 };
            format!("{},1,{s},{s},{s},0,0,p2p,half,direct,rect,1x1x1,{ranks},1,double,4000,10,7,\"Open MPI, 4\",here,0\n", phase.name())
        });
        [head, rows.concat()].concat().into_bytes()
    }

    fn row(ranks: u32, totals_s: &[f64]) -> Row {
        let samples: Vec<_> =
            totals_s.iter().map(|&s| Sample::of_timing(&timing(ranks, s), PARTICLES).unwrap()).collect();
        Row::of(&samples).unwrap()
    }

    #[test]
    fn a_row_is_the_median_of_its_runs_and_reads_back() {
        let rows = [row(1, &[2.0, 1.0, 4.0]), row(2, &[1.0])];
        let step = rows[0].step;
        assert_eq!((step.median_s, step.low_s, step.high_s, rows[0].rate_per_s), (0.2, 0.1, 0.4, 20_000.0));
        assert_eq!(rows[0].phases_s[0], 0.05);
        let text = String::from_utf8(sweep_csv(&rows, PARTICLES).unwrap()).unwrap();
        assert!(
            text.lines().nth(1).unwrap().contains(",7,\"Open MPI, 4\",here,0,0.2,0.1,0.4,20000.0,0.05,"),
            "{text}"
        );
        assert_eq!(read_sweep(&text, PARTICLES).unwrap(), rows);
        let error = read_sweep(&text.replace(",0.2,", ",fast,"), PARTICLES).unwrap_err();
        assert_eq!(error.to_string(), "line 2: `fast` is no number from 0 to 1e30");
        for (from, to, expected) in [
            (",0.2,", ",nan,", "line 2: `nan` is no number from 0 to 1e30"),
            (
                ",0.2,",
                ",0.5,",
                "line 2: step_low_s = 0.1, step_median_s = 0.5 and step_high_s = 0.4 are no times of steps",
            ),
            (",4000,", ",many,", "line 2: `atoms` is `many`, no count"),
        ] {
            assert_eq!(read_sweep(&text.replacen(from, to, 1), PARTICLES).unwrap_err().to_string(), expected);
        }
        let cut = read_sweep(text.trim_end(), PARTICLES).unwrap_err().to_string();
        assert_eq!(cut, "line 3: the file ends without a newline: it is cut");
        assert!(
            read_sweep("a,b\n", PARTICLES)
                .unwrap_err()
                .to_string()
                .starts_with("line 1: the columns are not backend,")
        );
    }

    #[test]
    fn efficiency_is_relative_to_the_first_point() {
        let picture = scaling_picture(&[row(2, &[1.0]), row(1, &[1.6])], Scaling::Strong);
        let [time, rate, efficiency] =
            [0, 1, 2].map(|panel: usize| picture.panels[panel].lines[0].points.clone());
        assert_eq!(
            time.iter().map(|(cores, step)| (*cores, step.median_s)).collect::<Vec<_>>(),
            [(1.0, 0.16), (2.0, 0.1)]
        );
        assert!((rate[1].1.median_s - 40_000.0).abs() < 1e-6, "{rate:?}");
        assert!((efficiency[1].1.median_s - 80.0).abs() < 1e-9, "{efficiency:?}");
        assert!(picture.svg().is_ok());
        assert!(scaling_picture(&[], Scaling::Weak).svg().is_ok());
    }

    /// Both rows have 4000 particles: 4000 and 2000 per rank.
    #[test]
    fn sizes_of_a_weak_sweep_are_lines_of_their_own() {
        let picture = scaling_picture(&[row(1, &[1.0]), row(2, &[1.0])], Scaling::Weak);
        let names: Vec<&str> = picture.panels[0].lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names.len(), 2);
        // Over sizes, the sweep is one line.
        let equal = scaling_picture(&[row(2, &[1.0]), row(2, &[2.0])], Scaling::Weak);
        assert_eq!(equal.panels[0].lines.len(), 1);
        assert!(
            names[0].ends_with("2000 atoms per rank") && names[1].ends_with("4000 atoms per rank"),
            "{names:?}"
        );
    }

    #[test]
    fn cells_come_as_close_as_whole_numbers_can() {
        for (wanted, cells) in [(4000, [10; 3]), (32_000, [20; 3]), (8000, [12, 13, 13]), (1, [1; 3])] {
            let mut scaled = scaled_cells(LatticeKind::Fcc, [10; 3], 4000, wanted);
            scaled.sort_unstable();
            assert_eq!(scaled, cells, "{wanted}");
        }
        assert_eq!(scaled_cells(LatticeKind::Sq, [10, 10, 1], 100, 400), [20, 20, 1]);
    }

    #[test]
    fn ranks_of_a_weak_sweep_have_the_same() {
        let repeated = |copies| repeated_cells(LatticeKind::Fcc, [20; 3], copies);
        assert_eq!([1, 2, 8, 12].map(repeated), [[20; 3], [40, 20, 20], [40; 3], [60, 40, 40]]);
        assert_eq!(repeated_cells(LatticeKind::Sq, [20, 20, 1], 6), [60, 40, 1]);
    }
}
