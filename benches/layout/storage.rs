//! Storage of the particles: records or columns.

/// A storage layout. It includes velocity and id because a real code has them: with records they
/// pass through the caches.
pub(crate) trait Storage {
    const NAME: &'static str;
    fn new(positions: &[[f64; 3]]) -> Self;
    fn position(&self, index: usize) -> [f64; 3];
    fn force(&self, index: usize) -> [f64; 3];
    fn add_force(&mut self, index: usize, force: [f64; 3]);
    fn clear_forces(&mut self);
}

#[derive(Clone, Copy)]
struct Record {
    position: [f64; 3],
    #[expect(dead_code, reason = "takes its place in memory")]
    velocity: [f64; 3],
    force: [f64; 3],
    #[expect(dead_code, reason = "takes its place in memory")]
    id: u64,
}

/// Array of structures.
pub(crate) struct Records(Vec<Record>);

impl Storage for Records {
    const NAME: &'static str = "records";

    fn new(positions: &[[f64; 3]]) -> Self {
        let record = |(&position, id)| Record { position, velocity: [0.0; 3], force: [0.0; 3], id };
        Self(positions.iter().zip(0..).map(record).collect())
    }

    #[inline(always)]
    fn position(&self, index: usize) -> [f64; 3] {
        self.0[index].position
    }

    #[inline(always)]
    fn force(&self, index: usize) -> [f64; 3] {
        self.0[index].force
    }

    #[inline(always)]
    fn add_force(&mut self, index: usize, force: [f64; 3]) {
        for (sum, component) in self.0[index].force.iter_mut().zip(force) {
            *sum += component;
        }
    }

    fn clear_forces(&mut self) {
        for record in &mut self.0 {
            record.force = [0.0; 3];
        }
    }
}

/// Structure of arrays. Columns that the loop does not use cost nothing and are left out.
pub(crate) struct Columns {
    position: [Vec<f64>; 3],
    force: [Vec<f64>; 3],
}

impl Storage for Columns {
    const NAME: &'static str = "columns";

    fn new(positions: &[[f64; 3]]) -> Self {
        Self {
            position: [0, 1, 2].map(|dim| positions.iter().map(|position| position[dim]).collect()),
            force: [0, 1, 2].map(|_| vec![0.0; positions.len()]),
        }
    }

    #[inline(always)]
    fn position(&self, index: usize) -> [f64; 3] {
        [self.position[0][index], self.position[1][index], self.position[2][index]]
    }

    #[inline(always)]
    fn force(&self, index: usize) -> [f64; 3] {
        [self.force[0][index], self.force[1][index], self.force[2][index]]
    }

    #[inline(always)]
    fn add_force(&mut self, index: usize, force: [f64; 3]) {
        for (column, component) in self.force.iter_mut().zip(force) {
            column[index] += component;
        }
    }

    fn clear_forces(&mut self) {
        for column in &mut self.force {
            column.fill(0.0);
        }
    }
}
