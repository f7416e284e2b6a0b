//! Reading a scenario and its particle file: rank 0 reads, and each rank keeps its share of the
//! particles.

use std::path::PathBuf;
use std::sync::OnceLock;

use md_comm::World;
use md_core::grid::axis;

use crate::args::ScenarioArgs;
use crate::setup;
pub use crate::setup::Inputs;
use md_files::input::{self, InputError, InputParticles, Source};
use md_files::text_file::{broadcast_read, read_text};
use md_scenario::failure::RunError;
use md_scenario::{
    self as scenario, InputFile, InputFormat, Parallel, Positions, Scenario, ScenarioSource, Trajectory,
    TrajectoryColumn, at_key,
};

/// Table with the number of steps of a scenario with particles.
pub(crate) const PARTICLES: &str = "simulation";

/// Reads a scenario. `table` returns the table with the number of steps of a text. *Collective* if
/// there is a world.
pub(crate) fn read_source(
    args: &ScenarioArgs,
    world: Option<&dyn World>,
    table: impl FnOnce(&str) -> &'static str,
) -> Result<ScenarioSource, RunError> {
    let (path, name) = (&args.scenario, args.scenario.display().to_string());
    let text = broadcast_read(world, path, || read_text(path, "scenario").map(Some))?.unwrap_or_default();
    Ok(ScenarioSource { overrides: args.overrides_of(table(&text)), name, text })
}

impl Inputs {
    /// Reads the inputs in a single process.
    ///
    /// # Errors
    /// An unreadable file, a fault in the scenario or in the particle file.
    pub fn read(args: &ScenarioArgs) -> Result<Self, RunError> {
        Self::with(args, None)
    }

    /// Reads the inputs in a world of ranks: rank 0 reads, and each rank keeps a part of the
    /// particles. An error is returned on all ranks. *Collective.*
    ///
    /// # Errors
    /// The errors of [`Inputs::read`], and particles at invalid positions; the same on all ranks.
    /// Communication.
    pub fn read_on_first_rank(args: &ScenarioArgs, world: &dyn World) -> Result<Self, RunError> {
        Self::with(args, Some(world))
    }

    /// Reads a scenario from `text`; particle files are relative to the folder of `name`.
    ///
    /// # Errors
    /// The errors of [`Inputs::read`].
    pub fn from_text(name: &str, text: &str, overrides: Vec<String>) -> Result<Self, RunError> {
        let source = ScenarioSource { name: name.to_owned(), text: text.to_owned(), overrides };
        Self::load(name.into(), source, None)
    }

    fn with(args: &ScenarioArgs, world: Option<&dyn World>) -> Result<Self, RunError> {
        Self::load(args.scenario.clone(), read_source(args, world, |_| PARTICLES)?, world)
    }

    /// Loads a source that has been read. *Collective* if there is a world.
    pub(crate) fn load(
        path: PathBuf,
        source: ScenarioSource,
        world: Option<&dyn World>,
    ) -> Result<Self, RunError> {
        let scenario = scenario::load(&source)?;
        let mut inputs =
            Self { path, source, scenario, particles: None, beside: Vec::new(), list: OnceLock::new() };
        if let (Some(path), Some(file)) = (inputs.particle_file(), inputs.scenario.system.file.clone()) {
            let name = path.display().to_string();
            let read = inputs.read_particles(&file, &Source::file(&name, &path, world), world);
            read.map_err(|error| at_key(error, &inputs.source, "system.file.path"))?;
        }
        Ok(inputs)
    }

    fn read_particles(
        &mut self,
        file: &InputFile,
        text: &Source<'_>,
        world: Option<&dyn World>,
    ) -> Result<(), RunError> {
        let Self { source, scenario, .. } = self;
        let species: Vec<String> = scenario.species.iter().map(|s| s.name.clone()).collect();
        let mut particles = contents(file, text, &species)?;
        particles.notes.extend(particles.notes_of_lacks(&species));
        note_images(text, scenario, &mut particles)?;
        input::adopt(text.name(), &mut particles, source, scenario)?;
        // The scenario written with the results must contain the masses on which they depend.
        for (species, mass) in scenario.species.iter_mut().zip(&particles.masses) {
            species.mass = species.mass.or(*mass);
        }
        if particles.has_velocities() && scenario.system.temperature.is_some() {
            let note = "the velocities of the file are replaced: the scenario has `system.temperature`";
            particles.notes.push(note.to_owned());
        }
        let is_shared = particles.share.is_some();
        self.particles = Some(particles);
        if !is_shared {
            return Ok(());
        }
        // Before the particles are copied.
        world.map_or(Ok(()), |world| setup::expect_room_on_all(world, self))?;
        // Faults that only the rank that keeps a particle can detect; all ranks detect the others
        // when they set up.
        let fault = match setup::of_scenario(self, &self.scenario, text.ranks()) {
            Err(error) => error.downcast::<InputError>().map_or(Ok(()), Err),
            Ok(_) => Ok(()),
        };
        text.agree(fault)
    }
}

/// Reads a particle file in its format. *Collective* if it is read in a world.
fn contents(file: &InputFile, text: &Source<'_>, species: &[String]) -> Result<InputParticles, RunError> {
    match file.format {
        InputFormat::LammpsData => input::lammps_data::read(text, species, file.style),
        InputFormat::Extxyz => input::extxyz::read(text, species, file.frame),
        InputFormat::Lammpstrj => input::lammpstrj::read(text, species, file.frame),
        InputFormat::Netcdf => input::netcdf::read(text, species, file.frame),
        InputFormat::Xtc => input::xtc::read(text, species, file.frame),
    }
}

/// Notes which image counts of a file are left out, and whether requested image counts begin at 0.
/// *Collective.*
fn note_images(
    text: &Source<'_>,
    scenario: &Scenario,
    particles: &mut InputParticles,
) -> Result<(), RunError> {
    let is_periodic = setup::periodic_axes(scenario);
    let mut counted = [0_u64; 3];
    for images in &particles.images {
        (0..3).for_each(|dim| counted[dim] |= u64::from(images.0[dim] != 0));
    }
    text.highest(&mut counted)?;
    let left_out = (0..3).filter(|&dim| counted[dim] > 0 && !is_periodic[dim]);
    particles.notes.extend(
        left_out.map(|dim| {
            format!("image counts along {} are left out: the box is not periodic there", axis(dim))
        }),
    );
    let shows_images = |trajectory: &Trajectory| {
        trajectory.positions == Positions::Unwrapped
            || trajectory.all_columns().contains(&TrajectoryColumn::Images)
    };
    let untold = particles.untold_axes(is_periodic);
    if let (Some(axes), true) = (untold, scenario.output.trajectory.as_ref().is_some_and(shows_images)) {
        particles.notes.push(format!(
            "the file has neither image counts nor unwrapped positions along {axes}: image counts begin at 0 for \
             positions inside the box"
        ));
    }
    Ok(())
}

/// The inputs of a command that runs on ranks.
pub(crate) trait ReadInputs: Sync + Sized {
    /// Reads them: in a single process, or on the first rank of a world for all ranks (then
    /// *collective*).
    ///
    /// # Errors
    /// An unreadable file or a fault in it, the same on all ranks; communication.
    fn read(args: &ScenarioArgs, world: Option<&dyn World>) -> Result<Self, RunError>;

    /// Returns the table `[parallel]` of the scenario: transport and messages.
    fn parallel(&self) -> Parallel;

    /// Sets the number of threads per rank.
    fn set_threads(&mut self, threads: usize);
}

impl ReadInputs for Inputs {
    fn read(args: &ScenarioArgs, world: Option<&dyn World>) -> Result<Self, RunError> {
        world.map_or_else(|| Self::read(args), |world| Self::read_on_first_rank(args, world))
    }

    fn parallel(&self) -> Parallel {
        self.scenario.parallel.clone()
    }

    fn set_threads(&mut self, threads: usize) {
        self.scenario.parallel.threads = threads;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;
    use md_comm::local;
    use md_core::Particle;
    use md_engine::{FirstOfAll, RowVector, Share, Simulation};
    use tempfile::TempDir;

    use super::*;
    use crate::args::{Cli, Command};

    const ATOMS: usize = 120;
    const RANKS: usize = 3;

    /// Particle files of both formats whose ids are in no order.
    fn files() -> [(&'static str, String); 2] {
        let id = |index: usize| 1 + 3 * (index * 77 % ATOMS);
        let place = |index: usize| [index % 6, index / 6 % 5, index / 30].map(|cell| 1.6 * cell as f64 + 0.5);
        let row = |index: usize| {
            let [x, y, z] = place(index);
            (format!("{x} {y} {z}"), format!("{} 0.5 0.25", id(index) as f64 / 64.0))
        };
        let all = || (0..ATOMS).map(|index| (id(index), row(index)));
        let positions: String = all().map(|(id, (position, _))| format!("{id} 1 {position}\n")).collect();
        let velocities: String =
            all().rev().map(|(id, (_, velocity))| format!("{id} {velocity}\n")).collect();
        let rows: String =
            all().map(|(id, (position, velocity))| format!("{id} A {position} {velocity}\n")).collect();
        let data = format!(
            "title\n{ATOMS} atoms\n1 atom types\n0 10 xlo xhi\n0 10 ylo yhi\n0 10 zlo zhi\nVelocities\n\n{velocities}\n\
             Atoms\n\n{positions}"
        );
        let properties = "id:I:1:species:S:1:pos:R:3:velo:R:3";
        let extxyz = format!("{ATOMS}\nLattice=\"10 0 0 0 10 0 0 0 10\" Properties={properties}\n{rows}");
        [("lammps-data", data), ("extxyz", extxyz)]
    }

    fn scenario(format: &str, file: &str) -> (TempDir, ScenarioArgs) {
        let folder = tempfile::tempdir().unwrap();
        let text =
            format!("[system]\nfile = {{ path = \"p\", format = \"{format}\" }}\n[simulation]\nsteps = 1\n");
        let path = folder.path().join("s.toml");
        std::fs::write(&path, text).unwrap();
        std::fs::write(folder.path().join("p"), file).unwrap();
        let cli = Cli::parse_from(["md-cli".as_ref(), "check".as_ref(), path.as_os_str()]);
        let Command::Check(args) = cli.command else { panic!("another command") };
        (folder, args.scenario())
    }

    fn on_all_ranks<T: Send>(ranks: usize, work: impl Fn(&dyn World) -> T + Sync) -> Vec<T> {
        local::run(ranks, Duration::from_secs(60), work).into_iter().map(Result::unwrap).collect()
    }

    #[test]
    fn one_rank_keeps_each_particle_and_its_owner_gets_it() {
        for (format, file) in files() {
            let (_folder, args) = scenario(format, &file);
            let alone = Inputs::read(&args).unwrap();
            let listed = |inputs: &Inputs| -> Vec<(Particle, u32, u32)> {
                let file = inputs.particles.as_ref().unwrap();
                let lines = file.lines.iter().map(|lines| (lines.position, lines.velocity));
                let all = inputs.list.get().unwrap().iter().zip(lines);
                all.map(|(&particle, (position, velocity))| (particle, position, velocity)).collect()
            };
            let set_up = |inputs: &Inputs| setup::of_inputs(inputs, RANKS).unwrap();
            let setup = set_up(&alone);
            let played = on_all_ranks(RANKS, |world| {
                let inputs = Inputs::read_on_first_rank(&args, world).unwrap();
                let own = set_up(&inputs);
                assert_eq!(own.estimated_bytes(), setup.estimated_bytes());
                let rows = |setup| Simulation::new(world, setup).unwrap().rows(RowVector::Velocity).unwrap();
                assert_eq!(rows(&own), rows(&setup));
                inputs
            });
            let first = FirstOfAll { id: 1, z: 0.5 };
            for inputs in &played {
                let particles = inputs.particles.as_ref().unwrap();
                assert_eq!(particles.share, Some(Share { atoms: ATOMS as u64, first }));
                assert!((30..=50).contains(&particles.ids.len()), "{}", particles.ids.len());
            }
            let mut kept = played.iter().flat_map(listed).collect::<Vec<_>>();
            kept.sort_by_key(|(particle, ..)| particle.id);
            assert_eq!(kept, listed(&alone));
        }
    }

    #[test]
    fn what_one_rank_finds_all_ranks_say() {
        let [(_, data), (_, extxyz)] = files();
        let changed = |text: &str, from: &str, to: &str| {
            assert!(text.contains(from), "nothing to replace: {from}");
            text.replacen(from, to, 1)
        };
        let last_row = extxyz.lines().last().unwrap();
        let far = changed(&changed(&extxyz, "\n232 A 2.1", "\n232 A 2e17"), "\n103 A 3.7", "\n103 A 2e17");
        let faults = [
            (
                "extxyz",
                changed(&extxyz, last_row, &last_row.replace(" A ", " B ")),
                "p:122: there is no species `B`",
            ),
            ("extxyz", changed(&extxyz, "\n232 A", "\n1 A"), "p:4: id 1 is given twice, first in line 3"),
            (
                "extxyz",
                changed(&extxyz, "\n232 A 2.1", "\n232 A 2e17"),
                "p:4: particle 232: x is 2e17, more than",
            ),
            ("extxyz", changed(&extxyz, "\n232 A", "\n2.5 A"), "p:4: `2.5` is not an integer (column id)"),
            (
                "lammps-data",
                changed(&data, "\n232 1", "\n1 1"),
                "p:133: id 1 is given twice, first in line 132",
            ),
            (
                "lammps-data",
                changed(&data, "\n1 0.015625", "\n2 0.015625"),
                "a velocity for id 2, but there is no such",
            ),
            (
                "lammps-data",
                changed(&data, "\n1 0.015625", "\n4 0.015625"),
                "id 4 is given twice, first in line ",
            ),
            // The fault in the first line is reported if there are several; its particle does not
            // have the lowest id.
            (
                "extxyz",
                changed(&far, last_row, &last_row.replace(" 0.25", " 1e150")),
                "p:4: particle 232: x is 2e17, more than",
            ),
            (
                "extxyz",
                changed(&far, "\n232 A 2e17 0.5 0.5 3.625", "\n232 A 2.1 0.5 0.5 1e150"),
                "p:4: particle 232: v_x is 1e150, beyond",
            ),
            (
                "extxyz",
                changed(&far, "velo", "velo:R:3:momenta").replace("0.25\n", "0.25 0 0 0\n"),
                "p:3: particle 1: its velocity is [0.015625, 0.5, 0.25] and its mass 1, but its momentum [0.0",
            ),
            (
                "extxyz",
                changed(&changed(&far, "\n232 A", "\n1 A"), last_row, &last_row.replace(" A ", " B ")),
                "p:4: id 1 is given twice, first in line 3",
            ),
            (
                "lammps-data",
                changed(&data, " 0.25\n", " 1e150\n")
                    .replace("1 0.5 ", "1 2e17 ")
                    .replace("1 2.1 ", "1 2e17 "),
                "p:9: particle 130: v_z is 1e150, beyond",
            ),
        ];
        for (format, file, expected) in faults {
            let (_folder, args) = scenario(format, &file);
            let alone = Inputs::read(&args).and_then(|inputs| setup::of_inputs(&inputs, 1)).unwrap_err();
            let alone = alone.to_string();
            assert!(alone.contains(expected), "{alone}");
            for ranks in 2..=4 {
                let read = |world: &dyn World| Inputs::read_on_first_rank(&args, world).unwrap_err();
                for said in on_all_ranks(ranks, read) {
                    assert_eq!((said.to_string(), said.exit_code()), (alone.clone(), 2));
                }
            }
        }
    }
}
