//! What a comparison on a grid reports: `compare.csv`, a table, a chart; at any time ready to be published.

use md_comm::Backend;
use md_core::ExchangePattern;
use md_core::words::counted;
use md_engine::Phase;
use md_lab::compare::Status;
use md_lab::compare::comparison::{Measured, StrategyReport};
use md_lab::plot::{Bars, Stacks};
use md_lab::statistics::Interval;
use md_lab::tables::table;
use md_lab::{EncodeError, Setting, significant};
use serde::Serialize;

use crate::output::grid::GridContext;
use crate::scenario::name_of;

/// The phases of a step that the halo consists of.
const HALO: [Phase; 5] =
    [Phase::HaloPack, Phase::HaloTransfer, Phase::HaloWait, Phase::HaloUnpack, Phase::HaloHidden];
/// Columns of compare.csv after those of the context: messages and bytes are of one rank and exchange.
const COLUMNS: &str = "messages_per_exchange,bytes_per_exchange,exchange_median_s,exchange_low_s,exchange_high_s,step_median_s,\
                       step_low_s,step_high_s,halo_pack_s,halo_transfer_s,halo_wait_s,halo_unpack_s,halo_hidden_s,correct,status,\
                       note,baseline";
/// Columns of measured values among them.
const MEASURED: usize = 13;

/// What a strategy is called.
pub(super) fn names(backend: Backend, exchange: ExchangePattern, settings: &[Setting]) -> Vec<String> {
    let names = [backend.name().to_owned(), name_of(exchange)];
    names.into_iter().chain(settings.iter().filter_map(Setting::text)).collect()
}

/// One strategy.
type Row = StrategyReport<GridContext>;

/// All of them.
pub(super) struct Table {
    pub(super) rows: Vec<Row>,
}

fn name(Row { context, settings, .. }: &Row) -> String {
    names(context.backend, context.exchange, settings).join(" ")
}

/// Its numbers, if they can be trusted.
fn valid(row: &Row) -> Option<&Measured> {
    row.measured.as_ref().filter(|_| row.status == Status::Ok)
}

fn fields(row: &Row, is_baseline: bool) -> impl Serialize + use<'_> {
    let settings: Vec<_> = row.settings.iter().map(|setting| &setting.value).collect();
    let values = row.measured.as_ref().map_or_else(|| vec![None; MEASURED], values);
    (&row.context, values, (row.correct, row.status, &row.note, is_baseline), settings)
}

fn values(measured: &Measured) -> Vec<Option<f64>> {
    let mut values = vec![measured.messages, measured.bytes];
    for interval in [measured.exchange, measured.step] {
        values.extend([interval.median_s, interval.low_s, interval.high_s]);
    }
    values.extend(HALO.map(|phase| measured.phases[phase as usize]));
    values.into_iter().map(Some).collect()
}

impl Table {
    /// What the others are held against: the first of two-sided messages, or else the first.
    fn baseline(&self) -> Option<usize> {
        let ok = |&number: &usize| valid(&self.rows[number]).is_some();
        let is_two_sided = |&number: &usize| self.rows[number].context.backend == Backend::P2p;
        let all = (0..self.rows.len()).filter(ok);
        all.clone().find(is_two_sided).or_else(|| all.clone().next())
    }

    /// Best first; those without numbers last.
    fn ranking(&self) -> Vec<usize> {
        let median_s = |&number: &usize| {
            valid(&self.rows[number]).map_or(f64::INFINITY, |measured| measured.exchange.median_s)
        };
        let mut ranking: Vec<usize> = (0..self.rows.len()).collect();
        ranking.sort_by(|a, b| median_s(a).total_cmp(&median_s(b)));
        ranking
    }

    /// One row per strategy, in the order they were asked for.
    pub(super) fn csv(&self) -> Result<Vec<u8>, EncodeError> {
        let baseline = self.baseline();
        let varied: Vec<&str> =
            self.rows.iter().take(1).flat_map(|it| it.settings.iter().map(|it| it.key.as_str())).collect();
        let columns: Vec<&str> = [GridContext::COLUMNS, COLUMNS].into_iter().chain(varied).collect();
        table(&columns, self.rows.iter().enumerate().map(|(number, it)| fields(it, Some(number) == baseline)))
    }

    /// The ranked table on the screen.
    pub(super) fn text(&self) -> String {
        let Some(first) = self.rows.first() else { return String::new() };
        let GridContext { kind, nodes, fields, ranks, grid, messages, .. } = &first.context;
        let mut text = format!(
            "{kind} on {nodes} nodes, {}, {} messages, {} ({grid}); best first by the exchange\n",
            counted(*fields, "field"),
            name_of(messages),
            counted(*ranks, "rank")
        );
        let baseline = self.baseline();
        let width = self.rows.iter().map(|row| name(row).len()).max().unwrap_or(0);
        for number in self.ranking() {
            let row = &self.rows[number];
            let us = |interval: fn(&Measured) -> Interval| {
                let part = |seconds: f64| significant(seconds * 1e6, 4);
                valid(row).map(interval).map_or("-".to_owned(), |it| {
                    format!("{} [{}, {}]", part(it.median_s), part(it.low_s), part(it.high_s))
                })
            };
            let mark = if Some(number) == baseline { ", baseline" } else { "" };
            text += &format!(
                "{:width$}  exchange {} us  step {} us  {}{mark}\n",
                name(row),
                us(|it| it.exchange),
                us(|it| it.step),
                name_of(row.status)
            );
        }
        for row in self.rows.iter().filter(|row| !row.note.is_empty()) {
            text += &format!("{}: {}\n", name(row), row.note);
        }
        text
    }

    /// A bar per strategy: the exchange; beside it, what the halo's part of a step consists of.
    pub(super) fn chart(&self) -> Bars {
        let ranking: Vec<usize> =
            self.ranking().into_iter().filter(|&number| valid(&self.rows[number]).is_some()).collect();
        let bar = |&number: &usize| {
            let row = &self.rows[number];
            valid(row).map(|measured| (name(row), measured.exchange.times(1e6)))
        };
        let parts = [Phase::HaloPack, Phase::HaloTransfer, Phase::HaloWait, Phase::HaloUnpack];
        let lengths = |&number: &usize| {
            let phases = valid(&self.rows[number]).map(|measured| measured.phases).unwrap_or_default();
            parts.map(|phase| 1e6 * phases[phase as usize]).to_vec()
        };
        let baseline = self.baseline();
        Bars {
            title: self.rows.first().map_or_else(String::new, |row| {
                let GridContext { kind, nodes, fields, ranks, host, .. } = &row.context;
                let [fields, ranks] =
                    [(*fields, "field"), (*ranks, "rank")].map(|(n, noun)| counted(n, noun));
                format!("Halo of {kind}, {nodes} nodes, {fields}, {ranks}, {host}")
            }),
            description: "exchange alone, microseconds (median and 95 % interval, or range)".to_owned(),
            bars: ranking.iter().filter_map(bar).collect(),
            baseline: ranking.iter().position(|&number| Some(number) == baseline),
            longest: Some(5.0),
            stacks: Some(Stacks {
                description: "the halo in a step, microseconds (mean of the ranks)".to_owned(),
                parts: ["pack", "transfer", "wait", "unpack"].map(str::to_owned).to_vec(),
                lengths: ranking.iter().map(lengths).collect(),
            }),
        }
    }
}
