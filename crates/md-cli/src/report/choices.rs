//! Choices of backend `auto`: as text for the screen, and as entries for summary.json.

use md_comm::{Choice, Outcome, Tried};
use md_lab::significant;
use serde::Serialize;
use serde_json::{Value, json};

const US_PER_S: f64 = 1e6;
/// Significant digits of a time on the screen.
const DIGITS: usize = 4;

/// Returns a paragraph per context. It is empty for other backends.
pub(super) fn choice_lines(choices: &[Choice]) -> String {
    if choices.is_empty() {
        return String::new();
    }
    let contexts: String = choices.iter().map(paragraph).collect();
    format!("\nChoices of backend auto, median microseconds per exchange inside the transport:\n{contexts}")
}

fn paragraph(choice: &Choice) -> String {
    let chosen = choice.chosen.map_or("not decided", |backend| backend.name());
    let again = match choice.rechecks {
        0 => String::new(),
        1 => " (tried again once)".to_owned(),
        times => format!(" (tried again {times} times)"),
    };
    let width = choice.candidates.iter().map(|tried| tried.backend.name().len()).max().unwrap_or(0);
    let candidate = |tried: &Tried| {
        let outcome = match &tried.outcome {
            Outcome::Timed { median_s } => significant(median_s * US_PER_S, DIGITS),
            Outcome::NotTimed { why } => format!("not timed: {why}"),
        };
        format!("  {:width$}  {outcome}\n", tried.backend.name())
    };
    let candidates: String = choice.candidates.iter().map(candidate).collect();
    format!("{}: {chosen}{again}; {}\n{candidates}", choice.context, choice.reason)
}

/// An entry of `choices` in summary.json.
#[derive(Serialize)]
pub struct ChoiceEntry<'a> {
    context: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<&'static str>,
    reason: &'a str,
    rechecks: u32,
    /// Candidates, each with a time or with the reason why it has none.
    candidates: Vec<Value>,
}

impl<'a> From<&'a Choice> for ChoiceEntry<'a> {
    fn from(choice: &'a Choice) -> Self {
        let candidate = |Tried { backend, outcome }: &Tried| match outcome {
            Outcome::Timed { median_s } => json!({ "backend": backend, "median_s": median_s }),
            Outcome::NotTimed { why } => json!({ "backend": backend, "not_timed": why }),
        };
        Self {
            context: &choice.context,
            chosen: choice.chosen.map(md_comm::Backend::name),
            reason: &choice.reason,
            rechecks: choice.rechecks,
            candidates: choice.candidates.iter().map(candidate).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use md_comm::Backend;

    use super::*;

    fn choices() -> [Choice; 2] {
        let timed = |backend, median_s| Tried { backend, outcome: Outcome::Timed { median_s } };
        let not_timed =
            |backend, why: &str| Tried { backend, outcome: Outcome::NotTimed { why: why.to_owned() } };
        let positions = Choice {
            context: "positions".to_owned(),
            chosen: Some(Backend::Shm),
            candidates: vec![
                timed(Backend::P2p, 12.5e-6),
                timed(Backend::Shm, 2.25e-6),
                not_timed(Backend::RmaLockEpoch, "no window"),
            ],
            reason: "`shm` was the fastest".to_owned(),
            rechecks: 1,
        };
        let forces = Choice {
            context: "forces".to_owned(),
            chosen: None,
            candidates: vec![not_timed(Backend::P2p, "the trial is not over")],
            reason: "the run was too short".to_owned(),
            rechecks: 0,
        };
        [positions, forces]
    }

    #[test]
    fn the_screen_shows_choice_reason_and_times() {
        insta::assert_snapshot!(choice_lines(&choices()), @r"

        Choices of backend auto, median microseconds per exchange inside the transport:
        positions: shm (tried again once); `shm` was the fastest
          p2p             12.5
          shm             2.25
          rma-lock-epoch  not timed: no window
        forces: not decided; the run was too short
          p2p  not timed: the trial is not over
        ");
        assert_eq!(choice_lines(&[]), "");
    }

    #[test]
    fn an_entry_has_either_a_time_or_a_reason() {
        let choices = choices();
        let entries: Vec<ChoiceEntry> = choices.iter().map(ChoiceEntry::from).collect();
        insta::assert_snapshot!(serde_json::to_string(&entries).unwrap(), @r#"[{"context":"positions","chosen":"shm","reason":"`shm` was the fastest","rechecks":1,"candidates":[{"backend":"p2p","median_s":0.0000125},{"backend":"shm","median_s":2.25e-6},{"backend":"rma-lock-epoch","not_timed":"no window"}]},{"context":"forces","reason":"the run was too short","rechecks":0,"candidates":[{"backend":"p2p","not_timed":"the trial is not over"}]}]"#);
    }
}
