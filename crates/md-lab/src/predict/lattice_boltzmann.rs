//! Closed formula of paper 001 for its lattice Boltzmann solver (D3Q19, two grids, slabs exchanged
//! along x, y and z), with one cube of `side` cells per process and several processes per node.

use md_comm::Backend;
use md_core::words::counted;

use super::{GridCosts, GridStep, Request};
use crate::machine::{Distance, Machine};
use crate::significant;

/// Bytes exchanged per cell of a face: five populations in double precision.
const BYTES_PER_FACE_CELL: f64 = 40.0;
/// Bytes that the kernel moves per cell: 19 populations, read, written, and read before the write.
const BYTES_PER_CELL: f64 = 456.0;

/// Parameters of the formula.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatticeBoltzmann {
    /// Cells along an edge of a process's cube.
    pub side: f64,
    /// Number of processes per node.
    pub processes_per_node: f64,
    /// Latency of a message between nodes.
    pub network_latency_s: f64,
    /// Bandwidth of a node's link, both directions together.
    pub network_bytes_per_s: f64,
    /// Latency of a message inside a node.
    pub node_latency_s: f64,
    /// Bandwidth of messages inside a node, both directions together.
    pub node_bytes_per_s: f64,
    /// Memory bandwidth of a node, shared by its processes. (The paper prints M where the bandwidth
    /// of a process is meant: with that of the node, the kernel would be too fast by the number of
    /// processes per node.)
    pub memory_bytes_per_s: f64,
    /// Number of faces of a node's cubes that lie between nodes; the paper uses `4 p + 2`.
    pub faces_between_nodes: f64,
}

/// Times of a step, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatticeBoltzmannStep {
    /// Messages between nodes.
    pub network_s: f64,
    /// Messages inside a node.
    pub node_s: f64,
    /// Collide and stream.
    pub kernel_s: f64,
    /// Million cells updated per second and node.
    pub mlups_per_node: f64,
}

impl LatticeBoltzmann {
    /// Returns the bytes of a face's message.
    pub fn face_bytes(&self) -> f64 {
        BYTES_PER_FACE_CELL * self.side.powi(2)
    }

    /// Derives the parameters for a step of a flow on a machine with two-sided messages. The faces
    /// between nodes are those that leave the busiest node, counted by their bytes including edges.
    /// Returns `None` if the machine has no costs of such messages.
    pub fn of(step: &GridStep, costs: &GridCosts, machine: &Machine, request: &Request) -> Option<Self> {
        let ranks = step.updates.len();
        let nodes = request.nodes(ranks);
        let processes_per_node = request.ranks_per_node.unwrap_or(ranks).min(ranks) as f64;
        let side = (step.updates.iter().sum::<f64>() / ranks as f64).cbrt();
        let face_bytes = BYTES_PER_FACE_CELL * side.powi(2);
        let message = |distance| {
            let mut ranges = machine.ranges(Backend::P2p, distance);
            ranges.retain(|range| range.from_bytes as f64 <= face_bytes);
            // Both directions together.
            ranges.last().map(|range| (range.latency_s, 2.0 / range.seconds_per_byte))
        };
        let nothing = Some((0.0, f64::INFINITY));
        let network = if nodes.count > 1 { message(Distance::Network) } else { nothing };
        let node = if processes_per_node > 1.0 { message(Distance::Node) } else { nothing };
        let ((network_latency_s, network_bytes_per_s), (node_latency_s, node_bytes_per_s)) =
            (network?, node?);
        let per_update_s = costs.at(step).per_update_s;
        Some(Self {
            side,
            processes_per_node,
            network_latency_s,
            network_bytes_per_s,
            node_latency_s,
            node_bytes_per_s,
            memory_bytes_per_s: BYTES_PER_CELL * processes_per_node / per_update_s,
            faces_between_nodes: nodes.most_leaving(step.sent()) / face_bytes,
        })
    }

    /// Describes the times of a step on `ranks` ranks in words.
    pub fn words(&self, ranks: usize) -> String {
        let LatticeBoltzmannStep { network_s, node_s, kernel_s, mlups_per_node } = self.step();
        let [network, node, kernel] = [network_s, node_s, kernel_s].map(|s| significant(1e3 * s, 3));
        let [faces, mlups] = [self.faces_between_nodes, mlups_per_node].map(|it| significant(it, 3));
        let messages = format!(
            "{}, closed formula (Sembritzki): {network} ms between nodes ({faces} faces leave one), {node} inside",
            counted(ranks, "rank")
        );
        if kernel_s == 0.0 {
            return messages;
        }
        let all = significant(1e3 * (network_s + node_s + kernel_s), 3);
        format!("{messages}, kernel {kernel}: {all} ms, {mlups} MLUPS per node")
    }

    /// Computes the times of one step.
    pub fn step(&self) -> LatticeBoltzmannStep {
        let Self { side, processes_per_node: processes, .. } = *self;
        let faces = |count: f64, bytes_per_s: f64| self.face_bytes() * count / (bytes_per_s / 2.0);
        let network_s =
            3.0 * self.network_latency_s + faces(self.faces_between_nodes, self.network_bytes_per_s);
        let node_s = 3.0 * self.node_latency_s + faces(2.0 * (processes - 1.0), self.node_bytes_per_s);
        let kernel_s = BYTES_PER_CELL * side.powi(3) / (self.memory_bytes_per_s / processes);
        let mlups_per_node = processes * side.powi(3) / (network_s + node_s + kernel_s) / 1e6;
        LatticeBoltzmannStep { network_s, node_s, kernel_s, mlups_per_node }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::MessageCost;
    use crate::predict::GridExchange;

    fn rounded(value: f64, unit: f64) -> f64 {
        (value / unit).round() * unit
    }

    #[test]
    fn the_numbers_of_the_paper() {
        let lima = LatticeBoltzmann {
            side: 96.0,
            processes_per_node: 24.0,
            network_latency_s: 3e-6,
            network_bytes_per_s: 6.0e9,
            node_latency_s: 1e-6,
            node_bytes_per_s: 20e9,
            memory_bytes_per_s: 38.9e9,
            faces_between_nodes: 4.0 * 24.0 + 2.0,
        };
        let step = lima.step();
        assert!(
            (step.network_s - 12.0e-3).abs() < 0.1e-3 && (step.node_s - 1.7e-3).abs() < 0.05e-3,
            "{step:?}"
        );
        assert_eq!((rounded(step.kernel_s, 1e-3), rounded(step.mlups_per_node, 1.0)), (0.249, 81.0));
        let alone = 24.0 * 96f64.powi(3) / step.kernel_s / 1e6;
        assert_eq!(rounded(alone, 1.0), 85.0);
    }

    #[test]
    fn the_sizes_of_the_strong_scaling_case() {
        let side = 350.0;
        let cubes = LatticeBoltzmann { side, ..zero() };
        assert_eq!(rounded(cubes.face_bytes() / 720f64.sqrt(), 1e4), 180e3);
        // Two grids of 19 populations.
        assert_eq!(rounded(2.0 * 19.0 * 8.0 * side.powi(3), 1e9), 13e9);
    }

    #[test]
    fn faces_that_leave_a_node_are_those_of_the_rank_map() {
        const RANKS: [usize; 3] = [8, 3, 3];
        const SIDE: f64 = 10.0;
        let face = BYTES_PER_FACE_CELL * SIDE * SIDE;
        let neighbours = |rank: usize| {
            let place = [rank % 8, rank / 8 % 3, rank / 24];
            let step = |dim: usize, by: usize| {
                let mut there = place;
                there[dim] = (place[dim] + by) % RANKS[dim];
                (there[0] + 8 * (there[1] + 3 * there[2]), face)
            };
            (0..3).flat_map(|dim| [step(dim, 1), step(dim, RANKS[dim] - 1)]).collect::<Vec<_>>()
        };
        let exchange =
            GridExchange { stages: vec![(0..72).map(neighbours).collect()], beside: vec![0.0; 72] };
        let step = GridStep {
            grid: "8x3x3".to_owned(),
            nodes: 72_000,
            updates: vec![SIDE.powi(3); 72],
            exchanges: vec![exchange],
            reductions: 0,
        };
        let machine = crate::predict::tests::machine();
        let mut everywhere = machine.clone();
        everywhere.messages.extend(
            machine.messages.iter().map(|it| MessageCost { distance: Distance::Network, ..it.clone() }),
        );
        let of = |ranks_per_node, machine: &Machine| {
            let request = Request { ranks_per_node, ..crate::predict::tests::request(&[72], &[]) };
            LatticeBoltzmann::of(&step, &GridCosts::default(), machine, &request)
        };
        let rows = of(Some(4), &everywhere).unwrap();
        assert!((rows.faces_between_nodes - (4.0 * 4.0 + 2.0)).abs() < 1e-9, "{rows:?}");
        assert_eq!(of(None, &machine).unwrap().faces_between_nodes, 0.0);
        assert_eq!(of(Some(4), &machine), None);
        assert!(rows.words(72).contains("(18 faces leave one)"), "{}", rows.words(72));
    }

    fn zero() -> LatticeBoltzmann {
        LatticeBoltzmann {
            side: 0.0,
            processes_per_node: 1.0,
            network_latency_s: 0.0,
            network_bytes_per_s: 1.0,
            node_latency_s: 0.0,
            node_bytes_per_s: 1.0,
            memory_bytes_per_s: 1.0,
            faces_between_nodes: 0.0,
        }
    }
}
