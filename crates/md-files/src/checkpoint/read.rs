//! Reading of a checkpoint on any number of ranks, and its description by `inspect`.

use std::fs::File;
use std::path::{Path, PathBuf};

use md_comm::{Reduction, World};
use md_core::words::counted;
use md_engine::{Carried, Continuation, Restored, Setup, id_of_row};
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use md_scenario::printable::escaped;
use md_scenario::{Scenario, Stage, StageScenario};
use serde::{Deserialize, Serialize};

use super::choice::{chosen, older};
use super::header::{Header, ParticleWords};
use super::layout::{Block, Layout, WORD, read_at};
use super::{CheckpointError, Differences, NothingLeft, OutputMemory, ParticleRows, SavedNodes};
use crate::store::OutputMark;

/// A checkpoint from which a run is resumed.
#[derive(Debug)]
pub struct Resumed {
    /// Path of the file.
    pub path: PathBuf,
    /// Header of the file.
    pub header: Header,
    /// Differences from the scenario of the checkpoint.
    pub differences: Differences,
    /// Data per particle that outputs had stored, for the particles that this rank has read: the id
    /// of each, then its words.
    pub particle_rows: Vec<(String, ParticleRows)>,
}

impl Resumed {
    /// Returns the mark of an output.
    pub fn mark(&self, file: &str) -> Option<&OutputMark> {
        self.header.outputs.iter().find(|mark| mark.file == file)
    }

    /// Returns the data of the outputs of one stage, under the names that they have in its folder.
    pub fn of_stage(&self, stage: &StageScenario) -> Self {
        let prefix = stage.in_folder("");
        let own = |name: &String| name.strip_prefix(&prefix).map(str::to_owned);
        let Header { outputs, memories, scenario, .. } = &self.header;
        let outputs = outputs.iter().filter_map(|it| Some(OutputMark { file: own(&it.file)?, ..it.clone() }));
        let memories =
            memories.iter().filter_map(|it| Some(OutputMemory { name: own(&it.name)?, ..it.clone() }));
        let header = Header {
            outputs: outputs.collect(),
            memories: memories.collect(),
            scenario: output_in_folder(scenario, &stage.folder).unwrap_or_default(),
            ..self.header.clone()
        };
        let path = match (self.path.parent(), self.path.file_name()) {
            (Some(folder), Some(name)) => folder.join(&stage.folder).join(name),
            _ => self.path.clone(),
        };
        let rows = self.particle_rows.iter().filter_map(|(name, rows)| Some((own(name)?, rows.clone())));
        Self { path, header, differences: self.differences.clone(), particle_rows: rows.collect() }
    }
}

/// Returns the stages of an effective scenario that have their own outputs: their numbers, from 0,
/// and folders.
pub fn folders_of_stages(run: &str) -> Vec<(usize, String)> {
    stages_with_outputs(run).into_iter().map(|(number, folder, _)| (number, folder)).collect()
}

fn stages_with_outputs(run: &str) -> Vec<(usize, String, toml::Value)> {
    let run: toml::Table = run.parse().unwrap_or_default();
    let stages = run.get("stage").and_then(toml::Value::as_array).into_iter().flatten();
    let own = |(number, stage): (usize, &toml::Value)| {
        let name = stage.get("name").and_then(toml::Value::as_str).unwrap_or_default();
        Some((number, StageScenario::folder_of(number, name), stage.get("output")?.clone()))
    };
    stages.enumerate().filter_map(own).collect()
}

/// Returns the scenario of the outputs in the folder of a stage, reduced to the tables that they
/// read. `run` is the scenario of the run.
fn output_in_folder(run: &str, folder: &str) -> Option<String> {
    let (_, _, output) = stages_with_outputs(run).into_iter().find(|(_, own, _)| own == folder)?;
    Some(toml::Table::from_iter([("output".to_owned(), output)]).to_string())
}

/// Reads the checkpoint given to `--resume`. If the number of ranks and everything else that
/// affects the bits is unchanged, each rank reads its own slab, else a part of all blocks. Also
/// returns the state from which the engine continues on this rank. *Collective.*
///
/// # Errors
/// Returns a [`CheckpointError`], which is the same on all ranks, or an error of communication.
pub fn read(
    world: &dyn World,
    path: &Path,
    scenario: &Scenario,
    setup: &Setup,
) -> Result<(Resumed, Restored), RunError> {
    let found = read_header(world, path)?;
    found.expect_particles(setup)?;
    found.expect_steps_left(scenario.simulation.steps, &scenario.stage)?;
    found.expect_stage(scenario.stages().len())?;
    let Found { path, header, index, .. } = found;
    let mut differences = Differences::of_particles(&header.scenario, scenario, header.stage);
    let (ranks, then) = (world.ranks() as u64, header.ranks);
    if ranks != then {
        differences.rounding.push(format!("ranks were {then}, now {ranks}"));
    }
    let layout = Layout { index, ranks: then, row_words: header.row_words };
    let rows = File::open(&path).map_err(|error| error.to_string()).and_then(|file| {
        let blocks = match differences.keep_bits() {
            true => own_blocks(&file, &layout, world.rank() as u64),
            false => part_of_blocks(&file, &layout, world.rank() as u64, ranks),
        };
        read_rows(&file, &layout, &blocks?)
    });
    let rows = agree(world, &path, rows)?;
    let anew_if = |is_anew| if is_anew { Carried::Anew } else { Carried::Over };
    let has_other_integrator = differences.have_other_integrator();
    let (rows, row_words, particle_rows) = parted(&header, rows);
    let restored = Restored {
        shared: header.shared.clone(),
        row_words,
        rows,
        continuation: if differences.keep_bits() { Continuation::Identical } else { Continuation::Anew },
        integrator_memory: anew_if(has_other_integrator),
        energy_reference: anew_if(has_other_integrator || !differences.system.is_empty()),
    };
    Ok((Resumed { path, header, differences, particle_rows }, restored))
}

/// Returns the part of the rows that belongs to the engine, the number of its words per row, and
/// the parts of the outputs.
fn parted(header: &Header, rows: Vec<u64>) -> (Vec<u64>, usize, Vec<(String, ParticleRows)>) {
    let (row_words, own) = (header.row_words as usize, header.engine_words().unwrap_or_default() as usize);
    let mut at = own;
    let mut part = |ParticleWords { name, words }: &ParticleWords| {
        let range = at..at + *words as usize;
        at = range.end;
        let row = |row: &[u64]| std::iter::once(id_of_row(row)).chain(row[range.clone()].to_vec());
        let words = rows.chunks_exact(row_words).flat_map(row).collect();
        (name.clone(), ParticleRows { width: 1 + range.len(), words })
    };
    let parts: Vec<_> = header.particle_words.iter().map(&mut part).collect();
    if parts.is_empty() {
        return (rows, own, parts);
    }
    let engine = rows.chunks_exact(row_words).flat_map(|row| &row[..own]).copied().collect();
    (engine, own, parts)
}

/// The file that `--resume` stands for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) header: Header,
    /// Position of the index in the file.
    pub(super) index: u64,
    /// Whether the run that wrote it was completed and has written all files.
    is_complete: bool,
}

impl Found {
    /// Checks that the state is one of as many particles and species as the setup has.
    fn expect_particles(&self, setup: &Setup) -> Result<(), CheckpointError> {
        let Self { path, header, .. } = self;
        if let Some(SavedNodes { kind, .. }) = &header.nodes {
            let problem = format!("it is of `{kind}` on a grid, not of particles");
            return Err(CheckpointError::new(path, problem));
        }
        let (then, now) = ([header.atoms, header.species], [setup.atoms(), setup.config.masses.len() as u64]);
        if then == now {
            return Ok(());
        }
        let ([atoms, species], [own, own_species]) = (then, now);
        let atoms = counted(atoms, "particle");
        let problem = format!("it has {atoms} of {species} species, the scenario {own} of {own_species}");
        Err(CheckpointError::new(path, problem))
    }

    /// Checks that its stage is one of the run's `stages`.
    fn expect_stage(&self, stages: usize) -> Result<(), CheckpointError> {
        let stage = self.header.stage.number;
        if stage < stages {
            return Ok(());
        }
        let problem = format!("it is of stage {}, and the run has {stages}", stage.saturating_add(1));
        let advice = Some("give the scenario the stages that it had".to_owned());
        Err(CheckpointError { advice, ..CheckpointError::new(&self.path, problem) })
    }

    /// Checks that a run of `steps` steps is not complete yet, even if only the tables at its end
    /// are missing.
    ///
    /// # Errors
    /// [`NothingLeft`] for a checkpoint of the last step; [`CheckpointError`] for one of a later
    /// step.
    pub(super) fn expect_steps_left(&self, steps: u64, stages: &[Stage]) -> Result<(), RunError> {
        let done = self.header.step;
        if done < steps || done == steps && !self.is_complete {
            return Ok(());
        }
        let more = match stages {
            [] => format!("--steps {}", done.saturating_add(steps.max(1))),
            [.., last] => format!("--set stage[{}].steps={}", stages.len() - 1, last.steps.saturating_mul(2)),
        };
        let problem = format!("it is of step {done}, and the run has {}", counted(steps, "step"));
        let advice = format!("ask for more steps, as in {more}");
        if done == steps {
            return Err(NothingLeft { path: self.path.clone(), problem, advice: Some(advice) }.into());
        }
        let advice = Some(format!("nothing is left to do: {advice}"));
        Err(RunError::from(CheckpointError { advice, ..CheckpointError::new(&self.path, problem) }))
    }
}

/// Returns the skin of the run that wrote a checkpoint, if it had this number of ranks.
/// *Collective.*
///
/// # Errors
/// A file that cannot be read or is none; communication.
pub fn skin_at(world: &dyn World, path: &Path) -> Result<Option<f64>, RunError> {
    let Found { header, .. } = read_header(world, path)?;
    let scenario: Option<toml::Table> = header.scenario.parse().ok();
    let scenario = scenario.filter(|_| header.ranks == world.ranks() as u64);
    Ok(scenario.and_then(|scenario| scenario.get("neighbor")?.get("skin")?.as_float()))
}

/// Returns the file and its header, on all ranks. *Collective.*
pub(super) fn read_header(world: &dyn World, path: &Path) -> Result<Found, RunError> {
    let own = (world.rank() == 0).then(|| -> Result<_, CheckpointError> {
        let path = chosen(path)?;
        let read =
            File::open(&path).map_err(|error| error.to_string()).and_then(|file| Header::read(&file, &path));
        let (header, layout) = read.map_err(|problem| damaged(&path, problem))?;
        let path = std::path::absolute(&path).unwrap_or(path);
        let is_complete = path.with_file_name(KnownFile::SUMMARY.name()).exists();
        let path = PathBuf::from(path.to_string_lossy().into_owned());
        let found = Found { path, header, index: layout.index, is_complete };
        serde_json::to_string(&found).map_err(|error| CheckpointError::new(&found.path, error.to_string()))
    });
    let (mut message, error) = match own {
        Some(Ok(text)) => (text.into_bytes(), None),
        Some(Err(error)) => (Vec::new(), Some(error)),
        None => (Vec::new(), None),
    };
    world.broadcast(0, &mut message)?;
    let told = serde_json::from_slice(&message);
    told.map_err(|_| {
        RunError::from(error.unwrap_or_else(|| CheckpointError::new(path, "rank 0 cannot read it")))
    })
}

fn damaged(path: &Path, problem: String) -> CheckpointError {
    CheckpointError { advice: older(path), ..CheckpointError::new(path, problem) }
}

/// Returns the blocks that this rank has written.
fn own_blocks(file: &File, layout: &Layout, rank: u64) -> Result<Vec<Block>, String> {
    Ok(layout.blocks(rank, layout.read_slab(file, rank)?).collect())
}

/// Returns one of `ranks` parts of all blocks.
fn part_of_blocks(file: &File, layout: &Layout, rank: u64, ranks: u64) -> Result<Vec<Block>, String> {
    let (mut number, mut own) = (0, Vec::new());
    for writer in 0..layout.ranks {
        for block in layout.blocks(writer, layout.read_slab(file, writer)?) {
            if number % ranks == rank {
                own.push(block);
            }
            number += 1;
        }
    }
    Ok(own)
}

fn read_rows(file: &File, layout: &Layout, blocks: &[Block]) -> Result<Vec<u64>, String> {
    let words: u64 = blocks.iter().map(|block| block.rows * layout.row_words).sum();
    let mut rows = Vec::new();
    rows.try_reserve_exact(words as usize)
        .map_err(|_| format!("out of memory: there is no room for its particles ({} bytes)", words * WORD))?;
    let mut bytes = Vec::new();
    for block in blocks {
        read_block(file, layout, *block, &mut bytes)?;
        let words = bytes
            .chunks_exact(WORD as usize)
            .map(|word| u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|at| word[at])));
        rows.extend(words);
    }
    Ok(rows)
}

/// Reads the rows of a block into `bytes`, and checks them.
pub(super) fn read_block(
    file: &File,
    layout: &Layout,
    block: Block,
    bytes: &mut Vec<u8>,
) -> Result<(), String> {
    let length = layout.bytes_of(block) as usize;
    let Block { rank, number, at, .. } = block;
    bytes.resize(length + WORD as usize, 0);
    read_at(file, bytes, at).map_err(|error| error.to_string())?;
    let found = u64::from(crc32fast::hash(&bytes[..length])).to_le_bytes();
    let is_right = bytes[length..] == found;
    bytes.truncate(length);
    if is_right {
        return Ok(());
    }
    let end = at + length as u64;
    Err(format!(
        "it is damaged: the checksum of block {number} of rank {rank} (bytes {at} to {end}) is wrong"
    ))
}

/// Returns an error on all ranks if `mine` is an error on any rank. If several ranks have one, all
/// return that of the highest rank. *Collective.*
pub(super) fn agree<T>(world: &dyn World, path: &Path, mine: Result<T, String>) -> Result<T, RunError> {
    let mut speaker = [if mine.is_err() { world.rank() as u64 + 1 } else { 0 }];
    world.reduce(&mut speaker, Reduction::Highest)?;
    let Some(speaker) = speaker[0].checked_sub(1) else {
        return mine.map_err(|problem| RunError::from(CheckpointError::new(path, problem)));
    };
    let mut words = mine.err().unwrap_or_default().into_bytes();
    world.broadcast(speaker as usize, &mut words)?;
    Err(RunError::from(damaged(path, String::from_utf8_lossy(&words).into_owned())))
}

/// Returns a description of the contents of a checkpoint. Every block is read and checked.
///
/// # Errors
/// [`CheckpointError`].
pub fn inspect(path: &Path) -> Result<String, CheckpointError> {
    let path = &chosen(path)?;
    let checked = || {
        let file = File::open(path).map_err(|error| error.to_string())?;
        let (header, layout) = Header::read(&file, path)?;
        let (mut bytes, mut rows) = (Vec::new(), Vec::new());
        for rank in 0..layout.ranks {
            let slab = layout.read_slab(&file, rank)?;
            rows.push(slab.rows);
            layout.blocks(rank, slab).try_for_each(|block| read_block(&file, &layout, block, &mut bytes))?;
        }
        if rows.iter().sum::<u64>() != header.atoms {
            return Err(format!("it is damaged: its index does not have {} rows", header.atoms));
        }
        Ok((header, rows))
    };
    let (header, rows) = checked().map_err(|problem| damaged(path, problem))?;
    Ok(described(path, &header, &rows))
}

fn described(path: &Path, header: &Header, rows: &[u64]) -> String {
    let Header {
        version,
        step,
        time,
        atoms,
        ranks,
        bytes,
        domain: [origin, lengths],
        nodes,
        outputs,
        scenario,
        ..
    } = header;
    let (least, most) = (rows.iter().min().unwrap_or(&0), rows.iter().max().unwrap_or(&0));
    let outputs =
        outputs.iter().map(|OutputMark { file, bytes, .. }| format!("output        {file}, {bytes} bytes\n"));
    let outputs = outputs.collect::<String>();
    let (system, rows) = match nodes {
        None => {
            let system = format!(
                "time          {time:?}\nparticles     {atoms}\nbox           {lengths:?} from {origin:?}\n"
            );
            (system, "particles")
        }
        Some(SavedNodes { kind, nodes, ranks, mask }) => {
            let mask = mask.as_ref().map(|mask| format!("mask          {}\n", mask.path)).unwrap_or_default();
            let system =
                format!("kind          {kind}\nnodes         {nodes:?}\nrank grid     {ranks:?}\n{mask}");
            (system, "nodes")
        }
    };
    escaped(&format!(
        "checkpoint    {}\nwritten by    md {version}\nstep          {step}\n{system}ranks         {ranks} with {least} to {most} {rows}\n\
         size          {bytes} bytes\nchecksums     all right\n{outputs}\n# the scenario\n\n{scenario}",
        path.display()
    ))
}
