//! Critical path: the activities that have to be faster for the whole run to be faster.
//!
//! The path is found from its end: from the rank that finished last, back to the end of its last
//! wait. From there it continues on the rank that caused the wait, at the time when this rank sent
//! its message or entered the collective as the last, and so on.

use std::collections::BTreeMap;

use super::read::{Activity, Span, Timeline};

/// Waits that are at most this long, in microseconds, are the time of looking for a message.
const LEAST_WAIT: f64 = 1.0;

/// Name of the time that messages and collectives on the path take.
const TRANSFER: &str = "transfer";

/// The path from the first event to the last.
#[derive(Debug, Clone, PartialEq)]
pub struct CriticalPath {
    /// Seconds from end to end.
    pub length_s: f64,
    /// Number of changes from one rank to another.
    pub hops: u64,
    /// Seconds by rank and phase; for `transfer`, the rank that waits. `message_wait` and
    /// `collective_wait` are waits without a known cause.
    pub parts: BTreeMap<(usize, &'static str), f64>,
}

/// A rank continued at `ended`, because the rank `from` had reached some point at `since`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Dependency {
    ended: f64,
    from: usize,
    since: f64,
}

impl CriticalPath {
    /// Finds the critical path of a timeline.
    pub fn of(timeline: &Timeline) -> Self {
        let activities: Vec<Vec<Span>> = timeline.spans.iter().map(|spans| segments(spans)).collect();
        let dependencies = dependencies(timeline);
        let end_of = |spans: &Vec<Span>| spans.last().map_or(f64::MIN, |span| span.ended);
        let last =
            (0..timeline.ranks).max_by(|&a, &b| end_of(&activities[a]).total_cmp(&end_of(&activities[b])));
        let mut path = Self { length_s: 0.0, hops: 0, parts: BTreeMap::new() };
        let Some(mut rank) = last.filter(|&rank| !activities[rank].is_empty()) else { return path };
        let mut now = end_of(&activities[rank]);
        loop {
            let own = &dependencies[rank];
            let before = own.partition_point(|dependency| dependency.ended <= now);
            let cause = own[..before].last();
            let from = cause
                .map_or_else(|| activities[rank].first().map_or(now, |span| span.begun), |cause| cause.ended);
            path.stay(rank, &activities[rank], from.min(now), now);
            let Some(&Dependency { ended, from, since }) = cause else { break };
            path.add(rank, TRANSFER, ended - since);
            path.hops += 1;
            (rank, now) = (from, since);
        }
        path
    }

    /// Adds the activities of a rank in a time interval.
    fn stay(&mut self, rank: usize, activities: &[Span], from: f64, to: f64) {
        let first = activities.partition_point(|span| span.ended <= from);
        let mut rest = to - from;
        for span in activities[first..].iter().take_while(|span| span.begun < to) {
            let lasted = span.ended.min(to) - span.begun.max(from);
            self.add(rank, span.activity.name(), lasted);
            rest -= lasted;
        }
        self.add(rank, "other", rest);
    }

    fn add(&mut self, rank: usize, name: &'static str, us: f64) {
        // Times below the rounding of the file are ignored.
        if us > 1e-3 {
            *self.parts.entry((rank, name)).or_default() += us / 1e6;
            self.length_s += us / 1e6;
        }
    }
}

/// Returns the dependencies of each rank, ordered by their ends.
fn dependencies(timeline: &Timeline) -> Vec<Vec<Dependency>> {
    let mut all = vec![Vec::new(); timeline.ranks];
    for message in &timeline.messages {
        if let (Some(since), Some(ended)) = (message.started, message.arrived)
            && message.waited > LEAST_WAIT
            && since < ended
        {
            all[message.to].push(Dependency { ended, from: message.from, since });
        }
    }
    for entrances in &timeline.collectives {
        let last = entrances.iter().max_by(|a, b| a.entered.total_cmp(&b.entered));
        let Some(last) = last else { continue };
        let waiting =
            entrances.iter().filter(|one| last.entered > one.begun + LEAST_WAIT && last.entered < one.ended);
        for one in waiting {
            all[one.rank].push(Dependency { ended: one.ended, from: last.rank, since: last.entered });
        }
    }
    all.iter_mut().for_each(|own| own.sort_by(|a, b| a.ended.total_cmp(&b.ended)));
    all
}

/// Returns the activity of a rank at every time, as consecutive segments without overlap; where
/// spans are nested, the innermost counts.
pub(super) fn segments(spans: &[Span]) -> Vec<Span> {
    let mut sorted = spans.to_vec();
    sorted.sort_by(|a, b| a.begun.total_cmp(&b.begun).then(b.ended.total_cmp(&a.ended)));
    let mut segments = Vec::new();
    let mut open: Vec<Span> = Vec::new();
    let mut now = f64::MIN;
    let mut until = |now: &mut f64, time: f64, activity: Activity| {
        if time > *now {
            segments.push(Span { begun: *now, ended: time, activity });
            *now = time;
        }
    };
    for span in sorted {
        while let Some(done) = open.pop_if(|outer| outer.ended <= span.begun) {
            until(&mut now, done.ended, done.activity);
        }
        let ended = open.last().map_or(span.ended, |outer| outer.ended.min(span.ended));
        if let Some(outer) = open.last() {
            until(&mut now, span.begun, outer.activity);
        }
        now = now.max(span.begun);
        open.push(Span { ended, ..span });
    }
    while let Some(done) = open.pop() {
        until(&mut now, done.ended, done.activity);
    }
    segments
}
