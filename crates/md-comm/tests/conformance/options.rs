//! Options of one-sided backends as text, for a variable of the environment, and the combinations that are tried.

use md_comm::{
    Asserts, Backend, CommError, Operation, Polling, RingForm, RmaOptions, Slots, WindowCount, WindowKind,
};

/// Every value of every option with a backend where it matters, and pairs that touch the same code.
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
];

/// The combinations tried by default.
pub(crate) fn slice() -> Vec<(Backend, RmaOptions)> {
    let parsed = |&(backend, text): &(Backend, &str)| Some((backend, parse(text).ok()?));
    SLICE.iter().filter_map(parsed).collect()
}

/// Every combination that is not refused, without the defaults.
pub(crate) fn all(backend: Backend) -> Vec<RmaOptions> {
    let mut all = vec![RmaOptions::default()];
    let mut vary = |set: &dyn Fn(RmaOptions) -> Vec<RmaOptions>| {
        all = all.iter().flat_map(|&options| set(options)).collect();
    };
    vary(&|options| WindowKind::ALL.iter().map(|&window| RmaOptions { window, ..options }).collect());
    vary(&|options| WindowCount::ALL.iter().map(|&windows| RmaOptions { windows, ..options }).collect());
    vary(&|options| Operation::ALL.iter().map(|&operation| RmaOptions { operation, ..options }).collect());
    vary(&|options| Asserts::ALL.iter().map(|&asserts| RmaOptions { asserts, ..options }).collect());
    vary(&|options| Polling::ALL.iter().map(|&polling| RmaOptions { polling, ..options }).collect());
    vary(&|options| RingForm::ALL.iter().map(|&ring| RmaOptions { ring, ..options }).collect());
    all.retain(|options| {
        *options != RmaOptions::default() && backend.refuses(options, Slots::Double).is_ok()
    });
    all
}

/// `window=create asserts=on`: the options that are not at their defaults.
pub(crate) fn text(options: &RmaOptions) -> String {
    let RmaOptions { window, windows, operation, asserts, polling, ring } = *options;
    let default = RmaOptions::default();
    let words = [
        ("window", window.name(), default.window.name()),
        ("windows", windows.name(), default.windows.name()),
        ("operation", operation.name(), default.operation.name()),
        ("asserts", asserts.name(), default.asserts.name()),
        ("polling", polling.name(), default.polling.name()),
        ("ring", ring.name(), default.ring.name()),
    ];
    let set = words.into_iter().filter(|(_, value, default)| value != default);
    set.map(|(key, value, _)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
}

/// The options in a text like that.
pub(crate) fn parse(text: &str) -> Result<RmaOptions, CommError> {
    text.split_whitespace().try_fold(RmaOptions::default(), |options, word| {
        let set = word.split_once('=').and_then(|(key, value)| set(options, key, value));
        set.ok_or_else(|| CommError::Setup(format!("there is no option {word}")))
    })
}

fn set(options: RmaOptions, key: &str, value: &str) -> Option<RmaOptions> {
    Some(match key {
        "window" => RmaOptions { window: WindowKind::from_name(value)?, ..options },
        "windows" => RmaOptions { windows: WindowCount::from_name(value)?, ..options },
        "operation" => RmaOptions { operation: Operation::from_name(value)?, ..options },
        "asserts" => RmaOptions { asserts: Asserts::from_name(value)?, ..options },
        "polling" => RmaOptions { polling: Polling::from_name(value)?, ..options },
        "ring" => RmaOptions { ring: RingForm::from_name(value)?, ..options },
        _ => return None,
    })
}
