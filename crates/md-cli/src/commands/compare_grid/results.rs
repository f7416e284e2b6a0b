//! What a comparison on a grid reports: `compare.csv`, a table, a chart; at any time ready to be published.

use md_comm::Backend;
use md_core::ExchangePattern;
use md_engine::Phase;
use md_lab::compare::Status;
use md_lab::plot::{Bars, Stacks};
use md_lab::statistics::Interval;
use md_lab::tables::table;
use md_lab::{EncodeError, Setting, significant};
use serde::Serialize;

use super::measure::Sample;
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

/// One strategy so far.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub context: GridContext,
    pub settings: Vec<Setting>,
    /// Whether its bits were those of the reference.
    pub correct: Option<bool>,
    /// `None` as long as nothing has gone wrong.
    pub exclusion: Option<Status>,
    pub note: String,
    pub samples: Vec<Sample>,
}

/// What a strategy is called.
pub(super) fn names(backend: Backend, exchange: ExchangePattern, settings: &[Setting]) -> Vec<String> {
    let names = [backend.name().to_owned(), name_of(exchange)];
    names.into_iter().chain(settings.iter().filter_map(Setting::text)).collect()
}

/// All of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Results {
    pub entries: Vec<Entry>,
    /// The one that is at work.
    pub current: Option<usize>,
}

impl Entry {
    fn interval(&self, value: impl Fn(&Sample) -> f64) -> Option<Interval> {
        Interval::of(&self.samples.iter().map(value).collect::<Vec<_>>())
    }

    pub(super) fn status(&self) -> Status {
        match self.exclusion {
            Some(status) => status,
            None if self.samples.is_empty() => Status::Unavailable,
            None => Status::Ok,
        }
    }

    /// Something has gone wrong; that is said first.
    pub(super) fn fail(&mut self, status: Status, note: &str) {
        self.exclusion = Some(status);
        let notes = [note, &self.note].into_iter().filter(|note| !note.is_empty());
        self.note = notes.collect::<Vec<_>>().join("; ");
    }

    pub(super) fn name(&self) -> String {
        self.names().join(" ")
    }

    pub(super) fn names(&self) -> Vec<String> {
        names(self.context.backend, self.context.exchange, &self.settings)
    }

    /// The exchange alone, if it can be trusted.
    fn exchange(&self) -> Option<Interval> {
        (self.status() == Status::Ok).then(|| self.interval(|sample| sample.exchange_s)).flatten()
    }

    fn row(&self, is_baseline: bool) -> impl Serialize + use<'_> {
        let settings: Vec<_> = self.settings.iter().map(|setting| &setting.value).collect();
        let values = self.measured().unwrap_or_else(|| vec![None; MEASURED]);
        (&self.context, values, (self.correct, self.status(), &self.note, is_baseline), settings)
    }

    fn measured(&self) -> Option<Vec<Option<f64>>> {
        let first = self.samples.first()?;
        let mut values = vec![Some(first.messages), Some(first.bytes)];
        for interval in [self.interval(|it| it.exchange_s)?, self.interval(|it| it.step_s)?] {
            values.extend([interval.median_s, interval.low_s, interval.high_s].map(Some));
        }
        values.extend(HALO.map(|phase| self.phase_s(phase)));
        Some(values)
    }

    fn phase_s(&self, phase: Phase) -> Option<f64> {
        Some(self.interval(|sample| sample.phases[phase as usize])?.median_s)
    }
}

impl Results {
    /// What the others are held against: the first of two-sided messages, or else the first.
    fn baseline(&self) -> Option<usize> {
        let ok = |&number: &usize| self.entries[number].exchange().is_some();
        let is_two_sided = |&number: &usize| self.entries[number].context.backend == Backend::P2p;
        let all = (0..self.entries.len()).filter(ok);
        all.clone().find(is_two_sided).or_else(|| all.clone().next())
    }

    /// Best first; those without numbers last.
    fn ranking(&self) -> Vec<usize> {
        let median_s = |&number: &usize| {
            self.entries[number].exchange().map_or(f64::INFINITY, |exchange| exchange.median_s)
        };
        let mut ranking: Vec<usize> = (0..self.entries.len()).collect();
        ranking.sort_by(|a, b| median_s(a).total_cmp(&median_s(b)));
        ranking
    }

    /// One row per strategy, in the order they were asked for.
    pub(super) fn csv(&self) -> Result<Vec<u8>, EncodeError> {
        let baseline = self.baseline();
        let varied: Vec<&str> =
            self.entries.iter().take(1).flat_map(|it| it.settings.iter().map(|it| it.key.as_str())).collect();
        let columns: Vec<&str> = [GridContext::COLUMNS, COLUMNS].into_iter().chain(varied).collect();
        table(&columns, self.entries.iter().enumerate().map(|(number, it)| it.row(Some(number) == baseline)))
    }

    /// The ranked table on the screen.
    pub(super) fn text(&self) -> String {
        let Some(first) = self.entries.first() else { return String::new() };
        let GridContext { kind, nodes, fields, ranks, grid, messages, .. } = &first.context;
        let mut text = format!(
            "{kind} on {nodes} nodes, {fields} fields, {} messages, {ranks} ranks ({grid}); best first by the exchange\n",
            name_of(messages)
        );
        let baseline = self.baseline();
        let width = self.entries.iter().map(|entry| entry.name().len()).max().unwrap_or(0);
        for number in self.ranking() {
            let entry = &self.entries[number];
            let us = |interval: Option<Interval>| {
                let part = |seconds: f64| significant(seconds * 1e6, 4);
                interval.map_or("-".to_owned(), |it| {
                    format!("{} [{}, {}]", part(it.median_s), part(it.low_s), part(it.high_s))
                })
            };
            let step = us(entry.exchange().and_then(|_| entry.interval(|sample| sample.step_s)));
            let mark = if Some(number) == baseline { ", baseline" } else { "" };
            text += &format!(
                "{:width$}  exchange {} us  step {step} us  {}{mark}\n",
                entry.name(),
                us(entry.exchange()),
                name_of(entry.status())
            );
        }
        for entry in self.entries.iter().filter(|entry| !entry.note.is_empty()) {
            text += &format!("{}: {}\n", entry.name(), entry.note);
        }
        text
    }

    /// A bar per strategy: the exchange; beside it, what the halo's part of a step consists of.
    pub(super) fn chart(&self) -> Bars {
        let ranking: Vec<usize> =
            self.ranking().into_iter().filter(|&number| self.entries[number].exchange().is_some()).collect();
        let bar = |&number: &usize| {
            let entry = &self.entries[number];
            entry.exchange().map(|exchange| (entry.name(), exchange.times(1e6)))
        };
        let parts = [Phase::HaloPack, Phase::HaloTransfer, Phase::HaloWait, Phase::HaloUnpack];
        let lengths = |&number: &usize| {
            parts.map(|phase| 1e6 * self.entries[number].phase_s(phase).unwrap_or(0.0)).to_vec()
        };
        let baseline = self.baseline();
        Bars {
            title: self.entries.first().map_or_else(String::new, |entry| {
                let GridContext { kind, nodes, fields, ranks, host, .. } = &entry.context;
                format!("Halo of {kind}, {nodes} nodes, {fields} fields, {ranks} ranks, {host}")
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
