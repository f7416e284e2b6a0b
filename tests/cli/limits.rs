//! Numbers out of range, files of the wrong kind, and text that acts on a terminal: refused at
//! once, in plain words.
#![expect(clippy::expect_used, reason = "these are tests")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{MELT, Said, Start, Workdir, error, from_file, md_cli, p2p_available};
use insta::assert_snapshot;

/// Time limit of refusals before any work, also on a loaded machine and without optimisation.
const AT_ONCE: Duration = Duration::from_secs(60);

/// Returns the error of a call, which must come at once.
pub(crate) fn at_once(workdir: &Workdir, arguments: &str) -> String {
    // Built before the measured time begins.
    let _ = md_cli();
    let begun = Instant::now();
    let said = workdir.call(Start::Plain, arguments);
    assert!(begun.elapsed() < AT_ONCE, "{arguments} took {:?}", begun.elapsed());
    assert_eq!(said.stdout, "", "{said:?}");
    format!("exit code {}\n{}", said.code.expect("it ended by itself"), said.stderr)
}

#[test]
fn boxes_in_which_coordinates_have_no_digits_left() {
    let workdir = Workdir::new(MELT);
    let arguments = "check melt.toml --set system.lattice.cells=[2147483648,2147483648,2]";
    assert_snapshot!(at_once(&workdir, arguments), @r"
    exit code 2
    error: × the box reaches to x = 3606905356.237013, beyond 1e9 cutoffs of 2.5: coordinates there have
      │ too few digits
       ╭─[command line:1:28]
     1 │ --set system.lattice.cells=[2147483648,2147483648,2]
       ·                            ─────────────────────────
       ╰────
      help: a smaller box, nearer to the origin
    ");
}

/// The part of an argument that is wrong is shortened like all other text.
#[test]
fn long_arguments_are_cut() {
    let workdir = Workdir::new(MELT);
    let long = "x".repeat(100_000);
    for arguments in [format!("check melt.toml --steps {long}"), format!("check melt.toml {long}"), long] {
        let text = at_once(&workdir, &arguments);
        assert!(text.starts_with("exit code 2\nerror: ") && text.contains("xxx ... xxx"), "{text}");
        assert!(text.len() < 2000, "{text}");
    }
}

#[test]
fn threads_and_ranks_have_limits() {
    let workdir = Workdir::new(MELT);
    assert_snapshot!(at_once(&workdir, "check melt.toml --threads 65536"), @r"
    exit code 2
    error: × `parallel.threads` must be at most 1024, found 65536
       ╭─[command line:1:24]
     1 │ --set parallel.threads=65536
       ·                        ─────
       ╰────
      help: more threads than cores are slower than fewer; many ranks are started by `mpirun`
    ");
    assert_snapshot!(at_once(&workdir, "run melt.toml --set parallel.backend=local --set parallel.ranks=5000"), @r"
    exit code 2
    error: × `parallel.ranks` must be at most 1024, found 5000
       ╭─[command line:1:22]
     1 │ --set parallel.ranks=5000
       ·                      ────
       ╰────
      help: more threads than cores are slower than fewer; many ranks are started by `mpirun`
    ");
    let both = "check melt.toml --set parallel.backend=local --set parallel.ranks=64 --threads 64";
    assert_snapshot!(at_once(&workdir, both), @r"
    exit code 2
    error: × 64 ranks with 64 threads each are more than 1024 threads
       ╭─[command line:1:24]
     1 │ --set parallel.threads=64
       ·                        ──
       ╰────
      help: more threads than cores are slower than fewer; many ranks are started by `mpirun`
    ");
    let grid = "check melt.toml --set parallel.grid=[4294967296,4294967296,1]";
    assert_snapshot!(at_once(&workdir, grid), @r"
    exit code 2
    error: × the grid 4294967296x4294967296x1 has 18446744073709551615 places, not one for each of 1 rank
       ╭─[command line:1:21]
     1 │ --set parallel.grid=[4294967296,4294967296,1]
       ·                     ─────────────────────────
       ╰────
      help: a grid whose product is the number of ranks
    ");
    let begun = Instant::now();
    workdir.succeed(Start::Threads(1), "check melt.toml --threads 1024");
    assert!(begun.elapsed() < AT_ONCE, "no thread is started by a check");
}

#[test]
fn many_faults_take_no_longer_than_one() {
    let keys: String = (0..8_000).map(|number| format!("unknown{number} = 1\n")).collect();
    let workdir = Workdir::new(&format!("{keys}{MELT}"));
    assert_snapshot!(at_once(&workdir, "check melt.toml"), @r"
    exit code 2
    error: × unknown key `unknown0` at the top level
       ╭─[melt.toml:1:1]
     1 │ unknown0 = 1
       · ────┬───
       ·     ╰── unknown key
     2 │ unknown1 = 1
       ╰────
      help: valid keys: `integrator`, `interaction`, `neighbor`, `output`, `parallel`, `simulation`,
            `species`, `stage`, `system`
    ");
    let species: String = (0..20_000).map(|number| format!("[[species]]\nname = \"S{number}\"\n")).collect();
    let workdir = Workdir::new(&format!("{MELT}{species}"));
    assert_snapshot!(at_once(&workdir, "check melt.toml"), @r#"
    exit code 2
    error: × there are 20000 species, more than 1000
        ╭─[melt.toml:11:1]
     10 │ thermo = { every = 7 }
     11 │ [[species]]
        · ───────────
     12 │ name = "S0"
        ╰────
      help: every pair of species has its own parameters
    "#);
    let workdir = Workdir::new(MELT);
    let deep = format!("check melt.toml --set {}=1", "a.".repeat(50_000) + "a");
    let text = at_once(&workdir, &deep);
    assert!(text.len() < 3000 && text.contains("is no path of a key"), "{text}");
}

#[test]
fn pipes_and_devices_are_no_files() {
    let workdir = Workdir::new(&from_file("pipe"));
    for name in ["pipe", "pipe.toml"] {
        workdir.make_pipe(name);
    }
    assert_snapshot!(at_once(&workdir, "run melt.toml"), @r"
    exit code 2
    error: cannot read `pipe`: it is a named pipe, not a regular file
    ");
    assert_snapshot!(at_once(&workdir, "check pipe.toml"), @r"
    exit code 2
    error: cannot read `pipe.toml`: it is a named pipe, not a regular file
    ");
    workdir.write("device.toml", &from_file("/dev/zero"));
    assert_snapshot!(at_once(&workdir, "run device.toml"), @r"
    exit code 2
    error: cannot read `/dev/zero`: it is a device, not a regular file
    ");
    workdir.write("folder.toml", &from_file("."));
    assert_snapshot!(at_once(&workdir, "run folder.toml"), @r#"
    exit code 2
    error: × cannot read `.`: Is a directory (os error 21)
       ╭─[folder.toml:6:17]
     5 │ [system]
     6 │ file = { path = ".", format = "extxyz" }
       ·                 ───
     7 │ temperature = 1.44
       ╰────
      help: a path from the folder of the scenario, or from the root (`/`)
    "#);
}

/// As in `cat melt.toml | md-cli check /dev/stdin` and `md-cli check <(cat melt.toml)`.
#[test]
fn a_scenario_may_come_from_an_open_pipe() {
    let workdir = Workdir::new(MELT);
    let expected = workdir.succeed(Start::Plain, "check melt.toml").stdout;
    for script in ["cat melt.toml | \"$md\" check /dev/stdin", "\"$md\" check <(cat melt.toml)"] {
        let said = Said::of(workdir.shell(script));
        assert_eq!(said, Said { code: Some(0), stdout: expected.clone(), stderr: String::new() });
    }
    let endless = Said::of(workdir.shell("cat /dev/zero | \"$md\" check /dev/stdin"));
    assert_eq!(endless.code, Some(2));
    assert_snapshot!(endless.stderr, @r"
    error: cannot read `/dev/stdin`: it is longer than 16 MB, which no scenario is
    ");
}

#[test]
fn files_that_are_no_utf8_say_what_they_are() {
    let workdir = Workdir::new(MELT);
    let with = |bytes: &[u8]| {
        std::fs::write(workdir.path("other.toml"), bytes).unwrap();
        at_once(&workdir, "check other.toml")
    };
    assert_snapshot!(with(b"\x1f\x8b\x08\0\0"), @r"
    exit code 2
    error: cannot read `other.toml`: it is compressed by gzip: decompress it first
    ");
    assert_snapshot!(with(b"\xff\xfe[\0"), @r"
    exit code 2
    error: cannot read `other.toml`: it is UTF-16: save it as UTF-8
    ");
    assert_snapshot!(with(b"[simulation]\ntitle = \"K\xe4fig\"\n"), @r"
    exit code 2
    error: cannot read `other.toml`: line 2 is not UTF-8 (byte 0xe4): save it as UTF-8, it may be Latin-1
    ");
    std::fs::write(workdir.path("bom.toml"), [b"\xef\xbb\xbf", MELT.as_bytes()].concat()).unwrap();
    workdir.succeed(Start::Plain, "check bom.toml");
}

#[test]
fn nothing_acts_on_the_terminal() {
    let escape = "\u{1b}]0;owned\u{7}";
    let workdir = Workdir::new(MELT);
    let safe = |command: &mut Command| {
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
        assert!(text.contains("\\u001b]0;owned\\u0007"), "{text:?}");
        assert_eq!(output.status.code(), Some(2));
    };
    let call = |arguments: &[&str]| {
        let mut command = workdir.command(Start::Plain, "");
        command.args(arguments);
        safe(&mut command);
    };
    call(&["check", &format!("{escape}.toml")]);
    call(&["check", "melt.toml", "--set", &format!("{escape}=1")]);
    call(&["check", "melt.toml", "--set", &format!("neighbor.method={escape}")]);
    call(&["check", "melt.toml", &format!("--{escape}")]);
    call(&[escape]);
    call(&["run", "melt.toml", "--steps", escape]);
    workdir
        .write("key.toml", &MELT.replace("seed", &format!("# {escape}\n{}", "\"a\\u001b]0;owned\\u0007\"")));
    call(&["check", "key.toml"]);
    workdir.write("particles", &format!("{escape}\n\nA 0 0 0\n"));
    workdir.write("file.toml", &from_file("particles"));
    call(&["check", "file.toml"]);
}

#[test]
fn long_lines_are_cut_around_the_fault() {
    let title = format!("title = \"{}\"; wrong\nsteps", "x".repeat(200_000));
    let workdir = Workdir::new(&MELT.replace("steps", &title));
    assert_snapshot!(at_once(&workdir, "check melt.toml"), @r#"
    exit code 2
    error: × not valid TOML: unexpected key or value, expected newline, `#`
       ╭─[melt.toml:2:200011]
     1 │ [simulation]
     2 │ ...xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"; wrong
       ·                                                                ▲
       ·                                                                ╰── here
     3 │ steps = 20
       ╰────
      help: a scenario is a TOML file: [tables] of `key = value`
    "#);
    let workdir = Workdir::new(&from_file("particles"));
    workdir.write("particles", &format!("1\n{}\nA 0 0 0\n", "x".repeat(200_000)));
    let text = at_once(&workdir, "check melt.toml");
    assert!(text.len() < 1000 && text.starts_with("exit code 2\nerror: particles:2:"), "{text}");
}

#[test]
fn numbers_beyond_toml() {
    let workdir = Workdir::new(MELT);
    assert_snapshot!(at_once(&workdir, "check melt.toml --steps 18446744073709551615"), @r"
    exit code 2
    error: × `simulation.steps` must be an integer up to 9223372036854775807, found 18446744073709551615
       ╭─[command line:1:24]
     1 │ --set simulation.steps=18446744073709551615
       ·                        ──────────┬─────────
       ·                                  ╰── expected an integer up to 9223372036854775807
       ╰────
      help: `simulation.steps`: Number of time steps.
    ");
    assert_snapshot!(at_once(&workdir, "check melt.toml --steps 99999999999999999999"), @r"
    exit code 2
    error: invalid value '99999999999999999999' for '--steps <N>': number too large to fit in target type

    For more information, try '--help'.
    ");
    let digits = "7".repeat(120);
    let text = at_once(&workdir, &format!("check melt.toml --set simulation.steps={digits}"));
    assert_snapshot!(text, @r"
    exit code 2
    error: × `simulation.steps` must be an integer of at least 1, found 77777777777777777777...7777777777
      │ (120 digits), which is no TOML value or too large for one
       ╭─[command line:1:24]
     1 │ --set simulation.steps=777777777777777777777777777777777777777777777777777777777777...
       ·                        ──────────────────────────────┬─────────────────────────────
       ·                                                      ╰── expected an integer of at least 1
       ╰────
      help: `simulation.steps`: Number of time steps.
    ");
    let mass = |mass: &str| format!("[[species]]\nname = \"A\"\nmass = {mass}\n[output]");
    let file = Workdir::new(&from_file("a.extxyz").replace("[output]", &mass("1e300")));
    let header = "Lattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3:masses:R:1";
    file.write("a.extxyz", &format!("1\n{header}\nA 1 1 1 1e120\n"));
    assert_snapshot!(at_once(&file, "check melt.toml"), @r#"
    exit code 2
    error: × mass 10000000000000000000...0000000000 (301 digits) of species 1 contradicts
      │ 10000000000000000000...0000000000 (121 digits) in the file
        ╭─[melt.toml:11:8]
     10 │ name = "A"
     11 │ mass = 1e300
        ·        ─────
     12 │ [output]
        ╰────
      help: remove one of the two
    "#);
    let workdir = Workdir::new(&MELT.replace("steps = 20", "steps = 18446744073709551615"));
    assert_snapshot!(at_once(&workdir, "check melt.toml"), @r"
    exit code 2
    error: × not valid TOML: u64 value was too large
       ╭─[melt.toml:2:9]
     1 │ [simulation]
     2 │ steps = 18446744073709551615
       ·         ──────────┬─────────
       ·                   ╰── here
     3 │ seed = 7
       ╰────
      help: a scenario is a TOML file: [tables] of `key = value`
    ");
}

#[test]
fn ranks_per_node_that_are_no_number() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    let expected =
        "error: MD_RANKS_PER_NODE is \"abc\"; it must be a number of ranks from 1, or not be set\n";
    for arguments in [
        "run melt.toml --quiet --set parallel.backend=shm",
        "run melt.toml --quiet --set parallel.backend=p2p",
        "compare melt.toml --backends p2p,hybrid --steps 5 --repeat 1",
        "backends",
    ] {
        let mut command = workdir.command(Start::Plain, arguments);
        command.env("MD_RANKS_PER_NODE", "abc");
        let said = Said::of(command);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{arguments}: {said:?}");
        assert!(said.stderr.starts_with(expected), "{arguments}: {said:?}");
    }
    assert_snapshot!(error(&workdir, "run melt.toml --set parallel.watchdog_s=nan", Start::Threads(1)), @r"
    exit code 2
    error: × `parallel.watchdog_s` must be a finite number above 0, found nan
       ╭─[command line:1:27]
     1 │ --set parallel.watchdog_s=nan
       ·                           ───
       ╰────
      help: seconds, the default is 60.0
    ");
    assert_snapshot!(error(&workdir, "run melt.toml --set parallel.chunk=0", Start::Threads(1)), @r#"
    exit code 2
    error: × `parallel.chunk` must be at least 1, found 0
       ╭─[command line:1:22]
     1 │ --set parallel.chunk=0
       ·                      ─
       ╰────
      help: bytes per piece, such as 32768; "off" sends whole messages, "auto" cuts them between nodes
    "#);
    assert_snapshot!(error(&workdir, "run melt.toml --set parallel.second_share=1.5", Start::Threads(1)), @r#"
    exit code 2
    error: × `parallel.second_share` must be from 0 to 1 or "auto", found 1.5
       ╭─[command line:1:29]
     1 │ --set parallel.second_share=1.5
       ·                             ───
       ╰────
      help: 0.5 leaves half the inner pairs for the time when forces travel home
    "#);
}

#[test]
fn overrides_that_toml_cannot_hold_are_shown_as_they_are() {
    let workdir = Workdir::new(MELT);
    for (key, value, expected) in [
        ("system.lattice.cells", "[18446744073709551615,1,1]", "an array of 3"),
        ("simulation.timestep", "1e400x", "a number"),
        ("neighbor.rebuild", "{every=18446744073709551615}", "a table"),
    ] {
        let said = error(&workdir, &format!("run melt.toml --set {key}={value}"), Start::Threads(1));
        let message = format!(
            "exit code 2\nerror: × `{key}` must be {expected}, found {value}, which is no TOML value or too large for one"
        );
        assert!(flat(&said).starts_with(&flat(&message)), "{said}");
    }
}

/// Returns the text on one line, independent of the width of the terminal.
fn flat(text: &str) -> String {
    text.replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}
