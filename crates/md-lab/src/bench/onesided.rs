//! Round trips of MPI's own one-sided calls, and many such calls in one direction.

use md_comm::CommError;
use md_comm::mpi::{At, PlainWindow};

use super::plain::{allocated, content, fill, verified};
use super::series::{Series, parts};
use super::{Case, Stage};
use crate::Problem;
use crate::sampling::sample_one;

/// `put`: a put, a flush and a word that announces the data, in both directions; `get`: a get and a
/// flush, which is a round trip by itself.
pub(super) const MECHANISMS: [&str; 2] = ["put", GET];
const GET: &str = "get";

pub(super) fn run(case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
    let (world, bytes, peer) = (stage.world, case.bytes, case.peer);
    let (is_first, is_second) = (world.rank() == 0, world.rank() == peer);
    let gets = case.mechanism.name() == GET;
    let mut number = 0;
    let work = |window: &mut PlainWindow| {
        let tell = |window: &mut PlainWindow, rank, number| {
            window.put(0..bytes, At::start_of(rank))?;
            window.flush()?;
            window.raise(rank, number)?;
            window.flush()
        };
        let mut once = |window: &mut PlainWindow| {
            if gets && is_first {
                window.get(bytes, At::start_of(peer))?;
                return window.flush();
            }
            number += 2;
            if is_first && !gets {
                tell(window, peer, number)?;
            }
            if is_second && !gets {
                window.wait_for(number)?;
                tell(window, 0, number + 1)?;
            }
            if is_first && !gets { window.wait_for(number + 1) } else { Ok(()) }
        };
        sample(window, stage, bytes, &mut once)
    };
    let right = |window: &PlainWindow, own: &[u8]| {
        let came = if gets && is_first { window.got()? } else { own };
        let from = if is_first { peer } else { 0 };
        Ok(!(is_first || is_second && !gets) || content(from).first_wrong(came).is_none())
    };
    let samples_s = verified(stage, allocated(bytes), work, right)?;
    Ok(parts(&[""], samples_s, if gets { 1.0 } else { 2.0 } * bytes as f64))
}

/// Measures `messages` puts or gets followed by one flush.
pub(super) fn many(case: &Case, stage: &Stage, messages: usize) -> Result<Vec<Series>, Problem> {
    let (world, bytes, peer) = (stage.world, case.bytes, case.peer);
    let is_first = world.rank() == 0;
    let gets = case.mechanism.name() == GET;
    let work = |window: &mut PlainWindow| {
        let mut once = |window: &mut PlainWindow| {
            if is_first && gets {
                window.get_many(bytes, messages, At::start_of(peer))?;
            } else if is_first {
                (0..messages).map(|message| message * bytes).try_for_each(|offset| {
                    window.put(offset..offset + bytes, At { offset, ..At::start_of(peer) })
                })?;
            }
            window.flush()
        };
        sample(window, stage, bytes * messages, &mut once)
    };
    let right = |window: &PlainWindow, own: &[u8]| {
        let came = if gets && is_first { window.got()? } else { own };
        let from = if is_first { peer } else { 0 };
        let is_asked = if gets { is_first } else { world.rank() == peer };
        Ok(!is_asked || content(from).first_wrong(came).is_none())
    };
    let samples_s = verified(stage, allocated(bytes * messages), work, right)?;
    Ok(parts(&[""], samples_s, (messages * bytes) as f64))
}

/// Samples `once` while all windows are locked, with this rank's content in its window and in
/// `bytes` bytes to put from. *Collective.*
fn sample(
    window: &mut PlainWindow,
    stage: &Stage,
    bytes: usize,
    once: &mut dyn FnMut(&mut PlainWindow) -> Result<(), CommError>,
) -> Result<Vec<Vec<f64>>, Problem> {
    let world = stage.world;
    fill(window, world, bytes)?;
    window.with_own(0, |own| content(world.rank()).fill(own))?;
    window.lock_all()?;
    let samples_s = sample_one(world, stage.effort, || once(window))?;
    window.unlock_all()?;
    Ok(samples_s)
}
