//! `thermo.csv`: the thermodynamic state over time, which is also shown on the screen.

use md_engine::{Needs, Observer, ObserverError, RunsOn, Snapshot, Thermo};
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;

use super::averages::Averages;
use super::run_output::{Closing, Opened, Opening, OutputKind, RunOutput, Scope, SharedConsole, StageBegin};
use super::screen::thermo_row;
use super::tables::rows;
use crate::checkpoint::OutputState;
use crate::store::{OutputDirectory, OutputError, OutputMark, RecordFile};

/// Output of the thermodynamic state.
pub static KIND: OutputKind = OutputKind {
    scope: Scope::Stage,
    files: &[KnownFile::THERMO],
    needs: Needs::ENERGY_AND_VIRIAL,
    has_tracks: false,
    open,
};

struct ThermoTable {
    interval: u64,
    last_step: u64,
    timestep: f64,
    /// Writers of the rows, on rank 0.
    rows: Option<Rows>,
}

struct Rows {
    writer: ThermoWriter,
    console: SharedConsole,
    averages: Averages,
}

fn open<'a>(opening: &Opening<'a>) -> Result<Opened<'a>, OutputError> {
    let Opening { scenario, root, .. } = opening;
    let rows = root.as_ref().map(|root| {
        let writer = match opening.mark(KnownFile::THERMO.name()) {
            Some((mark, step)) => ThermoWriter::go_on(root.directory, mark, step),
            None => ThermoWriter::create(root.directory),
        };
        Ok(Rows { writer: writer?, console: root.console.clone(), averages: Averages::open(opening) })
    });
    let (interval, timestep) = (scenario.output.thermo.every, scenario.simulation.timestep);
    let last_step = scenario.simulation.steps;
    Ok(vec![Box::new(ThermoTable { interval, last_step, timestep, rows: rows.transpose()? })])
}

impl Observer for ThermoTable {
    fn due(&self, step: u64) -> Option<Needs> {
        let is_due = step.is_multiple_of(self.interval) || step == self.last_step;
        is_due.then_some(Needs::ENERGY_AND_VIRIAL)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        let (Some(Rows { writer, console, averages }), Some(thermo)) = (&mut self.rows, now.thermo) else {
            return Ok(());
        };
        averages.add(thermo);
        console.borrow_mut().print(&thermo_row(thermo));
        Ok(match now.step.is_multiple_of(self.interval) {
            true => writer.write(thermo),
            false => writer.write_last(thermo),
        }?)
    }

    fn runs_on(&self) -> RunsOn {
        RunsOn::FirstRank
    }

    fn ends_at(&mut self, step: u64) {
        self.last_step = step;
    }
}

impl RunOutput for ThermoTable {
    fn begin_stage(&mut self, stage: &StageBegin) {
        self.interval = stage.plan.thermo;
        self.last_step = stage.first_step + stage.plan.steps;
        self.rows.iter_mut().for_each(|rows| rows.averages.begin_stage(stage));
    }

    fn kept(&mut self) -> Result<OutputState, ObserverError> {
        let mark = self.rows.as_ref().map(|rows| rows.writer.mark()).transpose()?;
        Ok(OutputState { mark, memory: self.rows.as_ref().map(|rows| rows.averages.memory()) })
    }

    fn finish(self: Box<Self>, closing: &mut Closing) -> Result<(), RunError> {
        let Some(Rows { writer, averages, .. }) = self.rows else { return Ok(()) };
        closing.summary.extend(averages.summary(self.timestep));
        Ok(writer.finish()?)
    }
}

/// Name of a column, and its value.
type Column = (&'static str, fn(&Thermo) -> f64);

/// The columns after step and time. New columns are appended at the end, because scripts depend on
/// the order of the others.
const COLUMNS: &[Column] = &[
    ("temperature", |row| row.temperature),
    ("potential_per_atom", |row| row.potential_per_atom),
    ("kinetic_per_atom", |row| row.kinetic_per_atom),
    ("total_per_atom", |row| row.total_per_atom),
    ("pressure", |row| row.pressure),
    ("pressure_xx", |row| row.pressure_tensor.0[0]),
    ("pressure_yy", |row| row.pressure_tensor.0[1]),
    ("pressure_zz", |row| row.pressure_tensor.0[2]),
    ("pressure_xy", |row| row.pressure_tensor.0[3]),
    ("pressure_xz", |row| row.pressure_tensor.0[4]),
    ("pressure_yz", |row| row.pressure_tensor.0[5]),
    ("volume", |row| row.volume),
    ("conserved_per_atom", |row| row.conserved_per_atom),
    ("box_x", |row| row.lengths[0]),
    ("box_y", |row| row.lengths[1]),
    ("box_z", |row| row.lengths[2]),
    ("density", |row| row.density),
];

/// Returns the names of the columns after step and time.
pub(super) fn columns() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().map(|&(name, _)| name)
}

/// Returns the values of these columns.
pub(super) fn values(row: &Thermo) -> impl Iterator<Item = f64> {
    COLUMNS.iter().map(|(_, value)| value(row))
}

/// Returns the line of column names.
fn header() -> String {
    format!("step,time,{}\n", columns().collect::<Vec<_>>().join(","))
}

/// Writer of one row per [`Thermo`]. Each row is on disk when [`ThermoWriter::write`] returns.
#[derive(Debug)]
pub struct ThermoWriter {
    file: RecordFile,
}

impl ThermoWriter {
    /// Creates the file and writes the column names.
    ///
    /// # Errors
    /// [`OutputError::OverwritesInput`], [`OutputError::Create`].
    pub fn create(directory: &OutputDirectory) -> Result<Self, OutputError> {
        Ok(Self { file: directory.create_records(KnownFile::THERMO.name(), header().as_bytes())? })
    }

    /// Continues the file from its state at `mark`, in the checkpoint after `step`.
    ///
    /// # Errors
    /// Returns the errors of [`RecordFile::go_on`].
    pub fn go_on(directory: &OutputDirectory, mark: &OutputMark, step: u64) -> Result<Self, OutputError> {
        Ok(Self { file: directory.go_on_with_records(mark, step)? })
    }

    /// Appends a row.
    ///
    /// # Errors
    /// [`OutputError::Encode`], [`OutputError::Write`].
    pub fn write(&mut self, row: &Thermo) -> Result<(), OutputError> {
        self.file.append(&thermo_line(row)?, row.step)
    }

    /// Appends a row that is only written because the run ends. A resumed run drops it.
    ///
    /// # Errors
    /// Returns the errors of [`Self::write`].
    pub fn write_last(&mut self, row: &Thermo) -> Result<(), OutputError> {
        self.file.append_last(&thermo_line(row)?, row.step)
    }

    /// Returns the current length of the file as a mark for a checkpoint.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn mark(&self) -> Result<OutputMark, OutputError> {
        self.file.mark()
    }

    /// Checks that all rows have reached the disk.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn finish(self) -> Result<(), OutputError> {
        self.file.finish()
    }
}

fn thermo_line(row: &Thermo) -> Result<Vec<u8>, OutputError> {
    rows(KnownFile::THERMO, [(row.step, row.time, values(row).collect::<Vec<_>>())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fixtures::thermo_rows;
    use crate::store::Intact;

    #[test]
    fn rows_are_whole_lines_under_the_column_names() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = ThermoWriter::create(&OutputDirectory::create(folder.path()).unwrap()).unwrap();
        for row in thermo_rows() {
            writer.write(&row).unwrap();
        }
        let text = std::fs::read_to_string(folder.path().join("thermo.csv")).unwrap();
        insta::assert_snapshot!(text, @r"
        step,time,temperature,potential_per_atom,kinetic_per_atom,total_per_atom,pressure,pressure_xx,pressure_yy,pressure_zz,pressure_xy,pressure_xz,pressure_yz,volume,conserved_per_atom,box_x,box_y,box_z,density
        0,0.0,1.44,-6.773368053259247,2.1599325,-4.613435553259247,-5.019707296,-5.0,-5.0,-5.059121888,0.25,0.0,-0.125,4738.213693,-4.613435553259247,16.795961913825074,16.795961913825074,16.795961913825074,0.8442
        100,0.5,0.7574531,-5.7585055,1.136144,-4.6223615,0.20726105,-5.0,-5.0,-5.059121888,0.25,0.0,-0.125,4738.213693,-4.6223615,16.795961913825074,16.795961913825074,16.795961913825074,0.8442
        ");
        writer.finish().unwrap();
    }

    #[test]
    fn a_full_disk_ends_with_the_last_intact_step() {
        let mut writer = ThermoWriter { file: RecordFile::on_full_disk(Intact::UpToStep(0)) };
        let error = writer.write(&thermo_rows()[1]).unwrap_err().to_string();
        assert!(error.contains("up to step 0 is intact"), "{error}");
    }

    #[test]
    fn a_state_that_blew_up_can_be_seen_in_the_file() {
        let row = Thermo { temperature: f64::NAN, pressure: f64::INFINITY, ..thermo_rows()[0] };
        let line = String::from_utf8(thermo_line(&row).unwrap()).unwrap();
        assert!(line.contains("NaN") && line.contains("inf"), "{line}");
    }
}
