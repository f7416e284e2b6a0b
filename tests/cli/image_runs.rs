//! Runs that start from files with image counts or unwrapped positions.

use crate::analysis::assert_near;
use crate::images::{GAS, gas, in_one_line};
use crate::support::{Start, Workdir, error_everywhere, starts};

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
        let note = "note: the file has neither image counts nor unwrapped positions along x, y, z: image counts begin at 0 for positions inside the box";
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
