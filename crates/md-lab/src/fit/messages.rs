//! Costs of messages and collective calls, from `bench.csv`.

use md_comm::Backend;

use super::least_squares::{Coefficient, Fit, Residuals, half_widths};
use super::measurements::Measurement;
use crate::bench::PROGRESS_CALLS;
use crate::machine::{CollectiveCost, Distance, MessageCost, NegotiationCost, Operation, OverlapCost};
use crate::{name_of, predict};

/// Round trip whose messages are written and read, as in a step.
pub(super) const ROUND_TRIP: &str = "roundtrip-copied";
pub(super) const NEIGHBOURS: &str = "sync26";
const MESSAGES: usize = 26;
pub(super) const COLLECTIVES: [(Operation, &str); 2] =
    [(Operation::Barrier, "barrier"), (Operation::Allreduce, "allreduce-max")];
pub(super) const DISTANCES: [Distance; 3] = [Distance::Node, Distance::Network, Distance::Across];
/// Length from which messages determine the time per byte.
const SHORT_BYTES: f64 = 1024.0;
/// Minimum number of sizes in a range.
const LEAST_POINTS: usize = 3;
/// Share of the sum of squares below which a break is accepted. (The eager limit of Open MPI leaves
/// 0.39 to 0.55 of it; an empty message, which costs less than the line predicts, leaves more.)
const WORTH_A_BREAK: f64 = 0.6;
/// Rms residual below which a range needs no break.
const GOOD: f64 = 0.02;
const BISECTIONS: usize = 50;

/// Measured message of one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Length of the message.
    pub bytes: f64,
    /// Seconds one way: half a round trip.
    pub one_way_s: f64,
    /// Whether it was held out of the fit, to judge it.
    pub held_out: bool,
}

/// Range of message sizes of a backend over a distance.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageFit {
    /// Cost for the machine.
    pub cost: MessageCost,
    /// Coefficients `latency_s`, `seconds_per_byte`, `overhead_s` and `serial_share`.
    pub coefficients: [Coefficient; 4],
    /// Residuals of the sizes that were held out.
    pub held_out: Residuals,
    /// All sizes of the range.
    pub points: Vec<Point>,
}

/// Collective call over a distance.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectiveFit {
    /// Cost for the machine.
    pub cost: CollectiveCost,
    /// Coefficients `base_s` and `per_doubling_s`.
    pub coefficients: [Coefficient; 2],
    /// Numbers of ranks, and seconds measured on them.
    pub points: Vec<(f64, f64)>,
}

/// Fits the messages of all backends over all distances that were measured.
pub(super) fn messages(rows: &[Measurement]) -> Vec<MessageFit> {
    let pairs = movers().flat_map(|backend| DISTANCES.map(|distance| (backend, distance)));
    let mut fits: Vec<MessageFit> = Vec::new();
    for (backend, distance) in pairs {
        // The CPU time of a call does not depend on where the peer is, and only pairs are measured
        // across.
        let is_inside =
            |fit: &&MessageFit| (fit.cost.backend, fit.cost.distance) == (backend, Distance::Node);
        let inside = fits.iter().find(is_inside).map(MessageFit::of_many);
        let mut own = ranges(rows, (backend, distance));
        let known = inside.filter(|_| distance == Distance::Across);
        let of_many = known.unwrap_or_else(|| of_many(&own, &of(rows, NEIGHBOURS, backend, distance)));
        own.iter_mut().for_each(|fit| fit.expect_many(of_many));
        fits.extend(own);
    }
    fits
}

/// Returns the backends that are not composed of others.
pub fn movers() -> impl Iterator<Item = Backend> {
    let is_made_of_others =
        |backend: &Backend| matches!(backend, Backend::Hybrid | Backend::Auto | Backend::Local);
    Backend::ALL.iter().copied().filter(move |backend| !is_made_of_others(backend))
}

pub(super) fn of<'r>(
    rows: &'r [Measurement],
    name: &str,
    backend: Backend,
    distance: Distance,
) -> Vec<&'r Measurement> {
    let mechanism = name_of(backend);
    let is_of = |row: &&Measurement| {
        (row.benchmark.as_str(), &row.mechanism, row.distance()) == (name, &mechanism, Some(distance))
    };
    let mut found: Vec<_> = rows.iter().filter(is_of).collect();
    found.sort_by_key(|row| row.bytes);
    found
}

impl MessageFit {
    /// Returns `overhead_s` and `serial_share`, the costs of messages that accompany others.
    fn of_many(&self) -> [Coefficient; 2] {
        let [_, _, overhead, share] = self.coefficients;
        [overhead, share]
    }

    fn expect_many(&mut self, [overhead, share]: [Coefficient; 2]) {
        let [latency, byte, ..] = self.coefficients;
        self.coefficients = [latency, byte, overhead, share];
        (self.cost.overhead_s, self.cost.serial_share) = (overhead.value, share.value);
        let names = ["latency_s", "seconds_per_byte", "overhead_s", "serial_share"];
        self.cost.half_widths = half_widths(names.into_iter().zip(self.coefficients));
    }
}

/// Fits the ranges of a backend over a distance, as if each message were alone.
fn ranges(rows: &[Measurement], (backend, distance): (Backend, Distance)) -> Vec<MessageFit> {
    let points = points(&of(rows, ROUND_TRIP, backend, distance));
    let fitted: Vec<&Point> = points.iter().filter(|point| !point.held_out).collect();
    // Two sizes always lie on a line, and random differences of short messages would give huge
    // times for long ones.
    let has_slope = fitted.len() >= LEAST_POINTS && fitted.iter().any(|point| point.bytes >= SHORT_BYTES);
    let row = |point: &&Point| ([1.0, if has_slope { point.bytes } else { 0.0 }], point.one_way_s);
    let fitted: Vec<_> = fitted.iter().map(row).collect();
    let pieces = if has_slope { pieces(&fitted) } else { Vec::from_iter(flat(&fitted)) };
    let begins = |piece: usize| pieces.get(piece).map(|piece| piece.0 as u64);
    let range = |(number, (_, fit)): (usize, &(f64, Fit<2>))| {
        let from_bytes = if number == 0 { 0 } else { begins(number).unwrap_or(0) };
        let below_bytes = begins(number + 1);
        let is_in = |point: &&Point| {
            point.bytes >= from_bytes as f64 && below_bytes.is_none_or(|below| point.bytes < below as f64)
        };
        let points: Vec<Point> = points.iter().filter(is_in).copied().collect();
        let [latency, byte] = fit.coefficients;
        let mut cost = MessageCost {
            from_bytes,
            below_bytes,
            latency_s: latency.value,
            seconds_per_byte: byte.value,
            rms_residual: fit.residuals.rms,
            largest_residual: fit.residuals.largest,
            samples: fit.residuals.count as u64,
            backend,
            distance,
            ..MessageCost::default()
        };
        let held = points.iter().filter(|point| point.held_out);
        let held_out = Residuals::of(held.map(|point| (cost.one_way_s(point.bytes), point.one_way_s)));
        [cost.held_out_rms_residual, cost.held_out_largest_residual] = held_out.deviations();
        let coefficients = [latency, byte, Coefficient::UNKNOWN, Coefficient::UNKNOWN];
        MessageFit { held_out, coefficients, cost, points }
    };
    pieces.iter().enumerate().map(range).collect()
}

/// Returns the points; every second size is held out, unless there are few.
fn points(trips: &[&Measurement]) -> Vec<Point> {
    let has_many = trips.len() >= 2 * LEAST_POINTS - 1;
    let point = |(number, row): (usize, &&Measurement)| Point {
        bytes: row.bytes as f64,
        one_way_s: row.median_s.unwrap_or_default() / 2.0,
        held_out: has_many && number % 2 == 1,
    };
    trips.iter().enumerate().map(point).collect()
}

/// Fits one range whose messages all take equal time.
fn flat(points: &[([f64; 2], f64)]) -> Option<(f64, Fit<2>)> {
    let fit = Fit::of(points)?;
    let [latency, _] = fit.coefficients;
    Some((0.0, Fit { coefficients: [latency, Coefficient::UNKNOWN], ..fit }))
}

/// Returns the beginning and fit of each range. A break lies where two fits are best, if they are
/// much better than one.
fn pieces(points: &[([f64; 2], f64)]) -> Vec<(f64, Fit<2>)> {
    let Some(whole) = Fit::of(points) else { return Vec::new() };
    let sum = |points: &[_]| Fit::<2>::of(points).map_or(f64::INFINITY, |fit| fit.residuals.sum());
    let breaks = LEAST_POINTS..(points.len() + 1).saturating_sub(LEAST_POINTS);
    let sums = breaks.map(|place| (sum(&points[..place]) + sum(&points[place..]), place));
    match sums.min_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((sum, place)) if whole.residuals.rms > GOOD && sum < WORTH_A_BREAK * whole.residuals.sum() => {
            let (below, above) = points.split_at(place);
            [pieces(below), pieces(above)].concat()
        }
        _ => vec![(points[0].0[1], whole)],
    }
}

/// Returns the overhead for which the event model reproduces the measured time of a halo of 26
/// short messages, and the serial share for which it reproduces that of longer messages.
fn of_many(ranges: &[MessageFit], halos: &[&Measurement]) -> [Coefficient; 2] {
    let mut costs: Vec<MessageCost> = ranges.iter().map(|fit| fit.cost.clone()).collect();
    let mut model_s = |key: fn(&mut MessageCost) -> &mut f64, value: f64, bytes: u64| {
        costs.iter_mut().for_each(|cost| *key(cost) = value);
        predict::exchange_s(&costs, MESSAGES, bytes as f64)
    };
    let mut halos = halos.iter().copied();
    let overhead = halos.next().map_or(Coefficient::UNKNOWN, |halo| {
        let most_s = halo.high_s.or(halo.median_s).unwrap_or_default() / MESSAGES as f64;
        // Length 0 removes the serial share, which is not known yet.
        as_measured(halo, most_s, |value| model_s(|cost| &mut cost.overhead_s, value, 0))
    });
    model_s(|cost| &mut cost.overhead_s, overhead.value, 0);
    let share = halos.find(|halo| is_long(halo)).map_or(Coefficient::UNKNOWN, |halo| {
        as_measured(halo, 1.0, |value| model_s(|cost| &mut cost.serial_share, value, halo.bytes))
    });
    [overhead, share]
}

pub(super) fn is_long(halo: &Measurement) -> bool {
    halo.bytes as f64 >= SHORT_BYTES
}

/// Relative distance to a bound below which a number counts as at the bound.
const AT_BOUND: f64 = 1e-9;

/// Returns the number from 0 to `most` for which the model reproduces the measured time; its half
/// width follows from the ends of the measurement's interval.
fn as_measured(halo: &Measurement, most: f64, mut model_s: impl FnMut(f64) -> f64) -> Coefficient {
    let mut solve = |halo_s: f64| {
        let (mut low, mut high) = (0.0, most);
        for _ in 0..BISECTIONS {
            let middle = (low + high) / 2.0;
            *(if model_s(middle) < halo_s { &mut low } else { &mut high }) = middle;
        }
        low
    };
    let value = solve(halo.median_s.unwrap_or_default());
    let half_width = match (halo.low_s, halo.high_s) {
        // At its bound, which bisection only approaches, the interval would be empty.
        (Some(low_s), Some(high_s)) if most - value > AT_BOUND * most => (solve(high_s) - solve(low_s)) / 2.0,
        _ => f64::INFINITY,
    };
    Coefficient { value, half_width }
}

/// Returns the overlap of the backends that were measured during computation.
pub(super) fn overlaps(fits: &[MessageFit], rows: &[Measurement]) -> Vec<OverlapCost> {
    let of_first = fits.iter().filter(|fit| fit.cost.from_bytes == 0);
    let overlap = |fit: &MessageFit| {
        let MessageCost { backend, distance, .. } = fit.cost;
        let part = |name: &str| of(rows, &format!("overlap-{name}"), backend, distance);
        let [alone, work, both] = ["communication", "computation", "progress"].map(part);
        // A call costs the same for messages of any length.
        let calls_s = part("call").into_iter().filter_map(|row| row.median_s);
        let progress_call_s = calls_s.reduce(f64::min).unwrap_or_default();
        let share = |((alone, work), both): ((&&Measurement, &&Measurement), &&Measurement)| {
            let [alone, work, both] = [alone, work, both].map(|row| row.median_s.unwrap_or_default());
            let both = both - PROGRESS_CALLS as f64 * progress_call_s;
            ((alone + work - both) / alone.min(work)).clamp(0.0, 1.0)
        };
        let shares: Vec<f64> = alone.iter().zip(&work).zip(&both).map(share).collect();
        let hidden_share = shares.iter().sum::<f64>() / shares.len() as f64;
        (!shares.is_empty()).then_some(OverlapCost { backend, distance, hidden_share, progress_call_s })
    };
    of_first.filter_map(overlap).collect()
}

/// Returns the negotiation costs of backends with windows, where nothing has to grow.
pub(super) fn negotiations(rows: &[Measurement]) -> Vec<NegotiationCost> {
    let with_windows = movers().filter(|&backend| predict::has_windows(backend));
    let pairs = with_windows.flat_map(|backend| DISTANCES.map(|distance| (backend, distance)));
    let cost = |(backend, distance)| {
        let two_ranks_s = of(rows, "negotiation", backend, distance).first()?.median_s?;
        Some(NegotiationCost { backend, distance, two_ranks_s })
    };
    pairs.filter_map(cost).collect()
}

/// Fits barrier and reduction to all numbers of ranks in the rows.
pub(super) fn collectives(rows: &[Measurement]) -> Vec<CollectiveFit> {
    let mut fits = Vec::new();
    for (operation, name) in COLLECTIVES {
        for distance in DISTANCES {
            let own = || rows.iter().filter(|row| row.benchmark == name && row.distance() == Some(distance));
            let shortest = own().map(|row| row.bytes).min();
            let own = own().filter(|row| Some(row.bytes) == shortest);
            let points: Vec<_> =
                own.map(|row| (row.ranks as f64, row.median_s.unwrap_or_default())).collect();
            // With one number of ranks the whole time is assigned to the doublings.
            let has_one_number = points.iter().all(|point| point.0 == points[0].0);
            let row = |&(ranks, time_s): &(f64, f64)| {
                ([if has_one_number { 0.0 } else { 1.0 }, ranks.log2()], time_s)
            };
            let Some(fit) = Fit::of(&points.iter().map(row).collect::<Vec<_>>()) else { continue };
            let [base, doubling] = fit.coefficients;
            let cost = CollectiveCost {
                operation,
                distance,
                base_s: base.value,
                per_doubling_s: doubling.value,
                rms_residual: fit.residuals.rms,
                largest_residual: fit.residuals.largest,
                samples: fit.residuals.count as u64,
                half_widths: half_widths([("base_s", base), ("per_doubling_s", doubling)]),
            };
            fits.push(CollectiveFit { cost, coefficients: fit.coefficients, points });
        }
    }
    fits
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const HEADER: &str = "benchmark,mechanism,ranks,bytes,median_s,status,distance";
    pub(in crate::fit) const REST: &str = "ok,inside";

    pub(in crate::fit) fn read(lines: &[String]) -> Vec<Measurement> {
        Measurement::read("bench.csv", format!("{HEADER}\n{}\n", lines.join("\n")).as_bytes()).unwrap()
    }

    fn sizes() -> impl Iterator<Item = u64> {
        [0].into_iter().chain((3..24).map(|power| 1 << power))
    }

    /// Returns the seconds one way, with an eager limit of 4 KiB.
    fn one_way_s(bytes: u64) -> f64 {
        if bytes < 4096 { 3e-7 + 2e-10 * bytes as f64 } else { 2e-6 + 8e-11 * bytes as f64 }
    }

    #[test]
    fn ranges_break_at_the_eager_limit_and_the_overhead_is_that_of_the_model() {
        let message =
            |backend: Backend, from_bytes: u64, [latency_s, seconds_per_byte]: [f64; 2]| MessageCost {
                from_bytes,
                below_bytes: (from_bytes == 0).then_some(4096),
                latency_s,
                overhead_s: 5e-8,
                seconds_per_byte,
                serial_share: 0.75,
                backend,
                ..MessageCost::default()
            };
        for backend in movers() {
            let costs = [message(backend, 0, [3e-7, 2e-10]), message(backend, 4096, [2e-6, 8e-11])];
            let name = name_of(backend);
            let trip = |bytes| format!("{ROUND_TRIP},{name},2,{bytes},{},{REST}", 2.0 * one_way_s(bytes));
            let mut lines: Vec<String> = sizes().map(trip).collect();
            let halo = |bytes: u64, model_bytes: f64| {
                let halo_s = predict::exchange_s(&costs, MESSAGES, model_bytes);
                format!("{NEIGHBOURS},{name},2,{bytes},{halo_s},{REST}")
            };
            lines.extend([halo(8, 0.0), halo(8000, 8000.0)]);
            let fits = messages(&read(&lines));
            assert_eq!(fits.len(), 2, "{name}");
            let [below, above] = [&fits[0].cost, &fits[1].cost];
            assert_eq!((below.from_bytes, below.below_bytes), (0, Some(above.from_bytes)));
            assert!((2048..=8192).contains(&above.from_bytes), "{above:?}");
            assert!(
                (below.latency_s / 3e-7 - 1.0).abs() < 1e-6
                    && (above.seconds_per_byte / 8e-11 - 1.0).abs() < 1e-6
            );
            assert!((below.overhead_s / 5e-8 - 1.0).abs() < 1e-6, "{below:?}");
            assert!((above.serial_share - 0.75).abs() < 1e-6, "{above:?}");
            assert_eq!(fits.iter().map(|fit| fit.held_out.count).sum::<usize>(), 11);
            assert!(fits[1].held_out.largest < 0.5);
        }
    }

    /// If halos take longer than the model can explain, all of their messages are serial and the
    /// share has no interval.
    #[test]
    fn a_share_at_its_bound_has_no_interval() {
        let trip = |bytes| format!("{ROUND_TRIP},p2p,2,{bytes},{},{REST}", 2.0 * one_way_s(bytes));
        let mut rows = read(&sizes().map(trip).collect::<Vec<_>>());
        rows.extend([halo(8, 3e-6), halo(8000, 1e-3)]);
        let fits = messages(&rows);
        assert!(fits[0].cost.serial_share > 0.999_999, "{:?}", fits[0].cost);
        let names: Vec<&str> = fits[0].cost.half_widths.keys().map(String::as_str).collect();
        assert!(names.contains(&"overhead_s") && !names.contains(&"serial_share"), "{names:?}");
    }

    fn halo(bytes: u64, median_s: f64) -> Measurement {
        let mut row = read(&[format!("{NEIGHBOURS},p2p,2,{bytes},1e-6,{REST}")]).remove(0);
        (row.median_s, row.low_s, row.high_s) = (Some(median_s), Some(0.9 * median_s), Some(1.1 * median_s));
        row
    }

    #[test]
    fn short_messages_and_two_sizes_tell_nothing_of_longer_messages() {
        let cost = |sizes: &[u64]| {
            let trip = |(size, ms): (&u64, usize)| format!("{ROUND_TRIP},p2p,2,{size},{ms}e-2,{REST}");
            let lines: Vec<String> = sizes.iter().zip(1..).map(trip).collect();
            messages(&read(&lines)).remove(0).cost
        };
        for sizes in [[0, 8, 64].as_slice(), &[0, 1 << 20]] {
            let cost = cost(sizes);
            assert_eq!((cost.seconds_per_byte, cost.samples), (0.0, sizes.len() as u64));
            assert!((5e-3..15e-3).contains(&cost.latency_s), "{cost:?}");
        }
        assert!(cost(&[0, 8, 1 << 20]).seconds_per_byte > 0.0);
        // One range, whatever the differences between times.
        assert_eq!(cost(&[0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512]).below_bytes, None);
    }

    #[test]
    fn pairs_across_core_complexes_have_their_own_latency_and_the_overhead_of_the_node() {
        let trip = |bytes: u64, slower: f64, distance: &str| {
            format!(
                "{ROUND_TRIP},p2p,4,{bytes},{},ok,{distance}",
                2.0 * slower * (3e-7 + 2e-10 * bytes as f64)
            )
        };
        let mut lines: Vec<String> = sizes().map(|bytes| trip(bytes, 1.0, "inside")).collect();
        lines.extend(sizes().map(|bytes| trip(bytes, 3.0, "across")));
        lines.push(format!("{NEIGHBOURS},p2p,4,8,2e-5,{REST}"));
        let rows = read(&lines);
        let [node, across] = &messages(&rows)[..] else { panic!("one range each") };
        assert_eq!([node, across].map(|fit| fit.cost.distance), [Distance::Node, Distance::Across]);
        assert!((across.cost.latency_s / node.cost.latency_s - 3.0).abs() < 1e-6);
        assert!((across.cost.seconds_per_byte / node.cost.seconds_per_byte - 3.0).abs() < 1e-6);
        assert!(node.cost.overhead_s > 0.0);
        assert_eq!(across.cost.overhead_s, node.cost.overhead_s);
        assert!(super::super::missing::missing(&rows).iter().all(|lack| !lack.contains("across")));
    }

    #[test]
    fn collectives_and_overlap() {
        let line = |name: &str, ranks: usize, time_s: f64| format!("{name},p2p,{ranks},8,{time_s},{REST}");
        let mut lines: Vec<String> =
            [(2, 3e-6), (4, 5e-6), (8, 7e-6)].map(|(ranks, it)| line("barrier", ranks, it)).into();
        lines.push(line("allreduce-max", 2, 4e-6));
        lines.extend([0, 8, 64].map(|bytes| format!("{ROUND_TRIP},p2p,2,{bytes},1e-6,{REST}")));
        let parts = [
            ("communication", 1e-3),
            ("computation", 1e-3),
            ("progress", 1.25e-3 + 16.0 * 5e-8),
            ("call", 5e-8),
        ];
        lines.extend(parts.map(|(part, time_s)| line(&format!("overlap-{part}"), 2, time_s)));
        let rows = read(&lines);
        let costs = collectives(&rows)
            .into_iter()
            .map(|it| [it.cost.base_s, it.cost.per_doubling_s].map(|s| (s * 1e9).round()));
        assert_eq!(costs.collect::<Vec<_>>(), [[1000.0, 2000.0], [0.0, 4000.0]]);
        let overlaps = overlaps(&messages(&rows), &rows);
        assert_eq!(
            overlaps
                .iter()
                .map(|it| (it.backend, (1e6 * it.hidden_share).round(), it.progress_call_s))
                .collect::<Vec<_>>(),
            [(Backend::P2p, 750_000.0, 5e-8)]
        );
        let rows = ["p2p", "rma-fence"].map(|backend| format!("negotiation,{backend},2,8,5e-6,{REST}"));
        assert_eq!(
            negotiations(&read(&rows)),
            [NegotiationCost { backend: Backend::RmaFence, distance: Distance::Node, two_ranks_s: 5e-6 }]
        );
    }

    #[test]
    fn broken_rows_are_told_with_their_line() {
        let refused = |text: &str| Measurement::read("bench.csv", text.as_bytes()).unwrap_err().to_string();
        let row = |median: &str| format!("{HEADER}\nbarrier,p2p,2,8,{median},{REST}\n");
        assert_eq!(refused(&row("fast")), "bench.csv, line 2: `median_s`: invalid float literal");
        assert_eq!(refused(&row("-1")), "bench.csv, line 2: `median_s` is -1, which no time is");
        assert_eq!(
            refused("step,time\n1,2\n"),
            "bench.csv, line 1: no column `median_s`: not what `bench` writes"
        );
        assert_eq!(refused("step,median_s\n1,2\n"), "bench.csv, line 2: missing field `benchmark`");
    }
}
