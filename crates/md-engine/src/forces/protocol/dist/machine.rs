//! State machine of `dist` on one rank: location of each shared cell, without particles and without
//! a network.
//!
//! ```text
//! own cell      home --GRANT--> lent --RECALL--> recalled --RETURN--> home
//!               with a queue of the ranks that need it, which may include the owner
//! foreign cell  absent --REQUEST--> asked for --GRANT--> here --RETURN--> absent
//!               returned when recalled, or when everything is computed
//! ```
//!
//! A portion is computed when its cells, at most two, are here; messages are not read meanwhile.
//! One portion at a time is *pursued*: its cells are requested, and those that have arrived are
//! *pinned*, that is, neither lent nor returned until it is computed. Cells that are not pinned are
//! given away at once. No rank waits forever:
//!
//! - A waiting rank has pinned cells of one portion only, and takes them in ascending order. So the
//!   rank that has pinned the highest cell of all waits for no pinned cell and gets the cell it
//!   waits for: there is no cycle of waiting ranks.
//! - Queues are served in order, and an arriving cell is pinned for the portion that it was
//!   requested for: each grant leads to a computation.

use std::collections::VecDeque;

use md_comm::Rank;

use crate::forces::protocol::post::Kind;

/// Location of a shared cell as far as it is recorded on this rank.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Holding {
    /// Own cell, here.
    Home,
    /// Own cell, at another rank, from which it may have been recalled.
    Lent { to: Rank, recalled: bool },
    /// Foreign cell, not here.
    Absent,
    /// Foreign cell, requested.
    Asked,
    /// Foreign cell, here; the owner may have recalled it.
    Held { recalled: bool },
}

/// A shared cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Cell {
    pub(super) owner: Rank,
    pub(super) holding: Holding,
    /// For an own cell: ranks that need it, in order of their requests.
    queue: VecDeque<Rank>,
    portions: Vec<usize>,
}

/// A message to another rank about a shared cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Said {
    pub(super) to: Rank,
    pub(super) kind: Kind,
    pub(super) cell: usize,
}

/// Next action of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Compute this portion, then call [`Machine::computed`].
    Compute(usize),
    /// Wait for the next message.
    Wait,
    /// Finish: everything is computed, and all own cells are here for good.
    Over,
}

/// State of one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Machine {
    rank: Rank,
    /// Shared cells, in the order in which portions take them.
    pub(super) cells: Vec<Cell>,
    /// Cells of each portion, ascending.
    needs: Vec<Vec<usize>>,
    owners: Vec<Rank>,
    takers: usize,
    is_done: Vec<bool>,
    left: usize,
    /// Index such that all earlier portions are done.
    first_left: usize,
    /// Portions whose cells may all be here.
    candidates: VecDeque<usize>,
    pursued: Option<usize>,
    pinned: Vec<usize>,
    /// Number of ranks that may still send requests.
    asking: usize,
    /// Number of ranks that may still recall a cell that has already been returned.
    unclosed: usize,
    has_ended: bool,
    pub(super) outbox: Vec<Said>,
}

impl Machine {
    /// Creates the machine of `rank`. `owners` are the ranks that this one requests cells from,
    /// `takers` is the number of ranks that request cells from it.
    pub(super) fn new(
        rank: Rank,
        owner_of: impl Iterator<Item = Rank>,
        needs: Vec<Vec<usize>>,
        owners: Vec<Rank>,
        takers: usize,
    ) -> Self {
        let cell = |owner| {
            let holding = if owner == rank { Holding::Home } else { Holding::Absent };
            Cell { owner, holding, queue: VecDeque::new(), portions: Vec::new() }
        };
        let mut cells: Vec<Cell> = owner_of.map(cell).collect();
        for (portion, needs) in needs.iter().enumerate() {
            needs.iter().for_each(|&cell| cells[cell].portions.push(portion));
        }
        Self { rank, cells, needs, owners, takers, ..Self::default() }
    }

    /// Begins a new force computation, with all portions to be computed.
    pub(super) fn begin(&mut self) {
        self.is_done.clear();
        self.is_done.resize(self.needs.len(), false);
        (self.left, self.first_left, self.asking) = (self.needs.len(), 0, self.takers);
        self.candidates.clear();
        self.candidates.extend(0..self.needs.len());
        (self.has_ended, self.unclosed) = (false, self.owners.len());
    }

    /// Processes a message from another rank.
    pub(super) fn receive(&mut self, from: Rank, kind: Kind, cell: usize) {
        match kind {
            Kind::Request => {
                self.cells[cell].queue.push_back(from);
                self.serve(cell);
            }
            Kind::Return => {
                self.cells[cell].holding = Holding::Home;
                self.serve(cell);
                if self.is_here(cell) {
                    self.arrived(cell);
                }
            }
            Kind::Grant => {
                self.cells[cell].holding = Holding::Held { recalled: false };
                self.arrived(cell);
            }
            // The cell may already have been returned, and requested again.
            Kind::Recall => {
                if let Holding::Held { recalled } = &mut self.cells[cell].holding {
                    *recalled = true;
                    self.give_back_if_recalled(cell);
                }
            }
            Kind::Over => {
                self.asking = self.asking.saturating_sub(1);
                self.say(from, Kind::Closed, 0);
            }
            Kind::Closed => self.unclosed = self.unclosed.saturating_sub(1),
            Kind::Row | Kind::RowBack => (),
        }
    }

    pub(super) fn advance(&mut self) -> Next {
        while let Some(portion) = self.candidates.pop_front() {
            if self.is_done[portion] {
                continue;
            }
            if self.is_there(portion) {
                return Next::Compute(portion);
            }
            self.pursue(portion);
        }
        while self.first_left < self.is_done.len() && self.is_done[self.first_left] {
            self.first_left += 1;
        }
        if self.left == 0 {
            return self.wind_up();
        }
        if self.pursued.is_none()
            && let Some(portion) = (self.first_left..self.needs.len()).find(|&portion| !self.is_done[portion])
        {
            if self.is_there(portion) {
                return Next::Compute(portion);
            }
            self.pursue(portion);
        }
        Next::Wait
    }

    pub(super) fn computed(&mut self, portion: usize) {
        self.is_done[portion] = true;
        self.left -= 1;
        if self.pursued != Some(portion) {
            return;
        }
        self.pursued = None;
        for cell in std::mem::take(&mut self.pinned) {
            self.serve(cell);
            self.give_back_if_recalled(cell);
        }
    }

    fn is_here(&self, cell: usize) -> bool {
        matches!(self.cells[cell].holding, Holding::Home | Holding::Held { .. })
    }

    fn is_there(&self, portion: usize) -> bool {
        self.needs[portion].iter().all(|&cell| self.is_here(cell))
    }

    fn say(&mut self, to: Rank, kind: Kind, cell: usize) {
        self.outbox.push(Said { to, kind, cell });
    }

    /// Pursues a portion unless another one is pursued.
    fn pursue(&mut self, portion: usize) {
        if self.pursued.is_none() {
            self.pursued = Some(portion);
            self.take_next();
        }
    }

    /// Pins the cells of the pursued portion that are here, in ascending order, and requests the
    /// first that is not.
    fn take_next(&mut self) {
        let Some(portion) = self.pursued else { return };
        for place in 0..self.needs[portion].len() {
            let cell = self.needs[portion][place];
            if self.pinned.contains(&cell) {
                continue;
            }
            match self.cells[cell].holding {
                Holding::Home | Holding::Held { .. } => self.pinned.push(cell),
                Holding::Lent { .. } => {
                    if !self.cells[cell].queue.contains(&self.rank) {
                        self.cells[cell].queue.push_back(self.rank);
                        self.serve(cell);
                    }
                    return;
                }
                Holding::Absent => {
                    self.cells[cell].holding = Holding::Asked;
                    return self.say(self.cells[cell].owner, Kind::Request, cell);
                }
                Holding::Asked => return,
            }
        }
    }

    fn arrived(&mut self, cell: usize) {
        self.take_next();
        self.candidates.extend(&self.cells[cell].portions);
    }

    /// Gives an own cell to the next rank in the queue, and recalls a lent cell if the queue is not
    /// empty.
    fn serve(&mut self, cell: usize) {
        if self.cells[cell].owner != self.rank {
            return;
        }
        if self.cells[cell].holding == Holding::Home && !self.pinned.contains(&cell) {
            match self.cells[cell].queue.pop_front() {
                None => return,
                Some(next) if next == self.rank => return self.take_next(),
                Some(next) => {
                    self.cells[cell].holding = Holding::Lent { to: next, recalled: false };
                    self.say(next, Kind::Grant, cell);
                }
            }
        }
        let Cell { holding, queue, .. } = &mut self.cells[cell];
        if let Holding::Lent { to, recalled } = holding
            && !*recalled
            && !queue.is_empty()
        {
            *recalled = true;
            let to = *to;
            self.say(to, Kind::Recall, cell);
        }
    }

    fn give_back_if_recalled(&mut self, cell: usize) {
        let is_owed = self.cells[cell].holding == Holding::Held { recalled: true };
        if is_owed && !self.pinned.contains(&cell) {
            self.give_back(cell);
        }
    }

    fn give_back(&mut self, cell: usize) {
        self.cells[cell].holding = Holding::Absent;
        self.say(self.cells[cell].owner, Kind::Return, cell);
    }

    /// Ends the computation: returns foreign cells and waits for own ones.
    fn wind_up(&mut self) -> Next {
        if !self.has_ended {
            self.has_ended = true;
            let held = |cell: &usize| matches!(self.cells[*cell].holding, Holding::Held { .. });
            let held: Vec<usize> = (0..self.cells.len()).filter(held).collect();
            held.into_iter().for_each(|cell| self.give_back(cell));
            for owner in self.owners.clone() {
                self.say(owner, Kind::Over, 0);
            }
        }
        let is_home = |cell: &Cell| cell.owner != self.rank || cell.holding == Holding::Home;
        if self.asking + self.unclosed == 0 && self.cells.iter().all(is_home) {
            Next::Over
        } else {
            Next::Wait
        }
    }
}
