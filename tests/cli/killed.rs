//! Jobs that are killed: all processes end, and the files written so far can be read.
//!
//! A record is one `write`, but Linux lets SIGKILL end a `write` between two pages of memory.
//! Therefore the last record may be incomplete, while all records before it are complete.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{MELT, Start, Workdir, p2p_available};

/// Time limit for the end of a job, the only duration that is checked.
const WITHIN: Duration = Duration::from_secs(120);

/// Number of lines of a frame: number of particles, comment, particles.
const LINES_PER_FRAME: usize = 602;

/// A job of three ranks that would run for hours.
struct Job {
    workdir: Workdir,
    launcher: Child,
}

impl Drop for Job {
    fn drop(&mut self) {
        // It has already ended, unless the test has failed.
        self.launcher.kill().ok();
        self.launcher.wait().ok();
    }
}

impl Job {
    fn start() -> Self {
        let workdir = Workdir::new(&format!(
            "{}trajectory = {{ path = \"traj.extxyz\", every = 50 }}\n",
            MELT.replace("steps = 20", "steps = 1000000000")
        ));
        let mut command = workdir.command(Start::Mpirun(3), "run melt.toml --quiet");
        let launcher = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { workdir, launcher }
    }

    /// Waits until the run has made many steps.
    fn wait_for_rows(&self) {
        self.workdir.wait_for_lines("out/traj.extxyz", 7 * LINES_PER_FRAME);
    }

    /// Returns the process ids of the ranks, in no particular order.
    fn ranks(&self) -> Vec<u32> {
        let launcher = self.launcher.id();
        let is_rank = |process: &u32| {
            let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
            status.contains("Name:\tmd-cli\n") && status.contains(&format!("PPid:\t{launcher}\n"))
        };
        let processes = fs::read_dir("/proc").unwrap();
        let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        ids.filter(is_rank).collect()
    }

    /// Waits for the end of the launcher and of all ranks, and returns the exit code.
    fn wait_for_end(&mut self, ranks: &[u32]) -> Option<i32> {
        let begun = Instant::now();
        let code = loop {
            if let Some(status) = self.launcher.try_wait().unwrap() {
                break status.code();
            }
            assert!(begun.elapsed() < WITHIN, "the job hangs");
            std::thread::sleep(Duration::from_millis(10));
        };
        while ranks.iter().any(|&rank| is_running(rank)) {
            assert!(begun.elapsed() < WITHIN, "a rank has outlived the launcher");
            std::thread::sleep(Duration::from_millis(10));
        }
        code
    }

    fn check_files(&self) {
        let files = self.workdir.files("out").into_iter().filter(|name| name != ".md-cli.lock");
        assert_eq!(files.collect::<Vec<_>>(), ["scenario.toml", "thermo.csv", "traj.extxyz"]);
        let thermo = self.workdir.read("out/thermo.csv");
        let rows: Vec<&str> = whole_lines(&thermo).skip(1).collect();
        for row in &rows {
            let fields: Vec<f64> = row.split(',').map(|field| field.parse().unwrap()).collect();
            assert_eq!(fields.len(), thermo.lines().next().unwrap().split(',').count(), "{row}");
        }
        let steps: Vec<&str> = rows.iter().map(|row| row.split(',').next().unwrap()).collect();
        assert!(steps.starts_with(&["0", "7", "14"]), "{steps:?}");
        self.check_frames();
    }

    fn check_frames(&self) {
        let trajectory = self.workdir.read("out/traj.extxyz");
        let lines: Vec<&str> = whole_lines(&trajectory).collect();
        let whole_frames = lines.len() / LINES_PER_FRAME;
        assert!(whole_frames > 0);
        for frame in lines.chunks(LINES_PER_FRAME) {
            assert_eq!(frame[0], "600");
            let columns = |line: &&str| line.split_whitespace().count();
            let atoms = frame.get(2..).unwrap_or_default();
            assert!(atoms.iter().all(|atom| columns(atom) == columns(&lines[2])));
        }
    }
}

/// Returns the complete lines.
fn whole_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(str::trim_end)
}

fn signal(name: &str, process: u32) {
    let kill = format!("kill -s {name} {process}");
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success(), "{kill}");
}

/// Returns whether the process exists and is no zombie.
fn is_running(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    status.contains("State:") && !status.contains("State:\tZ")
}

#[test]
fn a_rank_that_is_killed_ends_the_job() {
    if !p2p_available() {
        return;
    }
    for victim in 0..3 {
        let mut job = Job::start();
        job.wait_for_rows();
        let mut ranks = job.ranks();
        ranks.sort_unstable();
        assert_eq!(ranks.len(), 3);
        signal("KILL", ranks[victim]);
        let code = job.wait_for_end(&ranks);
        assert!(code.is_some_and(|code| code != 0), "{code:?}");
        job.check_files();
    }
}

#[test]
fn a_killed_process_with_threads_leaves_files_that_can_be_read() {
    let workdir = Workdir::new(&format!(
        "{}trajectory = {{ path = \"traj.extxyz\", every = 50 }}\n",
        MELT.replace("steps = 20", "steps = 1000000000")
    ));
    let launcher = workdir.command(Start::Threads(3), "run melt.toml --quiet").spawn().unwrap();
    let mut job = Job { workdir, launcher };
    job.wait_for_rows();
    let process = job.launcher.id();
    signal("KILL", process);
    assert_eq!(job.wait_for_end(&[process]), None);
    job.check_files();
}
