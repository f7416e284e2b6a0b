//! Quality of partitions on any number of ranks without a run: balance and data to be sent.
//!
//! Partition and halo plans are those of a run, so ghosts, neighbours and bytes are exact. The work
//! is that of [`CellLoads::of_counts`] in the initial state: pairs in adjacent cells, and
//! particles.

mod picture;

use std::sync::Arc;
use std::time::Instant;

use md_core::PartitionKind;
use md_core::memory;
use md_core::partition::weights::{PARTICLE_WORK, imbalance};
use md_core::partition::{CellLoads, Table};
use md_core::shell::ForceReturn;
use md_engine::{Config, Division, EngineError, Setup};
use serde::Serialize;

pub use picture::picture;

use crate::EncodeError;
use crate::name_of;
use crate::predict::Nodes;
use crate::predict::plans::{Density, MOST_COUNTED, Messages, Plans, Stage};
use crate::tables::{aligned, table as csv_table};

const COLUMNS: &str = "partition,ranks,work_imbalance,particle_imbalance,ghosts_max,ghosts_mean,neighbours_max,neighbours_mean,bytes_max,seconds";

/// Size of a position or a force.
const BYTES_PER_GHOST: f64 = 24.0;

/// A row of `partition.csv`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Kind of the partition.
    pub partition: PartitionKind,
    /// Number of ranks.
    pub ranks: usize,
    /// Work of the busiest rank divided by the mean.
    pub work_imbalance: f64,
    /// Largest number of particles on a rank divided by the mean.
    pub particle_imbalance: f64,
    /// Largest number of ghost particles on a rank.
    pub ghosts_max: f64,
    /// Mean number of ghost particles per rank.
    pub ghosts_mean: f64,
    /// Largest number of neighbour ranks, which have cells adjacent to those of the rank.
    pub neighbours_max: f64,
    /// Mean number of neighbour ranks.
    pub neighbours_mean: f64,
    /// Largest number of bytes that a rank receives in a step, positions and forces.
    pub bytes_max: f64,
    /// Seconds to compute the partition.
    pub seconds: f64,
}

/// A partition that was computed.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its row in the table.
    pub row: Row,
    /// The cells, and the partition as a table.
    pub division: Division,
}

/// Computed partitions, and the reasons for those that are missing.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// One entry per partition.
    pub found: Vec<Found>,
    /// Partitions that are left out, with the reasons.
    pub remarks: Vec<String>,
}

/// Computes these partitions of a configuration for a number of ranks.
///
/// # Errors
/// [`EngineError`]: the configuration is invalid independently of the partition, or memory is
/// exhausted. A partition that does not fit the cells is left out with a remark instead.
pub fn survey(config: &Config, ranks: usize, kinds: &[PartitionKind]) -> Result<Survey, EngineError> {
    let mut survey = Survey::default();
    for &kind in kinds {
        match memory::or_error(|| look_at(config, ranks, kind))? {
            Ok(found) => survey.found.push(found),
            Err(EngineError::Grid(error)) => {
                survey.remarks.push(format!("{} is left out: {error}", name_of(kind)));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(survey)
}

fn look_at(config: &Config, ranks: usize, kind: PartitionKind) -> Result<Found, EngineError> {
    let mut config = config.clone();
    config.parallel.partition = kind;
    if kind != PartitionKind::Rect {
        config.parallel.rank_grid = None;
    }
    let (shell, exchange) = (config.parallel.shell, config.parallel.exchange);
    let share = config.parallel.second_share.at_first();
    let setup = Setup::new(config, ranks)?;
    let grid = setup.division.grid.clone();
    if setup.atoms() > MOST_COUNTED {
        let what =
            format!("{} particles are more than the {MOST_COUNTED} that can be counted", setup.atoms());
        return Err(EngineError::Config(what));
    }
    let density = Density::of(&setup);
    let loads = CellLoads::of_counts(&grid, density.by_cell(&grid), shell);
    let begun = Instant::now();
    let weighted = kind.weighted(&grid, ranks, &loads)?;
    let table = Table::of(&weighted.unwrap_or(setup.division.partition), &grid, ranks);
    let seconds = begun.elapsed().as_secs_f64();
    let division = Division { grid, partition: Arc::new(table) };
    let plans = Plans::new(&division, &Nodes::one(ranks), &density, (shell, exchange), share);
    let row = Row { partition: kind, ranks, seconds, ..of_plans(&plans, shell.force_return()) };
    Ok(Found { row, division })
}

/// Returns a row without the kind of partition and the time.
fn of_plans(plans: &Plans, force_return: ForceReturn) -> Row {
    let ranks = plans.owned.len();
    let candidates = plans.candidates.iter().map(|regions| regions.iter().sum::<f64>());
    let work: Vec<f64> =
        candidates.zip(&plans.owned).map(|(pairs, own)| pairs + PARTICLE_WORK * own).collect();
    let received =
        |messages: &Messages, rank| messages.to(rank).map(|edge| messages.particles[edge]).sum::<f64>();
    let of_stages = |rank: usize| plans.stages.iter().map(move |stage| (stage, rank));
    let by_rank = |of: &dyn Fn(usize) -> f64| (0..ranks).map(of).collect::<Vec<_>>();
    let ghosts = by_rank(&|rank| {
        let own = |(stage, rank): (&Stage, usize)| received(&stage.gather, rank) + stage.images[rank];
        of_stages(rank).map(own).sum()
    });
    let bytes = by_rank(&|rank| {
        let both_ways = |(stage, rank): (&Stage, usize)| {
            let home = match force_return {
                ForceReturn::Needed => received(&stage.scatter, rank),
                ForceReturn::None => 0.0,
            };
            BYTES_PER_GHOST * (received(&stage.gather, rank) + home)
        };
        of_stages(rank).map(both_ways).sum()
    });
    let neighbours = by_rank(&|rank| plans.migration.gather.to(rank).len() as f64);
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / ranks as f64;
    Row {
        partition: PartitionKind::default(),
        ranks,
        work_imbalance: imbalance(&work),
        particle_imbalance: imbalance(&plans.owned),
        ghosts_max: most(&ghosts),
        ghosts_mean: mean(&ghosts),
        neighbours_max: most(&neighbours),
        neighbours_mean: mean(&neighbours),
        bytes_max: most(&bytes),
        seconds: 0.0,
    }
}

/// Returns the contents of `partition.csv`.
///
/// # Errors
/// As [`crate::tables::table`].
pub fn partition_csv(survey: &Survey) -> Result<Vec<u8>, EncodeError> {
    csv_table(&[COLUMNS], survey.found.iter().map(|found| &found.row))
}

/// Returns the table for the screen, followed by the remarks.
pub fn table(survey: &Survey) -> String {
    let header = ["partition", "work", "particles", "ghosts", "", "neighbours", "", "bytes", "seconds"]
        .map(str::to_owned);
    let units = ["", "max/mean", "max/mean", "max", "mean", "max", "mean", "max", ""].map(str::to_owned);
    let rows = survey.found.iter().map(|Found { row, .. }| {
        vec![
            name_of(row.partition),
            format!("{:.3}", row.work_imbalance),
            format!("{:.3}", row.particle_imbalance),
            format!("{:.0}", row.ghosts_max),
            format!("{:.0}", row.ghosts_mean),
            format!("{:.0}", row.neighbours_max),
            format!("{:.1}", row.neighbours_mean),
            format!("{:.0}", row.bytes_max),
            format!("{:.4}", row.seconds),
        ]
    });
    let lines: Vec<Vec<String>> = [header.to_vec(), units.to_vec()].into_iter().chain(rows).collect();
    let remarks: String = survey.remarks.iter().map(|remark| format!("{remark}\n")).collect();
    aligned(&lines) + &remarks
}

#[cfg(test)]
mod tests {
    use md_core::lattice::{Lattice, LatticeKind};
    use md_core::potential::LennardJones;
    use md_core::thinned::{Region, ThinnedLattice};
    use md_engine::ParticleSource;

    use super::*;

    /// Returns a droplet in a box of 12 x 12 x 12 cells.
    fn droplet() -> Config {
        let lattice = Lattice::with_density(LatticeKind::Fcc, 0.8, [20; 3]);
        let region = Region::Droplet { centre: [0.4, 0.5, 0.6], radius: 11.0 };
        let thinned = ThinnedLattice::new(lattice, 3, vec![region], 0.025, 7);
        Config::new(ParticleSource::Thinned(thinned), LennardJones::reduced(2.5))
    }

    const BUILT: [PartitionKind; 5] = [
        PartitionKind::Rect,
        PartitionKind::Stripe,
        PartitionKind::Rcb,
        PartitionKind::Hilbert,
        PartitionKind::Scattered,
    ];

    #[test]
    fn bisection_is_even_and_scattering_sends_most() {
        let survey = survey(&droplet(), 8, &BUILT).unwrap();
        let [rect, _, rcb, hilbert, scattered] = &survey.found[..] else { panic!("{:?}", survey.remarks) };
        assert!(rect.row.work_imbalance > 1.5, "{rect:?}");
        assert!(rcb.row.work_imbalance < 1.06 && hilbert.row.work_imbalance < 1.06);
        assert!(scattered.row.ghosts_mean > 2.0 * rcb.row.ghosts_mean);
        assert!(scattered.row.neighbours_mean == 7.0, "every rank beside every other");
        let text = String::from_utf8(partition_csv(&survey).unwrap()).unwrap();
        assert!(text.starts_with(COLUMNS) && text.lines().nth(3).unwrap().starts_with("rcb,8,1.0"), "{text}");
        assert!(table(&survey).contains("scattered"));
    }

    #[test]
    fn what_does_not_fit_is_left_out_with_a_reason() {
        let survey = survey(&droplet(), 13, &[PartitionKind::Rect, PartitionKind::Rcb]).unwrap();
        assert_eq!(survey.found.len(), 1);
        assert!(
            survey.remarks[0].starts_with("rect is left out: the box is too thin"),
            "{:?}",
            survey.remarks
        );
    }

    #[test]
    fn the_picture_shows_every_partition() {
        let survey = survey(&droplet(), 4, &[PartitionKind::Rect, PartitionKind::Rcb]).unwrap();
        let svg = picture(&survey);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("<text").count(), 2);
        // At least one run of cells per row and slice.
        assert!(svg.matches("<rect").count() >= 2 * 3 * 12);
    }
}
