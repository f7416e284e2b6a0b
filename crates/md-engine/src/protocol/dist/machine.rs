//! Who has which cell: the states of `dist` on one rank, without particles and without a network.
//!
//! ```text
//! own cell      home --GRANT--> lent --RECALL--> recalled --RETURN--> home          a queue of those who need it, the owner among them
//! foreign cell  absent --REQUEST--> asked for --GRANT--> here --RETURN--> absent     back when recalled, or when all is computed
//! ```
//!
//! A portion is computed when its cells are here, at most two, without looking at letters meanwhile. One portion at a time is *pursued*:
//! its cells are asked for, and those that have come are *pinned*, that is, neither lent nor given back until it is computed. Cells that
//! are not pinned are given away at once. Nobody waits for ever:
//!
//! - A rank that waits has pinned cells of one portion only, and takes them in the order of their numbers. So the rank that has pinned the
//!   highest cell of all waits for none that is pinned, and gets it: no circle of ranks waits for each other.
//! - Queues are served in their order, and a cell that comes is pinned for the portion that it was asked for: each grant leads to a
//!   computation.

use std::collections::VecDeque;

use md_comm::Rank;

use crate::protocol::post::Kind;

/// Where a shared cell is, as far as this rank knows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Holding {
    /// Own, and here.
    Home,
    /// Own, and with another rank, which may have been asked for it.
    Lent { to: Rank, recalled: bool },
    /// Another's, not here.
    Absent,
    /// Another's, asked for.
    Asked,
    /// Another's, here; the owner may want it back.
    Held { recalled: bool },
}

/// A shared cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Cell {
    pub(super) owner: Rank,
    pub(super) holding: Holding,
    /// Of an own cell: who needs it, in the order in which they have said so.
    queue: VecDeque<Rank>,
    portions: Vec<usize>,
}

/// A letter to another rank, about a shared cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Said {
    pub(super) to: Rank,
    pub(super) kind: Kind,
    pub(super) cell: usize,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// This portion; then [`Machine::computed`].
    Compute(usize),
    /// Nothing before the next letter.
    Wait,
    /// The end: all is computed, all own cells are here for good.
    Over,
}

/// The states of one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Machine {
    rank: Rank,
    /// In the order in which they are taken.
    pub(super) cells: Vec<Cell>,
    /// By portion: its cells, ascending.
    needs: Vec<Vec<usize>>,
    owners: Vec<Rank>,
    takers: usize,
    is_done: Vec<bool>,
    left: usize,
    /// Portions before this one are done.
    first_left: usize,
    /// May be there to be computed.
    candidates: VecDeque<usize>,
    pursued: Option<usize>,
    pinned: Vec<usize>,
    /// Ranks that may still ask.
    asking: usize,
    /// Ranks that may still ask for a cell that was given back already.
    unclosed: usize,
    has_ended: bool,
    pub(super) outbox: Vec<Said>,
}

impl Machine {
    /// `owners` are the ranks that this one asks, `takers` is the number of those that ask it.
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

    /// All portions are to be computed anew.
    pub(super) fn begin(&mut self) {
        self.is_done.clear();
        self.is_done.resize(self.needs.len(), false);
        (self.left, self.first_left, self.asking) = (self.needs.len(), 0, self.takers);
        self.candidates.clear();
        self.candidates.extend(0..self.needs.len());
        (self.has_ended, self.unclosed) = (false, self.owners.len());
    }

    /// A letter from another rank.
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
            // It may have been given back already, and asked for again.
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

    /// Unless another portion is pursued.
    fn pursue(&mut self, portion: usize) {
        if self.pursued.is_none() {
            self.pursued = Some(portion);
            self.take_next();
        }
    }

    /// Pins the cells of the pursued portion that are here, in their order, and asks for the first that is not.
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

    /// Gives an own cell to the next who needs it, and asks for it back where somebody needs it who has not got it.
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

    /// All is computed: foreign cells go back, and own ones are waited for.
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
