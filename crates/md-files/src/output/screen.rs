//! Text on standard output, with rounded numbers. Files contain the exact numbers.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use md_core::words::counted;
use md_engine::{ForceTotals, ParticleRow, Thermo};
use md_lab::significant;
use md_scenario::printable::escaped;

use crate::store::{Intact, OutputError};

/// Significant digits of the thermo table, as in LAMMPS.
const THERMO_DIGITS: usize = 8;

/// Width of a terminal in columns.
const COLUMNS: usize = 80;

/// Wraps prose to the width of a terminal, with continuation lines indented. (Tables are as wide as
/// their columns require.)
pub fn within_columns(text: &str) -> String {
    let wrapping = textwrap::Options::new(COLUMNS).subsequent_indent("  ").break_words(false);
    let line = |line: &str| match line.trim_end_matches('\n') {
        short if short.chars().count() <= COLUMNS => line.to_owned(),
        long => format!("{}\n", textwrap::fill(long, &wrapping)),
    };
    text.split_inclusive('\n').map(line).collect()
}

/// Returns the last line of a run: where its files are, and the command that draws them.
pub fn where_results_are(directory: &Path) -> String {
    let (path, word) = (directory.display(), shell_word(&directory.to_string_lossy()));
    format!("\nResults are in `{path}`; to draw them: md-cli plot {word}\n")
}

/// Quotes text so that a shell takes it as one word.
fn shell_word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+=:,@%".contains(letter);
    match text.chars().all(is_plain) && !text.starts_with('-') {
        true => text.to_owned(),
        false if text.starts_with('-') => format!("'./{}'", text.replace('\'', "'\\''")),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Amount of text that a run prints on standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Tables and the final report.
    #[default]
    Normal,
    /// Nothing. Errors are still printed on standard error.
    Quiet,
}

impl Verbosity {
    /// Returns the verbosity with or without `--quiet`.
    pub fn unless(quiet: bool) -> Self {
        if quiet { Self::Quiet } else { Self::Normal }
    }
}

/// Standard output. If its reader closes it (`md-cli run ... | head`), the text ends, but the run
/// continues.
pub struct Screen {
    stream: Box<dyn Write + Send>,
    verbosity: Verbosity,
    /// Reason why printed text did not arrive, unless the reader had closed the stream.
    failure: Option<io::Error>,
}

impl Screen {
    /// Creates a screen on the standard output of the program.
    pub fn stdout(verbosity: Verbosity) -> Self {
        Self::new(Box::new(io::stdout()), verbosity)
    }

    /// Creates a screen on any stream.
    pub fn new(stream: Box<dyn Write + Send>, verbosity: Verbosity) -> Self {
        Self { stream, verbosity, failure: None }
    }

    /// Prints the progress and results of a run. They are also in the files, so a stream that fails
    /// does not end the run: the screen stops printing, and [`Self::finish`] returns the reason.
    pub fn print(&mut self, text: &str) {
        if self.verbosity == Verbosity::Normal
            && let Err(reason) = self.send(text)
        {
            self.verbosity = Verbosity::Quiet;
            self.failure = Some(reason).filter(|reason| reason.kind() != io::ErrorKind::BrokenPipe);
        }
    }

    /// Checks at the end of a command, when its files are complete, that all printed text has
    /// arrived.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn finish(&mut self) -> Result<(), OutputError> {
        self.failure.take().map_or(Ok(()), |reason| Err(standard_output(reason, Intact::AllFiles)))
    }

    /// Writes the result that a command was started for (a schema, a scenario), even with
    /// `--quiet`. It is not an error if the reader closes the stream; any other failure is.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn write_result(&mut self, text: &str) -> Result<(), OutputError> {
        let sent = self.send(text);
        result_written(sent)
    }

    fn send(&mut self, text: &str) -> io::Result<()> {
        self.stream.write_all(escaped(text).as_bytes())?;
        self.stream.flush()
    }
}

/// Converts the outcome of writing a result to standard output. It is not an error if the reader
/// closed the stream.
///
/// # Errors
/// [`OutputError::Write`].
pub fn result_written(written: io::Result<()>) -> Result<(), OutputError> {
    match written {
        Err(reason) if reason.kind() != io::ErrorKind::BrokenPipe => {
            Err(standard_output(reason, Intact::Nothing))
        }
        _ => Ok(()),
    }
}

fn standard_output(reason: io::Error, intact: Intact) -> OutputError {
    OutputError::Write { path: PathBuf::from("standard output"), reason, intact }
}

/// Returns the column names of the thermo table, which are those of LAMMPS.
pub fn thermo_header() -> String {
    thermo_columns(["Step", "Temp", "PotEng", "KinEng", "TotEng", "Press"].map(str::to_owned))
}

/// Returns one row of the thermo table.
pub fn thermo_row(row: &Thermo) -> String {
    let [temperature, potential, kinetic, total, pressure] =
        [row.temperature, row.potential_per_atom, row.kinetic_per_atom, row.total_per_atom, row.pressure]
            .map(fitting);
    thermo_columns([row.step.to_string(), temperature, potential, kinetic, total, pressure])
}

fn thermo_columns([step, temperature, potential, kinetic, total, pressure]: [String; 6]) -> String {
    format!("{step:>10} {temperature:>13} {potential:>13} {kinetic:>13} {total:>13} {pressure:>13}\n")
}

/// Returns a number of the thermo table with as many digits as fit into its column.
fn fitting(value: f64) -> String {
    /// Width with which all columns together are as wide as a terminal.
    const WIDTH: usize = 13;
    let texts = (1..=THERMO_DIGITS).rev().map(|digits| significant(value, digits));
    texts.into_iter().find(|text| text.len() <= WIDTH).unwrap_or_else(|| significant(value, 1))
}

/// Returns the report of `forces`: totals, and the particle with the largest force.
pub fn forces_report(totals: &ForceTotals, rows: &[ParticleRow]) -> String {
    let &ForceTotals { potential_energy, virial, tail_energy, pressure, .. } = totals;
    let size2 = |row: &ParticleRow| row.vector.iter().map(|component| component * component).sum::<f64>();
    let largest = rows.iter().rev().max_by(|a, b| size2(a).total_cmp(&size2(b)));
    let [potential_energy, virial, tail_energy, pressure] =
        [potential_energy, virial, tail_energy, pressure].map(|value| significant(value, THERMO_DIGITS));
    let mut text = format!(
        "{}\nPotential energy: {potential_energy}, of which tail correction: {tail_energy}\n\
         Virial: {virial}\nPressure: {pressure}\n",
        counted(rows.len(), "particle")
    );
    if let Some(row) = largest {
        let [x, y, z] = row.position.map(|component| significant(component, THERMO_DIGITS));
        let size = significant(size2(row).sqrt(), THERMO_DIGITS);
        text += &format!("Largest force: {size} on particle {}\n  at ({x}, {y}, {z})\n", row.id);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use md_core::SymmetricTensor;

    use super::*;
    use crate::output::fixtures::thermo_rows;

    /// A stream that accepts some writes, then fails with the given error.
    struct Stream {
        shown: Arc<Mutex<Vec<u8>>>,
        writes_left: usize,
        failure: io::ErrorKind,
    }

    impl Write for Stream {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.writes_left == 0 {
                return Err(self.failure.into());
            }
            self.writes_left -= 1;
            self.shown.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn screen(
        verbosity: Verbosity,
        writes_left: usize,
        failure: io::ErrorKind,
    ) -> (Screen, Arc<Mutex<Vec<u8>>>) {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let stream = Stream { shown: Arc::clone(&shown), writes_left, failure };
        (Screen::new(Box::new(stream), verbosity), shown)
    }

    #[test]
    fn the_thermo_table_is_aligned() {
        let [start, end] = thermo_rows();
        let blown_up = Thermo { pressure: f64::NAN, potential_per_atom: 1.5e12, ..end };
        let tiny = Thermo { pressure: -1.234567891e-7, total_per_atom: -1.234567891e-100, ..end };
        let text =
            [thermo_header(), thermo_row(&start), thermo_row(&end), thermo_row(&blown_up), thermo_row(&tiny)];
        assert!(text.iter().all(|line| line.len() == 81), "80 and the end of the line");
        insta::assert_snapshot!(text.concat(), @r"
        Step          Temp        PotEng        KinEng        TotEng         Press
           0          1.44    -6.7733681     2.1599325    -4.6134356    -5.0197073
         100     0.7574531    -5.7585055      1.136144    -4.6223615    0.20726105
         100     0.7574531       1.5e+12      1.136144    -4.6223615           NaN
         100     0.7574531    -5.7585055      1.136144 -1.23457e-100 -1.234568e-07
        ");
    }

    #[test]
    fn a_broken_pipe_silences_the_screen() {
        let (mut screen, shown) = screen(Verbosity::Normal, 1, io::ErrorKind::BrokenPipe);
        screen.print("seen\n");
        screen.print("lost\n");
        screen.print("lost\n");
        screen.write_result("lost\n").unwrap();
        screen.finish().unwrap();
        assert_eq!(*shown.lock().unwrap(), b"seen\n");
    }

    #[test]
    fn a_full_disk_is_told_in_the_end() {
        let (mut screen, _) = screen(Verbosity::Normal, 0, io::ErrorKind::StorageFull);
        screen.print("a table\n");
        assert!(screen.write_result("the schema\n").is_err());
        let error = screen.finish().unwrap_err();
        insta::assert_snapshot!(error, @"cannot write `standard output`: no storage space; all files are complete");
    }

    #[test]
    fn the_command_to_draw_results_can_be_pasted() {
        let line = |path: &str| where_results_are(Path::new(path));
        assert_eq!(line("out/a"), "\nResults are in `out/a`; to draw them: md-cli plot out/a\n");
        for (path, word) in [("a b", "'a b'"), ("it's", r"'it'\''s'"), ("-a", "'./-a'"), ("$x", "'$x'")] {
            assert!(line(path).ends_with(&format!("md-cli plot {word}\n")), "{path}");
        }
    }

    #[test]
    fn quiet_keeps_results() {
        let (mut screen, shown) = screen(Verbosity::Quiet, 9, io::ErrorKind::BrokenPipe);
        screen.print("a table\n");
        screen.write_result("the schema\n").unwrap();
        assert_eq!(*shown.lock().unwrap(), b"the schema\n");
    }

    #[test]
    fn the_largest_force_is_named() {
        let rows = [[1.0, 2.0, 2.0], [0.0, -3.0, 0.0], [0.0; 3]]
            .map(|vector| ParticleRow { vector, ..Default::default() });
        let rows: Vec<_> = (1..).zip(rows).map(|(id, row)| ParticleRow { id, ..row }).collect();
        let totals = ForceTotals {
            potential_energy: -4351.5,
            virial: -568.67,
            virial_tensor: SymmetricTensor::default(),
            tail_energy: -198.49,
            pressure: 0.1,
        };
        insta::assert_snapshot!(forces_report(&totals, &rows), @r"
        3 particles
        Potential energy: -4351.5, of which tail correction: -198.49
        Virial: -568.67
        Pressure: 0.1
        Largest force: 3 on particle 1
          at (0, 0, 0)
        ");
    }
}
