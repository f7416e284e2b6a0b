//! Flow as an application of the main program.

use md_comm::{Reduction, World};
use md_engine::clock::PhaseClock;

use super::d3q19::{POPULATIONS, SOUND_SPEED_SQUARED};
use super::lanes::LaneReal;
use super::solver::Flow;
use super::totals::Totals;
use crate::application::{Application, Progress};
use crate::halo::Stage;
use crate::resume::expect_words;
use crate::{GridError, Layout, Resumable};

/// Flow with its world and clock.
pub struct FlowRun<'w, T> {
    world: &'w dyn World,
    flow: Flow<T>,
    clock: PhaseClock,
    steps_done: u64,
    last_totals: Option<Totals>,
}

impl<'w, T: LaneReal> FlowRun<'w, T> {
    /// Creates the run of a flow at its initial state.
    pub fn new(world: &'w dyn World, flow: Flow<T>) -> Self {
        Self { world, flow, clock: PhaseClock::default(), steps_done: 0, last_totals: None }
    }

    /// Returns the flow.
    pub fn flow(&self) -> &Flow<T> {
        &self.flow
    }

    /// Returns the totals of the last call of [`Application::row`].
    pub fn last_totals(&self) -> Option<Totals> {
        self.last_totals
    }

    /// Checks that the flow is slower than sound and has finite values.
    fn expect_stable(&self, totals: &Totals) -> Result<(), GridError> {
        let sound = SOUND_SPEED_SQUARED.sqrt();
        let Totals { highest_speed, least_density, .. } = *totals;
        if highest_speed < sound && least_density > 0.0 {
            return Ok(());
        }
        let what = if highest_speed.is_finite() && least_density > 0.0 {
            format!("a node moves by {highest_speed:.3} nodes per step, and sound by {sound:.3}")
        } else {
            "a density or a velocity is no number of a fluid any more".to_owned()
        };
        let advice = "take a lower velocity or force, a higher viscosity, or collision \"trt\"";
        let problem = format!("the flow is unstable: {what}; {advice}");
        Err(GridError::Failed { step: self.steps_done, problem })
    }
}

/// The state consists of the populations after a step, independent of their places in memory: a
/// flow can resume with either pattern.
impl<T: LaneReal> Resumable for FlowRun<'_, T> {
    fn words_per_node(&self) -> usize {
        POPULATIONS
    }

    fn append_node(&self, node: [usize; 3], words: &mut Vec<u64>) {
        let is_fluid = self.flow.state(node).is_some();
        let populations = if is_fluid { self.flow.populations(node) } else { [T::ZERO; POPULATIONS] };
        words.extend(populations.map(|value| value.to_f64().to_bits()));
    }

    fn restore_node(&mut self, node: [usize; 3], words: &[u64]) {
        let mut words = words.iter().map(|&word| T::from_f64(f64::from_bits(word)));
        self.flow.set_populations(node, std::array::from_fn(|_| words.next().unwrap_or(T::ZERO)));
    }

    fn shared_words(&self) -> Vec<u64> {
        let fluid_nodes = self.last_totals.map_or(0.0, |totals| totals.fluid_nodes);
        vec![self.steps_done, fluid_nodes as u64]
    }

    fn restore_shared(&mut self, words: &[u64]) -> Result<(), GridError> {
        let then;
        [self.steps_done, then] = expect_words(words)?;
        let mut now = [self.flow.fluid_nodes() as u64];
        self.world.reduce(&mut now, Reduction::Sum)?;
        let [now] = now;
        if now == then {
            return Ok(());
        }
        Err(GridError::Shape(format!("it has {then} nodes of fluid, the scenario {now}")))
    }
}

impl<T: LaneReal> Application for FlowRun<'_, T> {
    fn step(&mut self) -> Result<Progress, GridError> {
        self.flow.step(&mut self.clock)?;
        self.steps_done += 1;
        Ok(Progress::GoesOn)
    }

    fn exchange(&mut self) -> Result<(), GridError> {
        self.flow.exchange(&mut self.clock)
    }

    fn columns(&self) -> &'static [&'static str] {
        &[
            "mass",
            "momentum_x",
            "momentum_y",
            "momentum_z",
            "kinetic_energy",
            "highest_speed",
            "least_density",
        ]
    }

    fn row(&mut self) -> Result<Vec<f64>, GridError> {
        let totals = self.flow.totals(self.world)?;
        self.expect_stable(&totals)?;
        self.last_totals = Some(totals);
        let Totals { mass, momentum: [x, y, z], kinetic_energy, highest_speed, least_density, .. } = totals;
        Ok(vec![mass, x, y, z, kinetic_energy, highest_speed, least_density])
    }

    fn visit(&self, take: &mut dyn FnMut(usize, [usize; 3], u64)) {
        let [nx, ny, nz] = self.flow.layout().size();
        let nodes = (0..nx).flat_map(|x| (0..ny).flat_map(move |y| (0..nz).map(move |z| [x, y, z])));
        for node in nodes.filter(|&node| self.flow.state(node).is_some()) {
            let populations = self.flow.populations(node).into_iter().enumerate();
            populations.for_each(|(population, value)| take(population, node, value.to_f64().to_bits()));
        }
    }

    fn clock(&mut self) -> &mut PhaseClock {
        &mut self.clock
    }

    fn layout(&self) -> Layout {
        self.flow.layout()
    }

    fn updated_nodes(&self) -> usize {
        self.flow.fluid_nodes()
    }

    fn stages(&self) -> Vec<&Stage> {
        self.flow.stages()
    }

    fn into_stages(self: Box<Self>) -> Vec<Stage> {
        self.flow.into_stages()
    }
}
