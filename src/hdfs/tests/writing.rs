//! Writing to DataNodes that fail in every way, and to a NameNode whose answers are lost.

use std::io::Write;
use std::time::Duration;

use proptest::prelude::*;

use crate::hdfs::{CreateOptions, ExceptionKind, HdfsClient, HdfsError};

use super::fake_hdfs::cluster::{BLOCK, CHUNK, CallFault, Cluster, Fault, PACKET, bytes, path};

fn write(client: &HdfsClient, content: &[u8], piece: usize) -> std::io::Result<u64> {
    let mut writer = client.create(&path("/f"), CreateOptions::default())?;
    for piece in content.chunks(piece) {
        writer.write_all(piece)?;
    }
    Ok(writer.finish()?)
}

/// What is expected after a write that failed: no file that is closed, and nothing half-done left.
fn check_failed(cluster: &Cluster) {
    assert_eq!(cluster.content("/f"), None, "a file that failed is closed");
    assert!(!cluster.state.lock().files.contains_key("/f"), "a file that failed is left");
}

#[test]
fn files_of_all_lengths_are_written_to_all_replicas() {
    for length in [0, 1, CHUNK, CHUNK + 1, PACKET, PACKET + 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 3 * BLOCK + 5] {
        let cluster = Cluster::start(&[None, None, None]);
        cluster.state.lock().incomplete = 2;
        let content = bytes(length);
        assert_eq!(write(&cluster.client(), &content, 50).unwrap(), length as u64);
        assert!(cluster.content("/f") == Some(content), "{length} bytes");
        let state = cluster.state.lock();
        let file = &state.files["/f"];
        assert_eq!(file.blocks.len(), length.div_ceil(BLOCK));
        assert!(file.blocks.iter().all(|block| state.nodes.iter().all(|node| state.has_replica(node, block))));
        drop(state);
        cluster.check();
    }
}

#[test]
fn options_of_a_file_are_sent_and_checked() {
    let cluster = Cluster::start(&[None, None, None]);
    let client = cluster.client();
    let options =
        CreateOptions { mode: 0o600, replication: Some(2), block_bytes: Some(PACKET as u64), ..Default::default() };
    let mut writer = client.create(&path("/f"), options).unwrap();
    writer.write_all(&bytes(3 * PACKET)).unwrap();
    assert_eq!((writer.written_bytes(), writer.path().as_str()), (3 * PACKET as u64, "/f"));
    writer.finish().unwrap();
    let file = cluster.state.lock().files["/f"].clone();
    assert_eq!((file.mode, file.replication, file.blocks.len()), (0o600, 2, 3));
    for options in [
        CreateOptions { block_bytes: Some(CHUNK as u64 + 1), ..Default::default() },
        CreateOptions { block_bytes: Some(0), ..Default::default() },
        CreateOptions { replication: Some(0), ..Default::default() },
    ] {
        assert!(matches!(client.create(&path("/g"), options), Err(HdfsError::Setting { .. })));
    }
}

#[test]
fn a_file_that_is_there_is_replaced_only_if_that_is_wanted() {
    let cluster = Cluster::start(&[None]);
    cluster.add_file("/f", &bytes(5));
    let client = cluster.client();
    let error = client.create(&path("/f"), CreateOptions::default()).unwrap_err();
    assert!(error.to_string().contains("create /f: failed to create file /f"), "{error}");
    assert_eq!(cluster.content("/f"), Some(bytes(5)), "the file of another is left alone");
    let writer = client.create(&path("/f"), CreateOptions { overwrite: true, ..Default::default() }).unwrap();
    let taken = client.create(&path("/f"), CreateOptions { overwrite: true, ..Default::default() }).unwrap_err();
    assert_eq!(taken.exception_kind(), Some(ExceptionKind::AlreadyBeingCreated));
    writer.finish().unwrap();
    assert_eq!(cluster.content("/f"), Some(Vec::new()));
}

#[test]
fn what_is_dropped_or_abandoned_is_removed_if_it_is_still_ours() {
    let cluster = Cluster::start(&[None]);
    let client = cluster.client();
    for is_abandoned in [false, true] {
        let mut writer = client.create(&path("/f"), CreateOptions::default()).unwrap();
        writer.write_all(&bytes(BLOCK + 40)).unwrap();
        if is_abandoned {
            writer.abandon().unwrap()
        } else {
            drop(writer)
        }
        check_failed(&cluster);
    }
    let writer = client.create(&path("/f"), CreateOptions::default()).unwrap();
    cluster.add_file("/f", &bytes(3));
    drop(writer);
    assert_eq!(cluster.content("/f"), Some(bytes(3)), "the file of another is left alone");
}

#[test]
fn a_silent_node_is_left_at_the_time_limit() {
    let cluster = Cluster::start(&[Some(Fault::SilentAfter(1)), None]);
    let mut options = Cluster::options();
    options.socket_timeout = Duration::from_secs(1);
    let content = bytes(BLOCK);
    write(&cluster.client_with(options), &content, 50).unwrap();
    assert!(cluster.content("/f") == Some(content));
}

#[test]
fn nodes_that_failed_are_not_wanted_for_later_blocks() {
    let cluster = Cluster::start(&[Some(Fault::CutsAfter(1)), Some(Fault::Closes), None]);
    let content = bytes(3 * BLOCK);
    write(&cluster.client(), &content, 500).unwrap();
    assert!(cluster.content("/f") == Some(content));
    let state = cluster.state.lock();
    let last = state.files["/f"].blocks[2];
    let has: Vec<bool> = state.nodes.iter().map(|node| node.replicas.contains_key(&last.id)).collect();
    assert_eq!(has, [false, false, true]);
    // The first block is given back once, for the node that cannot be reached.
    assert_eq!(state.calls.iter().filter(|call| *call == "abandonBlock").count(), 1);
}

#[test]
fn when_all_nodes_fail_the_error_names_them_and_the_file_is_gone() {
    let cluster = Cluster::start(&[Some(Fault::CutsAfter(2)), Some(Fault::DiesAfter(1))]);
    let error = write(&cluster.client(), &bytes(BLOCK), 50).unwrap_err();
    let text = error.to_string();
    for node in &cluster.state.lock().nodes {
        assert!(text.contains(&node.info.name), "{text}");
    }
    assert!(text.contains("/f: blk_-7_") && text.contains("cannot be written"), "{text}");
    check_failed(&cluster);
    let cluster = Cluster::start(&[Some(Fault::NoListener), Some(Fault::Refuses)]);
    let text = write(&cluster.client(), &bytes(1), 1).unwrap_err().to_string();
    assert!(text.contains("cannot connect") && text.contains("replicated to 0 nodes"), "{text}");
    check_failed(&cluster);
}

#[test]
fn a_file_that_is_never_replicated_is_not_called_whole() {
    let cluster = Cluster::start(&[None]);
    cluster.state.lock().incomplete = 5;
    let error = write(&cluster.client(), &bytes(1), 1).unwrap_err();
    assert!(error.to_string().contains("not closed after 5 tries"), "{error}");
    check_failed(&cluster);
}

#[test]
fn the_next_block_is_asked_for_until_the_one_before_is_replicated() {
    const NOT_YET: CallFault = CallFault::Throws("org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException");
    let cluster = Cluster::start(&[None]);
    cluster.fail_calls(&[("addBlock", NOT_YET); 5]);
    write(&cluster.client(), &bytes(1), 1).unwrap();
    cluster.fail_calls(&[("addBlock", NOT_YET); 6]);
    let options = CreateOptions { overwrite: true, ..Default::default() };
    let mut writer = cluster.client().create(&path("/f"), options).unwrap();
    writer.write_all(b"x").unwrap();
    let error = writer.finish().unwrap_err();
    assert_eq!(error.exception_kind(), Some(ExceptionKind::NotReplicatedYet));
}

#[test]
fn a_write_goes_well_whichever_answer_is_lost() {
    let content = bytes(2 * BLOCK + 3);
    for call in ["create", "addBlock", "complete"] {
        for fault in [CallFault::LostBefore, CallFault::LostAfter] {
            for calls in [1, 2] {
                let cluster = Cluster::start(&[None, None]);
                cluster.fail_calls(&vec![(call, fault); calls]);
                write(&cluster.client(), &content, 50).unwrap_or_else(|error| panic!("{call} {fault:?}: {error}"));
                assert!(cluster.content("/f").as_ref() == Some(&content), "{call} {fault:?}");
                cluster.check();
            }
        }
    }
    for fault in [CallFault::LostBefore, CallFault::LostAfter] {
        let cluster = Cluster::start(&[Some(Fault::Closes), None]);
        cluster.fail_calls(&[("abandonBlock", fault)]);
        write(&cluster.client(), &content, 50).unwrap();
        assert!(cluster.content("/f").as_ref() == Some(&content), "{fault:?}");
        cluster.check();
    }
}

#[test]
fn a_file_of_another_that_is_closed_meanwhile_is_not_taken_for_ours() {
    let cluster = Cluster::start(&[None]);
    let mut writer = cluster.client().create(&path("/f"), CreateOptions::default()).unwrap();
    writer.write_all(&bytes(BLOCK)).unwrap();
    // Our lease is over, and another has written the file; then an answer is lost.
    cluster.add_file("/f", &bytes(3));
    cluster.fail_calls(&[("complete", CallFault::LostBefore)]);
    let error = writer.finish().unwrap_err();
    assert_eq!(error.exception_kind(), Some(ExceptionKind::LeaseExpired), "{error}");
    assert_eq!(cluster.content("/f"), Some(bytes(3)), "and it is left alone");
}

#[test]
fn leases_and_pipelines_are_kept_while_a_file_is_open() {
    let cluster = Cluster::start(&[None]);
    let mut options = Cluster::options();
    options.renew_interval = Duration::from_millis(1);
    let client = cluster.client_with(options);
    let mut writer = client.create(&path("/f"), CreateOptions::default()).unwrap();
    writer.write_all(&bytes(PACKET)).unwrap();
    cluster.state.wait_until(|state| state.heartbeats > 2 && state.calls.iter().any(|call| call == "renewLease"));
    writer.write_all(&bytes(PACKET)).unwrap();
    writer.finish().unwrap();
    assert_eq!(cluster.content("/f"), Some([bytes(PACKET), bytes(PACKET)].concat()));
}

/// What may be wrong with a node of a pipeline, without a wait for a time limit.
fn fault() -> impl Strategy<Value = Option<Fault>> {
    prop_oneof![
        2 => Just(None),
        1 => Just(Some(Fault::NoListener)),
        1 => Just(Some(Fault::Closes)),
        1 => Just(Some(Fault::Refuses)),
        2 => (0..6_usize).prop_map(|count| Some(Fault::CutsAfter(count))),
        2 => (0..6_usize).prop_map(|count| Some(Fault::DiesAfter(count))),
        1 => (0..6_usize).prop_map(|number| Some(Fault::FailsPacket(number))),
        1 => (0..6_usize).prop_map(|number| Some(Fault::MisnumbersPacket(number))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever the DataNodes do: a file that was finished is right, one that was not is not there; and while one node is well, and
    /// there are not more bad ones than tries, it is finished.
    #[test]
    fn a_finished_file_is_right(
        faults in prop::collection::vec(fault(), 1..5),
        length in 0..3 * BLOCK,
        piece in 1..200_usize,
    ) {
        let cluster = Cluster::start(&faults);
        let content = bytes(length);
        match write(&cluster.client(), &content, piece) {
            Ok(written) => {
                prop_assert_eq!(written, length as u64);
                prop_assert!(cluster.content("/f") == Some(content));
            }
            Err(error) => {
                // A pipeline has three nodes: the well one may stand in none that comes about.
                let is_well_met = faults.len() <= 3 && faults.contains(&None);
                prop_assert!(!is_well_met, "{error}");
                prop_assert!(error.to_string().contains("/f"), "{error}");
                check_failed(&cluster);
            }
        }
        cluster.check();
    }
}
