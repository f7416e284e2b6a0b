//! A column of a matrix.

use md_comm::mpi::{At, Blocks, PlainWindow};

use super::plain::{Epochs, Ways, allocated, content, fill};
use super::series::{Series, parts};
use super::{Benchmark, Case, Ground, Stage, block};
use crate::compare::Problem;

/// As in Lattice Boltzmann studies.
const BYTES: usize = 8_500_000;
/// Of a block, and of the gap behind it.
const BLOCK: usize = size_of::<f64>();
const STRIDE: usize = 2 * BLOCK;

/// Rank 0 puts every second number to its partner: as a derived datatype, and packed before.
pub(super) struct Strided;

impl Benchmark for Strided {
    fn name(&self) -> &'static str {
        "strided"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        ground.plain(&["put"], &[BYTES])
    }

    fn least_bytes(&self) -> Option<usize> {
        Some(BLOCK)
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let (world, to) = (stage.world, At::start_of(case.peer));
        let (is_source, is_target) = (world.rank() == 0, world.rank() == case.peer);
        let bytes = case.bytes;
        let mut matrix = block(2 * bytes, 0)?;
        content(0).fill(&mut matrix);
        let column = |packed: &mut [u8]| {
            for (to, from) in packed.chunks_exact_mut(BLOCK).zip(matrix.chunks_exact(STRIDE)) {
                to.copy_from_slice(&from[..BLOCK]);
            }
        };
        let datatype = Blocks::new(bytes / BLOCK, BLOCK, STRIDE)?;
        let once = |window: &mut PlainWindow, way: usize| {
            if !is_source {
                return Ok(());
            }
            if way == 0 {
                window.put_blocks(&datatype, to)?;
            } else {
                column(&mut window.origin(2 * bytes)?[..bytes]);
                window.put(0..bytes, to)?;
            }
            window.flush().map_err(Problem::from)
        };
        let mut packed = block(bytes, 0)?;
        column(&mut packed);
        let ways = Ways {
            count: 2,
            epochs: Epochs::Locked,
            prepare: &|window| fill(window, world, 2 * bytes),
            once: &once,
            right: &|own| !is_target || own[0] == packed,
        };
        let samples_s = ways.sample(stage, allocated(bytes))?;
        Ok(parts(&["datatype", "packed"], samples_s, bytes as f64))
    }
}
