//! Reading of timelines from files.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use md_engine::Phase;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::error::Category;

/// Number of the track of a rank's first thread.
pub(super) const MAIN_TRACK: u32 = 1;
/// Number of the track that shows when messages are in flight.
pub(super) const HIDDEN_TRACK: u32 = 2;
/// Longest valid time, in microseconds (thirty years).
const MOST_US: f64 = 1e15;
/// Longest valid message.
const MOST_BYTES: u64 = 1 << 34;

/// Error of reading a timeline.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be read.
    #[error("cannot read `{}`: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        reason: io::Error,
    },
    /// The content of the file is not as expected.
    #[error("{}:{line}:{column}: {reason}\ngive a file that `--trace` has written", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// Description of the error.
        reason: String,
    },
    /// An event has a rank that is not in the head of the file.
    #[error("{}: there is an event of rank {rank}, but the file has {ranks} ranks", path.display())]
    NoSuchRank {
        /// The file.
        path: PathBuf,
        /// The rank.
        rank: usize,
        /// Number of ranks in `otherData`.
        ranks: usize,
    },
}

/// Activity of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    Phase(Phase),
    /// Waiting for a message.
    MessageWait,
    /// Waiting for all ranks in a collective.
    Collective,
}

impl Activity {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Phase(phase) => phase.name(),
            Self::MessageWait => "message_wait",
            Self::Collective => "collective_wait",
        }
    }
}

/// An activity over a time interval, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub(super) begun: f64,
    pub(super) ended: f64,
    pub(super) activity: Activity,
}

/// Fields that identify the two ends of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
struct Place {
    peer: usize,
    context: u32,
    exchange: u32,
    channel: u16,
}

/// A message; an end that was not recorded is missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Message {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Number of the context, and of the exchange.
    pub(super) exchange: [u32; 2],
    pub(super) bytes: u64,
    pub(super) started: Option<f64>,
    pub(super) arrived: Option<f64>,
    /// Time that the receiver waited for the message.
    pub(super) waited: f64,
}

/// One rank's part in a collective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Entrance {
    pub(super) rank: usize,
    pub(super) entered: f64,
    pub(super) begun: f64,
    pub(super) ended: f64,
}

/// Activities of all ranks over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// Backend, shell, exchange and partition; on a grid, kind, backend and exchange.
    pub strategy: String,
    /// Number of ranks.
    pub ranks: usize,
    /// Number of time steps.
    pub steps: u64,
    /// Number of events that are missing.
    pub dropped: u64,
    /// Largest error of a clock, in seconds.
    pub clock_error_s: f64,
    /// Spans of each rank, in no order.
    pub(super) spans: Vec<Vec<Span>>,
    pub(super) messages: Vec<Message>,
    /// One list per collective.
    pub(super) collectives: Vec<Vec<Entrance>>,
}

impl Timeline {
    /// Reads a file written by [`super::TracedWorld::write`].
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn read(path: &Path) -> Result<Self, TraceError> {
        let file =
            File::open(path).map_err(|reason| TraceError::Unreadable { path: path.to_owned(), reason })?;
        Self::from_reader(path, file)
    }

    /// Like [`Self::read`], from an open file; `path` is only for errors. It takes at most 5 bytes
    /// of memory for each byte of the text.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn from_reader(path: &Path, text: impl Read) -> Result<Self, TraceError> {
        let unreadable = |reason| TraceError::Unreadable { path: path.to_owned(), reason };
        let content = serde_json::from_reader(BufReader::with_capacity(1 << 20, text));
        let content = content.map_err(|error: serde_json::Error| match error.classify() {
            Category::Io => unreadable(error.into()),
            Category::Syntax | Category::Data | Category::Eof => {
                let (line, column, text) = (error.line(), error.column(), error.to_string());
                let reason = match text.split(" at line ").next() {
                    Some(reason) if !error.is_eof() => reason.to_owned(),
                    _ => "the file ends too early: the run may have been killed".to_owned(),
                };
                TraceError::Malformed { path: path.to_owned(), line, column, reason }
            }
        })?;
        let no_such_rank = |(rank, ranks)| TraceError::NoSuchRank { path: path.to_owned(), rank, ranks };
        Self::of(content).map_err(no_such_rank)
    }

    /// Creates a timeline from the content of a file.
    ///
    /// # Errors
    /// A rank that does not exist, and the number of ranks.
    fn of(Content { other, events }: Content) -> Result<Self, (usize, usize)> {
        let ranks = other.ranks.len();
        let (mut spans, mut messages) = (vec![Vec::new(); ranks], Messages::default());
        let mut collectives: HashMap<u32, Vec<Entrance>> = HashMap::new();
        for Event { rank, what } in events {
            let highest = rank.max(what.peer().unwrap_or(0));
            if highest >= ranks {
                return Err((highest, ranks));
            }
            match what {
                What::Other => (),
                What::Phase(span) => spans[rank].push(span),
                What::Collective { number, entered, begun, ended } => {
                    spans[rank].push(Span { begun, ended, activity: Activity::Collective });
                    collectives.entry(number).or_default().push(Entrance { rank, entered, begun, ended });
                }
                What::Sent { place, bytes, at } => {
                    messages.ends(rank, place.peer, place, bytes).started = Some(at);
                }
                What::Received { place, bytes, at, waited } => {
                    spans[rank].push(Span { begun: at - waited, ended: at, activity: Activity::MessageWait });
                    let message = messages.ends(place.peer, rank, place, bytes);
                    (message.arrived, message.waited) = (Some(at), waited);
                }
            }
        }
        Ok(Self {
            strategy: strategy(&other.md),
            steps: other.md["steps"].as_u64().unwrap_or(0),
            dropped: other.ranks.iter().map(|rank| rank.dropped).sum(),
            clock_error_s: other.ranks.iter().map(|rank| rank.clock_error_s).fold(0.0, f64::max),
            collectives: collectives.into_values().collect(),
            messages: messages.all,
            ranks,
            spans,
        })
    }
}

/// Returns the strategy that the head of a file names.
fn strategy(md: &Value) -> String {
    let names = |of: &Value, keys: &[&str]| {
        let names: Vec<&str> = keys.iter().map(|key| of[key].as_str().unwrap_or("-")).collect();
        names.join(" ")
    };
    // Applications on grids have a kind next to the backend and the exchange.
    match md.get("kind") {
        Some(_) => names(md, &["kind", "backend", "exchange"]),
        None => names(&md["strategy"], &["backend", "shell", "exchange", "partition"]),
    }
}

/// Messages whose ends are added in any order.
#[derive(Default)]
struct Messages {
    all: Vec<Message>,
    places: HashMap<(usize, Place), usize>,
}

impl Messages {
    fn ends(&mut self, from: usize, to: usize, place: Place, bytes: u64) -> &mut Message {
        let Self { all, places } = self;
        let number = *places.entry((from, Place { peer: to, ..place })).or_insert_with(|| {
            let exchange = [place.context, place.exchange];
            all.push(Message { from, to, exchange, bytes, started: None, arrived: None, waited: 0.0 });
            all.len() - 1
        });
        &mut all[number]
    }
}

#[derive(Deserialize)]
struct Content {
    #[serde(rename = "otherData")]
    other: Head,
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct Head {
    md: Value,
    ranks: Vec<RankHead>,
}

#[derive(Deserialize)]
struct RankHead {
    #[serde(deserialize_with = "count")]
    dropped: u64,
    #[serde(deserialize_with = "error_s")]
    clock_error_s: f64,
}

/// Reads a number of events.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    /// Limit that keeps sums over all ranks from overflowing.
    const MOST: u64 = 1 << 40;
    let count = u64::deserialize(deserializer)?;
    if count <= MOST {
        Ok(count)
    } else {
        Err(de::Error::custom(format!("{count} events are more than {MOST}")))
    }
}

/// Reads the error of a clock in seconds.
fn error_s<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    lasting("clock_error_s", 1e6 * seconds).map_err(de::Error::custom)?;
    Ok(seconds)
}

/// Checks a duration in microseconds.
fn lasting(key: &str, us: f64) -> Result<f64, String> {
    let is_time = (0.0..=MOST_US).contains(&us);
    if is_time { Ok(us) } else { Err(format!("`{key}` is no time: {us} us")) }
}

/// An event in compact form.
struct Event {
    rank: usize,
    what: What,
}

enum What {
    Phase(Span),
    Collective {
        number: u32,
        entered: f64,
        begun: f64,
        ended: f64,
    },
    Sent {
        place: Place,
        bytes: u64,
        at: f64,
    },
    Received {
        place: Place,
        bytes: u64,
        at: f64,
        waited: f64,
    },
    /// Names, shares of threads, and events added by other programs.
    Other,
}

impl What {
    /// Returns the rank at the other end of a message.
    fn peer(&self) -> Option<usize> {
        match self {
            Self::Sent { place, .. } | Self::Received { place, .. } => Some(place.peer),
            Self::Phase(_) | Self::Collective { .. } | Self::Other => None,
        }
    }
}

/// An event as in the file.
#[derive(Deserialize)]
struct Written {
    ph: String,
    #[serde(default)]
    cat: String,
    name: String,
    pid: usize,
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(default)]
    args: Value,
}

/// Not with serde's `try_from`, whose errors are reported for the next line.
impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EventVisitor;
        impl<'de> Visitor<'de> for EventVisitor {
            type Value = Event;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an event")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Event, A::Error> {
                let written = Written::deserialize(MapAccessDeserializer::new(map))?;
                Event::try_from(written).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_map(EventVisitor)
    }
}

impl TryFrom<Written> for Event {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { ph, cat, name, pid: rank, ts: begun, dur, args } = written;
        let ended = begun + dur;
        let missing = |key: &str| format!("an event of category `{cat}` needs a number `args.{key}`");
        let number = |key: &str| args[key].as_f64().ok_or_else(|| missing(key));
        let integer = |key: &str, most: u64| {
            args[key].as_u64().filter(|&number| number <= most).ok_or_else(|| {
                format!("an event of category `{cat}` needs an integer `args.{key}` from 0 to {most}")
            })
        };
        if ["phase", "collective", "message"].contains(&&*cat) {
            lasting("ts", begun.abs())?;
            lasting("dur", dur)?;
        }
        let place = || Place::deserialize(&args).map_err(|error| format!("`args` of a message: {error}"));
        let what = match (&*cat, &*ph) {
            ("phase", "X") => match Phase::ALL.iter().find(|phase| phase.name() == name) {
                None => return Err(format!("there is no phase `{name}`")),
                Some(Phase::HaloHidden) => What::Other,
                Some(&phase) => What::Phase(Span { begun, ended, activity: Activity::Phase(phase) }),
            },
            ("collective", "X") => What::Collective {
                number: integer("number", u32::MAX.into())? as u32,
                entered: number("entered").and_then(|us| lasting("entered", us.abs()).map(|_| us))?,
                begun,
                ended,
            },
            ("message", "s") => {
                What::Sent { place: place()?, bytes: integer("bytes", MOST_BYTES)?, at: begun }
            }
            ("message", "f") => What::Received {
                place: place()?,
                bytes: integer("bytes", MOST_BYTES)?,
                at: begun,
                waited: lasting("waited", number("waited")?)?,
            },
            _ => What::Other,
        };
        Ok(Self { rank, what })
    }
}
