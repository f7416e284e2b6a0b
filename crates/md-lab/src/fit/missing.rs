//! Measurements that a table of benchmarks lacks for the backends in it.

use md_comm::Backend;

use super::measurements::Measurement;
use super::messages::{COLLECTIVES, DISTANCES, NEIGHBOURS, ROUND_TRIP, is_long, movers, of};
use crate::machine::Distance;
use crate::name_of;

/// Benchmarks required of each backend, and the consequence if one is missing.
const NEEDED: [(&str, &str); 4] = [
    (ROUND_TRIP, "no [[message]]"),
    (NEIGHBOURS, "`overhead_s` and `serial_share` are 0"),
    ("overlap-progress", "no [[overlap]], so all of a message may hide"),
    ("overlap-call", "`progress_call_s` is 0"),
];
/// Length of a halo message of a large subdomain.
const LONG_BYTES: u64 = 1 << 20;

/// Returns what these rows lack for their backends.
pub(super) fn missing(rows: &[Measurement]) -> Vec<String> {
    DISTANCES.into_iter().flat_map(|distance| missing_at(rows, distance)).collect()
}

fn missing_at(rows: &[Measurement], distance: Distance) -> Vec<String> {
    let own = || rows.iter().filter(|row| row.distance() == Some(distance));
    if own().next().is_none() {
        return Vec::new();
    }
    // Ranks `across` from each other are measured in pairs only.
    let is_of_pairs = distance == Distance::Across;
    let at = format!("at distance \"{}\"", name_of(distance));
    let of_own = |name: &str, backend: Backend| of(rows, name, backend, distance);
    let is_measured = |backend: &Backend| own().any(|row| row.mechanism == name_of(*backend));
    let needed = if is_of_pairs { &NEEDED[..1] } else { &NEEDED[..] };
    let lacks = needed.iter().filter_map(|&(name, lack)| {
        let backends = movers().filter(is_measured).filter(|&backend| of_own(name, backend).is_empty());
        listed(backends).map(|backends| format!("no `{name}` of {backends} {at}: {lack}"))
    });
    let is_of_short = |halos: &[&Measurement]| !halos.is_empty() && !halos.iter().any(|halo| is_long(halo));
    let of_short = listed(movers().filter(|&backend| is_of_short(&of_own(NEIGHBOURS, backend))));
    let of_short = of_short.map(|backends| {
        format!("`{NEIGHBOURS}` {at} only of short messages, long ones are taken to travel all at once: {backends}")
    });
    let ends = movers().filter_map(|backend| {
        let bytes = of_own(ROUND_TRIP, backend).last()?.bytes;
        (bytes < LONG_BYTES).then(|| format!("`{}` ({bytes} bytes)", name_of(backend)))
    });
    let ends = Some(ends.collect::<Vec<_>>().join(", ")).filter(|ends| !ends.is_empty());
    let ends =
        ends.map(|ends| format!("`{ROUND_TRIP}` ends early {at}, longer messages are a guess: {ends}"));
    let is_missing = |name: &&str| own().all(|row| row.benchmark != **name);
    let collectives = COLLECTIVES.iter().map(|(_, name)| *name).filter(|_| !is_of_pairs).filter(is_missing);
    let collectives = collectives.map(|name| format!("no `{name}` {at}: no [[collective]] of it"));
    lacks.chain(of_short).chain(ends).chain(collectives).collect()
}

/// Returns the names of the backends, if there are any.
fn listed(backends: impl Iterator<Item = Backend>) -> Option<String> {
    let names: Vec<_> = backends.map(|backend| format!("`{}`", name_of(backend))).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::messages::tests::{REST, read};
    use super::*;

    #[test]
    fn what_is_missing_is_told() {
        let line =
            |name: &str, mechanism: &str, bytes: u32| format!("{name},{mechanism},2,{bytes},1e-6,{REST}");
        let mut lines: Vec<String> = [0, 8, 64].map(|bytes| line(ROUND_TRIP, "p2p", bytes)).into();
        lines.extend([line(NEIGHBOURS, "shm", 8), line("barrier", "collective", 0)]);
        assert_eq!(
            missing(&read(&lines)),
            [
                "no `roundtrip-copied` of `shm` at distance \"node\": no [[message]]",
                "no `sync26` of `p2p` at distance \"node\": `overhead_s` and `serial_share` are 0",
                "no `overlap-progress` of `p2p`, `shm` at distance \"node\": no [[overlap]], so all of a message may hide",
                "no `overlap-call` of `p2p`, `shm` at distance \"node\": `progress_call_s` is 0",
                "`sync26` at distance \"node\" only of short messages, long ones are taken to travel all at once: `shm`",
                "`roundtrip-copied` ends early at distance \"node\", longer messages are a guess: `p2p` (64 bytes)",
                "no `allreduce-max` at distance \"node\": no [[collective]] of it",
            ]
        );
        assert_eq!(missing(&[]), Vec::<String>::new());
    }
}
