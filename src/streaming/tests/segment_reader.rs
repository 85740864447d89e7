//! Segments are read back whole, and what is damaged is refused.

use proptest::prelude::*;

use super::super::fixtures;
use super::super::segment_writer::SegmentWriter;
use super::*;

fn segment(records: &[(Vec<u8>, Vec<u8>)], codec: Option<Codec>) -> (Vec<u8>, SegmentLengths) {
    let mut writer = SegmentWriter::new(Vec::new(), codec);
    for (key, value) in records {
        writer.append(key, value).unwrap();
    }
    writer.finish().unwrap()
}

fn read_all<R: Read>(mut reader: SegmentReader<R>) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut records = Vec::new();
    while reader.advance()? {
        records.push((reader.key().to_vec(), reader.value().to_vec()));
    }
    assert_eq!(reader.consumed_bytes(), reader.raw_bytes());
    assert!(!reader.advance()?);
    Ok(records)
}

#[test]
fn recorded_segments_hold_the_recorded_records() {
    for job in ["plain", "zlib", "keyfields"] {
        let codec = (job == "zlib").then_some(Codec::Zlib);
        for (map, about) in fixtures::decoded()[job]["maps"].as_object().unwrap() {
            let file = fixtures::path(&format!("{job}/{map}.file.out"));
            for (index, reduce) in about["index"].as_array().unwrap().iter().zip(about["reduces"].as_array().unwrap()) {
                let number = |name: &str| index[name].as_u64().unwrap();
                let lengths = SegmentLengths { raw_bytes: number("raw"), stored_bytes: number("stored") };
                let reader = SegmentReader::open(&file, number("start"), lengths, codec).unwrap();
                let records = read_all(reader).unwrap();
                let expected = reduce["records"].as_array().unwrap().iter().map(|pair| {
                    let text = |at: usize| pair[at].as_str().unwrap().as_bytes().to_vec();
                    (text(0), text(1))
                });
                assert_eq!(records, expected.collect::<Vec<_>>(), "{job} {map}");
            }
        }
    }
}

#[test]
fn long_records_and_any_codec_are_read_back() {
    let long = vec![7; 300_000];
    let records = vec![(b"a".to_vec(), long.clone()), (long, Vec::new()), (Vec::new(), b"b".to_vec())];
    for codec in [None, Some(Codec::Zlib), Some(Codec::Gzip)] {
        let (bytes, lengths) = segment(&records, codec);
        assert_eq!(bytes.len() as u64, lengths.stored_bytes);
        assert_eq!(read_all(SegmentReader::new(&bytes[..], lengths, codec)).unwrap(), records);
    }
}

proptest! {
    #[test]
    fn a_changed_byte_is_noticed(
        records in proptest::collection::vec((".{0,5}", ".{0,200}"), 0..5), at in any::<prop::sample::Index>(), flip in 1_u8..,
    ) {
        let records: Vec<_> = records.into_iter().map(|(k, v)| (k.into_bytes(), v.into_bytes())).collect();
        for codec in [None, Some(Codec::Zlib)] {
            let (mut bytes, lengths) = segment(&records, codec);
            prop_assert_eq!(&read_all(SegmentReader::new(&bytes[..], lengths, codec)).unwrap(), &records);
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            prop_assert!(read_all(SegmentReader::new(&bytes[..], lengths, codec)).is_err());
        }
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let lengths = SegmentLengths { raw_bytes: 1, stored_bytes: bytes.len() as u64 };
        let mut reader = SegmentReader::new(&bytes[..], lengths, None);
        while let Ok(true) = reader.advance() {}
        let mut reader = SegmentReader::<File>::in_memory(bytes);
        while let Ok(true) = reader.advance() {}
    }
}
