//! Image counts and unwrapped positions in files, as `analyse` uses them.

use crate::analysis::{Columns, assert_near};
use crate::support::{Start, Workdir, error_everywhere, starts};

/// A thin, hot gas in a small box, whose particles move further than half the box between two
/// frames.
pub(crate) const GAS: &str = "[simulation]
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
pub(crate) fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a run of [`GAS`] with a trajectory, and its last mean squared displacement.
pub(crate) fn gas(path: &str, options: &str) -> (Workdir, f64) {
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
