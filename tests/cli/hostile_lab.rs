//! `bench`, `predict`, `sweep`, `trace-summary` and `--trace` with files and numbers that they
//! cannot use, and with files in places that they write to.
#![expect(clippy::panic, reason = "helpers of tests")]

use super::limits::at_once;
use super::predict::MACHINE;
use crate::support::{MELT, Said, Start, Workdir};
use insta::assert_snapshot;

const PREDICT: &str = "predict melt.toml --ranks 2 --machine machine.toml --quiet";
const SWEEP: &str = "sweep melt.toml --output s --backends local --repeat 1 --steps 2 --quiet";

/// Returns the error of a call as [`at_once`] does, without the sizes of memory.
fn without_sizes(workdir: &Workdir, arguments: &str) -> String {
    let text = at_once(workdir, arguments);
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    for index in 1..words.len() {
        if is_number(&words[index - 1])
            && ["kB", "MB", "GB", "TB", "PB", "EB"].iter().any(|unit| words[index].starts_with(unit))
        {
            words[index - 1] = "N".to_owned();
            words[index].replace_range(..2, "bytes");
        }
    }
    words.join(" ")
}

#[test]
fn files_that_are_no_text_and_pipes() {
    let workdir = Workdir::new(MELT);
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet --trace t.json --output s");
    workdir.succeed(Start::Plain, SWEEP);
    workdir.write("machine.toml", MACHINE);
    for (file, command) in [
        ("machine.toml", PREDICT),
        ("t.json", "trace-summary t.json"),
        ("s/sweep.csv", SWEEP),
        ("s/scenario.toml", SWEEP),
    ] {
        let valid = std::fs::read(workdir.path(file)).unwrap();
        let foreign: [(&[u8], &str); 3] = [
            (b"\x1f\x8b\x08\0\0", "it is compressed by gzip: decompress it first"),
            (b"PK\x03\x04", "it is a zip archive: unpack it first"),
            (b"\xff\xfe[\0", "it is UTF-16: save it as UTF-8"),
        ];
        for (bytes, reason) in foreign {
            std::fs::write(workdir.path(file), bytes).unwrap();
            let expected = format!("exit code 2\nerror: cannot read `{file}`: {reason}\n");
            assert_eq!(at_once(&workdir, command), expected);
        }
        std::fs::remove_file(workdir.path(file)).unwrap();
        workdir.make_pipe(file);
        let expected =
            format!("exit code 2\nerror: cannot read `{file}`: it is a named pipe, not a regular file\n");
        assert_eq!(at_once(&workdir, command), expected);
        std::fs::remove_file(workdir.path(file)).unwrap();
        std::fs::write(workdir.path(file), [b"\xef\xbb\xbf", &valid[..]].concat()).unwrap();
        workdir.succeed(Start::Plain, command);
        std::fs::write(workdir.path(file), valid).unwrap();
    }
}

#[test]
fn timelines_with_impossible_numbers() {
    let workdir = Workdir::new(MELT);
    let message = |bytes: &str, waited: &str| {
        let args =
            format!(r#""peer":0,"context":0,"exchange":0,"channel":0,"bytes":{bytes},"waited":{waited}"#);
        let event = format!(r#"{{"ph":"f","cat":"message","name":"m","pid":1,"ts":5,"args":{{{args}}}}}"#);
        let heads = r#"{"dropped":0,"clock_error_s":0},{"dropped":0,"clock_error_s":0}"#;
        let text =
            format!("{{\"otherData\":{{\"md\":{{}},\"ranks\":[{heads}]}},\"traceEvents\":[\n{event}\n]}}\n");
        workdir.write("t.json", &text);
        text
    };
    let text = message("24", "1");
    workdir.succeed(Start::Plain, "trace-summary t.json");
    let end = "\ngive a file that `--trace` has written\n";
    for (bytes, waited, reason) in [
        ("24", "-1", "`waited` is no time: -1 us"),
        (
            "24",
            "1e300",
            "`waited` is no time: 1000000000000000052504760255204420248704468581108159154915854115111802457988908195786371375080447854045104 us",
        ),
        ("-24", "1", "an event of category `message` needs an integer `args.bytes` from 0 to 17179869184"),
        (
            "18446744073709551615",
            "1",
            "an event of category `message` needs an integer `args.bytes` from 0 to 17179869184",
        ),
    ] {
        message(bytes, waited);
        let said = at_once(&workdir, "trace-summary t.json");
        let place = said.strip_prefix("exit code 2\nerror: t.json:2:").unwrap_or_else(|| panic!("{said}"));
        let said = place.split_once(": ").unwrap().1;
        if waited == "1e300" {
            assert!(said.starts_with("`waited` is no time: 1"), "{said}");
        } else {
            assert_eq!(said, format!("{reason}{end}"));
        }
    }
    workdir.write("t.json", &text.replacen("\"clock_error_s\":0", "\"clock_error_s\":-1", 1));
    let said = at_once(&workdir, "trace-summary t.json");
    assert_eq!(
        said,
        format!("exit code 2\nerror: t.json:1:63: `clock_error_s` is no time: -1000000 us{end}")
    );
    workdir.write("t.json", &text[..text.len() - 4]);
    let said = at_once(&workdir, "trace-summary t.json");
    assert_eq!(
        said,
        format!(
            "exit code 2\nerror: t.json:2:129: the file ends too early: the run may have been killed{end}"
        )
    );
    workdir.write("t.json", &text.replacen("\"pid\":1", "\"pid\":7", 1));
    assert_snapshot!(at_once(&workdir, "trace-summary t.json"), @r"
    exit code 2
    error: t.json: there is an event of rank 7, but the file has 2 ranks
    ");
}

#[test]
fn tables_of_sweeps_that_are_damaged() {
    let workdir = Workdir::new(MELT);
    workdir.succeed(Start::Plain, SWEEP);
    let valid = workdir.read("s/sweep.csv");
    for (text, reason) in [
        (valid.trim_end().to_owned(), "line 2: the file ends without a newline: it is cut"),
        (
            valid.replacen(",local", ",", 1).replacen("local,", "", 1),
            "CSV error: record 1 (line: 2, byte: 342): found record with 31 fields, but the previous record has 32 fields",
        ),
        (valid.replacen(",600,2,", ",600.5,2,", 1), "line 2: `atoms` is `600.5`, no count"),
        (valid.replacen("local", "local\0", 1), "line 2 holds a NUL byte: it is no text"),
    ] {
        workdir.write("s/sweep.csv", &text);
        let said = at_once(&workdir, SWEEP);
        assert!(said.starts_with("exit code 2\nerror: ") && said.contains("s/sweep.csv"), "{said}");
        if reason.starts_with("CSV") {
            assert!(said.contains(": CSV error: record 1 (line: 2, byte: "), "{said}");
        } else {
            assert!(said.ends_with(&format!(": {reason}\n")), "{said}");
        }
        assert_eq!(workdir.read("s/sweep.csv"), text, "it is as it was");
    }
}

#[test]
fn machines_that_contradict_themselves() {
    let workdir = Workdir::new(MELT);
    let refused = |text: &str| {
        workdir.write("machine.toml", text);
        at_once(&workdir, PREDICT)
    };
    let compute = MACHINE.split_once("[[compute]]").unwrap().1;
    assert_snapshot!(refused(&format!("{MACHINE}[[compute]]{compute}")), @r"
    exit code 2
    error: machine.toml, line 34: another [[compute]] has the same method and precision and threads: which of them holds?
    ");
    assert_snapshot!(refused(&MACHINE.replacen("pair_s = 1e-9", "pair_s = 1e300", 1)), @r"
    exit code 2
    error: machine.toml, line 28: `per_computed_pair_s` is 1e+300: it is a number from 0 to 1e+06
    ");
    let range = MACHINE.split("\n\n").next().unwrap();
    assert_snapshot!(refused(&format!("{range}\n\n").repeat(2000)), @r"
    exit code 2
    error: machine.toml, line 8001: there are 2000 [[message]], more than 1000
    ");
}

#[test]
fn predictions_that_no_memory_holds() {
    let workdir = Workdir::new(MELT);
    workdir.write("machine.toml", MACHINE);
    let options = "--set system.lattice.cells=[1000,1000,1000] --set interaction.cutoff=400";
    assert_snapshot!(without_sizes(&workdir, &format!("{PREDICT} {options}")), @r"
    exit code 2
    error: a look at the pairs of 4000000000 particles takes about N bytes of memory, but there are N bytes here
    ");
    assert_eq!(workdir.files("."), ["machine.toml", "melt.toml"]);
}

#[test]
fn ranks_that_are_named_twice_are_predicted_once() {
    let workdir = Workdir::new(MELT);
    workdir.write("machine.toml", MACHINE);
    let call = PREDICT.replace("--ranks 2", "--ranks 2,1,2,2 --backends p2p");
    workdir.succeed(Start::Plain, &call);
    assert_eq!(workdir.read("out/predict.csv").lines().count(), 3);
}

#[test]
fn inputs_are_never_touched() {
    let workdir = Workdir::new(MELT);
    std::fs::create_dir(workdir.path("out")).unwrap();
    workdir.write("out/predict.csv", MACHINE);
    assert_snapshot!(at_once(&workdir, &PREDICT.replace("machine.toml", "out/predict.csv")), @r"
    exit code 2
    error: `out/predict.csv` is an input of this run and would be overwritten
    choose another output directory with --output DIR
    ");
    assert_eq!(workdir.read("out/predict.csv"), MACHINE);
    workdir.succeed(Start::Threads(1), "run melt.toml --quiet --trace s/waits.csv");
    let timeline = workdir.read("s/waits.csv");
    assert_snapshot!(at_once(&workdir, "trace-summary s/waits.csv --output s"), @r"
    exit code 2
    error: `s/waits.csv` is an input of this run and would be overwritten
    choose another output directory with --output DIR
    ");
    assert_eq!(workdir.read("s/waits.csv"), timeline);
}

#[test]
fn a_timeline_in_the_place_of_a_result() {
    let workdir = Workdir::new(MELT);
    let frames = MELT.replace("every = 7 }", "every = 7 }\ntrajectory = { path = \"t.extxyz\", every = 5 }");
    workdir.write("frames.toml", &frames);
    workdir.succeed(Start::Threads(2), "run frames.toml --quiet");
    let results = ["thermo.csv", "summary.json", "t.extxyz"].map(|name| workdir.read(&format!("out/{name}")));
    for name in
        ["thermo.csv", "summary.json", "scenario.toml", ".md-cli.lock", "t.extxyz", ".timing.csv.unfinished"]
    {
        let said =
            workdir.call(Start::Threads(2), &format!("run frames.toml --quiet --trace ./out/../out/{name}"));
        let expected = format!(
            "error: `./out/../out/{name}` is the place of another output of this command\nchoose another name\n"
        );
        assert_eq!((said.code, said.stderr), (Some(2), expected));
    }
    let said =
        workdir.call(Start::Plain, "bench barrier --ranks 1 --quiet --samples out/bench.csv --output out");
    assert_eq!((said.code, said.stderr.lines().count()), (Some(2), 2), "{said:?}");
    // A refused command leaves the existing results.
    let left = ["thermo.csv", "summary.json", "t.extxyz"].map(|name| workdir.read(&format!("out/{name}")));
    assert_eq!(left, results);
    workdir.succeed(Start::Threads(1), "run frames.toml --quiet --trace thermo.csv");
    // The error comes before anything is measured.
    let compare = "compare melt.toml --quiet --repeat 1 --trace";
    assert_snapshot!(at_once(&workdir, &format!("{compare} /proc/none/t.json --set parallel.backend=local")), @r"
    exit code 2
    error: cannot create the folder of `/proc/none/.t-local-half-direct-rect.json.unfinished`: No such file or directory (os error 2)
    choose another place for it
    ");
}

#[test]
fn more_than_the_machine_has() {
    let workdir = Workdir::new(&MELT.replace("[6, 5, 5]", "[20, 20, 20]"));
    let options = "--set parallel.backend=local --set parallel.partition=stripe --set parallel.ranks=512 --quiet --trace t.json --trace-events 100000000";
    for command in ["run", "compare"] {
        let said = without_sizes(&workdir, &format!("{command} melt.toml {options}"));
        let said = said.replace(&warning(&said), "");
        assert_eq!(
            said,
            "exit code 2\nerror: --trace-events 100000000 takes N bytes of memory per rank, but there are N bytes per rank here\n"
        );
    }
    let said =
        workdir.call(Start::Plain, "bench sync26 --ranks 64 --sizes 1073741824 --budget 86400 --quiet");
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.stderr.starts_with("error: nothing could be measured: local: takes about "), "{said:?}");
    assert!(
        workdir
            .read("out/bench/bench.csv")
            .contains(",unavailable,\"takes about 116 GB of memory per rank, but there are ")
    );
    assert_snapshot!(at_once(&workdir, "bench barrier --ranks 1 --budget 1e-9 --quiet"), @r"
    exit code 2
    error: nothing was measured: a budget of 0.000000001 s is enough for no case
    ");
}

#[test]
fn a_users_folder_called_job_is_not_removed() {
    let workdir = Workdir::new(MELT);
    std::fs::create_dir_all(workdir.path("s/job")).unwrap();
    workdir.write("s/job/thesis.txt", "three years");
    workdir.succeed(Start::Plain, SWEEP);
    assert_eq!(workdir.read("s/job/thesis.txt"), "three years");
    assert_eq!(workdir.files("s"), ["job", "scenario.toml", "sweep.csv", "sweep.svg"]);
    let said = workdir.call(Start::Plain, "run melt.toml --trace-events 5");
    assert!(said.code == Some(2) && said.stderr.contains("--trace <FILE>"), "{said:?}");
}

/// Returns the warnings, which are about more ranks than cores.
fn warning(text: &str) -> String {
    text.lines().filter(|line| line.starts_with("warning: ")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn what_there_is_no_room_for_is_an_error() {
    let workdir = Workdir::new(MELT);
    let script = "ulimit -v 200000; exec \"$md\" bench copy --ranks 1 --sizes 1000000000 --quiet";
    let said = Said::of(workdir.shell(script));
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(workdir.read("out/bench/bench.csv").contains(
        ",failed,rank 0: out of memory: there is no room for a message buffer of 1000000000 bytes,"
    ));
}
