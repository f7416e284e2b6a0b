//! Scenarios made from valid ones and the JSON Schema: keys set to values of the right and of the
//! wrong kind, and damaged text.

use std::sync::LazyLock;

use md_cli::args::ScenarioKind;
use md_cli::scenario::schema;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value as Json;
use toml::{Table, Value};

use crate::case::Case;

/// Scenarios from which the changes start.
pub(crate) const BASES: [&str; 4] = [
    "[simulation]\nsteps = 3\n[system]\ntemperature = 1.0\n\
     lattice = { kind = \"fcc\", density = 0.8442, cells = [4, 4, 4] }\n",
    "[simulation]\nsteps = 3\ndimension = 2\n[system]\n\
     lattice = { kind = \"hex\", density = 0.6, cells = [9, 6, 1] }\nboundary = [\"reflecting\", \"periodic\", \"periodic\"]\n\
     [parallel]\nbackend = \"local\"\nranks = 2\n",
    "[simulation]\nsteps = 3\n[system]\nlattice = { kind = \"sc\", spacing = 1.7, cells = [6, 5, 4] }\n\
     [[species]]\nname = \"A\"\nfraction = 0.5\n[[species]]\nname = \"B\"\nmass = 2.0\nsigma = 1.1\n\
     [interaction]\nshift = \"force\"\n[[interaction.pair]]\nspecies = [\"A\", \"B\"]\nepsilon = 1.5\nsigma = 0.9\n\
     [neighbor]\nprecision = \"mixed\"\nrebuild = { every = 1 }\n[parallel]\nbackend = \"local\"\nranks = 3\nshell = \"eighth\"\n",
    "[simulation]\nsteps = 3\n[system]\nlattice = { kind = \"bcc\", density = 0.7, cells = [5, 5, 5] }\n\
     [interaction]\nkind = \"morse\"\ndepth = 1.0\nalpha = 6.0\nr0 = 1.0\ncutoff = 2.0\n\
     [neighbor]\nmethod = \"cells\"\n[parallel]\nbackend = \"local\"\nthreads = 2\nexchange = \"staged\"\n",
];

/// Values for any key, as TOML.
pub(crate) const VALUES: [&str; 52] = [
    "0",
    "1",
    "2",
    "3",
    "4",
    "7",
    "-1",
    "64",
    "1000",
    "65536",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "0.0",
    "-0.0",
    "0.5",
    "1.0",
    "1.2",
    "2.5",
    "3.0",
    "-2.5",
    "1e-9",
    "1e9",
    "1e-300",
    "1e300",
    "5e-324",
    "nan",
    "inf",
    "-inf",
    "true",
    "false",
    "\"\"",
    "\"A\"",
    "\"B\"",
    "\"\\u001b]0;x\\u0007\"",
    "\"\u{9b}2J\"",
    "\"ä 🦀\"",
    "\"../particles\"",
    "\"local\"",
    "[]",
    "[1, 1, 1]",
    "[3, 4, 5]",
    "[1, 1]",
    "[0, 1, 2]",
    "[2147483648, 2147483648, 1]",
    "[\"periodic\", \"reflecting\", \"periodic\"]",
    "[[1], {}]",
    "{}",
    "{ every = 2 }",
    "{ kind = \"fcc\" }",
    "1979-05-27",
];

/// Pieces of text that are inserted.
const PIECES: [&str; 16] = [
    "\0",
    "\u{1b}[2J",
    "\u{feff}",
    "\r",
    "\n",
    "\"",
    "'''",
    "[",
    "]",
    "{",
    "=",
    ".",
    "#",
    "[[species]]\n",
    "ü",
    "1e",
];

/// Returns one of [`BASES`] without changes.
pub(crate) fn valid(base: usize) -> Case {
    Case::of_scenario(BASES[base].into())
}

/// A key in the schema.
struct Leaf {
    path: Vec<String>,
    /// Names that are valid values.
    names: Vec<String>,
}

/// Returns the keys of a kind of scenarios.
fn leaves(kind: ScenarioKind) -> &'static [Leaf] {
    static LEAVES: LazyLock<[Vec<Leaf>; 3]> =
        LazyLock::new(|| [ScenarioKind::Run, ScenarioKind::Stencil, ScenarioKind::Lbm].map(all_leaves));
    &LEAVES[kind as usize]
}

fn all_leaves(kind: ScenarioKind) -> Vec<Leaf> {
    let schema: Json = serde_json::from_str(&schema(kind)).expect("the schema is JSON");
    let mut leaves = Vec::new();
    collect(&schema, &schema, &mut Vec::new(), &mut leaves);
    leaves
}

/// Collects all keys below a place of the schema.
fn collect(all: &Json, node: &Json, path: &mut Vec<String>, leaves: &mut Vec<Leaf>) {
    let target = node.get("anyOf").and_then(|nodes| nodes.get(0)).unwrap_or(node);
    let pointer = target.get("$ref").and_then(Json::as_str).and_then(|text| text.strip_prefix('#'));
    let target = pointer.and_then(|pointer| all.pointer(pointer)).unwrap_or(target);
    let variants = || target.get("oneOf").and_then(Json::as_array).into_iter().flatten();
    let listed = target.get("enum").and_then(Json::as_array).into_iter().flatten();
    let of_variants = variants().flat_map(|variant| {
        let listed = variant.get("enum").and_then(Json::as_array).into_iter().flatten();
        listed.chain(variant.get("const"))
    });
    let names = of_variants.chain(listed).filter_map(|name| Some(name.as_str()?.to_owned())).collect();
    if !path.is_empty() {
        leaves.push(Leaf { path: path.clone(), names });
    }
    for part in std::iter::once(target).chain(variants()) {
        for (key, below) in part.get("properties").and_then(Json::as_object).into_iter().flatten() {
            path.push(key.clone());
            collect(all, below, path, leaves);
            path.pop();
        }
    }
    if let Some(entries) = target.get("items").filter(|_| path.len() < 5) {
        path.push("0".to_owned());
        collect(all, entries, path, leaves);
        path.pop();
    }
}

/// One key set to one value; the numbers select among the existing ones.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    leaf: usize,
    value: usize,
    /// Whether the value is one of the valid names instead of any value.
    is_name: bool,
}

impl Setting {
    fn leaf(&self, kind: ScenarioKind) -> &'static Leaf {
        let leaves = leaves(kind);
        &leaves[self.leaf % leaves.len()]
    }

    fn value(&self, kind: ScenarioKind) -> String {
        let names = &self.leaf(kind).names;
        if self.is_name && !names.is_empty() {
            return format!("{:?}", names[self.value % names.len()]);
        }
        VALUES[self.value % VALUES.len()].to_owned()
    }
}

pub(crate) fn setting() -> impl Strategy<Value = Setting> {
    (any::<usize>(), any::<usize>(), any::<bool>()).prop_map(|(leaf, value, is_name)| Setting {
        leaf,
        value,
        is_name,
    })
}

/// A scenario with changes.
#[derive(Debug, Clone)]
pub(crate) struct Changed {
    base: usize,
    settings: Vec<Setting>,
    /// Pieces of text inserted, or as many bytes removed, somewhere.
    damage: Vec<(usize, usize, bool)>,
}

pub(crate) fn changed() -> impl Strategy<Value = Changed> {
    let damage = prop_oneof![
        3 => Just(Vec::new()),
        1 => vec((any::<usize>(), any::<usize>(), any::<bool>()), 1..4),
    ];
    (0..BASES.len(), vec(setting(), 0..5), damage).prop_map(|(base, settings, damage)| Changed {
        base,
        settings,
        damage,
    })
}

impl Changed {
    pub(crate) fn case(&self) -> Case {
        let text = edited(BASES[self.base], ScenarioKind::Run, &self.settings);
        Case::of_scenario(damaged(text.into_bytes(), &self.damage))
    }
}

/// Returns a scenario with these settings.
pub(crate) fn edited(base: &str, kind: ScenarioKind, settings: &[Setting]) -> String {
    let mut tree: Table = base.parse().expect("bases are TOML");
    for setting in settings {
        // Integers beyond TOML's range exist only as text.
        let value = format!("x = {}", setting.value(kind)).parse::<Table>();
        let value = value.ok().and_then(|mut table| table.remove("x"));
        put(&mut tree, &setting.leaf(kind).path, value.unwrap_or(Value::Integer(i64::MAX)));
    }
    toml::to_string(&tree).expect("a tree is TOML")
}

/// Inserts a value at a path, as far as the path exists.
fn put(tree: &mut Table, path: &[String], value: Value) {
    let Some((key, below)) = path.split_first() else { return };
    if below.is_empty() {
        tree.insert(key.clone(), value);
        return;
    }
    let entry = tree.entry(key.as_str()).or_insert_with(|| Value::Table(Table::new()));
    match entry {
        Value::Table(table) => put(table, below, value),
        Value::Array(entries) => match (entries.first_mut(), below) {
            (Some(Value::Table(table)), [_, below @ ..]) => put(table, below, value),
            (Some(first), [_]) => *first = value,
            _ => {}
        },
        _ => {}
    }
}

/// Returns bytes with damage.
pub(crate) fn damaged(mut bytes: Vec<u8>, damage: &[(usize, usize, bool)]) -> Vec<u8> {
    for &(place, piece, is_put_in) in damage {
        let place = place % (bytes.len() + 1);
        let piece = PIECES[piece % PIECES.len()].as_bytes();
        let end = if is_put_in { place } else { (place + piece.len()).min(bytes.len()) };
        let new: &[u8] = if is_put_in { piece } else { &[] };
        bytes.splice(place..end, new.iter().copied());
    }
    bytes
}

/// A valid scenario with overrides.
#[derive(Debug, Clone)]
pub(crate) struct Overridden {
    base: usize,
    settings: Vec<Setting>,
    damage: Vec<(usize, usize, bool)>,
}

pub(crate) fn overridden() -> impl Strategy<Value = Overridden> {
    changed().prop_map(|Changed { base, settings, damage }| Overridden { base, settings, damage })
}

impl Overridden {
    pub(crate) fn case(&self) -> Case {
        let text = |setting: &Setting| {
            let path = setting.leaf(ScenarioKind::Run).path.join(".");
            let text = format!("{path}={}", setting.value(ScenarioKind::Run));
            String::from_utf8_lossy(&damaged(text.into_bytes(), &self.damage)).replace('\0', "")
        };
        let overrides = self.settings.iter().map(text).collect();
        Case { overrides, ..valid(self.base) }
    }
}
