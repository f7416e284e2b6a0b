//! `forces.csv`: the force on every particle of one configuration.

use md_engine::ParticleRow;

use super::csv_bytes;
use super::directory::KnownFile;
use super::error::OutputError;

const COLUMNS: [&str; 8] = ["id", "type", "x", "y", "z", "fx", "fy", "fz"];

/// The table of particles sorted by id; `vector` of a row is the force.
pub fn forces_csv(particles: &[ParticleRow]) -> Result<Vec<u8>, OutputError> {
    let mut bytes = csv_bytes::header_line(KnownFile::Forces, &COLUMNS)?;
    let rows = particles.iter().map(|row| (row.id, row.kind, row.position, row.vector));
    bytes.extend(csv_bytes::rows(KnownFile::Forces, rows)?);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_per_particle() {
        let particles = [
            ParticleRow {
                id: 1,
                kind: 2,
                position: [0.1, 0.2, 0.3],
                vector: [0.0, 0.0, 1e20],
                ..ParticleRow::default()
            },
            ParticleRow {
                id: 2,
                kind: 1,
                position: [1.5, 0.0, -0.25],
                vector: [1e-7, -2.0, 0.0],
                ..ParticleRow::default()
            },
        ];
        let text = String::from_utf8(forces_csv(&particles).unwrap()).unwrap();
        insta::assert_snapshot!(text, @r"
        id,type,x,y,z,fx,fy,fz
        1,2,0.1,0.2,0.3,0.0,0.0,1e20
        2,1,1.5,0.0,-0.25,1e-7,-2.0,0.0
        ");
    }
}
