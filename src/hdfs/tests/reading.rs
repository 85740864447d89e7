//! Reading from DataNodes that fail in every way.

use std::io::{Read, Seek, SeekFrom};
use std::time::Duration;

use proptest::prelude::*;

use crate::hdfs::{HdfsError, HdfsReader};

use super::fake_hdfs::cluster::{BLOCK, CHUNK, Cluster, Fault, PACKET, bytes, path};

fn read_all(reader: &mut HdfsReader) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::new();
    reader.read_to_end(&mut content)?;
    Ok(content)
}

fn hdfs_error(error: &std::io::Error) -> &HdfsError {
    error.get_ref().and_then(|inner| inner.downcast_ref()).expect("an error of HDFS")
}

#[test]
fn a_whole_file_is_read_and_its_blocks_are_acknowledged() {
    let cluster = Cluster::start(&[None, None]);
    for length in [0, 1, CHUNK, CHUNK + 1, PACKET - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5] {
        cluster.add_file("/f", &bytes(length));
        let mut reader = cluster.client().open(&path("/f")).unwrap();
        assert_eq!(reader.length_bytes(), length as u64);
        assert!(read_all(&mut reader).unwrap() == bytes(length), "{length} bytes");
    }
    let blocks = 1 + 1 + 1 + 1 + 1 + 2 + 4;
    cluster.state.wait_until(|state| state.acknowledged_reads == blocks);
    cluster.check();
}

#[test]
fn any_offset_can_be_read() {
    let cluster = Cluster::start(&[None]);
    let content = bytes(2 * BLOCK + 7);
    cluster.add_file("/f", &content);
    let mut reader = cluster.client().open(&path("/f")).unwrap();
    for offset in [0, 5, CHUNK - 1, CHUNK, BLOCK - 1, BLOCK, 2 * BLOCK + 6] {
        reader.seek(SeekFrom::Start(offset as u64)).unwrap();
        let mut buffer = [0; 3];
        let count = reader.read(&mut buffer).unwrap();
        assert_eq!(buffer[..count], content[offset..offset + count], "at {offset}");
        let mut one = [0];
        assert_eq!(reader.read_at(offset as u64, &mut one).unwrap(), 1);
        assert_eq!(one[0], content[offset]);
    }
    assert_eq!(reader.seek(SeekFrom::End(-1)).unwrap(), content.len() as u64 - 1);
    assert_eq!(read_all(&mut reader).unwrap(), content[content.len() - 1..]);
    assert_eq!(reader.read_at(u64::MAX, &mut [0]).unwrap(), 0);
    reader.seek(SeekFrom::Start(0)).unwrap();
    assert!(reader.seek(SeekFrom::Current(-1)).is_err());
}

#[test]
fn a_full_read_ends_with_the_buffer_the_block_or_the_file() {
    let cluster = Cluster::start(&[Some(Fault::CutsAfter(PACKET + 3)), None]);
    let content = bytes(BLOCK + CHUNK + 3);
    cluster.add_file("/f", &content);
    let mut reader = cluster.client().open(&path("/f")).unwrap();
    let mut buffer = [0; 2 * PACKET + 5];
    // Over packets, and over a replica that ends early; then to the end of the block, and of the file.
    let mut at = 0;
    for count in [buffer.len(), BLOCK - buffer.len(), CHUNK + 3, 0] {
        assert_eq!(reader.read_in_block(&mut buffer).unwrap(), count, "at {at}");
        assert_eq!(buffer[..count], content[at..at + count]);
        at += count;
    }
    reader.seek(SeekFrom::Start(BLOCK as u64 - 2)).unwrap();
    assert_eq!(reader.read_in_block(&mut buffer).unwrap(), 2);
}

#[test]
fn a_rotten_replica_is_reported_and_the_other_one_read() {
    let cluster = Cluster::start(&[Some(Fault::Rots(8 * 40)), None]);
    let content = bytes(BLOCK);
    cluster.add_file("/f", &content);
    let mut reader = cluster.client().open(&path("/f")).unwrap();
    assert!(read_all(&mut reader).unwrap() == content);
    let state = cluster.state.lock();
    let bad = state.nodes[0].info.name.clone();
    assert_eq!(state.reported, [(state.files["/f"].blocks[0].id, bad)]);
}

#[test]
fn a_silent_node_is_left_at_the_time_limit() {
    let cluster = Cluster::start(&[Some(Fault::SilentAfter(100)), None]);
    let content = bytes(BLOCK);
    cluster.add_file("/f", &content);
    let mut options = Cluster::options();
    options.socket_timeout = Duration::from_secs(1);
    let mut reader = cluster.client_with(options).open(&path("/f")).unwrap();
    assert!(read_all(&mut reader).unwrap() == content);
}

#[test]
fn a_refused_token_is_asked_for_once_more_and_the_node_is_kept() {
    let cluster = Cluster::start(&[Some(Fault::RefusesToken)]);
    cluster.add_file("/f", &bytes(9));
    let mut reader = cluster.client().open(&path("/f")).unwrap();
    assert_eq!(read_all(&mut reader).unwrap(), bytes(9));
    assert_eq!(cluster.state.lock().calls, ["getBlockLocations", "getBlockLocations"]);
}

#[test]
fn when_no_replica_is_left_the_error_names_each_node_and_the_next_read_tries_again() {
    let cluster = Cluster::start(&[Some(Fault::Closes), Some(Fault::NoListener), Some(Fault::Refuses)]);
    cluster.add_file("/f", &bytes(9));
    let mut reader = cluster.client().open(&path("/f")).unwrap();
    let error = read_all(&mut reader).unwrap_err();
    let text = error.to_string();
    for part in ["/f", "blk_-7_1001", "the connection ended", "cannot connect", "refused with status Error"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(matches!(hdfs_error(&error), HdfsError::NoReplica { offset_bytes: 0, .. }));
    let state = cluster.state.lock();
    assert!(state.nodes.iter().all(|node| text.contains(&node.info.name)));
    assert_eq!(state.calls.len(), 1 + 3, "three rounds");
    drop(state);
    cluster.state.lock().nodes[0].fault = None;
    assert_eq!(read_all(&mut reader).unwrap(), bytes(9));
}

#[test]
fn what_cannot_be_opened_says_why() {
    let cluster = Cluster::start(&[None]);
    let client = cluster.client();
    client.make_dirs(&path("/d"), 0o755).unwrap();
    let address = format!("hdfs://127.0.0.1:{}", cluster.port);
    let refused = |at: &str| client.open(&path(at)).unwrap_err();
    assert_eq!(refused("/none").to_string(), format!("{address}/none: no such file"));
    assert!(refused("/none").is_not_found());
    assert_eq!(refused("/d").to_string(), format!("{address}/d: is a directory; expected a file"));
}

#[test]
fn two_files_are_never_read_as_one() {
    for nodes in [vec![None], vec![Some(Fault::CutsAfter(150)), None]] {
        let cluster = Cluster::start(&nodes);
        cluster.add_file("/f", &bytes(3 * BLOCK));
        let mut options = Cluster::options();
        // One block is known at a time.
        options.prefetch_bytes = Some(1);
        let mut reader = cluster.client_with(options).open(&path("/f")).unwrap();
        let mut first = vec![0; BLOCK / 2];
        reader.read_exact(&mut first).unwrap();
        assert_eq!(first, bytes(3 * BLOCK)[..BLOCK / 2]);
        let ids: Vec<i64> = cluster.state.lock().files["/f"].blocks.iter().map(|block| block.id).collect();
        // A shorter file in its place; the blocks of the first are gone.
        cluster.add_file("/f", &[7; BLOCK + 1]);
        for node in &mut cluster.state.lock().nodes {
            node.fault = None;
            node.replicas.retain(|id, _| !ids.contains(id));
        }
        let error = read_all(&mut reader).unwrap_err();
        assert!(matches!(hdfs_error(&error), HdfsError::Replaced { .. }), "{error}");
        assert!(error.to_string().contains("/f: another file took its place while it was read"), "{error}");
    }
    // One of the same length is another file, too.
    let cluster = Cluster::start(&[None]);
    cluster.add_file("/f", &bytes(BLOCK));
    let mut reader = cluster.client().open(&path("/f")).unwrap();
    let old = cluster.state.lock().files["/f"].blocks[0].id;
    cluster.add_file("/f", &[7; BLOCK]);
    cluster.state.lock().nodes[0].replicas.remove(&old);
    let error = read_all(&mut reader).unwrap_err();
    assert!(matches!(hdfs_error(&error), HdfsError::Replaced { offset_bytes: 0, .. }), "{error}");
}

#[test]
fn packets_are_taken_in_their_order_only() {
    let cluster = Cluster::start(&[Some(Fault::MisnumbersPacket(0))]);
    cluster.add_file("/f", &bytes(BLOCK));
    let mut reader = cluster.client().open(&path("/f")).unwrap();
    let text = read_all(&mut reader).unwrap_err().to_string();
    assert!(text.contains("packet 1 at byte 0 instead of packet 0 at byte 0"), "{text}");
}

#[test]
fn where_every_replica_is_corrupt_all_are_reported_and_named() {
    let cluster = Cluster::start(&[Some(Fault::Rots(8 * 40)), Some(Fault::Rots(8 * 41))]);
    cluster.add_file("/f", &bytes(BLOCK));
    let mut reader = cluster.client().open(&path("/f")).unwrap();
    let text = read_all(&mut reader).unwrap_err().to_string();
    let state = cluster.state.lock();
    for node in &state.nodes {
        let id = state.files["/f"].blocks[0].id;
        assert!(state.reported.contains(&(id, node.info.name.clone())), "{:?}", state.reported);
        assert!(text.contains(&format!("DataNode {}: wrong checksum at byte ", node.info.name)), "{text}");
    }
    assert!(text.contains("/f: no replica of blk_"), "{text}");
}

/// What may be wrong with a node that is read from, without a wait for a time limit.
fn fault() -> impl Strategy<Value = Option<Fault>> {
    prop_oneof![
        Just(None),
        Just(Some(Fault::NoListener)),
        Just(Some(Fault::Closes)),
        Just(Some(Fault::Refuses)),
        Just(Some(Fault::RefusesToken)),
        (0..400_usize).prop_map(|count| Some(Fault::CutsAfter(count))),
        // A block of four packets takes 280 bytes on the wire.
        (0..8 * 280_usize).prop_map(|bit| Some(Fault::Flips(bit))),
        (0..8 * BLOCK).prop_map(|bit| Some(Fault::Rots(bit))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever the DataNodes do: a byte that comes out is right, and while one node is well all come.
    #[test]
    fn bytes_are_right_or_there_is_an_error(
        faults in prop::collection::vec(fault(), 1..4),
        length in 0..3 * BLOCK,
        reads in prop::collection::vec((any::<prop::sample::Index>(), 1..200_usize), 0..6),
    ) {
        let cluster = Cluster::start(&faults);
        let content = bytes(length);
        cluster.add_file("/f", &content);
        let mut reader = cluster.client().open(&path("/f")).unwrap();
        let is_one_well = faults.contains(&None);
        match read_all(&mut reader) {
            Ok(read) => prop_assert!(read == content),
            Err(error) => {
                prop_assert!(!is_one_well, "{error}");
                let is_clear = matches!(hdfs_error(&error), HdfsError::NoReplica { .. });
                prop_assert!(is_clear && error.to_string().contains("/f"), "{error}");
            }
        }
        for (offset, count) in reads {
            let offset = offset.index(length + 1);
            let mut buffer = vec![0; count];
            match reader.read_at(offset as u64, &mut buffer) {
                Ok(read) => {
                    prop_assert_eq!(&buffer[..read], &content[offset..offset + read]);
                    prop_assert_eq!(read == 0, offset == length);
                }
                Err(error) => prop_assert!(!is_one_well, "{error}"),
            }
        }
        cluster.check();
    }
}
