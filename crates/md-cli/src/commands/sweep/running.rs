//! Runs of a job, each a process of its own, and why one fails.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use md_comm::Backend;
use md_files::store::OutputError;
use md_lab::sweep::{Kind, Row, Sample};
use md_scenario::failure::BAD_INPUT;
use md_scenario::known_file::KnownFile;

use super::table::Table;
use super::{Blame, Failure, Fault, SweepJob};
use crate::args::{DEFAULT_LAUNCHER, SweepArgs};
use crate::commands::refused;
use crate::cores;
use crate::early_end::EarlyEnd;

/// Folder of the running job. It is removed with its contents, so no other folder may have this
/// name.
const JOB: &str = ".md-cli.job";
/// Time between two checks of a job.
const PAUSE: Duration = Duration::from_millis(20);

impl SweepJob {
    /// Returns whether a row belongs to this job.
    pub(super) fn is_in(&self, row: &Row) -> bool {
        self.columns.iter().all(|(name, value)| row.column(name) == value)
    }

    /// Checks that the row belongs to this job, since a launcher may have started something else.
    fn expect_itself(&self, row: &Row) -> Result<(), Failure> {
        match self.columns.iter().find(|(name, value)| row.column(name) != value) {
            None => Ok(()),
            Some((name, wanted)) => {
                let found = row.column(name);
                let what = format!("it was to have {name} {wanted}, but ran with {found}: see --launcher");
                Err(went_wrong(what, String::new()))
            }
        }
    }

    /// Runs the job as many times as requested.
    pub(super) fn repeat(
        &self,
        args: &SweepArgs,
        table: &Table,
        early_end: &EarlyEnd,
    ) -> Result<Row, Failure> {
        let folder = table.directory.path().join(JOB);
        let samples: Result<Vec<Sample>, Failure> =
            (0..args.repeat).map(|_| self.run(args, &folder, table.kind, early_end)).collect();
        let row =
            Row::of(&samples?).ok_or_else(|| went_wrong("nothing was run".to_owned(), String::new()))?;
        self.expect_itself(&row)?;
        // The remaining files are of no use. If they cannot be removed, the next job replaces them.
        let _ = fs::remove_dir_all(&folder);
        Ok(row)
    }

    fn run(
        &self,
        args: &SweepArgs,
        folder: &Path,
        kind: Kind,
        early_end: &EarlyEnd,
    ) -> Result<Sample, Failure> {
        let create = |reason| OutputError::Create { action: "create", path: folder.to_owned(), reason };
        fs::create_dir_all(folder).map_err(create)?;
        let (scenario, said) = (folder.join("job.toml"), folder.join("said.txt"));
        fs::write(&scenario, &self.scenario).map_err(create)?;
        let mut command = self.start(&args.launcher).map_err(refused)?;
        command.arg(self.command).arg(&scenario).arg("--output").arg(folder).args([
            "--quiet",
            "--progress",
            "never",
        ]);
        let file = fs::File::create(&said).map_err(create)?;
        command.stdin(Stdio::null()).stdout(file.try_clone().map_err(create)?).stderr(file);
        let program = command.get_program().to_string_lossy().into_owned();
        let child =
            command.spawn().map_err(|reason| refused(format!("cannot start `{program}`: {reason}")))?;
        let code = wait(child, early_end);
        if let Some(signal) = early_end.signal() {
            return Err(Failure::Signal(signal));
        }
        let said = String::from_utf8_lossy(&fs::read(&said).unwrap_or_default()).into_owned();
        if code != Some(0) {
            return Err(ended_with(code, said));
        }
        let sample = match fs::read(folder.join(KnownFile::TIMING.name())) {
            Ok(timing) => Sample::of_timing(&timing, kind).map_err(|reason| reason.to_string()),
            Err(reason) => Err(format!("it has left no {}: {reason}", KnownFile::TIMING.name())),
        };
        sample.map_err(|reason| went_wrong(reason, said))
    }

    /// Returns the command of the program, started by the launcher unless its ranks are threads.
    fn start(&self, launcher: &str) -> Result<Command, String> {
        let program =
            std::env::current_exe().map_err(|reason| format!("cannot find this program: {reason}"))?;
        if self.backend == Backend::Local {
            return Ok(Command::new(program));
        }
        let is_default = launcher == DEFAULT_LAUNCHER;
        let launcher = launcher.replace("{ranks}", &self.ranks.to_string());
        let mut words = launcher.split_whitespace();
        let mut command = Command::new(words.next().ok_or("`--launcher` is empty")?);
        command.args(words).arg(program);
        if is_default {
            command.envs(leave_of_open_mpi(is_root(), self.ranks > cores::of_machine()));
        }
        Ok(command)
    }
}

/// Returns the environment variables by which Open MPI permits runs as root and runs of more ranks
/// than cores. Other libraries ignore them.
fn leave_of_open_mpi(as_root: bool, crowded: bool) -> impl Iterator<Item = (&'static str, &'static str)> {
    let root = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"].map(|name| (name, "1"));
    let many = [
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
    ];
    let wanted = [root.map(|it| (as_root, it)), many.map(|it| (crowded, it))];
    wanted.into_iter().flatten().filter_map(|(is_wanted, it)| is_wanted.then_some(it))
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Returns the failure of a job that may succeed another time.
fn went_wrong(reason: String, said: String) -> Failure {
    Failure::SweepJob(Fault { reason, blame: Blame::Circumstances, said })
}

/// Returns the failure of a job that ended with this exit code and output.
fn ended_with(code: Option<i32>, said: String) -> Failure {
    let ended = code.map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
    let error = said.lines().find(|line| line.starts_with("error: "));
    // Launchers have their own exit codes.
    let is_input = code == Some(i32::from(BAD_INPUT)) && error.is_some();
    let blame = if is_input { Blame::Input } else { Blame::Circumstances };
    // A launcher begins with the error, inside a frame, and ends with advice.
    let tells = |line: &&str| {
        let is_aside = ["warning: ", "note: "].iter().any(|aside| line.starts_with(aside));
        !is_aside && line.contains(char::is_alphanumeric)
    };
    let line = error.or_else(|| said.lines().find(tells));
    let reason = line.map_or_else(|| ended.clone(), |line| format!("{ended}: {}", line.trim()));
    Failure::SweepJob(Fault { reason, blame, said })
}

/// Waits for a job. If a signal is to end the sweep, it ends the job too.
fn wait(mut child: Child, early_end: &EarlyEnd) -> Option<i32> {
    let mut asked = false;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.code(),
            Ok(None) => std::thread::sleep(PAUSE),
            Err(_) => return None,
        }
        if !asked && early_end.signal().is_some() {
            asked = true;
            // Ctrl-C has already reached the job, but a SIGTERM to this process alone has not.
            let id = child.id().to_string();
            let _ = Command::new("kill").args(["-TERM", &id]).stderr(Stdio::null()).status();
        }
    }
}
