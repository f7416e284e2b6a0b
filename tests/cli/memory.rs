//! Systems beyond the memory of the machine, and the estimate of the memory that a run needs.

use super::limits::at_once;
use crate::support::{MELT, Said, Start, Workdir, from_file};
use insta::assert_snapshot;

/// Returns the text without the memory of this machine and without the sizes that would fit into
/// it.
fn anywhere(text: &str) -> String {
    let (before, rest) = text.split_once("help: there are ").unwrap_or_else(|| panic!("{text}"));
    let (_, after) = rest.split_once(" particles\n").unwrap_or_else(|| panic!("{text}"));
    format!("{before}help: there are ... particles\n{after}")
}

#[test]
fn systems_that_no_memory_holds() {
    let workdir = Workdir::new(&MELT.replace("[6, 5, 5]", "[65536, 1294967295, 1000]"));
    let check = anywhere(&at_once(&workdir, "check melt.toml"));
    assert_snapshot!(check, @r#"
    exit code 2
    error: × 339467906580480000 particles need about 99 EB of memory per rank
       ╭─[melt.toml:6:53]
     5 │ [system]
     6 │ lattice = { kind = "fcc", density = 0.8442, cells = [65536, 1294967295, 1000] }
       ·                                                     ─────────────────────────
     7 │ temperature = 1.44
       ╰────
      help: there are ... particles
    "#);
    // `forces` gathers the forces on all particles.
    for (command, bytes) in [("run", "99 EB"), ("forces", "180 EB")] {
        let said = anywhere(&at_once(&workdir, &format!("{command} melt.toml --set parallel.backend=local")));
        assert_eq!(said, check.replace("99 EB", bytes));
    }
    assert_eq!(workdir.files("."), ["melt.toml"]);
    let set = |cells: &str| format!("check melt.toml --set system.lattice.cells={cells}");
    let text = at_once(&workdir, &set("[1400000000,1400000000,1400000000]"));
    let (text, there) = text.split_once("help: there are ").unwrap();
    assert!(there.ends_with(" of memory per rank here\n") && !there.contains("particles"), "{there}");
    assert_snapshot!(text, @r"
    exit code 2
    error: × more particles than can be counted
       ╭─[command line:1:28]
     1 │ --set system.lattice.cells=[1400000000,1400000000,1400000000]
       ·                            ──────────────────────────────────
       ╰────
    ");
    assert_snapshot!(anywhere(&at_once(&workdir, &set("[1000000000,2,2]"))), @r"
    exit code 2
    error: × 16000000000 particles need about 10 TB of memory per rank
       ╭─[command line:1:28]
     1 │ --set system.lattice.cells=[1000000000,2,2]
       ·                            ────────────────
       ╰────
      help: there are ... particles
    ");
}

/// A limit of the shell, which does not appear in the system's numbers about free memory.
#[test]
fn a_block_that_cannot_be_had_is_an_error() {
    let workdir = Workdir::new(&MELT.replace("[6, 5, 5]", "[60, 60, 60]"));
    let local = "--set parallel.backend=local";
    let script = format!("ulimit -v 200000; exec \"$md\" run melt.toml --quiet {local}");
    let said = Said::of(workdir.shell(&script));
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{said:?}");
    let size = said.stderr.strip_prefix("error: rank 0: out of memory: there is no room for a block of ");
    let size: u64 = size.and_then(|text| text.strip_suffix(" bytes\n")).unwrap().parse().unwrap();
    assert!(size > 1_000_000, "{size}");
}

/// Whatever the limit is, all memory for large numbers of particles or cells is allocated with a
/// check.
#[test]
fn no_large_block_is_taken_for_granted() {
    let workdir = Workdir::new(&MELT.replace("[6, 5, 5]", "[30, 30, 30]"));
    workdir.write("machine.toml", super::predict::MACHINE);
    let local = "--set parallel.backend=local --steps 1 --quiet";
    for (command, asked) in [
        (format!("run melt.toml {local}"), "error: rank 0: out of memory: there is no room for "),
        (
            "predict melt.toml --ranks 20000 --ranks-per-node 20000 --weak --machine machine.toml --backends p2p --steps 1 --quiet"
                .to_owned(),
            // A prediction of 1 step on 20000 ranks, or a look at the pairs of a sample.
            "error: out of memory: there is no room for a ",
        ),
    ] {
        let mut refused = 0;
        for room in (60_000..=150_000).step_by(10_000) {
            let said = Said::of(workdir.shell(&format!("ulimit -v {room}; exec \"$md\" {command}")));
            let small =
                said.stderr.split("memory allocation of ").nth(1).and_then(|text| text.split(' ').next());
            let is_small = small.is_some_and(|size| size.parse::<u64>().unwrap() < 100_000);
            let is_asked = said.stderr.lines().any(|line| line.starts_with(asked));
            assert!(
                said.code == Some(0) || said.code == Some(1) && (is_asked || is_small),
                "{room}: {said:?}"
            );
            refused += u64::from(is_asked);
        }
        assert!(refused > 0, "{command}");
    }
}

/// A file without content can be of any size.
#[test]
fn particle_files_beyond_the_memory() {
    let workdir = Workdir::new(&from_file("particles"));
    let file = std::fs::File::create(workdir.path("particles")).unwrap();
    file.set_len(4 << 40).unwrap();
    for command in ["check", "run", "forces"] {
        let text = at_once(&workdir, &format!("{command} melt.toml"));
        let there =
            text.strip_prefix("exit code 2\nerror: cannot read `particles`: it has 4.4 TB, but there are ");
        assert!(there.is_some_and(|text| text.ends_with(" of memory per rank here\n")), "{text}");
    }
    assert_eq!(workdir.files("."), ["melt.toml", "particles"]);
    file.set_len(0).unwrap();
    let row = "A 1.000000 1.000000 1.000000\n";
    let atoms = 1_500_000;
    workdir.write("particles", &format!("{atoms}\nLattice=\"9 0 0 0 9 0 0 0 9\"\n{}", row.repeat(atoms)));
    for room in [60_000, 400_000] {
        let said = Said::of(workdir.shell(&format!(
            "ulimit -v {room}; exec \"$md\" run melt.toml --quiet --set parallel.backend=local"
        )));
        assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{said:?}");
        assert_eq!(
            said.stderr,
            "error: out of memory: there is no room for the particles of `particles` (44 MB)\n"
        );
    }
}

/// The estimate of `check` agrees with the use of a run within 30 %. With several ranks it is that
/// of the first rank, which gathers frames.
#[test]
fn memory_is_estimated() {
    let workdir = Workdir::new(&MELT.replace("[6, 5, 5]", "[20, 20, 20]"));
    workdir.write(
        "frames.toml",
        &format!("{}trajectory = {{ path = \"t.extxyz\", every = 1000000 }}\n", workdir.read("melt.toml")),
    );
    for (scenario, place) in [("melt.toml", 3), ("frames.toml", 12)] {
        let said = workdir.succeed(Start::Threads(1), &format!("check {scenario}"));
        let remark = said.stdout.lines().last().unwrap();
        let words: Vec<&str> = remark.split(' ').collect();
        let form = [
            "# needs about N MB of memory per rank",
            "# needs about N MB of memory per rank, rank N about N MB",
        ];
        assert_eq!(
            form[usize::from(place == 12)],
            words.iter().map(|word| word.parse::<f64>().map_or(*word, |_| "N")).collect::<Vec<_>>().join(" ")
        );
        let estimate: f64 = words[place].parse().unwrap();
        let mut command = workdir.shell(&format!(
            "\"$md\" run {scenario} --steps 1000000 --quiet --set parallel.backend=local & sleep 4; \
             grep VmHWM /proc/$!/status; kill -9 $!"
        ));
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let used = text.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok());
        let used = used.unwrap_or_else(|| panic!("{text}")) / 1e3;
        assert!((estimate / used - 1.0).abs() < 0.3, "{scenario}: estimated {estimate} MB, used {used} MB");
    }
}

/// The ranks that have their threads wait for the others. A thread may also get its stack, but none
/// for signals: then the standard library panics.
#[test]
fn threads_that_cannot_be_had_are_one_error() {
    let workdir = Workdir::new(MELT);
    let local = "--set parallel.backend=local --set parallel.ranks=4 --threads 200";
    let said =
        Said::of(workdir.shell(&format!("ulimit -v 2000000; exec \"$md\" run melt.toml --quiet {local}")));
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{said:?}");
    let errors: Vec<&str> = said.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    let is_refusal = |line: &str| {
        let reason = "200 threads cannot be started: Resource temporarily unavailable (os error 11)";
        line.strip_prefix("error: rank ").is_some_and(|rest| rest.ends_with(reason))
    };
    let [error] = errors[..] else { return assert!(said.stderr.contains("stack_overflow.rs"), "{said:?}") };
    assert!(is_refusal(error), "{said:?}");
}

/// The number of sites, copies or cells is checked before any work is done for each of them.
#[test]
fn what_takes_time_for_every_site_or_cell_is_estimated() {
    let vapour = "vapour = { density = DENSITY, droplets = [{ centre = [0.27, 0.5, 0.5], radius = 19.0 }] }";
    let lattice =
        format!("lattice = {{ kind = \"fcc\", density = 0.8, cells = [20000, 400, 400], {vapour} }}");
    let scenario = format!("[simulation]\nsteps = 5\n[system]\n{lattice}\ntemperature = 0.7\n");
    let workdir = Workdir::new(&scenario.replace("DENSITY", "0.02"));
    for command in ["check", "run"] {
        let said = at_once(
            &workdir,
            &format!(
                "{command} melt.toml --set system.lattice.cells=[60000,4000,400] --set parallel.backend=local"
            ),
        );
        assert!(
            said.contains(" particles need about ") && said.starts_with("exit code 2\n"),
            "{command}: {said}"
        );
    }
    workdir.write("melt.toml", &scenario.replace("DENSITY", "0.0001"));
    let said = workdir.succeed(Start::Plain, "check melt.toml");
    let tail = said.stdout.rsplit_once("\n\n").unwrap().1;
    let expected = "# of the 12800000000 sites of the lattice some were tried: the number of particles is an estimate\n# needs about ";
    assert!(tail.starts_with(expected), "{tail}");
    // Regions are counted without visiting their sites, and the positions of a gas are only drawn
    // in a run.
    let region = "{ kind = \"fcc\", density = 0.8, low = [0.0, 0.0, 0.0], high = [9e5, 9e5, 9e5] }";
    for particles in [
        format!("regions = {{ box = [1e6, 1e6, 1e6], lattices = [{region}] }}"),
        "gas = { atoms = 900000000000000, density = 0.1 }".to_owned(),
    ] {
        workdir.write(
            "melt.toml",
            &format!("[simulation]\nsteps = 5\n[system]\n{particles}\ntemperature = 0.7\n"),
        );
        let said = at_once(&workdir, "check melt.toml");
        assert!(said.contains(" particles need about "), "{said}");
    }
    // Copies of a file.
    let file = "1\nLattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3\nA 1 1 1\n";
    workdir.write("one.extxyz", file);
    let copies = "file = { path = \"one.extxyz\", format = \"extxyz\", replicate = [100000, 100000, 1000] }";
    workdir.write("melt.toml", &format!("[simulation]\nsteps = 5\n[system]\n{copies}\ntemperature = 0.7\n"));
    for command in ["check melt.toml", "run melt.toml --set parallel.backend=local --set parallel.ranks=2"] {
        let said = at_once(&workdir, command);
        assert!(said.contains("10000000000000 particles need about "), "{command}: {said}");
    }
    // Cells for which a partition has a table.
    let thin = "[simulation]\nsteps = 5\n[system]\ngas = { atoms = 4000000, density = 0.001 }\ntemperature = 0.7\n\
                [parallel]\npartition = \"rcb\"\nranks = 4\nbackend = \"local\"\n";
    workdir.write("melt.toml", thin);
    let said = workdir.succeed(Start::Plain, "check melt.toml");
    assert!(
        said.stdout.contains(" cells were not divided by `rcb`, which takes a while\n"),
        "{}",
        said.stdout
    );
}
