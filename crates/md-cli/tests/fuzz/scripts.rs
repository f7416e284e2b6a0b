//! LAMMPS scripts from a grammar, in LAMMPS's own spellings, and with damage.

use clap::Parser;
use md_cli::args::{Cli, Command};
use md_cli::commands::from_lammps::from_lammps;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::case::{Case, Trial, is_harmless};

/// Choices from which a script is made, in order; after the last one, always the first option.
pub(crate) struct Choices<'c>(std::slice::Iter<'c, u32>);

impl Choices<'_> {
    fn next(&mut self) -> usize {
        self.0.next().map_or(0, |&choice| choice as usize)
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.next() % from.len()]
    }
}

/// A script and its dimensions.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) text: String,
    /// 2 or 3.
    pub(crate) dimensions: usize,
}

impl Script {
    /// Returns a script that LAMMPS runs, up to its first step; names of variables begin with
    /// `prefix`.
    pub(crate) fn valid(choices: &[u32], prefix: &str) -> Self {
        let mut choices = Choices(choices.iter());
        let dimensions = choices.pick(&[3, 2, 3]);
        let mut lines = vec!["units lj".to_owned(), format!("dimension {dimensions}")];
        lines.extend(space(&mut choices, dimensions));
        lines.extend(particles(&mut choices));
        lines.extend(pairs(&mut choices));
        lines.push("fix move all nve".to_owned());
        let mut text = String::new();
        for (number, line) in lines.iter().enumerate() {
            text += &spelled(&mut choices, line, &format!("{prefix}{number}"));
        }
        Self { text, dimensions }
    }
}

/// Returns `boundary`, `lattice`, the region `all` and the box.
fn space(choices: &mut Choices, dimensions: usize) -> Vec<String> {
    const FACES: [&str; 9] = ["p", "s", "m", "f", "fs", "sf", "sm", "mf", "ss"];
    let mut faces = [choices.pick(&FACES), choices.pick(&FACES), choices.pick(&FACES)];
    let mut ends = [0; 3].map(|_| {
        let low = choices.pick(&[0.0, -1.0, 0.5, -1.25, 0.3, -10.0]);
        let length = choices.pick(&[4.0, 3.0, 5.0, 4.5, 3.7]);
        format!("{low} {:.4}", low + length)
    });
    let style = match dimensions {
        2 => choices.pick(&["hex", "sq", "sq2"]),
        _ => choices.pick(&["fcc", "bcc", "sc"]),
    };
    if dimensions == 2 {
        faces[2] = "p";
        ends[2] = choices.pick(&["-0.5 0.5", "0 1", "-0.1 0.1"]).to_owned();
    }
    let density = choices.pick(&["0.7", "0.8442", "0.35", "1.0", "0.5"]);
    let origin = match dimensions {
        2 => choices.pick(&["", "origin 0 0 0", "origin 0.5 0.25 0", "origin 0.1 0.7 0"]),
        _ => choices.pick(&["", "origin 0 0 0", "origin 0.5 0.25 0.75", "origin 0.1 0.7 0.3"]),
    };
    let orient = choices.pick(&["", "orient x 1 0 0", "orient y 0 2 0 orient z 0 0 1"]);
    let spacing = choices.pick(&["", "", "spacing 1.1 0.9 1"]);
    let lattice = format!("lattice {style} {density} {origin} {orient} {spacing}");
    let mut lines = vec![format!("boundary {}", faces.join(" "))];
    let region = format!("region all block {}", ends.join(" "));
    match choices.pick(&[0, 0, 1]) {
        // Without a lattice a region is in sigma.
        1 if dimensions == 3 => lines.extend(["region all block -4 4 -3.5 4 0 7".to_owned(), lattice]),
        _ => lines.extend([lattice, region]),
    }
    lines.push("create_box 2 all".to_owned());
    lines
}

/// Returns `create_atoms` in its forms; no two particles are at the same position.
fn particles(choices: &mut Choices) -> Vec<String> {
    let box_of = |kind: usize| vec![format!("create_atoms {kind} box")];
    let mut lines = match choices.pick(&[0, 1, 2, 3]) {
        0 => box_of(1),
        1 => vec![
            "region lower block INF INF INF INF INF 1.5".to_owned(),
            "region upper block INF INF INF INF 1.75 INF".to_owned(),
            "create_atoms 2 region upper".to_owned(),
            "create_atoms 1 region lower".to_owned(),
        ],
        2 => {
            let (low, high) = choices.pick(&[
                ("INF", "EDGE"),
                ("0.5", "2.5"),
                ("-0.75", "2"),
                ("0", "3.9"),
                ("-9.5", "-7.2"),
            ]);
            vec![
                format!("region part block {low} {high} INF {high} INF INF"),
                "create_atoms 2 region part".to_owned(),
            ]
        }
        _ => box_of(2),
    };
    let units = choices.pick(&["", "units box", "units lattice"]);
    if choices.pick(&[false, false, true]) {
        lines.push(format!("create_atoms 1 single 1.37 0.63 0.0 {units}"));
    }
    lines
}

/// Returns masses, Lennard-Jones parameters and the neighbour list.
fn pairs(choices: &mut Choices) -> Vec<String> {
    let cutoff = choices.pick(&["1.53", "1.97", "1.1225"]);
    let mut lines = vec![
        "mass * 1.0".to_owned(),
        format!("pair_style {} {cutoff}", choices.pick(&["lj/cut", "lj/cut/opt"])),
        "pair_coeff * * 1.0 1.0".to_owned(),
    ];
    lines.extend(
        choices
            .pick(&[None, Some("pair_coeff 2 2 0.5 1.1"), Some("pair_coeff 1*2 2 1.5 0.9")])
            .map(str::to_owned),
    );
    lines.extend(
        choices
            .pick(&[None, Some("pair_modify shift yes"), Some("pair_modify mix arithmetic shift no")])
            .map(str::to_owned),
    );
    if choices.pick(&[false, false, true]) {
        lines.extend(["pair_style lj/cut 1.47", "pair_coeff * * 0.9 1.05 1.47"].map(str::to_owned));
    }
    // Neighbour lists from bins lack pairs of some crystals whose planes are on the faces of bins
    // (29Sep2021).
    lines.push(format!("neighbor {} nsq", choices.pick(&["0.3", "0.1"])));
    lines
}

/// Returns a line in one of the equivalent spellings of LAMMPS.
fn spelled(choices: &mut Choices, line: &str, variable: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let place = 1 + choices.next() % (words.len() - 1);
    let word = words[place];
    let joined = |word: &str| [&words[..place], &[word], &words[place + 1..]].concat().join(" ");
    let is_number = word.parse().is_ok_and(f64::is_finite);
    match choices.next() % 12 {
        0 => format!("{}\n", joined(&format!("&\n  {word}"))),
        1 if word.len() > 1 => format!("{}\n", joined(&format!("{}&\n{}", &word[..1], &word[1..]))),
        2 => format!("{}  \t # it's a \"comment\n", joined(word)),
        3 => format!("{}\n", joined(&format!("\"{word}\""))),
        4 => format!("{}\r\n", joined(&format!("'{word}'"))),
        5 => format!("{}\n", joined(&format!("\"\"\"{word}\"\"\""))),
        6 => format!("# ignored &\n  {word} too\n\n{}\n", joined(word)),
        7 => format!("variable {variable} index {word} other\n{}\n", joined(&format!("${{{variable}}}"))),
        8 => format!("variable {variable} string \"{word}\"\n{}\n", joined(&format!("${{{variable}}}"))),
        9 if is_number => format!(
            "variable {variable} equal \"0.5 * {word} * 2\"\n{}\n",
            joined(&format!("${{{variable}}}"))
        ),
        10 if is_number => format!("{}\n", joined(&format!("$({word}+0*PI)"))),
        11 if is_number && word.contains('.') => {
            format!("variable {variable} equal {word}\n{}\n", joined(&format!("$(v_{variable}:%.6f)")))
        }
        _ => format!("  {}\n", joined(word)),
    }
}

/// A script with lines that are damaged or out of place.
#[derive(Debug, Clone)]
pub(crate) struct Damaged(Script);

const LINES: [&str; 30] = [
    "",
    "run 10",
    "run",
    "variable a equal v_a",
    "variable a index",
    "print \"$(1/0)\"",
    "timestep ${a",
    "fix 2 all nvt temp 1 1",
    "pair_style morse 2.5",
    "pair_coeff * * 1",
    "clear",
    "include in.script",
    "include nowhere",
    "jump SELF",
    "next a",
    "quit",
    "region all sphere 0 0 0 1",
    "create_atoms 3 box",
    "create_atoms 1 random 5 1 NULL",
    "create_atoms 1 single nan 0 0",
    "lattice fcc 1e308",
    "lattice fcc 1e-300",
    "lattice none 1e-9",
    "region b block -1e300 1e300 0 1 0 1",
    "create_box 1 b",
    "boundary p p q",
    "mass 1 $(lx)",
    "print \"",
    "velocity all create 1.0 1 # \u{1b}[31m",
    "dump d all atom 1 d.lammpstrj",
];

/// Returns valid scripts, most of them with other lines inserted.
pub(crate) fn damaged() -> impl Strategy<Value = Damaged> {
    let lines = vec((any::<prop::sample::Index>(), prop::sample::select(&LINES[..])), 0..4);
    (vec(any::<u32>(), 80), lines, any::<bool>()).prop_map(|(choices, others, runs)| {
        let mut script = Script::valid(&choices, "v");
        let mut lines: Vec<&str> = script.text.lines().collect();
        for (place, line) in &others {
            lines.insert(place.index(lines.len() + 1), line);
        }
        lines.extend(Some("run 3").filter(|_| runs));
        script.text = lines.join("\n");
        Damaged(script)
    })
}

/// Returns the scenario of a script, as made by `from-lammps` with these options.
pub(crate) fn translated(text: &str, options: &[&str]) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("in.script");
    std::fs::write(&path, text).map_err(|error| error.to_string())?;
    let words = [&["md-cli", "from-lammps"][..], options].concat();
    let words = words.into_iter().map(Into::into).chain([path.into_os_string()]);
    let Ok(Cli { command: Command::FromLammps(args) }) = Cli::try_parse_from(words) else {
        unreachable!("these are its words")
    };
    from_lammps(&args).map_err(|error| match (error.exit_code(), error.shown()) {
        (2, text) if is_harmless(&text) => text,
        (code, text) => panic!("exit code {code}: {text}"),
    })
}

impl Trial for Damaged {
    fn check_here(&self) -> Result<(), String> {
        for options in [&[][..], &["--partial"]] {
            let Ok(scenario) = translated(&self.0.text, options) else { continue };
            if !is_harmless(&scenario) {
                return Err(format!("characters that act on a terminal: {scenario}"));
            }
            Case::of_scenario(scenario.into_bytes()).check_here()?;
        }
        Ok(())
    }
}
