//! Options of backends as text, for an environment variable, and the combinations that are tried.

use md_comm::mpi::MpiWorld;
use md_comm::{Backend, Buffering, Chunk, CommError, RmaKey, RmaOptions};

/// Every value of every option with a backend that uses it, and pairs that affect the same code.
const SLICE: &[(Backend, &str)] = &[
    (Backend::RmaFence, "window=create asserts=on"),
    (Backend::RmaFence, "operation=get asserts=on"),
    (Backend::RmaPscw, "windows=per-edge asserts=on"),
    (Backend::RmaLock, "operation=get"),
    (Backend::RmaLock, "window=create windows=per-edge operation=get asserts=on"),
    (Backend::RmaLockEpoch, "window=create asserts=on"),
    (Backend::RmaBarrier, "asserts=on"),
    (Backend::RmaNotify, "polling=strict"),
    (Backend::RmaNotify, "window=dynamic"),
    (Backend::RmaRing, "windows=per-edge"),
    (Backend::RmaRing, "ring=shared"),
    (Backend::RmaFence, "epoch=initiate"),
    (Backend::RmaPscw, "epoch=initiate"),
    (Backend::RmaLockEpoch, "epoch=initiate arrivals=copied"),
    (Backend::RmaLock, "notice=neighbor-barrier"),
    (Backend::RmaLockEpoch, "notice=neighbor-barrier"),
    (Backend::RmaBarrier, "barriers=per-message"),
    (Backend::RmaNotify, "windows=per-edge puts=three"),
    (Backend::RmaRing, "puts=three"),
];

/// Returns the combinations tried by default.
pub(crate) fn slice() -> Vec<(Backend, RmaOptions)> {
    let parsed = |&(backend, text): &(Backend, &str)| Some((backend, parse(text).ok()?));
    SLICE.iter().filter_map(parsed).collect()
}

/// Most changes at once. More would combine no new pair of values, but add many cases.
const MOST_CHANGES: usize = 4;

/// Returns every combination of a few changes that is not refused, without the defaults. The
/// options of `hybrid` are those of its backend between nodes, which is two-sided here and has
/// none.
pub(crate) fn all(backend: Backend) -> Vec<RmaOptions> {
    if backend == Backend::Hybrid {
        return Vec::new();
    }
    let mut all = RmaOptions::combinations();
    all.retain(|options| {
        let changes = options.to_string().split_whitespace().count();
        (1..=MOST_CHANGES).contains(&changes) && backend.refuses(options, Buffering::Double).is_ok()
    });
    all
}

/// Prefix of the bytes of a piece.
pub(crate) const CHUNK: &str = "chunk=";

/// Applies to a world the options in a text such as `chunk=64 window=create`; the chunk comes
/// first.
pub(crate) fn apply(world: MpiWorld, text: &str) -> Result<MpiWorld, CommError> {
    let Some(text) = text.strip_prefix(CHUNK) else { return world.with_options(parse(text)?) };
    let (bytes, options) = text.split_once(' ').unwrap_or((text, ""));
    let bytes = bytes.parse().map_err(|error| CommError::Setup(format!("{bytes} bytes: {error}")))?;
    world.with_chunk(Chunk::Bytes(bytes)).with_options(parse(options)?)
}

/// Parses the options in a text such as `window=create asserts=on`.
pub(crate) fn parse(text: &str) -> Result<RmaOptions, CommError> {
    text.split_whitespace().try_fold(RmaOptions::default(), |options, word| {
        let set = word.split_once('=');
        let set = set.and_then(|(key, value)| options.with(RmaKey::from_name(key)?, value));
        set.ok_or_else(|| CommError::Setup(format!("there is no option {word}")))
    })
}
