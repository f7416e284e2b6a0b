//! Exhaustive test of `dist` on a few ranks: all orders in which messages are received and portions
//! computed, given that messages between two ranks do not overtake each other.

use std::collections::{HashMap, VecDeque};

use md_comm::Rank;

use super::machine::{Holding, Machine, Next, Said};
use crate::forces::protocol::post::Kind;

/// Owners of the cells, and the cells that each portion of each rank needs.
struct Case {
    name: &'static str,
    owners: &'static [Rank],
    /// Rank and cells of each portion.
    portions: &'static [(Rank, &'static [usize])],
}

/// States of all ranks and messages under way; cells are identified by their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    machines: Vec<Machine>,
    /// Indexed by sender and receiver.
    under_way: Vec<Vec<VecDeque<(Kind, usize)>>>,
    is_over: Vec<bool>,
}

/// Cells that each rank needs or shares, ascending.
type Known = Vec<Vec<usize>>;

fn known(case: &Case, ranks: usize) -> Known {
    let knows = |rank: Rank, cell: usize| {
        let needs = |by: Rank| case.portions.iter().any(|(who, cells)| *who == by && cells.contains(&cell));
        needs(rank) || case.owners[cell] == rank && (0..ranks).any(|other| other != rank && needs(other))
    };
    (0..ranks).map(|rank| (0..case.owners.len()).filter(|&cell| knows(rank, cell)).collect()).collect()
}

fn first(case: &Case, known: &Known) -> State {
    let ranks = known.len();
    let asks = |from: Rank, of: Rank| from != of && known[from].iter().any(|&cell| case.owners[cell] == of);
    let machine = |rank: Rank| {
        let place = |cell: &usize| known[rank].binary_search(cell).unwrap();
        let own = case.portions.iter().filter(|(who, _)| *who == rank);
        let needs = own.map(|(_, cells)| cells.iter().map(place).collect()).collect();
        let owners = (0..ranks).filter(|&of| asks(rank, of)).collect();
        let takers = (0..ranks).filter(|&from| asks(from, rank)).count();
        let mut machine =
            Machine::new(rank, known[rank].iter().map(|&cell| case.owners[cell]), needs, owners, takers);
        machine.begin();
        machine
    };
    State {
        machines: (0..ranks).map(machine).collect(),
        under_way: vec![vec![VecDeque::new(); ranks]; ranks],
        is_over: vec![false; ranks],
    }
}

impl State {
    /// Sends the messages in the outbox of a rank.
    fn send(&mut self, from: Rank, known: &Known) {
        for Said { to, kind, cell } in std::mem::take(&mut self.machines[from].outbox) {
            let number =
                if matches!(kind, Kind::Over | Kind::Closed) { usize::MAX } else { known[from][cell] };
            self.under_way[from][to].push_back((kind, number));
        }
    }

    /// Returns all possible next states.
    fn next(&self, known: &Known) -> Vec<Self> {
        let ranks = self.machines.len();
        let mut all = Vec::new();
        for rank in 0..ranks {
            let mut next = self.clone();
            let before = (next.machines[rank].clone(), next.is_over[rank]);
            match next.machines[rank].advance() {
                Next::Compute(portion) => next.machines[rank].computed(portion),
                Next::Wait => (),
                Next::Over => next.is_over[rank] = true,
            }
            if before != (next.machines[rank].clone(), next.is_over[rank]) {
                next.send(rank, known);
                all.push(next);
            }
            for from in 0..ranks {
                let mut next = self.clone();
                let Some((kind, number)) = next.under_way[from][rank].pop_front() else { continue };
                let cell = known[rank].binary_search(&number).unwrap_or(0);
                next.machines[rank].receive(from, kind, cell);
                next.send(rank, known);
                all.push(next);
            }
        }
        all
    }

    /// Checks that each shared cell is in exactly one place.
    fn check(&self, case: &Case, known: &Known) {
        let holding = |rank: Rank, cell: usize| {
            let place = known[rank].binary_search(&cell).ok();
            place.map(|place| self.machines[rank].cells[place].holding.clone())
        };
        for cell in 0..case.owners.len() {
            let carries = |&&(kind, number): &&(Kind, usize)| {
                number == cell && matches!(kind, Kind::Grant | Kind::Return)
            };
            let under_way = self.under_way.iter().flatten().flatten().filter(carries).count();
            let is_here =
                |rank: &Rank| matches!(holding(*rank, cell), Some(Holding::Home | Holding::Held { .. }));
            let here = (0..known.len()).filter(is_here).count();
            let is_shared = known.iter().any(|cells| cells.contains(&cell));
            assert!(
                !is_shared || here + under_way == 1,
                "{}: cell {cell} is in {here} places: {self:?}",
                case.name
            );
        }
    }
}

/// Visits all states and returns their number. Every state except the last must have a successor,
/// and no state may recur.
fn explore(case: &Case) -> usize {
    let ranks = case.owners.iter().max().unwrap() + 1;
    let known = known(case, ranks);
    let mut before: HashMap<State, usize> = HashMap::new();
    let mut followers: HashMap<State, Vec<State>> = HashMap::new();
    let mut open = vec![first(case, &known)];
    before.insert(open[0].clone(), 0);
    while let Some(state) = open.pop() {
        state.check(case, &known);
        let next = state.next(&known);
        let is_end = state.is_over.iter().all(|&over| over);
        assert!(is_end || !next.is_empty(), "{}: nobody can go on: {state:?}", case.name);
        assert!(
            !is_end || state.under_way.iter().flatten().all(VecDeque::is_empty),
            "{}: messages are left",
            case.name
        );
        for state in &next {
            if !before.contains_key(state) {
                open.push(state.clone());
            }
            *before.entry(state.clone()).or_default() += 1;
        }
        followers.insert(state, next);
    }
    expect_no_circle(case, before, &followers);
    followers.len()
}

/// Removes states without predecessors until none is left; in a cycle every state has a
/// predecessor.
fn expect_no_circle(case: &Case, mut before: HashMap<State, usize>, followers: &HashMap<State, Vec<State>>) {
    let mut free: Vec<State> =
        before.iter().filter(|(_, many)| **many == 0).map(|(state, _)| state.clone()).collect();
    let mut taken = 0;
    while let Some(state) = free.pop() {
        taken += 1;
        for next in &followers[&state] {
            let many = before.get_mut(next).unwrap();
            *many -= 1;
            if *many == 0 {
                free.push(next.clone());
            }
        }
    }
    assert_eq!(taken, followers.len(), "{}: the ranks can go on for ever", case.name);
}

const CASES: &[Case] = &[
    Case {
        name: "two ranks need each other's cell",
        owners: &[0, 1],
        portions: &[(0, &[0, 1]), (1, &[0, 1])],
    },
    Case {
        name: "a circle of three: each needs its own cell and the next",
        owners: &[0, 1, 2],
        portions: &[(0, &[0, 1]), (1, &[1, 2]), (2, &[0, 2])],
    },
    Case {
        name: "three ranks need one cell, its owner too",
        owners: &[0, 1, 2],
        portions: &[(0, &[0]), (1, &[0]), (2, &[0, 2]), (0, &[0, 1])],
    },
    Case {
        name: "two cells of one rank, each needed with each",
        owners: &[0, 0, 1],
        portions: &[(0, &[0, 1]), (1, &[1, 2]), (1, &[0, 2]), (1, &[0])],
    },
    Case {
        name: "two ranks, two cells each, all pairs",
        owners: &[0, 1, 0, 1],
        portions: &[(0, &[0, 1]), (1, &[1, 2]), (0, &[2, 3]), (1, &[0, 3]), (0, &[0, 2]), (1, &[])],
    },
];

#[test]
fn no_interleaving_waits_for_ever_loses_a_cell_or_has_it_twice() {
    let states: Vec<usize> = CASES.iter().map(explore).collect();
    assert!(states.iter().all(|&states| states > 20), "{states:?}");
}
