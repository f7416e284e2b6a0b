//! A table of numbers with named columns, as written by runs.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use crate::error::RunError;

/// Largest number of points of a curve: more cannot be told apart in a picture.
const MOST_POINTS: usize = 2000;

/// Columns of numbers; fields that are not numbers are NaN.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Table {
    names: Vec<String>,
    columns: Vec<Vec<f64>>,
    /// Columns of words, such as the phase of a row.
    words: Vec<Vec<String>>,
}

impl Table {
    /// Reads the table of a file, if the file exists.
    ///
    /// # Errors
    /// A file that cannot be read or is not a table.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, RunError> {
        let unreadable = |reason: String| RunError::unreadable(path.display().to_string(), reason);
        let file = match File::open(path) {
            Ok(file) => file,
            Err(reason) if reason.kind() == ErrorKind::NotFound => return Ok(None),
            Err(reason) => return Err(unreadable(reason.to_string())),
        };
        // The last row of a run that was killed may be incomplete.
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(file);
        let header = reader.headers().map_err(|reason| unreadable(reason.to_string()))?;
        let names: Vec<String> = header.iter().map(str::to_owned).collect();
        let mut table =
            Self { columns: vec![Vec::new(); names.len()], words: vec![Vec::new(); names.len()], names };
        for record in reader.records() {
            let record = record.map_err(|reason| unreadable(reason.to_string()))?;
            if record.len() != table.names.len() {
                continue;
            }
            for (field, (column, words)) in record.iter().zip(table.columns.iter_mut().zip(&mut table.words))
            {
                let number = field.parse().unwrap_or(f64::NAN);
                column.push(number);
                if number.is_nan() {
                    words.push(field.to_owned());
                }
            }
        }
        Ok(Some(table))
    }

    /// Returns the names of the columns that contain a number.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let numbers = self.columns.iter().map(|column| column.iter().any(|number| number.is_finite()));
        self.names.iter().zip(numbers).filter_map(|(name, has_numbers)| has_numbers.then_some(name.as_str()))
    }

    /// Returns a column of numbers.
    pub(super) fn column(&self, name: &str) -> Option<&[f64]> {
        let at = self.names.iter().position(|other| other == name)?;
        self.columns.get(at).map(Vec::as_slice)
    }

    /// Returns the words of a column.
    pub(super) fn words(&self, name: &str) -> Option<&[String]> {
        let at = self.names.iter().position(|other| other == name)?;
        self.words.get(at).map(Vec::as_slice)
    }

    /// Returns the errors of the points of a column; none where the points do not correspond to
    /// rows one by one.
    pub(super) fn errors(&self, y: &str, error: &str) -> Vec<f64> {
        let (Some(y), Some(error)) = (self.column(y), self.column(error)) else { return Vec::new() };
        let all: Vec<f64> =
            y.iter().zip(error).filter(|(y, _)| !y.is_nan()).map(|(_, error)| *error).collect();
        if all.len() <= MOST_POINTS { all } else { Vec::new() }
    }

    /// Returns two columns as points. A long table is reduced to the smallest and the largest value
    /// of every run of rows.
    pub(super) fn points(&self, x: &str, y: &str) -> Vec<(f64, f64)> {
        let (Some(x), Some(y)) = (self.column(x), self.column(y)) else { return Vec::new() };
        let all: Vec<(f64, f64)> =
            x.iter().copied().zip(y.iter().copied()).filter(|(_, y)| !y.is_nan()).collect();
        if all.len() <= MOST_POINTS {
            return all;
        }
        let run = (2 * all.len()).div_ceil(MOST_POINTS);
        let ends = |rows: &[(f64, f64)]| {
            let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
            let (least, largest) = (rows.iter().min_by(by_value), rows.iter().max_by(by_value));
            let mut ends: Vec<(f64, f64)> = least.into_iter().chain(largest).copied().collect();
            ends.sort_by(|a, b| a.0.total_cmp(&b.0));
            ends
        };
        all.chunks(run).flat_map(ends).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_columns_keep_their_extremes() {
        let rows = 100_000;
        let x: Vec<f64> = (0..rows).map(f64::from).collect();
        let mut y = vec![0.5; rows as usize];
        (y[12_345], y[54_321]) = (9.0, -9.0);
        let table =
            Table { names: vec!["x".into(), "y".into()], columns: vec![x, y], words: vec![vec![]; 2] };
        let points = table.points("x", "y");
        assert!(points.len() <= MOST_POINTS, "{}", points.len());
        assert!(points.contains(&(12_345.0, 9.0)) && points.contains(&(54_321.0, -9.0)));
        assert!(points.is_sorted_by(|a, b| a.0 <= b.0));
    }

    #[test]
    fn words_and_rows_cut_short() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "phase,s,n\nforce,1.5,2\nwait,0.5,3\nother,0.").unwrap();
        let table = Table::read(&path).unwrap().unwrap();
        assert_eq!(table.names().collect::<Vec<_>>(), ["s", "n"]);
        assert_eq!(table.words("phase").unwrap(), ["force", "wait"]);
        assert_eq!(table.points("n", "s"), [(2.0, 1.5), (3.0, 0.5)]);
        assert_eq!(Table::read(&folder.path().join("b.csv")).unwrap(), None);
    }
}
