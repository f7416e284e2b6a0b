//! `[neighbor]`

use super::checks::{at_least_one, not_negative};
use crate::scenario::finding::{Checked, Finding};
use crate::scenario::model::{Method, Neighbor, Precision, Rebuild};

pub(super) fn check(neighbor: &Neighbor) -> Checked {
    if neighbor.precision == Precision::Mixed && neighbor.method != Method::Clusters {
        let message = "only `neighbor.method = \"clusters\"` computes in mixed precision";
        let help = "use method `clusters`, or precision `double`";
        return Err(Finding::new("neighbor.precision", message, help));
    }
    not_negative("neighbor.skin", neighbor.skin, "0.3 is usual, in units of sigma")?;
    check_rebuild(neighbor.rebuild, neighbor.skin)
}

fn check_rebuild(rebuild: Rebuild, skin: f64) -> Checked {
    const PATH: &str = "neighbor.rebuild";
    const HELP: &str = "write `rebuild = { every = 20 }` or `rebuild = { displacement = true }`";
    match (rebuild.every, rebuild.displacement) {
        (Some(every), None) => at_least_one("neighbor.rebuild.every", every, HELP),
        (None, Some(true)) if skin == 0.0 => {
            let message = "`neighbor.skin` is 0, so the slightest motion would ask for a rebuild";
            let help = "give a skin, for example 0.3, or use `rebuild = { every = 1 }`";
            Err(Finding::new("neighbor.skin", message, help).or_at("neighbor.rebuild.displacement"))
        }
        (None, Some(true)) => Ok(()),
        (Some(_), Some(_)) => {
            let finding = Finding::new(PATH, "both `every` and `displacement` are given", HELP);
            Err(finding.or_at("neighbor.rebuild.every").or_at("neighbor.rebuild.displacement"))
        }
        (None, Some(false)) => {
            let message = "`displacement = false` does not say when to rebuild";
            Err(Finding::new("neighbor.rebuild.displacement", message, HELP))
        }
        (None, None) => {
            Err(Finding::new(PATH, "`neighbor.rebuild` has neither `every` nor `displacement`", HELP))
        }
    }
}
