//! A timeline from a file.

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
/// Longer times, in microseconds, are none of a run (thirty years).
const MOST_US: f64 = 1e15;
/// Longer messages are none of a run.
const MOST_BYTES: u64 = 1 << 34;

/// Why a file is no timeline.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// It cannot be read.
    #[error("cannot read `{}`: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: io::Error,
    },
    /// Something else is expected at some place.
    #[error("{}:{line}:{column}: {reason}\ngive a file that `--trace` has written", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// A rank that the head of the file does not know.
    #[error("{}: there is an event of rank {rank}, but the file has {ranks} ranks", path.display())]
    NoSuchRank {
        /// The file.
        path: PathBuf,
        /// The rank.
        rank: usize,
        /// Ranks in `otherData`.
        ranks: usize,
    },
}

/// What a rank was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    Phase(Phase),
    /// Standing still until a message came.
    MessageWait,
    /// Standing still until all ranks came.
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

/// Times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub(super) begun: f64,
    pub(super) ended: f64,
    pub(super) activity: Activity,
}

/// What makes a message out of its two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
struct Place {
    peer: usize,
    context: u32,
    exchange: u32,
    channel: u16,
}

/// One message; an end that was not recorded is missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Message {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Context and number of the exchange.
    pub(super) exchange: [u32; 2],
    pub(super) bytes: u64,
    pub(super) started: Option<f64>,
    pub(super) arrived: Option<f64>,
    /// How long the receiver stood still for it.
    pub(super) waited: f64,
}

/// One rank in one collective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Entrance {
    pub(super) rank: usize,
    pub(super) entered: f64,
    pub(super) begun: f64,
    pub(super) ended: f64,
}

/// What all ranks did.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// Backend, shell, exchange and partition.
    pub strategy: String,
    /// Number of ranks.
    pub ranks: usize,
    /// Time steps.
    pub steps: u64,
    /// Events that are missing.
    pub dropped: u64,
    /// Largest error of a clock, in seconds.
    pub clock_error_s: f64,
    /// Per rank, in no order.
    pub(super) spans: Vec<Vec<Span>>,
    pub(super) messages: Vec<Message>,
    /// One per number.
    pub(super) collectives: Vec<Vec<Entrance>>,
}

impl Timeline {
    /// Reads a file that [`super::TracedWorld::write`] has written.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn read(path: &Path) -> Result<Self, TraceError> {
        let file =
            File::open(path).map_err(|reason| TraceError::Unreadable { path: path.to_owned(), reason })?;
        Self::from_reader(path, file)
    }

    /// The same of a file that is open; `path` is for errors. It takes memory, at most 5 bytes for each of the text.
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

    /// # Errors
    /// A rank that is not there, and how many are.
    fn of(Content { other, events }: Content) -> Result<Self, (usize, usize)> {
        let ranks = other.ranks.len();
        let (mut spans, mut messages) = (vec![Vec::new(); ranks], Messages::default());
        let mut collectives: HashMap<u32, Vec<Entrance>> = HashMap::new();
        for Event { rank, what } in events {
            let peer = if let What::Sent { place, .. } | What::Received { place, .. } = what {
                place.peer
            } else {
                0
            };
            if rank.max(peer) >= ranks {
                return Err((rank.max(peer), ranks));
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
        let md = &other.md;
        let names = |of: &Value, keys: &[&str]| {
            let names: Vec<&str> = keys.iter().map(|key| of[key].as_str().unwrap_or("-")).collect();
            names.join(" ")
        };
        // Of an application on a grid, the kind stands beside the strategy.
        let strategy = match md.get("kind") {
            Some(_) => names(md, &["kind", "backend", "exchange"]),
            None => names(&md["strategy"], &["backend", "shell", "exchange", "partition"]),
        };
        Ok(Self {
            strategy,
            steps: md["steps"].as_u64().unwrap_or(0),
            dropped: other.ranks.iter().map(|rank| rank.dropped).sum(),
            clock_error_s: other.ranks.iter().map(|rank| rank.clock_error_s).fold(0.0, f64::max),
            collectives: collectives.into_values().collect(),
            messages: messages.all,
            ranks,
            spans,
        })
    }
}

/// Messages whose ends come in any order.
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

/// Of events.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    /// Sums of these over all ranks are numbers.
    const MOST: u64 = 1 << 40;
    let count = u64::deserialize(deserializer)?;
    if count <= MOST {
        Ok(count)
    } else {
        Err(de::Error::custom(format!("{count} events are more than {MOST}")))
    }
}

/// Of a clock.
fn error_s<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    lasting("clock_error_s", 1e6 * seconds).map_err(de::Error::custom)?;
    Ok(seconds)
}

/// A time that something took, in microseconds.
fn lasting(key: &str, us: f64) -> Result<f64, String> {
    let is_time = (0.0..=MOST_US).contains(&us);
    if is_time { Ok(us) } else { Err(format!("`{key}` is no time: {us} us")) }
}

/// One event, small.
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
    /// Names, shares of threads, and what other programs have added.
    Other,
}

/// As it stands in the file.
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

/// Not by `try_from`, whose errors are said to be on the next line.
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
