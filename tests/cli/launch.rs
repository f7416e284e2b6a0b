//! Start of the program: options, help, launchers, builds with and without MPI.

use crate::support::{MELT, Said, Start, Workdir, error, p2p_available};
use insta::assert_snapshot;

#[test]
fn the_version_and_the_help_of_the_program() {
    let workdir = Workdir::new(MELT);
    let version = Said {
        code: Some(0),
        stdout: format!("md-cli {}\n", env!("CARGO_PKG_VERSION")),
        stderr: String::new(),
    };
    assert_eq!(workdir.call(Start::Plain, "--version"), version);
    let help = workdir.succeed(Start::Plain, "--help");
    assert_eq!(help.stderr, "");
    assert_snapshot!(help.stdout, @r"
    Molecular dynamics with an exchangeable halo exchange. Runs as a plain process or under `mpirun -n
    P`

    Usage: md-cli <COMMAND>

    Simulate:
      run            Run a scenario
      check          Check a scenario and print it with all defaults filled in
      forces         Evaluate the forces of the initial state, without motion: forces.csv
      minimise       Minimise the energy by FIRE: minimised.extxyz and summary.json
      from-lammps    Make a scenario from a LAMMPS script, and list what could not be taken

    Look at results:
      plot           Draw the tables of a run as one page: plot.html
      analyse        Compute the analyses of a run from a trajectory: rdf.csv, msd.csv, ...
      inspect        Show what a checkpoint or a trajectory holds, and check it

    Choose and measure the exchange:
      compare        Measure halo strategies on this scenario and machine, and recommend one
      sweep          Run a scenario with several sizes, ranks and strategies: sweep.csv
      trace-summary  Summarise a timeline: which ranks waited for which, and where the time went
      bench          Measure the transports with micro-benchmarks: bench.csv, bench.svg
      fit            Measure this machine and fit a model of its costs: machine.toml, fit.svg
      predict        Predict the time of a step on any number of ranks from a fitted machine
      partition      Evaluate partitions on any number of ranks, without a run: partition.csv
      backends       List the halo backends and whether they are available here

    Applications on grids:
      stencil        Run a stencil application on the same halo exchange: fields on a grid
      lbm            Run a flow by the lattice Boltzmann method on the same halo exchange

    Tools:
      schema         Print the JSON Schema of a scenario, for editors
      completions    Print what a shell needs to complete commands and options
      man            Print the manual page of the program or of a command, for man
      help           Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help
      -V, --version  Print version

    `md-cli help COMMAND` describes a command.
    ");
}

#[test]
fn the_help_of_a_command() {
    let workdir = Workdir::new(MELT);
    let run = workdir.succeed(Start::Plain, "run --help").stdout;
    for option in
        ["--set", "--output", "--steps", "--threads", "--wall-time", "--quiet", "--progress", "--resume"]
    {
        assert!(run.contains(&format!("      {option}")), "{option}\n{run}");
    }
    assert_snapshot!(workdir.succeed(Start::Plain, "check --help").stdout, @r"
    Check a scenario and print it with all defaults filled in

    Usage: md-cli check [OPTIONS] <SCENARIO>

    Arguments:
      <SCENARIO>  Scenario file (TOML)

    Options:
          --set <KEY.PATH=VALUE>  Override a key of the scenario, e.g. --set interaction.cutoff=3.0; may
                                  be repeated
          --output <DIR>          Output directory, instead of output.directory
          --threads <N|auto>      Threads per rank, instead of parallel.threads; auto: the cores of this
                                  machine divided by its ranks
          --steps <N>             Number of steps, instead of simulation.steps
      -h, --help                  Print help
    ");
}

/// Returns the error about a command line. The exit code is 2, and standard output is empty.
fn usage(arguments: &str) -> String {
    let said = Workdir::new(MELT).call(Start::Plain, arguments);
    assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{said:?}");
    said.stderr
}

#[test]
fn errors_of_commands_and_arguments() {
    assert!(usage("").contains("Usage: md-cli <COMMAND>"));
    assert_snapshot!(usage("rum melt.toml"), @r"
    error: unrecognized subcommand 'rum'

      tip: a similar subcommand exists: 'run'

    Usage: md-cli <COMMAND>

    For more information, try '--help'.
    ");
    assert_snapshot!(usage("run"), @r"
    error: the following required arguments were not provided:
      <SCENARIO>

    Usage: md-cli run <SCENARIO>

    For more information, try '--help'.
    ");
    assert_snapshot!(usage("run melt.toml other.toml"), @r"
    error: unexpected argument 'other.toml' found

    Usage: md-cli run [OPTIONS] <SCENARIO>

    For more information, try '--help'.
    ");
}

#[test]
fn errors_of_options() {
    assert_snapshot!(usage("run melt.toml --stps 5"), @r"
    error: unexpected argument '--stps' found

      tip: a similar argument exists: '--steps'

    Usage: md-cli run --steps <N> <SCENARIO>

    For more information, try '--help'.
    ");
    assert_snapshot!(usage("run melt.toml --steps five"), @r"
    error: invalid value 'five' for '--steps <N>': invalid digit found in string

    For more information, try '--help'.
    ");
    assert_snapshot!(usage("run melt.toml --steps -5"), @r"
    error: unexpected argument '-5' found

      tip: to pass '-5' as a value, use '-- -5'

    Usage: md-cli run [OPTIONS] <SCENARIO>

    For more information, try '--help'.
    ");
    assert_snapshot!(usage("run melt.toml --progress sometimes"), @r"
    error: invalid value 'sometimes' for '--progress <PROGRESS>'
      [possible values: auto, always, never]

    For more information, try '--help'.
    ");
    assert_snapshot!(usage("check melt.toml --quiet"), @r"
    error: unexpected argument '--quiet' found

      tip: to pass '--quiet' as a value, use '-- --quiet'

    Usage: md-cli check <SCENARIO>

    For more information, try '--help'.
    ");
}

/// When the first rank ends with an error, the launcher ends the others. The rank that reports the
/// error must not be cut off.
#[test]
fn errors_before_mpi_is_up_are_told_once() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(&MELT.replace("steps = 20", "steps = 0"));
    for _ in 0..3 {
        let mut command = workdir.under_mpirun(3, &crate::support::md_cli());
        command.args(["run"]);
        let said = Said::of(command);
        assert_eq!((said.code, said.stderr), (Some(2), usage("run")));
        let (plain, under_mpirun) = (
            workdir.call(Start::Plain, "check melt.toml"),
            workdir.call(Start::Mpirun(3), "check melt.toml"),
        );
        assert_eq!(plain, under_mpirun);
        assert_eq!(plain.code, Some(2));
    }
}

#[test]
fn help_under_mpirun_is_told_once() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    for arguments in ["--help", "--version", "schema", "backends"] {
        let mut command = workdir.under_mpirun(3, &crate::support::md_cli());
        // Open MPI gives ranks a terminal as output, so that help would be coloured.
        command.args([arguments]).env("NO_COLOR", "1");
        let (said, alone) = (Said::of(command), workdir.succeed(Start::Plain, arguments));
        // The component of windows depends on the number of ranks, and `backends` checks it.
        let common = |said: &Said| {
            said.stdout
                .lines()
                .take_while(|line| !line.starts_with("RMA component"))
                .map(str::to_owned)
                .collect()
        };
        let [lines, expected]: [Vec<String>; 2] = [common(&said), common(&alone)];
        assert_eq!((said.code, lines, said.stderr), (alone.code, expected, alone.stderr), "{arguments}");
    }
}

#[test]
fn local_ranks_under_mpirun() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(&MELT.replace("[output]", "[parallel]\nbackend = \"local\"\n\n[output]"));
    let mut command = workdir.under_mpirun(2, &crate::support::md_cli());
    command.args(["run", "melt.toml"]);
    let said = Said::of(command);
    assert_eq!((said.code, said.stdout.as_str()), (Some(3), ""));
    assert_snapshot!(said.stderr, @"error: backend `local` is not available: it runs its ranks as threads of one process, but 2 processes were started; use backend p2p, or start md-cli without mpirun");
    assert_eq!(workdir.files("."), ["melt.toml"]);
    let mut command = workdir.under_mpirun(1, &crate::support::md_cli());
    command.args(["run", "melt.toml", "--set", "parallel.ranks=2"]);
    assert_eq!(Said::of(command).code, Some(0), "one process has as many threads for ranks as it likes");
    let summary = workdir.read("out/summary.json");
    assert!(summary.contains("\"ranks\": 2,"), "{summary}");
}

#[test]
fn p2p_without_mpi() {
    if cfg!(feature = "mpi") {
        return;
    }
    let workdir = Workdir::new(&MELT.replace("[output]", "[parallel]\nbackend = \"p2p\"\n\n[output]"));
    let expected = "exit code 3\nerror: this scenario's backend needs MPI, but this program was built without; \
                    use --set parallel.backend=local, or build with MPI (the default)\n";
    assert_eq!(error(&workdir, "run melt.toml", Start::Plain), expected);
    assert_eq!(error(&workdir, "forces melt.toml", Start::Plain), expected);
    assert_eq!(workdir.files("."), ["melt.toml"]);
}

/// Several copies of one simulation would write into one directory. The environment variables are
/// those that `mpirun` sets.
#[test]
fn several_processes_without_mpi() {
    if cfg!(feature = "mpi") {
        return;
    }
    let workdir = Workdir::new(MELT);
    let as_rank = |rank: &str| {
        let mut command = workdir.command(Start::Plain, "run melt.toml");
        command.env("OMPI_COMM_WORLD_SIZE", "2").env("OMPI_COMM_WORLD_RANK", rank);
        Said::of(command)
    };
    let expected = "error: started by mpirun with 2 ranks, but this program was built without MPI: it would run 2 copies of \
                    the same simulation; build it with MPI (the default), or start it once with \
                    --set parallel.backend=local --set parallel.ranks=2\n";
    for (rank, stderr) in [("0", expected), ("1", "")] {
        assert_eq!(as_rank(rank), Said { code: Some(3), stdout: String::new(), stderr: stderr.to_owned() });
    }
    assert_eq!(workdir.files("."), ["melt.toml"]);
    let mut alone = workdir.command(Start::Plain, "run melt.toml");
    alone.env("OMPI_COMM_WORLD_SIZE", "1").env("OMPI_COMM_WORLD_RANK", "0");
    assert_eq!(Said::of(alone).code, Some(0));
}

/// Runs a script on each of two ranks. `$rank` is the number of the rank.
fn on_two_ranks(workdir: &Workdir, script: &str) -> Said {
    let mut command = workdir.under_mpirun(2, "bash".as_ref());
    let script = format!("rank=$OMPI_COMM_WORLD_RANK; {script}");
    command.args(["-c", &script]).env("md", crate::support::md_cli());
    Said::of(command)
}

/// With different options the ranks would compute different systems, and mix their results.
#[test]
fn ranks_with_different_options_are_refused() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    for (call, theirs, own) in [
        (
            "run melt.toml --set system.temperature=$((rank + 1))",
            "run melt.toml --set system.temperature=2",
            "run melt.toml --set system.temperature=1",
        ),
        ("run melt.toml --steps $((5 + rank))", "run melt.toml --steps 6", "run melt.toml --steps 5"),
        ("run melt.toml --output $rank", "run melt.toml --output 1", "run melt.toml --output 0"),
        ("run melt.toml $([ $rank = 0 ] || echo --steps 0)", "run melt.toml --steps 0", "run melt.toml"),
        ("$([ $rank = 0 ] && echo run || echo forces) melt.toml", "forces melt.toml", "run melt.toml"),
    ] {
        let said = on_two_ranks(&workdir, &format!("exec \"$md\" {call}"));
        let stderr =
            format!("error: rank 1 was given other options than rank 0: `{theirs}` instead of `{own}`\n");
        assert_eq!(said, Said { code: Some(2), stdout: String::new(), stderr });
        assert_eq!(workdir.files("."), ["melt.toml"]);
    }
}

/// Results do not depend on the machine on which a rank runs.
#[test]
fn all_ranks_use_the_narrowest_instruction_set() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    let run = "exec \"$md\" run melt.toml --quiet";
    let said = on_two_ranks(&workdir, &format!("[ $rank = 0 ] || export MD_SIMD=sse2; {run}"));
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{said:?}");
    let mixed = workdir.read("out/thermo.csv");
    assert!(workdir.read("out/summary.json").contains("\"simd\": \"sse2\""));
    let said = on_two_ranks(&workdir, &format!("export MD_SIMD=sse2; {run}"));
    assert_eq!((said.code, workdir.read("out/thermo.csv")), (Some(0), mixed));
}
