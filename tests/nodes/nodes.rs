//! Two nodes, and the tests that run on them.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use md_comm::{World, mpi};

use crate::support::launch::{Finished, run_with_timeout};
use crate::support::{Tally, program};
use crate::{agreement, cores, predictions};

/// Time limit. On a quiet machine each test takes a tenth of it.
const LIMIT: Duration = Duration::from_secs(400);
/// Exit code of the script on a machine where nodes cannot be created.
const IMPOSSIBLE: i32 = 3;
const DELAY: (&str, Duration) = ("20ms", Duration::from_millis(20));
/// Number of barriers. The first of them is short for a rank that arrives late.
const BARRIERS: u32 = 11;
/// Environment variable with both components that Open MPI 4 needs over TCP. Other libraries ignore
/// it.
pub(crate) const OPTIONS: (&str, &str) = ("OMPI_MCA_osc", "pt2pt,sm");

/// Two nodes, which are removed when this is dropped.
pub(crate) struct Nodes(String);

impl Drop for Nodes {
    fn drop(&mut self) {
        let _ = self.script("down").output();
    }
}

impl Nodes {
    /// Creates the nodes. Returns `None` where they cannot be created, and prints the reason.
    pub(crate) fn up(name: &str, options: &[&str]) -> Result<Option<Self>, String> {
        let nodes = Self(format!("md{name}{}", std::process::id()));
        let finished = finish(nodes.script("up").arg("2").args(options))?;
        match finished.status.and_then(|status| status.code()) {
            Some(0) => Ok(Some(nodes)),
            Some(IMPOSSIBLE) => {
                println!("SKIPPED, NOTHING IS TESTED BETWEEN NODES: {}", finished.stderr.trim());
                Ok(None)
            }
            _ => Err(finished.stderr),
        }
    }

    fn script(&self, word: &str) -> Command {
        let mut command = Command::new(script());
        command.env("MD_NODES", &self.0).arg(word);
        command
    }

    /// Returns a launcher, to be followed by options of mpirun, a program and its arguments.
    pub(crate) fn run(&self, ranks_per_node: usize) -> Command {
        let mut command = self.script("run");
        command.arg(ranks_per_node.to_string());
        command
    }

    /// Runs another test program with the nodes as its launcher, and prints its counts.
    fn play(&self, test: &str, ranks_per_node: usize, variables: &[(&str, &str)]) -> Result<(), String> {
        let mut cargo = program::cargo("test");
        cargo.args(["--test", test]).envs(variables.iter().copied());
        cargo.env("MPIEXEC", format!("{} run {ranks_per_node}", script())).env("MD_NODES", &self.0);
        let finished = finish(cargo.env(OPTIONS.0, OPTIONS.1))?;
        let last = finished.stdout.lines().last().unwrap_or_default();
        println!("        {last} after {:.0} s", finished.duration.as_secs_f64());
        let played = finished.succeeded() && !last.starts_with("0 ") && last.ends_with(" passed, 0 failed");
        if played { Ok(()) } else { Err(output(&finished)) }
    }

    /// Returns the time of all barriers between two nodes.
    fn barriers(&self) -> Result<Duration, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let finished = finish(self.run(1).arg(program))?;
        let seconds = finished.stdout.trim().parse().map(Duration::from_secs_f64);
        seconds.map_err(|_| output(&finished))
    }
}

fn script() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/nodes.sh").display().to_string()
}

pub(crate) fn finish(command: &mut Command) -> Result<Finished, String> {
    let command = std::mem::replace(command, Command::new("true"));
    run_with_timeout(command, LIMIT).map_err(|error| error.to_string())
}

pub(crate) fn output(finished: &Finished) -> String {
    format!("{:?}\n{}\n{}", finished.status, finished.stdout, finished.stderr)
}

pub(crate) fn check_all(tally: &mut Tally) {
    let nodes = match Nodes::up("n", &[]) {
        Ok(Some(nodes)) => nodes,
        Ok(None) => return,
        Err(why) => return tally.show("nodes can be made", Err(why)),
    };
    for (ranks_per_node, ranks) in [(1, "2"), (2, "4")] {
        for (test, extent, number) in [
            ("conformance", "MD_CONFORMANCE", "MD_CONFORMANCE_RANKS"),
            ("truth_strategies", "MD_STRATEGIES", "MD_STRATEGIES_RANKS"),
        ] {
            let played = nodes.play(test, ranks_per_node, &[(extent, "nodes"), (number, ranks)]);
            tally.show(&format!("{test} over 2 nodes, {ranks} ranks"), played);
        }
    }
    tally.show("ranks of two nodes on one core are warned of", cores::of_two_nodes(&nodes));
    agreement::check_all(&nodes, tally);
    tally.show("predictions come true between nodes", predictions::between_nodes());
    tally.show("the script", script_holds(nodes));
}

/// Checks that delays work, that nodes are not created twice, and that nothing is left behind.
fn script_holds(nodes: Nodes) -> Result<(), String> {
    let again = finish(nodes.script("up").arg("2"))?;
    let expected = "nodes.sh: there are nodes already: nodes.sh down\n";
    if again.stderr != expected {
        return Err(format!("{expected:?} instead of {:?}", again.stderr));
    }
    // Its name begins with the name of another set of nodes. It must remain when the other is
    // removed.
    let longer = Nodes(format!("{}1", nodes.0));
    finish(longer.script("up").arg("1"))?;
    let far = Nodes::up("f", &["--delay", DELAY.0, "--rate", "1gbit"])?.ok_or("not made a second time")?;
    let (least, barriers) = ((BARRIERS - 1) * DELAY.1, [nodes.barriers()?, far.barriers()?]);
    if barriers[0] >= least || barriers[1] < least {
        return Err(format!(
            "{BARRIERS} barriers take {barriers:?}, without and with a delay of {}",
            DELAY.0
        ));
    }
    let names = [nodes.0.clone(), far.0.clone()];
    drop((nodes, far));
    let listed = finish(Command::new("ip").args(["netns", "list"]))?.stdout;
    if !listed.contains(&format!("{}-1", longer.0)) {
        return Err(format!("{} went with the set {}: {listed}", longer.0, names[0]));
    }
    drop(longer);
    let left = finish(Command::new("sh").args(["-c", "ip netns list; ls /tmp /dev/shm; ps -ef"]))?.stdout;
    let left: Vec<_> =
        left.lines().filter(|line| names.iter().any(|name| line.contains(name.as_str()))).collect();
    if left.is_empty() { Ok(()) } else { Err(format!("left behind: {left:?}")) }
}

/// Work of this program as a rank.
pub(crate) fn print_time_of_barriers() -> ExitCode {
    let timed = mpi::start(LIMIT).and_then(|world| {
        let begun = Instant::now();
        (0..BARRIERS).try_for_each(|_| world.barrier())?;
        if world.rank() == 0 {
            println!("{}", begun.elapsed().as_secs_f64());
        }
        Ok(())
    });
    ExitCode::from(u8::from(timed.is_err()))
}
