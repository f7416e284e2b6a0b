//! Puts of a column of a matrix.

use md_comm::mpi::{self, At, PlainWindow};

use super::plain::{Epochs, Ways, allocated, content, fill};
use super::series::{Series, parts};
use super::{Benchmark, Case, Ground, Stage, block};
use crate::Problem;

/// Bytes of the column, as in lattice Boltzmann studies.
const BYTES: usize = 8_500_000;
const NUMBER: usize = size_of::<f64>();
/// Distance between two numbers of the column, in numbers.
const STRIDE: usize = 2;

/// Put of every second number from rank 0 to its partner: as a derived datatype, or packed first.
pub(super) struct Strided;

impl Benchmark for Strided {
    fn name(&self) -> &'static str {
        "strided"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        ground.plain(&["put"], &[BYTES])
    }

    fn least_bytes(&self) -> Option<usize> {
        Some(NUMBER)
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let (world, to) = (stage.world, At::start_of(case.peer));
        let (is_source, is_target) = (world.rank() == 0, world.rank() == case.peer);
        let bytes = case.bytes;
        let mut matrix = block(STRIDE * bytes, 0)?;
        content(0).fill(&mut matrix);
        let column = |packed: &mut [u8]| {
            for (to, from) in packed.chunks_exact_mut(NUMBER).zip(matrix.chunks_exact(STRIDE * NUMBER)) {
                to.copy_from_slice(&from[..NUMBER]);
            }
        };
        let datatype = mpi::Strided::new(bytes / NUMBER, STRIDE)?;
        let once = |window: &mut PlainWindow, way: usize| {
            if !is_source {
                return Ok(());
            }
            if way == 0 {
                window.put_strided(&datatype, to)?;
            } else {
                column(&mut window.origin(STRIDE * bytes)?[..bytes]);
                window.put(0..bytes, to)?;
            }
            window.flush().map_err(Problem::from)
        };
        let mut packed = block(bytes, 0)?;
        column(&mut packed);
        let ways = Ways {
            count: 2,
            epochs: Epochs::Locked,
            prepare: &|window| fill(window, world, STRIDE * bytes),
            once: &once,
            right: &|own| !is_target || own[0] == packed,
        };
        let samples_s = ways.sample(stage, allocated(bytes))?;
        Ok(parts(&["datatype", "packed"], samples_s, bytes as f64))
    }
}
