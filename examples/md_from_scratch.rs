//! Molecular dynamics from scratch, without the engine: LAMMPS's melt (`bench/in.lj`, 32,000 atoms
//! with Lennard-Jones forces, 100 steps). It prints LAMMPS's log and checks it. It has five parts:
//!
//! 1. *Cells* ([`CellGrid`], [`Partition`]): the box is divided into cells that are longer than the
//!    cutoff. All partners of an atom are in its own or an adjacent cell. Each belongs to a rank.
//! 2. *Plan* ([`HaloPlan`]): adjacent cells may be those of other ranks, or periodic images. A rank
//!    has copies of their atoms, the ghosts. The plan lists the cells that ranks send for this.
//! 3. *Halo* ([`Exchange`]): each rank sends a message to each neighbour. A backend moves bytes
//!    (threads, two-sided MPI, windows); the program is the same for all of them.
//! 4. *Kernel* ([`Melt::add_forces`]): a list has the pairs that can come within the cutoff before
//!    the next rebuild. Their forces are added up. The owner of a ghost computes the pair too.
//! 5. *Integrator* ([`VelocityVerlet`]): forces change velocities, velocities change positions.
//!
//! [`Melt::step`] uses them in this order:
//!
//! ```text
//! half kick, drift   velocities gain half of the forces' effect, positions move by a whole step
//! gather             ghosts get the present positions of their owners; or, every 20 steps,
//!   rebuild          atoms migrate to the ranks of their cells; then new ghosts, then a new list
//! forces             of all pairs in the list
//! half kick          velocities gain the other half
//! ```
//!
//! The engine is faster: it computes while messages travel, copies less, uses SIMD, and computes
//! each pair on one rank only (half shell), which returns the force on the ghost to its owner.
//!
//! ```text
//! cargo run --release --example md_from_scratch                   1, 2 and 3 ranks as threads
//! mpirun -n 3 target/release/examples/md_from_scratch rma-fence   3 ranks over MPI, any backend
//! ```
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example")]

use std::error::Error;
use std::time::Duration;

use bytemuck::Pod;
use md_comm::{Backend, Buffering, Edge, EdgeId, Exchange, ExchangeSpec, Flow, Sizes};
use md_comm::{World, launch, local};
use md_core::force::{Newton, PairWork};
use md_core::halo::{self, Images, StageSelections};
use md_core::integrate::{HalfKicks, VelocityVerlet};
use md_core::lattice::{Lattice, LatticeKind};
use md_core::partition::DivisionRequest;
use md_core::potential::{LennardJones, PairPotential};
use md_core::prediction::Prediction;
use md_core::{Boundary, CellGrid, Dimension, Domain, ExchangePattern, Field, HaloPlan, LocalCells};
use md_core::{Particle, Particles, Partition, PartitionKind, Shell, SimdLevel, Threads};
use md_core::{grid, migrate, observables::twice_kinetic_energy, random, velocities};

/// Units: sigma (length), epsilon (energy), m (mass), tau = sigma sqrt(m / epsilon) (time).
const DENSITY: f64 = 0.8442;
const UNIT_CELLS: [u32; 3] = [20; 3];
const ATOMS: f64 = 32_000.0;
const MASSES: [f64; 1] = [1.0];
const TEMPERATURE: f64 = 1.44;
const SEED: i32 = 87287;
const TIMESTEP: f64 = 0.005;
const STEPS: u64 = 100;
const REBUILD_EVERY: u64 = 20;
const CUTOFF: f64 = 2.5;
const SKIN: f64 = 0.3;
/// One for each coordinate of each atom, less three because the total momentum is zero.
const DEGREES_OF_FREEDOM: f64 = 3.0 * (ATOMS - 1.0);
/// LAMMPS's log (`tests/data/melt32000`): temperature, potential and total energy per atom,
/// pressure; and the tolerance: half of the last digit.
const LAMMPS_0: ([f64; 4], f64) = ([1.44, -6.7733681, -4.6134356, -5.0197073], 0.5e-7);
const LAMMPS_100: ([f64; 4], f64) = ([0.7574531, -5.7585055, -4.6223613, 0.20726105], 0.5e-7);
const WATCHDOG: Duration = Duration::from_secs(60);

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Opens a context in which each exchange sends one message to each peer and receives one.
fn open(world: &dyn World, name: &'static str, peers: &[usize]) -> Result<Exchange> {
    let (send_channel, receive_channel, flow, send_capacity) = (0, 0, Flow::Both, 0);
    let edge = |&peer| Edge { peer, send_channel, receive_channel, flow, send_capacity };
    let (edges, buffering) = (peers.iter().map(edge).collect(), Buffering::Double);
    Ok(world.open(ExchangeSpec { name, edges, sizes: Sizes::Fixed, buffering })?)
}

/// Sends the messages that `pack` writes, and returns those that arrive, in the order of the peers.
fn exchange<T: Pod>(context: &mut Exchange, pack: impl Fn(usize, &mut [T])) -> Result<Vec<Vec<T>>> {
    let sizes: Vec<_> = context.spec().edges.iter().map(|edge| edge.send_capacity).collect();
    let mut arrived = vec![Vec::new(); sizes.len()];
    for (edge, bytes) in sizes.into_iter().enumerate() {
        pack(edge, bytemuck::cast_slice_mut(context.send_buffer(EdgeId(edge), bytes)?));
        context.start(EdgeId(edge))?;
    }
    context.initiate()?;
    while let Some(arrival) = context.next()? {
        arrived[arrival.edge.0] = bytemuck::cast_slice(arrival.bytes).to_vec();
    }
    context.complete()?;
    Ok(arrived)
}

/// One rank of the melt.
struct Melt {
    grid: CellGrid,
    partition: Partition,
    plan: HaloPlan,
    /// For migration, border and positions.
    contexts: [Exchange; 3],
    /// Atoms that have ghosts, by receiver.
    selections: StageSelections,
    /// List of pairs of atoms.
    pairs: Vec<(usize, usize, Newton)>,
    integrator: VelocityVerlet,
    particles: Particles,
    cells: LocalCells,
    threads: Threads,
}

impl Melt {
    fn new(world: &dyn World) -> Result<Self> {
        // LAMMPS computes the root in this way. Velocities depend on all bits of the positions.
        let spacing = (4.0 / DENSITY).powf(1.0 / 3.0);
        let lattice = Lattice::new(LatticeKind::Fcc, spacing, UNIT_CELLS);
        let (lengths, boundary) = (lattice.lengths(), [Boundary::Periodic; 3]);
        let domain = Domain { dimension: Dimension::Three, origin: [0.0; 3], lengths, boundary };
        let most_cells = grid::most_cells(&domain, CUTOFF + SKIN, lattice.len())?;
        let request = DivisionRequest { domain, most_cells, ranks: world.ranks(), rank_grid: None };
        let (grid, partition) = PartitionKind::Rect.divide(&request)?;
        let (offsets, pattern) = (Shell::Full.offsets(domain.dimension), ExchangePattern::Direct);
        let plan = HaloPlan::new(&grid, &partition, &offsets, pattern, world.rank());
        let peers: Vec<_> = plan.stages[0].edges.iter().map(|edge| edge.peer).collect();
        let migration = open(world, "migration", &plan.neighbours)?;
        let [border, positions] = ["border", "positions"].map(|name| open(world, name, &peers));
        let owner = |position| partition.owner(&grid, grid.cell_of(position));
        let atom = |(id, position)| {
            let velocity = random::lammps_vector(SEED, position);
            Particle { id, position, velocity, ..Particle::default() }
        };
        let sites = lattice.sites().filter(|&(_, position)| owner(position) == world.rank());
        let mut particles = sites.map(atom).collect();
        set_temperature(&mut particles, world)?;
        Ok(Self {
            contexts: [migration, border?, positions?],
            selections: StageSelections::default(),
            pairs: Vec::new(),
            integrator: VelocityVerlet::new(TIMESTEP, &MASSES, SimdLevel::detect()),
            particles,
            cells: LocalCells::default(),
            threads: Threads::one(),
            grid,
            partition,
            plan,
        })
    }

    /// Makes a step; returns energy and virial of this rank's pairs.
    fn step(&mut self, step: u64) -> Result<[f64; 2]> {
        let Self { integrator, particles, grid, threads, .. } = self;
        integrator.kick_and_drift(HalfKicks::Single, particles, grid.domain(), threads);
        let renew = if step.is_multiple_of(REBUILD_EVERY) { Self::rebuild } else { Self::gather };
        renew(self)?;
        let sums = self.add_forces();
        self.integrator.kick(&mut self.particles, &self.threads);
        Ok(sums)
    }

    /// Makes atoms migrate to the ranks of their cells, sorts them by cell, makes ghosts and list.
    fn rebuild(&mut self) -> Result<()> {
        let Self { grid, partition, plan, contexts, particles, cells, threads, .. } = self;
        let ([migration, ..], peers) = (contexts, &plan.neighbours);
        grid.domain().wrap(particles, threads);
        let mut outgoing = vec![Vec::new(); peers.len()];
        let messages = migrate::Messages { peers, outgoing: &mut outgoing };
        migrate::take_migrants(particles, grid, plan, partition, Prediction::NOW, threads, messages)?;
        migration.negotiate(&outgoing.iter().map(|m| size_of_val(&m[..])).collect::<Vec<_>>())?;
        for words in exchange(migration, |peer, words| words.copy_from_slice(&outgoing[peer]))? {
            migrate::append_migrants(&words, particles);
        }
        cells.sort(particles, grid, plan, threads);
        let work = PairWork::new(plan, grid, Shell::Full, 0.0);
        self.make_ghosts()?;
        let Self { pairs, particles, cells, .. } = self;
        pairs.clear();
        work.visit(cells, particles, CUTOFF + SKIN, |it| pairs.push((it.i, it.j, it.newton)));
        Ok(())
    }

    /// Makes the ghosts, and agrees on the sizes of messages with positions.
    fn make_ghosts(&mut self) -> Result<()> {
        let Self { grid, plan, contexts, selections, particles, cells, threads, .. } = self;
        let ([_, border, positions], stage) = (contexts, &plan.stages[0]);
        cells.clear_ghosts(plan);
        selections.rebuild(stage, cells, grid.domain());
        let StageSelections { images, edges: sent } = selections;
        let messages = stage.edges.iter().zip(&*sent);
        let sizes = messages.map(|(edge, sent)| halo::border_bytes(&edge.exports, sent, particles));
        border.negotiate(&sizes.collect::<Vec<_>>())?;
        let arrived = exchange(border, |peer, words| {
            halo::pack_border(words, &stage.edges[peer].exports, &sent[peer], particles, cells);
        })?;
        halo::copy_images(stage, images, particles, cells, threads);
        for (edge, words) in stage.edges.iter().zip(&arrived) {
            halo::unpack_border(words, edge, particles, cells)?;
        }
        let sizes = sent.iter().map(|sent| size_of::<[f64; 3]>() * sent.len());
        positions.negotiate(&sizes.collect::<Vec<_>>())?;
        Ok(())
    }

    /// Copies the positions of atoms to their ghosts.
    fn gather(&mut self) -> Result<()> {
        let Self { plan, contexts, selections, particles, cells, threads, .. } = self;
        let (fields, stage, sent) = ([Field::POSITION], &plan.stages[0], &selections.edges);
        let arrived = exchange(&mut contexts[2], |peer, numbers| {
            halo::pack_fields(numbers, &fields, &sent[peer], particles);
        })?;
        let images = Images { stage, selection: &selections.images, cells };
        images.gather(&fields, particles, threads);
        for (edge, numbers) in stage.edges.iter().zip(&arrived) {
            halo::unpack_fields(numbers, &fields, edge, particles, cells);
        }
        Ok(())
    }

    /// Adds the forces of all pairs in the list; returns this rank's share of energy and virial.
    fn add_forces(&mut self) -> [f64; 2] {
        let potential = LennardJones::reduced(CUTOFF);
        self.particles.clear_forces(&self.threads);
        let Particles { position, force, .. } = &mut self.particles;
        let position = position.each_ref().map(|column| &column[..]);
        let mut force = force.each_mut().map(|column| &mut column[..]);
        let [mut energy, mut virial] = [0.0; 2];
        for &(i, j, newton) in &self.pairs {
            let distance = position.map(|column| column[i] - column[j]);
            let r2 = distance.iter().map(|d| d * d).sum();
            if r2 < CUTOFF * CUTOFF {
                let term = potential.term(0, 0, r2);
                for (column, d) in force.iter_mut().zip(distance) {
                    column[i] += term.force_over_r * d;
                    column[j] -= term.force_over_r * d;
                }
                energy += newton.weight() * term.energy;
                virial += newton.weight() * term.force_over_r * r2;
            }
        }
        [energy, virial]
    }

    /// Prints a line of the log and compares it with LAMMPS's.
    fn log(&self, step: u64, [energy, virial]: [f64; 2], world: &dyn World) -> Result<()> {
        let mut sums = [twice_kinetic_energy(&self.particles, &MASSES), energy, virial];
        world.sum(&mut sums)?;
        let [twice_kinetic, energy, virial] = sums;
        let pressure = (twice_kinetic + virial) / (3.0 * self.grid.domain().volume());
        let [potential, total] = [energy, energy + 0.5 * twice_kinetic].map(|sum| sum / ATOMS);
        let log = [twice_kinetic / DEGREES_OF_FREEDOM, potential, total, pressure];
        if world.rank() == 0 {
            println!("ranks {}, step {step}: Temp, E_pair, TotEng, Press {log:.8?}", world.ranks());
        }
        let (lammps, tolerance) = if step == 0 { LAMMPS_0 } else { LAMMPS_100 };
        let agrees = log.iter().zip(lammps).all(|(here, there)| (here - there).abs() <= tolerance);
        if agrees { Ok(()) } else { Err(format!("LAMMPS has {lammps:?} at step {step}").into()) }
    }
}

/// Stops the centre of mass, and scales the velocities to the temperature, as LAMMPS does.
fn set_temperature(particles: &mut Particles, world: &dyn World) -> Result<()> {
    let mut drift = particles.velocity.each_ref().map(|column| column.iter().sum::<f64>() / ATOMS);
    world.sum(&mut drift)?;
    let sum = velocities::remove_drift(particles, &MASSES, drift);
    let mut twice_kinetic = [sum.value().ok_or("velocities are out of range")?];
    world.sum(&mut twice_kinetic)?;
    velocities::rescale(particles, twice_kinetic[0], TEMPERATURE, DEGREES_OF_FREEDOM);
    Ok(())
}

fn melt(world: &dyn World) -> Result<()> {
    let mut melt = Melt::new(world)?;
    melt.rebuild()?;
    let mut sums = melt.add_forces();
    melt.log(0, sums, world)?;
    for step in 1..=STEPS {
        sums = melt.step(step)?;
    }
    melt.log(STEPS, sums, world)?;
    Ok(melt.contexts.into_iter().try_for_each(Exchange::finalise)?)
}

/// Runs one rank. If it fails, the other ranks, which would wait for it, end too.
fn run(world: &dyn World) -> Result<()> {
    melt(world).inspect_err(|error| {
        eprintln!("rank {}: {error}", world.rank());
        world.abort(1);
    })
}

fn main() -> Result<()> {
    let default = launch::processes_of_job().map_or(Backend::Local, |_| Backend::default());
    let named = std::env::args().nth(1).map_or(Some(default), |name| Backend::from_name(&name));
    match named.ok_or("there is no backend of this name")? {
        Backend::Local => (1..=3).flat_map(|n| local::run(n, WATCHDOG, run)).try_for_each(|r| r?),
        #[cfg(feature = "mpi")]
        backend => run(&md_comm::mpi::start(WATCHDOG)?.with_backend(backend)?),
        #[cfg(not(feature = "mpi"))]
        backend => Ok(backend.availability()?),
    }
}
