//! Runs with doubtful physics: a neighbourhood that may lack pairs, a total energy that is not
//! conserved, temperatures and parameters beyond the range of numbers.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use crate::support::{MELT, Start, Workdir, error, error_everywhere, from_file, starts};
use insta::{allow_duplicates, assert_snapshot};
use serde_json::Value;

fn melt_with(addition: &str) -> Workdir {
    Workdir::new(&MELT.replace("[output]", &format!("{addition}\n\n[output]")))
}

fn summary(workdir: &Workdir) -> Value {
    serde_json::from_str(&workdir.read("out/summary.json")).unwrap()
}

/// A late rebuild is detected where the energy is computed, at rebuilds, and at the end. It is
/// reported once, and summarised at the end.
#[test]
fn a_neighbourhood_that_holds_no_longer() {
    let workdir = melt_with("[neighbor]\nrebuild = { every = 200 }");
    for start in starts() {
        let said = workdir.call(start, "run melt.toml --quiet");
        assert_eq!((said.code, said.stdout.as_str()), (Some(0), ""), "{said:?}");
        allow_duplicates! { assert_snapshot!(said.stderr, @r"
    warning: step 7: a particle has moved by 1.08 times half the skin since the last rebuild, so pairs within the cutoff may have been missed; use `neighbor.rebuild = { displacement = true }`, rebuild more often, or give a larger `neighbor.skin`
    warning: pairs within the cutoff may have been missed, first before step 7: 0 of 0 rebuilds came too late, and 3 checks between rebuilds found a particle beyond half the skin; largest displacement: 2.44 times half the skin
    "); }
        let summary = summary(&workdir);
        assert_eq!((&summary["rebuilds"], &summary["dangerous_rebuilds"]), (&0.into(), &0.into()));
        assert_eq!((&summary["dangerous_checks"], &summary["first_dangerous_step"]), (&3.into(), &7.into()));
        assert!(summary["largest_displacement_over_half_skin"].as_f64().unwrap() > 1.0);
        assert_eq!(summary["warnings"].as_array().unwrap().len(), 1);
    }
    let screen = workdir.succeed(Start::Threads(1), "run melt.toml --set neighbor.rebuild.every=10").stdout;
    let lines: Vec<&str> = screen.lines().filter(|line| line.contains("angerous")).collect();
    assert_snapshot!(lines.join("\n"), @r"
    Rebuilds: 2, of which dangerous: 1 (moved by more than half the skin)
    Dangerous checks between rebuilds: 1
    ");
}

#[test]
fn a_neighbourhood_that_is_never_late_is_not_warned_of() {
    for rebuild in ["displacement = true", "every = 1", "every = 2"] {
        let workdir = melt_with(&format!("[neighbor]\nrebuild = {{ {rebuild} }}"));
        let said = workdir.succeed(Start::Threads(1), "run melt.toml --quiet");
        assert_eq!(said.stderr, "", "{rebuild}");
        let summary = summary(&workdir);
        assert_eq!(summary["dangerous_checks"], 0, "{rebuild}");
        assert_eq!(summary["warnings"], Value::Array(Vec::new()), "{rebuild}");
    }
}

/// A direct sum has no lists. If it has no ghosts either, no pair can be missed.
#[test]
fn a_direct_sum_between_walls_is_never_late() {
    let walls = "boundary = [\"reflecting\", \"reflecting\", \"reflecting\"]";
    let workdir = Workdir::new(&MELT.replace("temperature", &format!("{walls}\ntemperature")));
    let call = "run melt.toml --quiet --set neighbor.rebuild.every=200 --set neighbor.method=";
    let said = |start, method: &str| workdir.succeed(start, &format!("{call}{method}")).stderr;
    assert_eq!(said(Start::Threads(1), "direct-sum"), "");
    assert_eq!(summary(&workdir)["dangerous_checks"], 0);
    assert!(said(Start::Threads(2), "direct-sum").starts_with("warning: step 7: "), "there are ghosts");
    assert!(said(Start::Threads(1), "cells").starts_with("warning: step 7: "));
}

#[test]
fn several_steps_without_skin() {
    let workdir = melt_with("[neighbor]\nskin = 0.0\nrebuild = { every = 5 }");
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r#"
    exit code 2
    error: × `neighbor.skin` is 0, so the neighbourhood holds for one step, but `neighbor.rebuild.every` is
      │ 5
        ╭─[melt.toml:10:8]
      9 │ [neighbor]
     10 │ skin = 0.0
        ·        ───
     11 │ rebuild = { every = 5 }
        ╰────
      help: give a skin, for example 0.3 or "auto", or use `rebuild = { every = 1 }`
    "#);
    melt_with("[neighbor]\nskin = 0.0\nrebuild = { every = 1 }").succeed(Start::Threads(1), "run melt.toml");
}

#[test]
fn a_total_energy_that_is_not_kept() {
    let workdir = melt_with("");
    let arguments = "run melt.toml --quiet --set simulation.timestep=0.03 --set simulation.steps=40";
    let said = workdir.call(Start::Threads(1), arguments);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_snapshot!(said.stderr, @r#"
    warning: the total energy has changed by 0.0956 per atom, 7.45 % of the mean kinetic energy, where 3 % can be expected; the time step is too large, or the potential jumps too far at its cutoff: try `interaction.shift = "energy"` or a larger `interaction.cutoff` (`simulation.max_drift` makes this an error)
    "#);
    assert_eq!(summary(&workdir)["warnings"].as_array().unwrap().len(), 1);
    let said = workdir.succeed(Start::Threads(1), &format!("{arguments} --set simulation.max_drift=10"));
    assert!(said.stderr.ends_with(" or a larger `interaction.cutoff`\n"), "{said:?}");
    let shifted = workdir.succeed(Start::Threads(1), &format!("{arguments} --set interaction.shift=energy"));
    let cause = "; the time step is probably too large (`simulation.max_drift` makes this an error)\n";
    assert!(shifted.stderr.ends_with(cause), "{shifted:?}");
    let stale = workdir.succeed(Start::Threads(1), &format!("{arguments} --set neighbor.rebuild.every=200"));
    let cause = "; pairs that were missed may be the cause (`simulation.max_drift` makes this an error)\n";
    assert!(stale.stderr.ends_with(cause), "{stale:?}");
    let arguments = "run melt.toml --set simulation.timestep=0.03 --set simulation.max_drift=0.01";
    assert_snapshot!(error_everywhere(&workdir, arguments, &starts()), @r#"
    exit code 1
    error: step 14: the total energy has changed by 1.763e-2 per atom, more than the 1e-2 allowed; the time step is too large, or the potential jumps too far at its cutoff: try `interaction.shift = "energy"` or a larger `interaction.cutoff`
    "#);
    for (options, cause) in [
        ("interaction.shift=energy", "; the time step is probably too large\n"),
        (
            "neighbor.rebuild.every=200 --set simulation.steps=40",
            "; pairs that were missed may be the cause\n",
        ),
    ] {
        let text = error(&workdir, &format!("{arguments} --set {options}"), Start::Threads(1));
        assert!(text.starts_with("exit code 1\n") && text.ends_with(cause), "{text}");
    }
    let kept = "run melt.toml --set simulation.max_drift=0.01";
    assert_eq!(workdir.succeed(Start::Threads(3), kept).stderr, "");
    assert_snapshot!(error(&workdir, "run melt.toml --set simulation.max_drift=0", Start::Plain), @r"
    exit code 2
    error: × `simulation.max_drift` must be a finite number above 0, found 0.0
       ╭─[command line:1:28]
     1 │ --set simulation.max_drift=0
       ·                            ─
       ╰────
      help: an energy per atom, for example 0.01
    ");
}

/// The same system in units in which energies and masses are 2^-30 has the same motion and the same
/// warnings.
#[test]
fn small_units() {
    const UNIT: f64 = 1.0 / (1 << 30) as f64;
    let species = format!("[[species]]\nname = \"A\"\nmass = {UNIT:?}\nepsilon = {UNIT:?}");
    let small = melt_with(&species);
    let temperature = 1.44 * UNIT;
    let said = |options: &str| {
        let command = format!("run melt.toml --quiet --set system.temperature={temperature:?} {options}");
        small.succeed(Start::Threads(1), &command).stderr
    };
    let long = said("--set simulation.timestep=0.03 --set simulation.steps=40");
    assert!(long.contains(" per atom, 7.45 % of the mean kinetic energy, where 3 % "), "{long}");
    let short = said("--set simulation.timestep=1e-32");
    assert!(short.contains("so nothing moves; the time step is too small\n"), "{short}");
    assert_eq!(said(""), "");
}

#[test]
fn a_temperature_that_numbers_cannot_hold() {
    let workdir = melt_with("[[species]]\nname = \"A\"\nmass = 1e300");
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r#"
    exit code 2
    error: × `species[0].mass` is 1e300, but velocities of a temperature can be drawn for masses from 1e-12
      │ to 6.7e15 only (600 particles)
        ╭─[melt.toml:11:8]
     10 │ name = "A"
     11 │ mass = 1e300
        ·        ─────
     12 │ 
        ╰────
      help: units in which masses are not far from 1
    "#);
    for mass in ["1e30", "1e17", "1e-300", "1e-40"] {
        for command in ["check", "run"] {
            let said =
                workdir.call(Start::Threads(1), &format!("{command} melt.toml --set species[0].mass={mass}"));
            let expected = format!("`species[0].mass` is {mass}, but velocities of a temperature");
            assert!(said.code == Some(2) && said.stderr.contains(&expected), "{mass}: {said:?}");
        }
    }
    let cold = "check melt.toml --set species[0].mass=1e300 --set system.temperature=0";
    assert_eq!(workdir.call(Start::Threads(1), cold).code, Some(0), "no velocities are drawn");
    let unused =
        melt_with("[[species]]\nname = \"A\"\n[[species]]\nname = \"B\"\nmass = 1e300\nfraction = 0.0");
    assert_snapshot!(error(&unused, "run melt.toml", Start::Threads(1)), @r#"
    exit code 2
    error: × `species[1].mass` is 1e300, but velocities of a temperature can be drawn for masses from 1e-12
      │ to 6.7e15 only (600 particles)
        ╭─[melt.toml:13:8]
     12 │ name = "B"
     13 │ mass = 1e300
        ·        ─────
     14 │ fraction = 0.0
        ╰────
      help: no particle is of this species (`fraction = 0`): leave it out, or give it a mass not far
            from 1
    "#);
    let file = Workdir::new(&from_file("heavy.extxyz"));
    let particles = "A 1 1 1 1e300\nA 3 3 3 1e300\n";
    let header = "Lattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3:masses:R:1";
    file.write("heavy.extxyz", &format!("2\n{header}\n{particles}"));
    let said = file.call(Start::Threads(1), "check melt.toml");
    let expected = "× the mass of species 1 in the particle file is 1e300, but velocities of a temperature";
    assert!(said.code == Some(2) && said.stderr.contains(expected), "{said:?}");
    let temperature = "run melt.toml --set species[0].mass=1 --set system.temperature=1e308";
    assert_snapshot!(error_everywhere(&workdir, temperature, &starts()), @r"
    exit code 2
    error: × `system.temperature` is 1e308, but velocities can be drawn for 0 and from 1e-280 to 1e280 only
       ╭─[command line:1:26]
     1 │ --set system.temperature=1e308
       ·                          ─────
       ╰────
      help: another temperature, or velocities from a file
    ");
}

#[test]
fn a_lattice_that_numbers_cannot_hold() {
    let workdir = melt_with("");
    assert_snapshot!(error(&workdir, "run melt.toml --set system.lattice.density=5e-324", Start::Plain), @r"
    exit code 2
    error: × `system.lattice.density` is 5e-324, which makes the box infinitely long
       ╭─[command line:1:30]
     1 │ --set system.lattice.density=5e-324
       ·                              ──────
       ╰────
      help: a number not far from 1
    ");
}

#[test]
fn a_time_step_in_which_nothing_moves() {
    let workdir = melt_with("");
    for start in starts() {
        let said = workdir.succeed(start, "run melt.toml --quiet --set simulation.timestep=1e-300");
        let warning = "warning: `simulation.timestep` is 1e-300: in a step a particle moves by 2.08e-300, which is lost in the \
                       rounding of its coordinates (double precision), so nothing moves; the time step is too small\n";
        assert_eq!(said.stderr, warning);
        let summary = workdir.read("out/summary.json");
        assert!(summary.contains("`simulation.timestep` is 1e-300: "), "{summary}");
    }
    let partly = workdir.succeed(Start::Threads(1), "run melt.toml --quiet --set simulation.timestep=1e-16");
    let warning = "warning: `simulation.timestep` is 1e-16: in a step a particle moves by 2.08e-16, which is lost in the rounding \
                   of its coordinates (double precision), so particles far from the origin move by wrong distances or not at \
                   all; the time step is too small\n";
    assert_eq!(partly.stderr, warning);
    assert_eq!(
        workdir.succeed(Start::Threads(1), "run melt.toml --quiet --set simulation.timestep=1e-12").stderr,
        ""
    );
}

/// A lattice at rest has nearly no forces and does not move. Two particles that attract each other
/// should move.
#[test]
fn a_time_step_in_which_nothing_starts_to_move() {
    let cold = melt_with("").read("melt.toml").replace("temperature = 1.44", "temperature = 0.0");
    let lattice = Workdir::new(&cold);
    let step = "--set simulation.timestep=1e-16";
    let warning = "warning: nothing moves and no force acts: all velocities are 0, and so are all forces, to rounding, so that only \
                   rounding errors can set the particles in motion; give the particles a `system.temperature`, or velocities or places that are not in equilibrium\n";
    for start in starts() {
        assert_eq!(lattice.succeed(start, &format!("run melt.toml --quiet {step}")).stderr, warning);
        assert!(lattice.read("out/summary.json").contains("nothing moves and no force acts"));
    }
    let langevin =
        "--set integrator.kind=langevin --set integrator.temperature=1.0 --set integrator.friction=1.0";
    assert_eq!(lattice.succeed(Start::Threads(1), &format!("run melt.toml --quiet {langevin}")).stderr, "");
    let pair = Workdir::new(&from_file("pair.extxyz").replace("temperature = 1.44\n", ""));
    let header = "Lattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3:velo:R:3";
    pair.write("pair.extxyz", &format!("2\n{header}\nA 4 4 4 0 0 0\nA 5.2 4 4 0 0 0\n"));
    for start in starts() {
        let said = pair.succeed(start, &format!("run melt.toml --quiet {step}"));
        assert!(said.stderr.contains("so nothing moves; the time step is too small\n"), "{said:?}");
        assert_eq!(said.stderr.lines().count(), 1, "{said:?}");
    }
    assert_eq!(pair.succeed(Start::Threads(1), "run melt.toml --quiet").stderr, "");
}

#[test]
fn parameters_that_numbers_cannot_hold() {
    let workdir = melt_with("[[species]]\nname = \"A\"\nepsilon = 1e300");
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r#"
    exit code 2
    error: × `species[0].epsilon` is 1e300, but must be from 1e-50 to 1e50, so that its powers and products
      │ are numbers
        ╭─[melt.toml:11:11]
     10 │ name = "A"
     11 │ epsilon = 1e300
        ·           ─────
     12 │ 
        ╰────
      help: units in which it is not far from 1
    "#);
    let workdir = melt_with("[[species]]\nname = \"A\"");
    let ranges =
        [("epsilon", ["1e-300", "1e60"], "1e-50 to 1e50"), ("sigma", ["1e-40", "1e30"], "1e-15 to 1e15")];
    for (key, values, range) in ranges {
        for value in values {
            let said =
                workdir.call(Start::Threads(1), &format!("check melt.toml --set species[0].{key}={value}"));
            let expected =
                format!("× `species[0].{key}` is {value}, but must be from {range}, so that its powers");
            assert!(said.code == Some(2) && said.stderr.contains(&expected), "{value}: {said:?}");
        }
    }
    let workdir = melt_with("");
    let arguments = "run melt.toml --set system.lattice.density=1e-40";
    assert_snapshot!(error(&workdir, arguments, Start::Threads(1)), @r#"
    exit code 2
    error: × the box reaches to x = 205197113601203.66, beyond 1e9 cutoffs of 2.5: coordinates there have
      │ too few digits
       ╭─[melt.toml:6:53]
     5 │ [system]
     6 │ lattice = { kind = "fcc", density = 0.8442, cells = [6, 5, 5] }
       ·                                                     ─────────
     7 │ temperature = 1.44
       ╰────
      help: a smaller box, nearer to the origin
    "#);
}

/// A barostat that cannot follow: the box changes by at most 5 % of a length at a time, and a
/// warning reports this.
#[test]
fn a_barostat_that_is_held_back() {
    let workdir = melt_with("");
    let run = |keys: &str| {
        let barostat = format!("{{kind=\"stochastic-cell-rescaling\",every=5,{keys}}}");
        let thermostat = "kind=\"csvr\",temperature=1.44,relaxation=0.5";
        let call = format!("run melt.toml --quiet --set integrator={{{thermostat},barostat={barostat}}}");
        workdir.succeed(Start::Threads(2), &call).stderr
    };
    let limited = run("pressure=-1e5,relaxation=1.0");
    assert_snapshot!(limited, @r"
    warning: the change of the box was limited to 5 % of a length in 3 of 3 actions of the barostat, so that the pressure is not followed as asked for: the wanted pressure is too far from that of the system, `relaxation` too short, or `compressibility` too large
    ");
    let of = |key: &str| summary(&workdir)[key].as_u64().unwrap();
    assert_eq!([of("box_changes"), of("limited_box_changes")], [3, 3]);
    assert_eq!(run("pressure=1.0,relaxation=1.0,compressibility=1e50"), limited);
    assert_eq!(run("pressure=1.0,relaxation=1.0"), "");
    assert_eq!([of("box_changes"), of("limited_box_changes")], [3, 0]);
}

/// A resumed run reports the same about its box as a single run.
#[test]
fn changes_of_the_box_are_counted_across_a_checkpoint() {
    let barostat = "{kind=\"berendsen\",every=5,pressure=-1e5,relaxation=1.0}";
    let workdir = melt_with("");
    let call = format!(
        "run melt.toml --quiet --set integrator={{kind=\"csvr\",temperature=1.44,relaxation=0.5,barostat={barostat}}}"
    );
    let said = workdir.succeed(Start::Threads(2), &format!("{call} --set output.checkpoint.every=13"));
    let whole = summary(&workdir);
    let parts = workdir.succeed(Start::Threads(2), &format!("{call} --resume out/checkpoint-13.mdc"));
    let found = summary(&workdir);
    assert_eq!(parts.stderr, said.stderr);
    for key in ["box_changes", "limited_box_changes", "warnings"] {
        assert_eq!(found[key], whole[key], "{key}");
    }
    assert_eq!((&found["box_changes"], &found["limited_box_changes"]), (&3.into(), &3.into()));
}

/// The positions of particles are plausible, but the energy of the thermostat is not.
#[test]
fn a_conserved_energy_that_explodes() {
    let workdir = melt_with("[integrator]\nkind = \"nose-hoover\"\ntemperature = 1e300\nrelaxation = 0.5");
    let text = error_everywhere(&workdir, "run melt.toml", &starts());
    let begin = "\nerror: step 7: the conserved energy explodes: it has changed by ";
    let end = "; the time step is too large, or what the integrator keeps is too far from the state of the particles\n";
    assert!(text.starts_with("exit code 1\n") && text.contains(begin) && text.ends_with(end), "{text}");
    let warm = workdir.succeed(Start::Threads(1), "run melt.toml --quiet --set integrator.temperature=3.0");
    assert_eq!(warm.stderr, "");
}
