//! XTC trajectories: valid ones, and copies with other words and bits or cut off.

use molly::{Frame, XTCWriter};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::binary::{ByteChange, byte_change, check_binary};
use crate::case::{Case, Trial};
use crate::files::{Features, case_of, rows};

/// Number of words before the particles of a frame.
const HEAD: usize = 23;

/// A trajectory with changes, and the requested frame.
#[derive(Debug, Clone)]
pub(crate) struct Changed {
    features: Features,
    atoms: usize,
    frames: u32,
    wanted: Option<u32>,
    seed: u64,
    changes: Vec<ByteChange>,
}

/// Largest number of frames of a file.
const FRAMES: u32 = 3;

pub(crate) fn changed() -> impl Strategy<Value = Changed> {
    let wanted = prop_oneof![2 => Just(None), 1 => (0..FRAMES + 2).prop_map(Some)];
    let file = (any::<[bool; 4]>(), 1..40_usize, 1..=FRAMES, wanted, any::<u64>());
    (file, vec(byte_change(HEAD), 0..4)).prop_map(|((features, atoms, frames, wanted, seed), changes)| {
        Changed { features: Features::new(features), atoms, frames, wanted, seed, changes }
    })
}

/// Returns unchanged files, compressed and not.
pub(crate) fn valid() -> impl Iterator<Item = Changed> {
    [1, 9, 10, 39].into_iter().map(|atoms| Changed {
        features: Features::new([false; 4]),
        atoms,
        frames: 2,
        wanted: None,
        seed: 1,
        changes: Vec::new(),
    })
}

impl Changed {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for step in 0..self.frames {
            let places = rows(self.features, self.atoms, self.seed.wrapping_add(2 * u64::from(step)));
            let frame = Frame {
                step,
                time: step as f32,
                boxvec: [8.4, 0.0, 0.0, 0.0, 8.4, 0.0, 0.0, 0.0, 8.4],
                precision: 1000.0,
                positions: places.as_flattened().iter().map(|&x| x as f32).collect(),
            };
            XTCWriter::new(&mut bytes).write_frame(&frame).expect("room in memory");
        }
        self.changes.iter().for_each(|change| change.apply(&mut bytes));
        bytes
    }

    pub(crate) fn case(&self) -> Case {
        let frame = self.wanted.map_or_else(String::new, |frame| format!(", frame = {frame}"));
        let mut case = case_of(&format!("format = \"xtc\"{frame}"), self.features, self.bytes());
        // XTC files have no velocities.
        case.overrides.push("system.temperature=0.0".to_owned());
        case
    }
}

impl Trial for Changed {
    fn check_here(&self) -> Result<(), String> {
        check_binary(&self.case(), "xtc")
    }
}
