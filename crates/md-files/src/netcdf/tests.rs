use proptest::prelude::*;

use super::*;

fn header(atoms: u64) -> Header {
    let dimension = |(name, length): (&str, u64)| Dimension { name: name.to_owned(), length };
    let variable = |(name, dimensions, kind): (&str, &[usize], Kind)| Variable {
        name: name.to_owned(),
        dimensions: dimensions.to_vec(),
        attributes: vec![Attribute { name: "units".to_owned(), value: Value::Text("angstrom".to_owned()) }],
        kind,
        begin: 0,
    };
    Header {
        records: 3,
        dimensions: [("frame", 0), ("atom", atoms), ("spatial", 3)].map(dimension).into(),
        attributes: vec![Attribute {
            name: "Conventions".to_owned(),
            value: Value::Text("AMBER".to_owned()),
        }],
        variables: [
            ("coordinates", &[0, 1, 2][..], Kind::Float),
            ("spatial", &[2], Kind::Char),
            ("time", &[0], Kind::Double),
        ]
        .map(variable)
        .into(),
    }
}

#[test]
fn a_header_reads_back() {
    let mut header = header(5);
    let bytes = header.laid_out().unwrap();
    let begins: Vec<u64> =
        header.variables.iter().map(|variable| variable.begin - bytes.len() as u64).collect();
    assert_eq!(begins, [4, 0, 64], "the text is padded to 4 bytes, a record has 5 * 12 + 8");
    assert_eq!(header.record_bytes(), Some(68));
    let size = header.place(&header.variables[2], 2, 1).unwrap();
    assert_eq!(size, bytes.len() as u64 + 4 + 3 * 68);
    assert_eq!(Header::read(&bytes[..], size), Ok(header));
    let cut = Header::read(&bytes[..], size - 1).unwrap();
    assert_eq!(cut.whole_records(size), (3, None));
    assert_eq!(cut.whole_records(size - 1), (2, Some(("time", size))));
    assert_eq!(cut.whole_records(size - 68 - 9), (1, Some(("coordinates", size - 76))));
    let text = Header::read(&bytes[..], bytes.len() as u64 + 2).unwrap_err();
    let end = bytes.len() + 3;
    assert_eq!(
        text,
        format!("it is cut: it has {} bytes, but variable `spatial` ends at byte {end}", end - 1)
    );
    let cut = Header::read(&bytes[..100], size).unwrap_err();
    assert_eq!(cut, "it is cut: its header ends at byte 100");
}

#[test]
fn what_does_not_fit_the_format_is_refused() {
    assert!(header(300_000_000).laid_out().is_some());
    assert_eq!(header(400_000_000).laid_out(), None, "4 GiB of coordinates");
}

#[test]
fn other_files_are_named() {
    let fault = |bytes: &[u8]| Header::read(bytes, 100).unwrap_err();
    assert_eq!(fault(b"ITEM: TIMESTEP\n"), "it is no NetCDF file: it does not begin with `CDF`");
    assert_eq!(
        fault(b"\x89HDF\r\n\x1a\n"),
        "it is NetCDF-4 (HDF5), of which the classic format is read: convert it by `nccopy -k nc6`"
    );
    assert_eq!(fault(b"CDF\x04"), "it is NetCDF of version 4, of which 1, 2 and 5 are read");
    assert_eq!(fault(b"CD"), "it is cut: its header ends at byte 2");
}

proptest! {
    #[test]
    fn no_damage_makes_it_panic(at in 0_usize..400, byte: u8, size in 0_u64..2000) {
        let mut bytes = header(5).laid_out().unwrap();
        let at = at % bytes.len();
        bytes[at] = byte;
        let read = Header::read(&bytes[..], size);
        if let Ok(header) = read {
            prop_assert!(header.variables.iter().all(|variable| header.values(variable).is_some()));
        }
    }
}
