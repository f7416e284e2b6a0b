//! `md-cli lbm`: obstacles, and the files of obstacles that are masks.

use insta::assert_snapshot;
use serde_json::Value;

use crate::lbm::{flow, with};
use crate::support::{Start, error, error_everywhere, starts};

#[test]
fn an_image_of_several_pieces_and_its_mask_give_the_same_flow() {
    let workdir = flow();
    workdir.succeed(Start::Threads(1), "lbm melt.toml --quiet --output one --set output.fields.every=25");
    assert!(workdir.files("one").contains(&"fields_00000025.vti".to_owned()));
    workdir.succeed(Start::Threads(2), "lbm melt.toml --quiet --output two --set output.fields.every=20");
    let files = workdir.files("two");
    for name in ["fields_00000020.pvti", "fields_00000020_0.vti", "fields_00000025_1.vti"] {
        assert!(files.contains(&name.to_owned()), "{files:?}");
    }
    let index = workdir.read("two/fields_00000025.pvti");
    assert!(index.contains("WholeExtent=\"0 12 0 10 0 20\""), "{index}");
    assert!(index.contains("<Piece Extent=\"6 12 0 10 0 20\" Source=\"fields_00000025_1.vti\"/>"), "{index}");
    // A sphere, and the solid nodes of its image.
    let mask = "--set lbm.obstacle={kind=\"mask\",path=\"one/fields_00000025.vti\"}";
    workdir.succeed(Start::Threads(3), &format!("lbm melt.toml --quiet --output masked {mask}"));
    assert_eq!(workdir.read("masked/probe.csv"), workdir.read("one/probe.csv"));
    // Images of an earlier run are removed.
    workdir.succeed(Start::Threads(1), "lbm melt.toml --quiet --output two");
    assert!(!workdir.files("two").iter().any(|name| name.contains("fields")));
}

#[test]
fn masks_that_do_not_fit_are_refused_everywhere() {
    let obstacle = "obstacle = { kind = \"sphere\", center = [5.0, 4.0, 9.5], radius = 2.5 }";
    let workdir = with(obstacle, "obstacle = { kind = \"mask\", path = \"mask.txt\" }");
    workdir.write("mask.txt", &format!("12 10 19\n{}", "0".repeat(12 * 10 * 19)));
    assert_snapshot!(error_everywhere(&workdir, "lbm melt.toml", &starts()), @r"
    exit code 2
    error: mask.txt:1: cannot make sense of `12 10 19`: the mask has 12 x 10 x 19 nodes, and `lbm.grid` has 12 x 10 x 20
    ");
    let said = |text: &str| {
        workdir.write("mask.txt", text);
        error(&workdir, "lbm melt.toml", Start::Threads(1))
    };
    assert_snapshot!(said("12 10 20\n01\n012"), @r"
    exit code 2
    error: mask.txt:3: `2` is not 0 (fluid) or 1 (solid) (a node)
    ");
    assert_snapshot!(said("12 10 20\n0101"), @r"
    exit code 2
    error: mask.txt: the file ends too early: 2400 nodes promised, 4 found
    ");
    assert_snapshot!(said("12 10 20"), @r"
    exit code 2
    error: mask.txt: the file ends too early: 2400 nodes promised, 0 found
    ");
    assert_snapshot!(said(""), @r"
    exit code 2
    error: mask.txt:1: the file is empty
    ");
    assert_eq!(workdir.files("."), ["mask.txt", "melt.toml"], "nothing is created for a mask with a fault");
    let missing = "lbm melt.toml --set lbm.obstacle.path=none.txt";
    assert_snapshot!(error_everywhere(&workdir, missing, &starts()), @r"
    exit code 2
    error: × cannot read `none.txt`: No such file or directory (os error 2)
       ╭─[command line:1:25]
     1 │ --set lbm.obstacle.path=none.txt
       ·                         ────────
       ╰────
      help: a path from the folder of the scenario, or from the root (`/`)
    ");
    std::fs::remove_file(workdir.path("mask.txt")).unwrap();
    let said = workdir.call(Start::Plain, "check melt.toml");
    let begin = "error: × cannot read `mask.txt`: No such file or directory (os error 2)\n";
    let is_placed = said.stderr.starts_with(begin) && said.stderr.contains("[melt.toml:9:");
    assert!(said.code == Some(2) && is_placed, "{said:?}");
    workdir.make_pipe("pipe");
    let pipe = "lbm melt.toml --set lbm.obstacle.path=pipe";
    assert_snapshot!(error(&workdir, pipe, Start::Threads(1)), @r"
    exit code 2
    error: cannot read `pipe`: it is not a regular file
    ");
}

/// The text is longer than the part that is read at a time, so that words are cut.
#[test]
fn a_long_image_of_text_is_a_mask_and_its_run_can_be_repeated() {
    let obstacle = "obstacle = { kind = \"sphere\", center = [5.0, 4.0, 9.5], radius = 2.5 }";
    let workdir = with(obstacle, "obstacle = { kind = \"mask\", path = \"mask.vti\" }");
    let numbers: Vec<&str> = (0..2400).map(|node| if node % 7 == 1 { "1.000" } else { "0.000" }).collect();
    let image = |between: &str| {
        let values = numbers.join(between);
        format!(
            "<VTKFile type=\"ImageData\"><ImageData WholeExtent=\"0 12 0 10 0 20\"><Piece><CellData>\
             <DataArray type=\"Float32\" Name=\"other\" format=\"ascii\">{values} 7</DataArray>\
             <DataArray type=\"Float32\" Name=\"solid\" format=\"ascii\">\n{values}\n</DataArray>\
             </CellData></Piece></ImageData></VTKFile>"
        )
    };
    let mut probes = Vec::new();
    for (output, between) in [("short", " ".to_owned()), ("long", " ".repeat(700))] {
        workdir.write("mask.vti", &image(&between));
        workdir.succeed(Start::Threads(2), &format!("lbm melt.toml --quiet --output {output}"));
        probes.push(workdir.read(&format!("{output}/probe.csv")));
    }
    workdir.succeed(Start::Threads(1), "lbm long/scenario.toml --quiet --output again");
    probes.push(workdir.read("again/probe.csv"));
    assert!(probes.iter().all(|probe| *probe == probes[0]), "{probes:?}");
}

/// Values of field data belong to no node.
#[test]
fn the_time_of_an_image_is_no_mask() {
    let obstacle = "obstacle = { kind = \"sphere\", center = [5.0, 4.0, 9.5], radius = 2.5 }";
    let workdir = with(obstacle, "obstacle = { kind = \"mask\", path = \"mask.vti\" }");
    let values: Vec<&str> = (0..2400).map(|node| if node % 7 == 1 { "1" } else { "0" }).collect();
    let image = format!(
        "<VTKFile type=\"ImageData\"><ImageData WholeExtent=\"0 12 0 10 0 20\"><FieldData>\
         <DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">5</DataArray></FieldData>\
         <Piece><CellData><DataArray type=\"UInt8\" Name=\"rock\" format=\"ascii\">{}</DataArray></CellData></Piece>\
         </ImageData></VTKFile>",
        values.join(" ")
    );
    workdir.write("mask.vti", &image);
    workdir.succeed(Start::Threads(2), "lbm melt.toml --quiet");
    let summary: Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    assert_eq!(summary["fluid_nodes"], 2400.0 - 343.0);
}

/// An image that is misread would be another obstacle, without any notice.
#[test]
fn images_that_are_no_masks_are_refused() {
    let obstacle = "obstacle = { kind = \"sphere\", center = [5.0, 4.0, 9.5], radius = 2.5 }";
    let workdir = with(obstacle, "obstacle = { kind = \"mask\", path = \"mask.vti\" }");
    let image = |array: &str, appended: &str| {
        format!(
            "<VTKFile type=\"ImageData\" byte_order=\"LittleEndian\" header_type=\"UInt32\">\
             <ImageData WholeExtent=\"0 12 0 10 0 20\"><Piece><CellData><DataArray type=\"UInt8\" {array}\
             </CellData></Piece></ImageData>{appended}</VTKFile>"
        )
    };
    let said = |image: &str| {
        workdir.write("mask.vti", image);
        error(&workdir, "lbm melt.toml", Start::Threads(1))
    };
    let digits = "0 ".repeat(3 * 2400);
    let velocity = format!("Name=\"u\" NumberOfComponents=\"3\" format=\"ascii\">{digits}</DataArray>");
    assert_snapshot!(said(&image(&velocity, "")), @r"
    exit code 2
    error: cannot read `mask.vti`: its array `u` has 3 numbers for each node, not 1: call that of the solid nodes `solid`
    ");
    let appended =
        |bytes: &str| format!("<AppendedData encoding=\"raw\">_{bytes}{}</AppendedData>", "\0".repeat(2400));
    let solid = |offset: &str| format!("Name=\"solid\" format=\"appended\" {offset}/>");
    assert_snapshot!(said(&image(&solid("offset=\"0\""), &appended("\x61\x09\0\0"))), @r"
    exit code 2
    error: cannot read `mask.vti`: its array has 2401 bytes, and its extent asks for 2400
    ");
    assert_snapshot!(said(&image(&solid(""), &appended("\x60\x09\0\0"))), @r"
    exit code 2
    error: cannot read `mask.vti`: it is no image of VTK: a valid offset of its array is missing
    ");
    let big = image(&solid("offset=\"0\""), &appended("\0\0\x09\x60")).replace("Little", "Big");
    for readable in [big, image(&solid("offset=\"0\""), &appended("\x60\x09\0\0"))] {
        workdir.write("mask.vti", &readable);
        workdir.succeed(Start::Threads(1), "lbm melt.toml --quiet");
    }
}

#[test]
fn an_obstacle_that_leaves_no_fluid() {
    let workdir = with("radius = 2.5", "radius = 250.0");
    assert_snapshot!(error_everywhere(&workdir, "lbm melt.toml", &starts()), @r#"
    exit code 2
    error: × `lbm.obstacle` takes all 12 x 10 x 20 nodes: no fluid is left
        ╭─[melt.toml:9:12]
      8 │ wall_velocity = { y_high = [0.0, 0.0, 0.05] }
      9 │ obstacle = { kind = "sphere", center = [5.0, 4.0, 9.5], radius = 250.0 }
        ·            ─────────────────────────────────────────────────────────────
     10 │ 
        ╰────
      help: a smaller radius, or another centre
    "#);
    assert_eq!(workdir.files("."), ["melt.toml"], "nothing is written for a flow without fluid");
    let sphere = "obstacle = { kind = \"sphere\", center = [5.0, 4.0, 9.5], radius = 2.5 }";
    let workdir = with(sphere, "obstacle = { kind = \"mask\", path = \"mask.txt\" }");
    workdir.write("mask.txt", &format!("12 10 20\n{}", "1".repeat(2400)));
    assert_snapshot!(error(&workdir, "lbm melt.toml", Start::Threads(2)), @r#"
    exit code 2
    error: × `lbm.obstacle` takes all 12 x 10 x 20 nodes: no fluid is left
        ╭─[melt.toml:9:12]
      8 │ wall_velocity = { y_high = [0.0, 0.0, 0.05] }
      9 │ obstacle = { kind = "mask", path = "mask.txt" }
        ·            ────────────────────────────────────
     10 │ 
        ╰────
      help: a mask in which some nodes are 0
    "#);
}

#[test]
fn an_obstacle_outside_and_intervals_beyond_the_run_are_warned_of() {
    let workdir = with("center = [5.0, 4.0, 9.5]", "center = [5.0, 400.0, 9.5]");
    let intervals = "--set output.fields.every=1000000 --set output.probe.every=26";
    let said = workdir.succeed(Start::Threads(2), &format!("lbm melt.toml --quiet {intervals}"));
    assert_snapshot!(said.stderr, @r"
    warning: `lbm.obstacle` has none of the 12 x 10 x 20 nodes (the nearest one is farther from its centre than its radius), so that nothing stands in the flow
    warning: `output.probe.every` is 26, but the run has 25 steps: no row after step 0 will be written
    warning: `output.fields.every` is 1000000, but the run has 25 steps: no image between step 0 and the last will be written
    ");
    let summary: Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    let warnings: Vec<String> = serde_json::from_value(summary["warnings"].clone()).unwrap();
    assert_eq!(said.stderr, warnings.iter().map(|text| format!("warning: {text}\n")).collect::<String>());
    assert_eq!(workdir.read("out/probe.csv").lines().count(), 2);
}
