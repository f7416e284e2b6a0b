//! Classification of commands and fixes by their names: those that do not affect the motion of
//! particles, and what the others do that cannot be taken.

/// Commands that do not affect the motion of particles, by reason.
const NO_EFFECT: [(&str, &[&str]); 5] = [
    (
        "it sets how LAMMPS itself runs or prints",
        &[
            "atom_modify",
            "comm_modify",
            "comm_style",
            "echo",
            "info",
            "log",
            "newton",
            "package",
            "print",
            "processors",
            "reset_atom_ids",
            "reset_mol_ids",
            "suffix",
            "timer",
        ],
    ),
    ("commands of the shell are not run", &["shell"]),
    ("a place for `jump`, which is told by itself", &["label"]),
    ("it writes a file of LAMMPS's own", &["write_coeff", "write_data", "write_dump", "write_restart"]),
    ("a group of particles: each command that acts on it is told by itself", &["group"]),
];

/// Commands that compute or print, or name something: particles move alike if one of them cannot be
/// taken.
const OBSERVING: [&str; 10] = [
    "compute",
    "dump",
    "dump_modify",
    "region",
    "restart",
    "thermo",
    "thermo_style",
    "uncompute",
    "undump",
    "variable",
];

/// Fixes that compute, print or store, and do not affect the motion.
const OBSERVING_FIXES: [&str; 15] = [
    "ave/atom",
    "ave/chunk",
    "ave/correlate",
    "ave/correlate/long",
    "ave/histo",
    "ave/histo/weight",
    "ave/time",
    "balance",
    "numdiff",
    "print",
    "property/atom",
    "store/force",
    "store/state",
    "vector",
    "widom",
];

/// Prefixes of command names, by what the commands do.
const COMMANDS: [(&str, &[&str]); 9] = [
    (
        "bonds: particles are points without bonds here",
        &[
            "bond_",
            "angle_",
            "dihedral_",
            "improper_",
            "create_bonds",
            "delete_bonds",
            "molecule",
            "special_bonds",
        ],
    ),
    ("electrostatics: charges have no forces here", &["kspace_", "dielectric", "dipole"]),
    (
        "properties of some particles: only types and velocities of `create_atoms` and files can be taken",
        &["set"],
    ),
    ("particles that are removed: a scenario has those of `create_atoms` or of a file", &["delete_atoms"]),
    ("particles or a box that are changed by hand", &["displace_atoms", "change_box"]),
    (
        "a state that LAMMPS has written: only data files can be read (`write_data` of LAMMPS writes one)",
        &["read_restart", "read_dump", "rerun"],
    ),
    ("control of the script: give from-lammps the commands that are carried out", &["if", "jump", "next"]),
    ("a program of its own: only commands of LAMMPS can be taken", &["python", "plugin", "kim", "message"]),
    (
        "several simulations or a search: a scenario is one simulation",
        &["neb", "prd", "tad", "temper", "hyper", "partition", "dynamical_matrix", "third_order"],
    ),
];

/// Prefixes of fix names, by what the fixes do.
const FIXES: [(&str, &[&str]); 8] = [
    ("bonds or rigid bodies", &["bond/", "poems", "rattle", "rigid", "shake"]),
    (
        "forces on particles that are no pairs' or walls'",
        &[
            "addforce",
            "addtorque",
            "aveforce",
            "drag",
            "efield",
            "external",
            "gravity",
            "imd",
            "indent",
            "lineforce",
            "oneway",
            "planeforce",
            "python",
            "restrain",
            "setforce",
            "smd",
            "spring",
            "viscous",
        ],
    ),
    ("a wall of another kind than lj93 and reflect", &["wall/"]),
    ("a box that changes its shape", &["box/relax", "deform"]),
    (
        "particles that come, go or change their type",
        &["atom/swap", "charge/", "deposit", "evaporate", "gcmc", "pour"],
    ),
    ("momentum or heat that is exchanged", &["ehex", "heat", "thermal/", "viscosity"]),
    ("a run whose length or time step changes", &["dt/reset", "halt", "controller", "adapt"]),
    (
        "an integrator or thermostat of another kind",
        &["gle", "move", "nph", "npt", "nve", "nvt", "nvk", "temp/"],
    ),
];

/// Returns why a command does not affect the motion of particles, if it does not.
pub(super) fn no_effect(command: &str) -> Option<&'static str> {
    NO_EFFECT.iter().find(|(_, names)| names.contains(&command)).map(|&(why, _)| why)
}

/// Returns whether particles move alike although a command cannot be taken.
pub(super) fn is_observing(command: &str, arguments: &[&str]) -> bool {
    match (command, arguments) {
        ("fix", [_, _, style, ..]) => OBSERVING_FIXES.contains(style),
        _ => OBSERVING.contains(&command),
    }
}

/// Returns what a command does that cannot be taken.
pub(super) fn unlike(command: &str) -> String {
    family(&COMMANDS, command).map_or_else(
        || format!("the command `{command}` is not known here, or not in this form"),
        str::to_owned,
    )
}

/// Returns what a fix does that cannot be taken.
pub(super) fn unlike_fix(style: &str) -> String {
    let what = family(&FIXES, style).unwrap_or("a fix that is not known here");
    format!("{what}: the fix `{style}` has no equivalent here, or not in this form")
}

fn family(families: &[(&'static str, &[&str])], name: &str) -> Option<&'static str> {
    let begins = |names: &[&str]| names.iter().any(|begin| name.starts_with(begin));
    families.iter().find(|(_, names)| begins(names)).map(|&(what, _)| what)
}
