//! `dump`: a trajectory with the columns of the script.

use md_lab::name_of;
use md_scenario::TrajectoryColumn;

/// A dump that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dump {
    /// Steps between two frames until another command changes them.
    pub(super) every: u64,
    path: String,
    /// `None`: the columns of the format.
    columns: Option<Vec<TrajectoryColumn>>,
    is_unwrapped: bool,
}

/// Columns of a text dump, and the ones without an equivalent.
#[derive(Debug, Default)]
struct Columns {
    columns: Vec<TrajectoryColumn>,
    is_unwrapped: bool,
    missing: Vec<String>,
    /// Column names in the order of the file that is written here.
    names: Vec<&'static str>,
}

impl Dump {
    /// Parses `dump ID all STYLE EVERY FILE COLUMNS`; also returns how the output differs.
    ///
    /// # Errors
    /// The reason why the dump cannot be taken.
    pub(super) fn read(
        style: &str,
        every: u64,
        file: &str,
        words: &[&str],
    ) -> Result<(Self, Option<String>), String> {
        let plain = |extension: &str| Self {
            every,
            path: named(file, extension),
            columns: None,
            is_unwrapped: false,
        };
        let (dump, difference) = match style {
            "atom" => {
                let dump = Self { columns: Some(Vec::new()), ..plain(".lammpstrj") };
                let difference = format!("`{}` with id type x y z: positions are not scaled", dump.path);
                (dump, difference)
            }
            "custom" => return Ok(plain(".lammpstrj").with_columns(words, file)),
            "xyz" => (plain(".extxyz"), format!("`{}`: extended XYZ", named(file, ".extxyz"))),
            "netcdf" | "netcdf/mpiio" => (plain(".nc"), format!("`{}` with velocities", named(file, ".nc"))),
            "xtc" => (plain(".xtc"), format!("`{}`: lengths are those of the run", named(file, ".xtc"))),
            "image" | "movie" => {
                return Err("pictures are made from a trajectory by other programs, such as OVITO".to_owned());
            }
            _ => return Err(format!("a dump `{style}` has no equivalent here")),
        };
        Ok((dump, Some(difference)))
    }

    /// Returns the text dump with the columns of the script, and how it differs from `file`.
    fn with_columns(self, words: &[&str], file: &str) -> (Self, Option<String>) {
        let Columns { columns, is_unwrapped, missing, names } = Columns::read(words);
        let path = &self.path;
        let difference = if !missing.is_empty() {
            Some(format!("`{path}` without {}", missing.join(" ")))
        } else if names != words || path != file {
            Some(format!("`{path}` with {}", names.join(" ")))
        } else {
            None
        };
        (Self { columns: Some(columns), is_unwrapped, ..self }, difference)
    }

    /// Returns the key `trajectory` of `[output]`, with `every` steps between frames.
    pub(super) fn key(&self, every: u64) -> String {
        let Self { path, columns, is_unwrapped, .. } = self;
        let columns = columns.as_ref().map_or_else(String::new, |columns| {
            format!(", columns = {:?}", columns.iter().map(name_of).collect::<Vec<_>>())
        });
        let positions = if *is_unwrapped { ", positions = \"unwrapped\"" } else { "" };
        let path = toml::Value::from(path.as_str());
        format!("trajectory = {{ path = {path}, every = {every}{columns}{positions} }}\n")
    }
}

impl Columns {
    fn read(words: &[&str]) -> Self {
        use TrajectoryColumn::{Force, Images, Mass, Velocity};
        let known: [(TrajectoryColumn, &[&str]); 4] = [
            (Velocity, &["vx", "vy", "vz"]),
            (Mass, &["mass"]),
            (Images, &["ix", "iy", "iz"]),
            (Force, &["fx", "fy", "fz"]),
        ];
        let [inside, unwrapped] = [&["x", "y", "z"][..], &["xu", "yu", "zu"]];
        let scaled = ["xs", "ys", "zs", "xsu", "ysu", "zsu"];
        let is_unwrapped = words.iter().any(|word| unwrapped.contains(word) || scaled[3..].contains(word));
        let mut found = Self { is_unwrapped, ..Self::default() };
        found.names.extend(["id", "type"]);
        found.names.extend(if is_unwrapped { unwrapped } else { inside });
        for (column, names) in known {
            if words.iter().any(|word| names.contains(word)) {
                found.columns.push(column);
                found.names.extend(names);
            }
        }
        let is_there =
            |word: &&&str| found.names.contains(word) || scaled.contains(word) || inside.contains(word);
        found.missing = words.iter().filter(|word| !is_there(word)).map(|word| (*word).to_owned()).collect();
        found
    }
}

/// Returns the name of the file without folders, with an extension for its format and without `*`,
/// as all frames are in one file.
fn named(file: &str, extension: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or_default().replace('*', "");
    let (name, compressed) = match name.strip_suffix(".gz") {
        Some(name) => (name, if matches!(extension, ".nc" | ".xtc") { "" } else { ".gz" }),
        None => (name.as_str(), ""),
    };
    let stem = name.strip_suffix(extension).unwrap_or(name).trim_matches('.');
    let stem = if stem.is_empty() { "trajectory" } else { stem };
    format!("{stem}{extension}{compressed}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(style: &str, file: &str, words: &str) -> (String, Option<String>) {
        let words: Vec<&str> = words.split_whitespace().collect();
        let (dump, difference) = Dump::read(style, 50, file, &words).unwrap();
        (dump.key(dump.every), difference)
    }

    #[test]
    fn files_and_columns() {
        let key = |inner: &str| format!("trajectory = {{ path = {inner} }}\n");
        for (style, file, words, expected, difference) in [
            ("custom", "d.lammpstrj", "id type x y z", "\"d.lammpstrj\", every = 50, columns = []", None),
            (
                "custom",
                "d.lammpstrj.gz",
                "id type x y z vx vy vz ix iy iz",
                "\"d.lammpstrj.gz\", every = 50, columns = [\"velocity\", \"images\"]",
                None,
            ),
            (
                "custom",
                "out/dump.*.lj",
                "type id xu yu zu fx",
                "\"dump..lj.lammpstrj\", every = 50, columns = [\"force\"], positions = \"unwrapped\"",
                Some("`dump..lj.lammpstrj` with id type xu yu zu fx fy fz"),
            ),
            (
                "custom",
                "dump",
                "id xs ys zs c_pe v_x",
                "\"dump.lammpstrj\", every = 50, columns = []",
                Some("`dump.lammpstrj` without c_pe v_x"),
            ),
            (
                "atom",
                "dump.melt",
                "",
                "\"dump.melt.lammpstrj\", every = 50, columns = []",
                Some("`dump.melt.lammpstrj` with id type x y z: positions are not scaled"),
            ),
            (
                "xyz",
                "*.gz",
                "",
                "\"trajectory.extxyz.gz\", every = 50",
                Some("`trajectory.extxyz.gz`: extended XYZ"),
            ),
            ("netcdf", "a.nc", "", "\"a.nc\", every = 50", Some("`a.nc` with velocities")),
        ] {
            assert_eq!(read(style, file, words), (key(expected), difference.map(str::to_owned)));
        }
        assert!(Dump::read("image", 50, "image.*.jpg", &["type", "type"]).is_err());
    }
}
