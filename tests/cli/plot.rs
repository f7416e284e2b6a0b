//! `md-cli plot`: the page contains the data of the run, and a browser displays it.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::process::Command;

use crate::support::{MELT, Start, Workdir, launch};

/// Returns a run of two ranks, and tables of analyses as longer runs write them.
fn folder() -> Workdir {
    let workdir = Workdir::new(&MELT.replace("steps = 20", "title = \"Melt <of> two\"\nsteps = 20"));
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet --output out");
    workdir.write(
        "out/rdf.csv",
        "r,g_A_A,n_A_A,error_A_A\n0.9,0.1,0.2,0.05\n1.1,2.7,6.5,0.1\n1.5,0.8,12.0,0.05\n",
    );
    let profile = "z,density,pressure_xx,pressure_yy,density_error,pressure_xx_error,pressure_yy_error\n\
                   0.5,0.1,1.0,1.1,0.01,0.1,0.1\n1.5,0.8,0.9,1.2,0.02,0.1,0.1\n";
    workdir.write("out/profile_z.csv", profile);
    let mut summary: serde_json::Value =
        serde_json::from_str(&workdir.read("out/summary.json")).unwrap_or_default();
    summary["diffusion"] =
        serde_json::json!({ "A": { "coefficient": 0.0331234, "error": 0.000412, "blocks": 4 } });
    summary["viscosity"] = serde_json::json!({ "value": 3.25, "time": 2.0, "error": 0.21 });
    summary["surface_tension"] = serde_json::json!({ "mean": 0.25 });
    summary["averages"]["temperature"] = serde_json::json!({ "mean": 0.7, "standard_error": 0.0123 });
    workdir.write("out/summary.json", &summary.to_string());
    workdir
}

/// Stages have separate pages.
#[test]
fn folders_of_stages_are_named() {
    let workdir = Workdir::new(&format!(
        "{}[[stage]]\nsteps = 5\n[[stage]]\nname = \"produce\"\nsteps = 10\noutput = {{ msd = {{ every = 1 }} }}\n",
        MELT.replace("steps = 20\n", "")
    ));
    workdir.succeed(Start::Threads(1), "run melt.toml --quiet");
    let said = workdir.succeed(Start::Plain, "plot out");
    assert_eq!(said.stdout, "out/plot.html\nalso: md-cli plot out/produce\n");
    let said = workdir.succeed(Start::Plain, "plot out/produce");
    assert_eq!(said.stdout, "out/produce/plot.html\n");
    assert!(workdir.read("out/produce/plot.html").contains("Mean squared displacement (σ²)"));
}

#[test]
fn the_page_has_a_picture_of_everything() {
    let workdir = folder();
    let said = workdir.call(Start::Plain, "plot out");
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (Some(0), "out/plot.html\n", ""));
    let page = workdir.read("out/plot.html");
    // Temperature, energy, pressure, its diagonal and off-diagonal elements; g and n; density and
    // pressures of the profile; time.
    assert_eq!(page.matches("<svg").count(), 5 + 2 + 2 + 1);
    // g, the density, and both pressures have errors, which are drawn as bands and not as lines.
    assert_eq!(page.matches("<polygon").count(), 4);
    assert!(!page.contains("_error"));
    for words in [
        "<h1>Melt &lt;of&gt; two</h1>",
        "Temperature (ε/k)",
        "Energy per atom (ε)",
        "time (τ)",
        "distance r (σ)",
        "conserved_per_atom",
        "Radial distribution function g(r)",
        "Density across z (1/σ³)",
        "Pressure across z (ε/σ³)",
        "Where the time went",
        "rank 1",
        "halo_wait",
        "pressure_xy",
        "<td>atoms</td><td>600</td>",
        "<td>diffusion A</td><td>0.0331234 ± 0.00041</td>",
        "<td>viscosity</td><td>3.25 ± 0.21</td>",
        "<td>surface_tension</td><td>0.25</td>",
        "<td>average temperature</td><td>0.7 ± 0.012</td>",
    ] {
        assert!(page.contains(words), "{words}");
    }
    // The box is constant, and time that is hidden behind other work is not included.
    assert!(!page.contains("box_x") && !page.contains("average volume") && !page.contains("halo_hidden"));
    // The page is self-contained, and the next run removes it, because it does not belong to that
    // run.
    assert!(!page.contains("src=") && !page.contains("href="));
    workdir.succeed(Start::Threads(1), "run melt.toml --quiet --output out");
    assert!(!workdir.files("out").contains(&"plot.html".to_owned()));
}

#[test]
fn runs_on_grids_have_pictures_too() {
    let workdir = Workdir::new("");
    let flow = "[lbm]\ntitle = \"Cavity\"\ngrid = [4, 8, 8]\nsteps = 4\nviscosity = 0.1\nboundary = [\"periodic\", \"wall\", \"wall\"]\n\
                wall_velocity = { y_high = [0.0, 0.0, 0.05] }\n\
                [output]\nthermo = { every = 2 }\nprobe = { every = 1, nodes = [[0, 4, 4]] }\n";
    let field =
        "[stencil]\nkind = \"poisson\"\ngrid = [8, 8, 8]\nsteps = 200\n[output]\nthermo = { every = 1 }\n";
    for (command, scenario, title, charts) in [
        ("lbm", flow, "Cavity", ["Momentum", "Velocity at the probes"]),
        ("stencil", field, "out", ["Residual", "Sum"]),
    ] {
        workdir.write("grid.toml", scenario);
        workdir.succeed(Start::Threads(2), &format!("{command} grid.toml --quiet --output out"));
        workdir.succeed(Start::Plain, "plot out");
        let page = workdir.read("out/plot.html");
        for words in [format!("<h1>{title}</h1>").as_str(), charts[0], charts[1], "Where the time went"] {
            assert!(page.contains(words), "{command}: {words}");
        }
    }
}

#[test]
fn a_folder_without_tables_is_an_error() {
    let workdir = Workdir::new(MELT);
    std::fs::create_dir(workdir.path("out")).unwrap();
    let said = workdir.call(Start::Plain, "plot out");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(
        said.stderr.contains(
            "there is nothing to draw in `out`: no thermo.csv, no timing.csv and no table of an analysis"
        ),
        "{said:?}"
    );
    assert!(workdir.files("out").is_empty());
}

/// Runs if there is a browser. The pictures must be dark on white, and the page must not be empty.
#[test]
fn a_browser_shows_it() {
    /// Minimum width of a window of the browser.
    const WINDOW: usize = 500;
    const TELEPHONE: usize = 400;
    let browser = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|said| said.status.success()));
    let Some(browser) = browser else {
        assert!(std::env::var_os("CI").is_none(), "chromium is installed by .ci/run");
        eprintln!("skipped: no chromium");
        return;
    };
    let workdir = folder();
    workdir.call(Start::Plain, "plot out");
    let pixels = shown(browser, &workdir, "out/plot.html", 1200);
    let coloured = pixels.iter().filter(|pixel| pixel[0].abs_diff(pixel[1]) > 60).count();
    let dark = pixels.iter().filter(|pixel| pixel[0] < 60 && pixel[1] < 60).count();
    assert!(coloured > 3000, "lines and bars: {coloured} coloured pixels");
    assert!(dark > 3000, "letters: {dark} dark pixels");
    // On a telephone the charts are narrower than the screen, so its last columns contain only the
    // white background of the page. (The page is shown in a frame, because a window of the browser
    // is at least 500 pixels wide.)
    let frame = format!(
        "<body style='margin:0'><iframe src='out/plot.html' style='border:0;width:{TELEPHONE}px;height:2400px'></iframe>"
    );
    workdir.write("narrow.html", &frame);
    let pixels = shown(browser, &workdir, "narrow.html", WINDOW);
    let is_white = |pixel: &[u8; 3]| pixel.iter().all(|part| *part > 250);
    let margin = pixels.chunks(WINDOW).flat_map(|row| &row[TELEPHONE - 8..TELEPHONE]);
    let cut = margin.filter(|pixel| !is_white(pixel)).count();
    assert_eq!(cut, 0, "pixels of something that goes on beyond the screen");
    let coloured = pixels.iter().filter(|pixel| pixel[0].abs_diff(pixel[1]) > 60).count();
    assert!(coloured > 1000, "charts: {coloured} coloured pixels");
}

/// Returns the pixels of a page on a screen of this width.
fn shown(browser: &str, workdir: &Workdir, page: &str, width: usize) -> Vec<[u8; 3]> {
    let mut command = Command::new(browser);
    command.current_dir(workdir.path("."));
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--screenshot=page.png",
    ]);
    command.arg(format!("--window-size={width},2400"));
    command.arg(format!("file://{}", workdir.path(page).canonicalize().unwrap().display()));
    let ended = launch::run_with_timeout(command, std::time::Duration::from_secs(100)).unwrap();
    assert!(ended.succeeded(), "{ended:?}");
    let file = std::io::BufReader::new(std::fs::File::open(workdir.path("page.png")).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    let step = frame.color_type.samples();
    assert_eq!(frame.width as usize, width);
    pixels.chunks_exact(step).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
}
