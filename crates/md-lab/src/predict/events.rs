//! Event model: the times at which each rank has sent, received and computed in a step, as maxima
//! and sums of times (max-plus).
//!
//! ```text
//! integrate | pack, send | first inner part ... wait, unpack | boundary
//!           | pack, send | second inner part ... wait, add
//! ```
//!
//! A message arrives after the time given by the machine. While its receiver computes, only a part
//! of that time passes; the rest passes when the receiver waits. All numbers are in seconds, all
//! arrays are indexed by rank, and a step allocates nothing.

use super::costs::PATHS;
use super::plans::Way;
use super::protocol::{Protocol, Synchronisation};

/// Times of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    /// Path: index of the share of its time that passes while the receiver computes.
    pub(super) path: u32,
    /// Time from when the sender starts sending until this message leaves.
    pub(super) sent_s: f64,
    /// Time from there until the message can be taken.
    pub(super) flight_s: f64,
    /// Time to take and unpack the message.
    pub(super) take_s: f64,
}

/// One stage of an exchange, in one direction.
#[derive(Debug)]
pub(super) struct Leg<'p> {
    pub(super) way: Way<'p>,
    /// Messages of each kind of sender.
    pub(super) messages: Vec<Message>,
    /// By receiver: time added to the taking of each message.
    pub(super) notices_s: Vec<f64>,
    /// Time of packing, without images.
    pub(super) pack_s: Vec<f64>,
    /// Time of the calls that send, including the flush that follows.
    pub(super) calls_s: Vec<f64>,
    /// Time of copying to images on the same rank, after the messages have left.
    pub(super) images_s: Vec<f64>,
    /// Time at which the messages of the previous exchange had arrived.
    pub(super) posted_s: Vec<f64>,
}

/// Rules that apply to all messages of a strategy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) protocol: Protocol,
    /// By path: share of a message's time that passes while the receiver computes.
    pub(super) hidden_shares: [f64; PATHS],
    /// Time from the last rank's entry into a fence or barrier until all ranks may leave it.
    pub(super) synchronisation_s: f64,
    /// Time from the post until the sender may put.
    pub(super) post_s: f64,
}

/// Computation during which messages travel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window<'a> {
    pub(super) work_s: &'a [f64],
    pub(super) noise: &'a [[f32; 2]],
    /// Time of progress calls in this window.
    pub(super) progress_s: &'a [f64],
}

/// Time spent in the parts of an exchange, summed over ranks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    pub(super) pack_s: f64,
    pub(super) calls_s: f64,
    pub(super) wait_s: f64,
    pub(super) take_s: f64,
    pub(super) work_s: f64,
}

/// Clocks of all ranks.
#[derive(Debug, Clone, Default)]
pub(super) struct Clocks {
    /// Time until which each rank is busy.
    pub(super) now_s: Vec<f64>,
    /// Time at which each rank began to send the current stage, and the next one.
    begun_s: Vec<f64>,
    next_s: Vec<f64>,
    /// Time at which each rank had made the calls that send the current stage.
    called_s: Vec<f64>,
}

impl Clocks {
    pub(super) fn new(ranks: usize) -> Self {
        let zeros = || vec![0.0; ranks];
        Self { now_s: zeros(), begun_s: zeros(), next_s: zeros(), called_s: zeros() }
    }

    /// Returns the time of the last rank.
    pub(super) fn latest_s(&self) -> f64 {
        self.now_s.iter().copied().fold(0.0, f64::max)
    }

    /// Adds independent work to each rank's clock, and returns the sum over ranks.
    pub(super) fn work(&mut self, work_s: &[f64], noise: &[[f32; 2]], kind: usize) -> f64 {
        let mut total = 0.0;
        for ((now, work), noise) in self.now_s.iter_mut().zip(work_s).zip(noise) {
            let work = work * f64::from(noise[kind]);
            *now += work;
            total += work;
        }
        total
    }

    /// Plays an exchange of several stages, with overlapping computation if there is a window.
    pub(super) fn exchange(&mut self, legs: &mut [Leg], rules: &Rules, window: Option<Window>) -> Spent {
        let mut spent = Spent::default();
        let Some(first) = legs.first() else { return spent };
        self.begin(first, rules, window, &mut spent);
        for number in 0..legs.len() {
            let (leg, rest) = legs[number..].split_at_mut(1);
            self.stage(&mut leg[0], rest.first(), rules, &mut spent);
        }
        spent
    }

    /// Sends the first messages of each rank, and adds the overlapping computation.
    fn begin(&mut self, leg: &Leg, rules: &Rules, window: Option<Window>, spent: &mut Spent) {
        for rank in 0..self.now_s.len() {
            let mut begun = self.now_s[rank];
            if rules.protocol.synchronisation == Synchronisation::Post {
                let receivers = &leg.way.reversed.peer[leg.way.reversed.to(rank)];
                let posted = receivers.iter().map(|&peer| leg.posted_s[peer as usize] + rules.post_s);
                let ready = posted.fold(begun, f64::max);
                spent.wait_s += ready - begun;
                begun = ready;
            }
            self.begun_s[rank] = begun;
            self.now_s[rank] = begun + leg.sending_s(rank, spent);
            self.called_s[rank] = self.now_s[rank];
            if let Some(Window { work_s, noise, progress_s }) = window {
                let work = work_s[rank] * f64::from(noise[rank][FORCES]);
                self.now_s[rank] += work + progress_s[rank];
                spent.work_s += work;
                spent.calls_s += progress_s[rank];
            }
        }
    }

    /// Receives the messages of a stage on each rank, and sends those of the next stage.
    fn stage(&mut self, leg: &mut Leg, next: Option<&Leg>, rules: &Rules, spent: &mut Spent) {
        let Rules { protocol, .. } = *rules;
        let together = self.together_s(leg, rules);
        for rank in 0..self.now_s.len() {
            let computed = [self.called_s[rank], self.now_s[rank]];
            let (mut take, mut latest) = (0.0, f64::NEG_INFINITY);
            for (peer, message) in leg.to(rank) {
                let sent = self.begun_s[peer] + message.sent_s;
                let share = rules.hidden_shares[message.path as usize];
                let seen = seen([sent, message.flight_s], computed, share);
                let take_s = message.take_s + leg.notices_s[rank];
                latest = f64::max(latest, if protocol.together { seen } else { seen + take_s });
                take += take_s;
            }
            if let Some(together) = together {
                latest = latest.max(together);
            }
            let [_, computed] = computed;
            let mut end = f64::max(computed + take, latest);
            if protocol.together {
                end = f64::max(computed, latest) + take;
            }
            spent.take_s += take;
            // Rounding errors are not waiting.
            spent.wait_s += f64::max(0.0, end - computed - take);
            leg.posted_s[rank] = end;
            let Some(next) = next else {
                self.now_s[rank] = end;
                continue;
            };
            let is_early = protocol.advances && latest <= computed;
            self.next_s[rank] = if is_early { latest.max(self.begun_s[rank]) } else { end };
            self.now_s[rank] = end + next.sending_s(rank, spent);
            self.called_s[rank] = self.now_s[rank];
        }
        std::mem::swap(&mut self.begun_s, &mut self.next_s);
    }

    /// Returns the time until which all ranks wait for each other, if the protocol requires this.
    fn together_s(&self, leg: &Leg, rules: &Rules) -> Option<f64> {
        let last = |times: &mut dyn Iterator<Item = f64>| times.fold(f64::NEG_INFINITY, f64::max);
        let entered = match rules.protocol.synchronisation {
            Synchronisation::None | Synchronisation::Post => return None,
            Synchronisation::Fence => last(&mut self.now_s.iter().copied()),
            Synchronisation::Barrier => {
                let flushed = leg.pack_s.iter().zip(&leg.calls_s).map(|(pack, calls)| pack + calls);
                last(&mut self.begun_s.iter().zip(flushed).map(|(begun, flushed)| begun + flushed))
            }
        };
        Some(entered + rules.synchronisation_s)
    }
}

/// Columns of the noise.
pub(super) const FORCES: usize = 0;
pub(super) const PARTICLES: usize = 1;

/// Returns the time at which a message is available to a rank that computes from `from` to `until`.
/// All time before `from` counts in full, because the rank was last inside a call of the library.
#[inline]
fn seen([sent, flight]: [f64; 2], [from, until]: [f64; 2], share: f64) -> f64 {
    let arrival = sent + flight;
    if share >= 1.0 || sent >= until || arrival <= from {
        return arrival;
    }
    let from = from.max(sent);
    let left = arrival - from;
    if left <= 0.0 {
        return arrival;
    }
    let passed = share * (until - from);
    if passed >= left { from + left / share } else { until + left - passed }
}

impl Leg<'_> {
    /// Returns the messages to a rank, with their senders.
    #[inline]
    pub(super) fn to(&self, rank: usize) -> impl Iterator<Item = (usize, &Message)> {
        let Way { plan, senders, .. } = self.way;
        let edges = plan.to(rank);
        let both = plan.peer[edges.clone()].iter().zip(&senders.place[edges]);
        both.map(|(&peer, &place)| (peer as usize, &self.messages[place as usize]))
    }

    /// Returns the time that a rank spends on sending, and adds it to `spent`.
    #[inline]
    fn sending_s(&self, rank: usize, spent: &mut Spent) -> f64 {
        let pack = self.pack_s[rank] + self.images_s[rank];
        spent.pack_s += pack;
        spent.calls_s += self.calls_s[rank];
        pack + self.calls_s[rank]
    }
}
