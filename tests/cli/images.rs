//! Image counts and unwrapped positions in files: how `analyse` uses them, and the initial state of
//! runs that start from them.

use crate::analysis::{Columns, assert_near};
use crate::support::{Start, Workdir, error_everywhere, starts};

/// A thin, hot gas in a small box, whose particles move further than half the box between two
/// frames.
const GAS: &str = "[simulation]
steps = 2000
timestep = 0.005
seed = 5

[system]
gas = { atoms = 60, box = [6.0, 6.0, 6.0] }
temperature = 3.0

[output]
msd = { every = 500, origins = 1 }
";

const UNTOLD: &str = "note: the trajectory has neither image counts nor unwrapped positions along x, y, z: `output.msd` holds if no particle moves by \
     more than half of the box between two frames";

/// Returns the last value of `msd.csv` in a folder.
fn last_msd(workdir: &Workdir, folder: &str) -> f64 {
    let last = Columns::read(workdir, &format!("{folder}/msd.csv")).of("msd_A").pop();
    last.unwrap_or(f64::NAN)
}

/// Returns standard error in one line, without line breaks.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a run of [`GAS`] with a trajectory, and its last mean squared displacement.
fn gas(path: &str, options: &str) -> (Workdir, f64) {
    let trajectory = format!("trajectory = {{ path = \"{path}\", every = 500{options} }}\n");
    let workdir = Workdir::new(&format!("{GAS}{trajectory}"));
    workdir.succeed(Start::Threads(1), "run melt.toml --quiet --output out");
    let msd = last_msd(&workdir, "out");
    (workdir, msd)
}

/// Computes the displacement directly, from x + i L of a dump with `id type x y z ix iy iz`.
fn by_hand(dump: &str) -> f64 {
    let rows: Vec<Vec<f64>> = dump
        .lines()
        .map(|line| line.split(' ').map_while(|word| word.parse().ok()).collect())
        .filter(|row: &Vec<f64>| row.len() == 8)
        .collect();
    let (first, last) = (&rows[..60], &rows[rows.len() - 60..]);
    let place = |row: &[f64], dim: usize| row[2 + dim] + 6.0 * row[5 + dim];
    let square = |(then, now): (&Vec<f64>, &Vec<f64>)| -> f64 {
        (0..3).map(|dim| (place(now, dim) - place(then, dim)).powi(2)).sum()
    };
    first.iter().zip(last).map(square).sum::<f64>() / 60.0
}

#[test]
fn displacements_are_those_of_the_run_in_every_format_and_form() {
    let forms = [
        ", columns = [\"images\"]",
        ", positions = \"unwrapped\", columns = []",
        ", positions = \"unwrapped\", columns = [\"images\"]",
    ];
    let names = ["t.lammpstrj", "t.lammpstrj.gz", "t.extxyz", "t.extxyz.gz", "t.nc"];
    for (number, name) in names.into_iter().enumerate() {
        let precision = if name == "t.nc" { ", precision = \"double\"" } else { "" };
        // Compression does not affect the forms, so one form is enough there.
        for form in &forms[..if name.ends_with("gz") { 1 } else { 3 }] {
            let (workdir, msd) = gas(name, &format!("{form}{precision}"));
            let how = if number == 0 { starts() } else { vec![Start::Plain] };
            for start in how {
                let call = format!("analyse out/{name} --output {number}");
                let said = match start {
                    Start::Mpirun(_) => workdir.succeed(start, &call),
                    _ => workdir.succeed(Start::Plain, &call),
                };
                assert_eq!(last_msd(&workdir, &number.to_string()), msd, "{name} {form}");
                assert_eq!(said.stderr, "", "{name} {form}");
            }
        }
    }
    // Formats with fewer digits. `.xtc` cannot state itself that its positions are unwrapped.
    for (name, form, digits) in [("t.nc", forms[0], 1e-5), ("t.xtc", ", positions = \"unwrapped\"", 1e-3)] {
        let (workdir, msd) = gas(name, form);
        workdir.succeed(Start::Plain, &format!("analyse out/{name}"));
        assert_near(&[last_msd(&workdir, "out/analysis")], &[msd], digits, name);
    }
}

#[test]
fn what_a_file_does_not_tell_is_said() {
    for name in ["t.lammpstrj", "t.extxyz", "t.nc", "t.xtc"] {
        let (workdir, msd) = gas(name, "");
        let said = workdir.succeed(Start::Plain, &format!("analyse out/{name}"));
        assert!((last_msd(&workdir, "out/analysis") - msd).abs() > 1.0, "{name}");
        let words = in_one_line(&said.stderr);
        assert!(words.contains(UNTOLD), "{name}: {words}");
        // There is no note if no result depends on it.
        let call = format!("analyse out/{name} --set output.rdf={{every=500}} --scenario rdf.toml");
        workdir
            .write("rdf.toml", &GAS.replace("msd = { every = 500, origins = 1 }", "rdf = { every = 500 }"));
        let said = workdir.succeed(Start::Plain, &call);
        assert!(!in_one_line(&said.stderr).contains("image counts"), "{said:?}");
    }
}

/// Returns a dump with LAMMPS's names of columns, made from one with `id type x y z ix iy iz` and
/// boxes of 6.
fn dump_of(text: &str, names: &str) -> String {
    let (head, heading) = ("ITEM: ATOMS", format!("ITEM: ATOMS {names}\n"));
    let mut dump = String::new();
    for line in text.lines() {
        let row: Vec<f64> = line.split(' ').map_while(|word| word.parse().ok()).collect();
        let value = |name: &str| match name {
            "id" => row[0],
            "type" => row[1],
            _ => {
                let axis = |letter: &str| ["x", "y", "z"].iter().position(|own| *own == letter).unwrap_or(0);
                if let Some(letter) = name.strip_prefix('i') {
                    return row[5 + axis(letter)];
                }
                let (letter, form) = name.split_at(1);
                let (x, images) = (row[2 + axis(letter)], row[5 + axis(letter)]);
                match form {
                    "u" => x + 6.0 * images,
                    "su" => x / 6.0 + images,
                    "s" => x / 6.0,
                    _ => x,
                }
            }
        };
        if row.len() == 8 {
            let fields: Vec<String> = names.split(' ').map(|name| value(name).to_string()).collect();
            dump += &format!("{}\n", fields.join(" "));
        } else if line.starts_with(head) {
            dump += &heading;
        } else {
            dump += &format!("{line}\n");
        }
    }
    dump
}

#[test]
fn columns_of_lammps_are_read_axis_by_axis() {
    let (workdir, msd) = gas("t.lammpstrj", ", columns = [\"images\"]");
    let text = workdir.read("out/t.lammpstrj");
    assert_near(&[by_hand(&text)], &[msd], 1e-12, "by hand");
    let scenario = workdir.read("out/scenario.toml");
    workdir.write("s.toml", &scenario);
    for names in [
        "id type x y z ix iy iz",
        "iz iy ix z y x type id",
        "id type xu yu zu",
        "id type xsu ysu zsu",
        "id type xs ys zs ix iy iz",
        "id type xu yu zu ix iy iz",
        "id type xsu ysu zsu ix iy iz",
        "id type x y z xu yu zu",
        "id type xs ys zs xu yu zu ix iy iz",
        "id type xu ysu z iz",
        "id type xu ysu zs x iy iz",
        "id xu yu zu",
    ] {
        workdir.write("d.lammpstrj", &dump_of(&text, names));
        let said = workdir.succeed(Start::Plain, "analyse d.lammpstrj --scenario s.toml --output d");
        assert_near(&[last_msd(&workdir, "d")], &[msd], 1e-12, names);
        let no_types = "note: the file has no types: all particles are of species `A`";
        let expected = if names.contains("type") { "" } else { no_types };
        assert_eq!(in_one_line(&said.stderr), expected, "{names}");
    }
    // Unwrapped along one axis only.
    workdir.write("d.lammpstrj", &dump_of(&text, "id type x yu zu"));
    let said = workdir.succeed(Start::Plain, "analyse d.lammpstrj --scenario s.toml --output d");
    assert!(in_one_line(&said.stderr).contains("unwrapped positions along x: `output.msd`"), "{said:?}");
    let found = last_msd(&workdir, "d");
    assert!((found - msd).abs() > 0.1, "{found}");
}

/// Returns frames of two particles, each with its own box: step, box length, rows.
fn frames(names: &str, frames: &[(u64, f64, [&str; 2])]) -> String {
    let frame = |(step, length, rows): &(u64, f64, [&str; 2])| {
        let side = format!("0 {length}\n").repeat(3);
        format!(
            "ITEM: TIMESTEP\n{step}\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS pp pp pp\n{side}ITEM: ATOMS {names}\n{}\n",
            rows.join("\n")
        )
    };
    frames.iter().map(frame).collect()
}

/// Returns a scenario for the frames of [`frames`].
fn two(output: &str) -> Workdir {
    Workdir::new(&format!(
        "[simulation]\nsteps = 1\ntimestep = 0.01\n[system]\ngas = {{ atoms = 2, box = [10.0, 10.0, 10.0] }}\n[output]\n{output}\n"
    ))
}

#[test]
fn counts_are_of_the_box_of_their_frame_and_of_any_size() {
    let msd = "msd = { every = 1, origins = 1 }";
    let call = "analyse t.lammpstrj --scenario melt.toml --output d";
    for (first, last, expected) in [
        // From 11 to 21.
        ((10.0, "1 1 1 5 5 1 0 0"), (20.0, "1 1 1 5 5 1 0 0"), 100.0),
        // From -19 to 41.
        ((10.0, "1 1 1 5 5 -2 0 0"), (10.0, "1 1 1 5 5 4 0 0"), 3600.0),
        // Over the full range of counts, in two consecutive frames.
        ((1.0, "1 1 0.5 0 0 -1048576 0 0"), (1.0, "1 1 0.5 0 0 1048575 0 0"), 2_097_151.0_f64.powi(2)),
        // Outside the box, before LAMMPS has wrapped it.
        ((10.0, "1 1 10.5 5 5 0 0 0"), (10.0, "1 1 0.75 5 5 1 0 0"), 0.0625),
    ] {
        let workdir = two(msd);
        let still = "2 1 0.25 0.25 0.25 0 0 0";
        let text =
            frames("id type x y z ix iy iz", &[(0, first.0, [first.1, still]), (1, last.0, [still, last.1])]);
        workdir.write("t.lammpstrj", &text);
        workdir.succeed(Start::Plain, call);
        assert_eq!(last_msd(&workdir, "d"), expected / 2.0, "{text}");
    }
    let workdir = two(msd);
    let row = "2 1 0.25 0.25 0.25 0 0 0";
    workdir
        .write("t.lammpstrj", &frames("id type x y z ix iy iz", &[(0, 9.0, ["1 1 1 1 1 0 1048576 0", row])]));
    let said = workdir.call(Start::Plain, call);
    let words = in_one_line(&said.stderr);
    let expected =
        "t.lammpstrj, frame 1:10: the image count 1048576 cannot be: counts are from -1048576 to 1048575";
    assert!(said.code == Some(2) && words.contains(expected), "{words}");
}

#[test]
fn frames_that_tell_less_than_the_first_are_refused() {
    let workdir = two("msd = { every = 1, origins = 1 }");
    let with = frames("id type x y z ix iy iz", &[(0, 9.0, ["1 1 1 1 1 0 0 0", "2 1 3 3 3 1 1 1"])]);
    let without = frames("id type x y z", &[(1, 9.0, ["1 1 1 1 1", "2 1 3 3 3"])]);
    workdir.write("t.lammpstrj", &format!("{with}{without}"));
    let said = workdir.call(Start::Plain, "analyse t.lammpstrj --scenario melt.toml --output d");
    let expected = "t.lammpstrj, frame 2: it has not image counts or unwrapped positions along the same axes as the first frame";
    assert!(said.code == Some(2) && in_one_line(&said.stderr).contains(expected), "{said:?}");
}

#[test]
fn dumps_without_ids_have_no_paths() {
    let workdir = two("rdf = { every = 1, bins = 4, max = 4.0 }");
    // In another order.
    let rows = [(0, 9.0, ["1 1 1", "1 1 3.5"]), (1, 9.0, ["1 1 3.5", "1 1 1"])];
    workdir.write("t.lammpstrj", &frames("x y z", &rows));
    let call = "analyse t.lammpstrj --scenario melt.toml --output d";
    let said = workdir.succeed(Start::Plain, call);
    let words = in_one_line(&said.stderr);
    assert!(
        words.contains("note: the file has no ids: particles are numbered in the order of the file")
            && words.contains("note: the file has no types: all particles are of species `A`"),
        "{words}"
    );
    assert_eq!(Columns::read(&workdir, "d/rdf.csv").of("n_A_A"), [0.0, 0.0, 1.0, 1.0]);
    for key in ["msd={every=1}", "vacf={every=1,length=0.01}"] {
        workdir.write(
            "t.lammpstrj",
            &frames("xu yu zu vx vy vz", &[(0, 9.0, ["1 1 1 0 0 0", "1 1 3.5 0 0 0"])]),
        );
        let said = workdir.call(Start::Plain, &format!("{call} --set output.{key}"));
        let name = key.split('=').next().unwrap_or_default();
        let expected = format!(
            "t.lammpstrj, frame 1: there is no column `id`, by which `output.{name}` finds particles again: leave it out, or \
             analyse a trajectory with ids"
        );
        assert!(said.code == Some(2) && in_one_line(&said.stderr).contains(&expected), "{said:?}");
    }
    // A run with a single species needs neither ids nor types.
    workdir.write("t.lammpstrj", &frames("x y z vx vy vz", &[(0, 9.0, ["1 1 1 0 0 0", "1 1 3.5 0 0 1"])]));
    let file =
        "[simulation]\nsteps = 1\n[system]\nfile = { path = \"t.lammpstrj\", format = \"lammpstrj\" }\n";
    workdir.write("melt.toml", file);
    let said = workdir.succeed(Start::Threads(2), "forces melt.toml --output d");
    assert!(in_one_line(&said.stderr).contains("note: the file has no ids: particles"), "{said:?}");
    assert_eq!(Columns::read(&workdir, "d/forces.csv").of("id"), [1.0, 2.0]);
    let several = format!("{file}[[species]]\nname = \"A\"\n[[species]]\nname = \"B\"\n");
    workdir.write("melt.toml", &several);
    let text = in_one_line(&error_everywhere(&workdir, "forces melt.toml", &starts()));
    assert!(text.contains("t.lammpstrj:9: column `type` is missing: `ITEM: ATOMS id type x y z`"), "{text}");
}

/// Two particles with image counts, one of them outside the box, as LAMMPS reads them.
const DATA: &str = "with image counts

2 atoms
1 atom types

-2 8 xlo xhi
-2 8 ylo yhi
-2 8 zlo zhi

Masses

1 1.0

Atoms # atomic

1 1 1 1 1 2 -1 0
2 1 9 1 5 0 0 3
";

/// LAMMPS's output (`dump custom id xu yu zu ix iy iz`) for [`DATA`] after `read_data`.
const FIRST: [&str; 2] = ["1 1 21 -9 1 2 -1 0", "2 1 9 1 35 1 0 3"];

/// Returns a run from a file, with frames that are unwrapped and have image counts.
fn scenario_of(file: &str) -> String {
    format!(
        "[simulation]\nsteps = 1\n[system]\nfile = {{ {file} }}\ntemperature = 0.0\n[output]\n\
         trajectory = {{ path = \"t.lammpstrj\", every = 1, columns = [\"images\"], positions = \"unwrapped\" }}\n"
    )
}

/// Returns the rows of the frame of a step, by id.
fn rows_of(workdir: &Workdir, name: &str, step: u64) -> Vec<String> {
    let text = workdir.read(name);
    let frame = text.split("ITEM: TIMESTEP\n").find(|frame| frame.starts_with(&format!("{step}\n")));
    let rows = frame.and_then(|frame| frame.split_once("ITEM: ATOMS ")).map_or("", |(_, rows)| rows);
    rows.lines().skip(1).map(|row| row.replace(".0 ", " ")).collect()
}

/// Checks that the frames of steps 0 and 1 agree with LAMMPS.
fn expect_first(workdir: &Workdir, what: &str) {
    let numbers =
        |row: &str| row.split(' ').map(|word| word.parse().unwrap_or(f64::NAN)).collect::<Vec<f64>>();
    for step in [0, 1] {
        let rows = rows_of(workdir, "o/t.lammpstrj", step);
        assert_eq!(rows.len(), FIRST.len(), "{what}");
        for (found, expected) in rows.iter().zip(FIRST) {
            assert_near(&numbers(found), &numbers(expected), 1e-14, what);
        }
    }
}

#[test]
fn runs_begin_with_the_counts_of_every_format() {
    let workdir = Workdir::new("");
    workdir.write("d.data", DATA);
    let of_data = "path = \"d.data\", format = \"lammps-data\"";
    let dump = |names: &str, rows: [&str; 2]| {
        let side = "-2 8\n".repeat(3);
        format!(
            "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS pp pp pp\n{side}ITEM: ATOMS {names}\n{}\n",
            rows.join("\n")
        )
    };
    let extxyz = |entries: &str, columns: &str, rows: [&str; 2]| {
        format!(
            "2\nLattice=\"10 0 0 0 10 0 0 0 10\" Origin=\"-2 -2 -2\" {entries} Properties=species:S:1:pos:R:3{columns}\n{}\n",
            rows.join("\n")
        )
    };
    let files = [
        ("d1", "lammpstrj", dump("id type x y z ix iy iz", ["1 1 1 1 1 2 -1 0", "2 1 9 1 5 0 0 3"])),
        ("d2", "lammpstrj", dump("id type xu yu zu", ["2 1 9 1 35", "1 1 21 -9 1"])),
        ("d3", "lammpstrj", dump("id type xu yu zu ix iy iz", ["2 1 9 1 35 1 0 3", "1 1 21 -9 1 2 -1 0"])),
        ("d4", "lammpstrj", dump("id type xsu ysu zsu", ["1 1 2.3 -0.7 0.3", "2 1 1.1 0.3 3.7"])),
        (
            "d5",
            "lammpstrj",
            dump("id type xs ys zs ix iy iz", ["1 1 0.3 0.3 0.3 2 -1 0", "2 1 0.1 0.3 0.7 1 0 3"]),
        ),
        ("e1", "extxyz", extxyz("", ":images:I:3", ["A 1 1 1 2 -1 0", "A 9 1 5 0 0 3"])),
        ("e2", "extxyz", extxyz("unwrapped=T", "", ["A 21 -9 1", "A 9 1 35"])),
        ("e3", "extxyz", extxyz("unwrapped=T", ":images:I:3", ["A 21 -9 1 2 -1 0", "A 9 1 35 1 0 3"])),
    ];
    let mut sources = vec![of_data.to_owned()];
    for (name, format, text) in files {
        workdir.write(name, &text);
        sources.push(format!("path = \"{name}\", format = \"{format}\""));
    }
    for source in &sources {
        workdir.write("melt.toml", &scenario_of(source));
        for start in starts() {
            let said = workdir.succeed(start, "run melt.toml --output o");
            assert!(!said.stderr.contains("begin at 0"), "{source}: {said:?}");
            expect_first(&workdir, &format!("{source} {start:?}"));
        }
    }
    // NetCDF files that this program wrote, wrapped and unwrapped.
    for options in [
        "columns=[\"images\"]",
        "positions=\"unwrapped\",columns=[]",
        "positions=\"unwrapped\",columns=[\"images\"]",
    ] {
        workdir.write("melt.toml", &scenario_of(of_data));
        let trajectory = format!("--set output.trajectory={{path=\"t.nc\",every=1,{options}}}");
        workdir.succeed(Start::Threads(2), &format!("run melt.toml --output n {trajectory}"));
        workdir.write("melt.toml", &scenario_of("path = \"n/t.nc\", format = \"netcdf\""));
        for start in starts() {
            workdir.succeed(start, "run melt.toml --output o");
            expect_first(&workdir, &format!("{options} {start:?}"));
        }
    }
}

#[test]
fn runs_say_that_counts_begin_at_zero_or_are_left_out() {
    let workdir = Workdir::new(&scenario_of("path = \"d.data\", format = \"lammps-data\""));
    workdir.write("d.data", &DATA.replace(" 2 -1 0\n", "\n").replace(" 0 0 3\n", "\n"));
    for start in starts() {
        let said = workdir.succeed(start, "run melt.toml --output o");
        let note = "note: the file has neither image counts nor unwrapped positions along x, y, z: image counts begin at 0";
        assert!(in_one_line(&said.stderr).contains(note), "{said:?}");
        assert_eq!(rows_of(&workdir, "o/t.lammpstrj", 0), ["1 1 1 1 1 0 0 0", "2 1 9 1 5 1 0 0"]);
    }
    workdir.write("d.data", DATA);
    for start in starts() {
        let walls = "--set system.boundary=[\"periodic\",\"periodic\",\"reflecting\"]";
        let said = workdir.succeed(start, &format!("run melt.toml --output o {walls}"));
        let note = "note: image counts along z are left out: the box is not periodic there";
        assert!(in_one_line(&said.stderr).contains(note), "{said:?}");
        assert_eq!(rows_of(&workdir, "o/t.lammpstrj", 0), ["1 1 21 -9 1 2 -1 0", "2 1 9 1 5 1 0 0"]);
    }
    // The limit on counts also holds for particles that are wrapped into the box.
    workdir.write("d.data", &DATA.replace("9 1 5 0 0 3", "9 1 5 1048575 0 3"));
    let text = error_everywhere(&workdir, "run melt.toml", &starts());
    let expected =
        "d.data:17: particle 2: its image count along x is 1048576: counts are from -1048576 to 1048575";
    assert!(in_one_line(&text).contains(expected), "{text}");
    workdir.write("d.data", &DATA.replace("1 1 1 1 1 2 -1 0", "1 1 1 1 1"));
    let text = error_everywhere(&workdir, "run melt.toml", &starts());
    let expected =
        "d.data:17: found 8 columns in `2 1 9 1 5 0 0 3`, expected 5 as in the first line of `Atoms`";
    assert!(in_one_line(&text).contains(expected), "{text}");
}

/// As with LAMMPS's `replicate`, a copy is at the unwrapped position of its particle, shifted by
/// whole boxes of the file.
#[test]
fn copies_have_counts_of_the_whole_box() {
    let file = "path = \"d.data\", format = \"lammps-data\", replicate = [2, 1, 3]";
    let workdir = Workdir::new(&scenario_of(file));
    workdir.write("d.data", DATA);
    let expected = |x: i64, y: i64, z: i64| {
        let counts = [(x, 20), (y, 10), (z, 30)].map(|(x, length)| (x + 2).div_euclid(length));
        format!("{x} {y} {z} {} {} {}", counts[0], counts[1], counts[2])
    };
    let mut all: Vec<String> = [[21, -9, 1], [9, 1, 35]]
        .into_iter()
        .flat_map(|[x, y, z]| (0..2).flat_map(move |i| (0..3).map(move |k| [x + 10 * i, y, z + 10 * k])))
        .map(|[x, y, z]| expected(x, y, z))
        .collect();
    all.sort();
    for start in starts() {
        workdir.succeed(start, "run melt.toml --output o");
        let rows = rows_of(&workdir, "o/t.lammpstrj", 0);
        let mut found: Vec<String> =
            rows.iter().filter_map(|row| row.splitn(3, ' ').nth(2)).map(str::to_owned).collect();
        found.sort();
        assert_eq!(found, all, "{start:?}");
    }
}

/// Image counts move with particles that change ranks, and are stored in checkpoints.
#[test]
fn counts_move_with_particles_and_are_in_checkpoints() {
    let (workdir, _) = gas("t.extxyz", ", columns = [\"velocity\", \"images\"]");
    let whole = "file = { path = \"out/t.extxyz\", format = \"extxyz\" }";
    let output = "trajectory = { path = \"t.lammpstrj\", every = 50, columns = [\"images\"], positions = \"unwrapped\" }\n";
    let scenario = GAS
        .replace("gas = { atoms = 60, box = [6.0, 6.0, 6.0] }\ntemperature = 3.0", whole)
        .replace("msd = { every = 500, origins = 1 }\n", output);
    workdir.write("melt.toml", &scenario);
    workdir.write("start.toml", &scenario.replace("out/t.extxyz", "none.extxyz"));
    let frames = workdir.read("out/t.extxyz");
    workdir.write("none.extxyz", &frames.replace("images:I:3", "left:I:3"));
    let values = |folder: &str, step: u64| -> Vec<Vec<f64>> {
        let rows = rows_of(&workdir, &format!("{folder}/t.lammpstrj"), step);
        rows.iter().map(|row| row.split(' ').map(|word| word.parse().unwrap_or(f64::NAN)).collect()).collect()
    };
    for start in starts() {
        let checkpoint = "--set output.checkpoint.every=110";
        for call in [
            "start.toml --output none --steps 200".to_owned(),
            "melt.toml --output whole --steps 200".to_owned(),
            format!("melt.toml --output parts --steps 110 {checkpoint}"),
            "melt.toml --output parts --steps 200 --resume parts".to_owned(),
        ] {
            // A cutoff short enough for three ranks.
            workdir.succeed(start, &format!("run {call} --quiet --set interaction.cutoff=1.2"));
        }
        assert_eq!(workdir.read("parts/t.lammpstrj"), workdir.read("whole/t.lammpstrj"), "{start:?}");
        // The path continues from the end of the first run, and the counts keep the difference that
        // the file gave them.
        let (begin, first, last) = (values("none", 0), values("whole", 0), values("whole", 200));
        let mut crossed = 0;
        for (index, end) in values("none", 200).iter().enumerate() {
            for dim in 0..3 {
                let before = first[index][5 + dim] - begin[index][5 + dim];
                assert_eq!(last[index][5 + dim] - end[5 + dim], before, "{start:?}");
                let away = last[index][2 + dim] - end[2 + dim] - 6.0 * before;
                assert!(away.abs() < 1e-9, "{start:?}: {away}");
                crossed += usize::from(end[5 + dim] != begin[index][5 + dim] && before != 0.0);
            }
        }
        assert!(crossed > 5, "{crossed}");
    }
}
