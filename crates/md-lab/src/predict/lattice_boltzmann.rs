//! The closed formula of paper 001 for its lattice Boltzmann solver (D3Q19, two grids, slabs exchanged along x, y and z): one cube of `side`
//! cells per process, so many processes on a node.

/// Bytes that a face exchanges per cell: five populations in double precision.
const BYTES_PER_FACE_CELL: f64 = 40.0;
/// Bytes that the kernel moves per cell: 19 populations read, written, and read before they are written.
const BYTES_PER_CELL: f64 = 456.0;

/// A machine as the formula sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatticeBoltzmann {
    /// Cells along a process's cube.
    pub side: f64,
    /// Processes on a node.
    pub processes_per_node: f64,
    /// Of a message between nodes.
    pub network_latency_s: f64,
    /// Of a node's link, both ways together.
    pub network_bytes_per_s: f64,
    /// Of a message inside a node.
    pub node_latency_s: f64,
    /// Of messages inside a node, both ways together.
    pub node_bytes_per_s: f64,
    /// Of a node's memory; a process has its share. (The paper prints M where a process's bandwidth is meant: with the node's the kernel
    /// would be so many times too fast.)
    pub memory_bytes_per_s: f64,
    /// Faces of a node's cubes that lie between nodes; the paper takes `4 p + 2`.
    pub faces_between_nodes: f64,
}

/// What a step takes, in seconds.
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
    /// The paper's count of faces: processes in a row on each node.
    pub fn faces_of_a_row(processes_per_node: f64) -> f64 {
        4.0 * processes_per_node + 2.0
    }

    /// Bytes of a face's message.
    pub fn face_bytes(&self) -> f64 {
        BYTES_PER_FACE_CELL * self.side.powi(2)
    }

    /// One step.
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
            faces_between_nodes: LatticeBoltzmann::faces_of_a_row(24.0),
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
