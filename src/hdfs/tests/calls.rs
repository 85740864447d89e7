//! Calls to the NameNode: answers, errors, lost answers, servers that are no NameNode.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::hdfs::{Endpoint, ExceptionKind, HdfsClient, HdfsError, HdfsOptions, ListBound, Pauses, RetryStep};
use crate::wire::hdfs::{HdfsAnswer, HdfsOutcome, HdfsResponse, encode_hdfs_response};

use super::fake_hdfs::cluster::{CallFault, Cluster, bytes, path};

#[test]
fn things_are_looked_at_and_changed() {
    let cluster = Cluster::start(&[None, None]);
    let client = cluster.client();
    assert_eq!(client.status(&path("/d")).unwrap(), None);
    assert!(client.make_dirs(&path("/d"), 0o700).unwrap());
    let names: Vec<String> = (0..8).map(|number| format!("f{number}")).collect();
    for name in &names {
        cluster.add_file(&format!("/d/{name}"), &bytes(200));
    }
    let entries = client.list(&path("/d/"), ListBound::OWN).unwrap().unwrap();
    assert_eq!(entries.iter().map(|entry| entry.name.clone()).collect::<Vec<_>>(), names, "in three pages");
    assert_eq!(client.list(&path("/none"), ListBound::OWN).unwrap(), None);
    let status = client.status(&path("/d/f1")).unwrap().unwrap();
    assert_eq!((&*status.name, status.length_bytes, status.is_directory, status.mode), ("f1", 200, false, 0o644));
    let directory = client.status(&path("/d")).unwrap().unwrap();
    assert_eq!((directory.is_directory, directory.mode), (true, 0o700));
    client.set_permission(&path("/d/f1"), 0o600).unwrap();
    assert_eq!(client.status(&path("/d/f1")).unwrap().unwrap().mode, 0o600);
    let missing = client.set_permission(&path("/none"), 0o600).unwrap_err();
    assert!(missing.is_not_found());
    assert!(missing.to_string().contains("setPermission /none: File does not exist: /none"), "{missing}");
    assert!(client.rename(&path("/d/f1"), &path("/d/g")).unwrap());
    assert!(!client.rename(&path("/d/f1"), &path("/d/g")).unwrap());
    assert!(client.delete(&path("/d/g"), false).unwrap());
    assert!(!client.delete(&path("/d/g"), false).unwrap());
    assert!(client.set_replication(&path("/d/f2"), 2).unwrap());
    client.set_owner(&path("/d/f2"), None, Some("hadoop")).unwrap();
    client.set_times(&path("/d/f2"), Some(3), None).unwrap();
    assert_eq!(client.content_summary(&path("/d")).unwrap().files, 7);
    assert!(!client.is_in_safe_mode().unwrap());
    let places = client.block_places(&path("/d/f2"), 0, 200).unwrap().unwrap();
    let offsets: Vec<_> = places.iter().map(|place| (place.offset_bytes, place.length_bytes)).collect();
    assert_eq!(offsets, [(0, 128), (128, 72)]);
    assert_eq!(places[0].replicas.iter().map(|node| node.host.as_str()).collect::<Vec<_>>(), ["node0", "node1"]);
    assert_eq!(client.block_places(&path("/d/f2"), 500, 10).unwrap(), Some(Vec::new()));
    assert_eq!(client.block_places(&path("/none"), 0, 10).unwrap(), None);
    assert_eq!(cluster.state.lock().connections, 1, "one connection for all");
    cluster.check();
}

#[test]
fn users_have_connections_of_their_own() {
    let cluster = Cluster::start(&[]);
    let client = cluster.client();
    for _ in 0..3 {
        client.is_in_safe_mode().unwrap();
        client.as_user("h2").is_in_safe_mode().unwrap();
    }
    assert_eq!(cluster.state.lock().connections, 2);
    let mut options = Cluster::options();
    options.max_idle_ms = 0;
    let client = cluster.client_with(options);
    client.is_in_safe_mode().unwrap();
    assert_eq!(client.as_user("h2").user(), "h2");
}

#[test]
fn a_lost_answer_is_made_up_for_by_a_look() {
    for fault in [CallFault::LostBefore, CallFault::LostAfter] {
        let cluster = Cluster::start(&[None]);
        let client = cluster.client();
        cluster.add_file("/a", b"x");
        cluster.fail_calls(&[("rename", fault), ("delete", fault), ("mkdirs", fault), ("getFileInfo", fault)]);
        assert!(client.rename(&path("/a"), &path("/b")).unwrap(), "{fault:?}");
        assert!(client.delete(&path("/b"), false).unwrap(), "{fault:?}");
        assert!(client.make_dirs(&path("/d"), 0o755).unwrap());
        assert!(client.status(&path("/d")).unwrap().is_some());
        assert!(cluster.state.lock().files.is_empty());
    }
}

#[test]
fn safe_mode_is_an_error_or_waited_for() {
    let cluster = Cluster::start(&[]);
    cluster.state.lock().safe_mode = true;
    let error = cluster.client().make_dirs(&path("/d"), 0o755).unwrap_err();
    assert_eq!(error.exception_kind(), Some(ExceptionKind::SafeMode));
    assert!(error.is_temporary() && cluster.client().is_in_safe_mode().unwrap());
    let (state, pauses) = (Arc::clone(&cluster.state), Arc::new(AtomicU32::new(0)));
    let counted = Arc::clone(&pauses);
    let mut options = Cluster::options();
    options.retry_policy = vec![RetryStep { tries: 5, pause: Duration::from_secs(60) }];
    options.pauses = Pauses::through(move |pause| {
        assert_eq!(pause, Duration::from_secs(60));
        if counted.fetch_add(1, Ordering::Relaxed) == 2 {
            state.lock().safe_mode = false;
        }
    });
    assert!(cluster.client_with(options.clone()).make_dirs(&path("/d"), 0o755).unwrap());
    assert_eq!(pauses.load(Ordering::Relaxed), 3);
    cluster.state.lock().safe_mode = true;
    assert!(cluster.client_with(options).make_dirs(&path("/d"), 0o755).is_err(), "five tries and no more");
    assert_eq!(pauses.load(Ordering::Relaxed), 8);
}

/// The error of a client whose NameNode answers the opening with `answer`, and then closes or says nothing more.
fn answered(answer: &[u8], stays: bool) -> HdfsError {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = answer.to_vec();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = [0; 4096];
        let _ = stream.read(&mut bytes);
        let _ = stream.write_all(&answer);
        while stays && stream.read(&mut bytes).is_ok_and(|count| count > 0) {}
    });
    let mut options = Cluster::options();
    options.call_timeout = if stays { Duration::from_millis(200) } else { Duration::from_secs(30) };
    let client = HdfsClient::new(Endpoint { host: "127.0.0.1".to_owned(), port }, "h1", options);
    let error = client.is_in_safe_mode().unwrap_err();
    server.join().unwrap();
    error
}

#[test]
fn other_servers_are_called_what_they_are() {
    let version = |version| {
        let mut bytes = Vec::new();
        let outcome = HdfsOutcome::Value(HdfsAnswer::Long(version));
        encode_hdfs_response(&mut bytes, &HdfsResponse { id: 0, outcome });
        bytes
    };
    let check = |error: HdfsError, part: &str| {
        let text = error.to_string();
        assert!(text.contains(part) && text.contains("127.0.0.1:"), "{part}: {text}");
    };
    check(answered(b"HTTP/1.0 400 Bad Request\r\n", false), "is not a NameNode of Hadoop 1: it answers HTTP");
    // Of a connection that just ends, no more is known.
    check(
        answered(b"", false),
        "closed the connection in its first call (closed by the server): either it is no NameNode",
    );
    check(answered(b"SSH-2.0-OpenSSH\r\n", false), "is not a NameNode of Hadoop 1: it answers call");
    check(
        answered(&version(69), false),
        "has version 69 of org.apache.hadoop.hdfs.protocol.ClientProtocol; expected 61",
    );
    check(answered(&version(61)[..20], true), "no answer to getProtocolVersion within 200ms");
    assert!(answered(&version(61)[..20], false).to_string().contains("closed the connection in its first call"));
    let hostile = [&[0; 8][..], b"\0\x2eorg.apache.hadoop.hdfs.protocol.LocatedBlocks", &[0xff; 30]].concat();
    check(answered(&hostile, false), "is not a NameNode");
}

#[test]
fn what_cannot_be_reached_says_so() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let tries = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&tries);
    let pauses = Pauses::through(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let options = HdfsOptions { pauses, connect_retries: 2, ..Cluster::options() };
    let client = |host: &str, port| HdfsClient::new(Endpoint { host: host.to_owned(), port }, "h1", options.clone());
    let error = client("127.0.0.1", closed).is_in_safe_mode().unwrap_err();
    assert!(error.to_string().starts_with(&format!("NameNode 127.0.0.1:{closed}: cannot connect: ")), "{error}");
    assert!(error.is_temporary());
    assert_eq!(tries.load(Ordering::Relaxed), 2);
    let error = client("no-such-host.invalid", 8020).is_in_safe_mode().unwrap_err();
    assert!(error.to_string().starts_with("no-such-host.invalid:8020: the host name does not resolve"), "{error}");
}

#[test]
fn an_answer_that_makes_no_sense_ends_the_connection_but_not_the_client() {
    let cluster = Cluster::start(&[]);
    let client = cluster.client();
    client.is_in_safe_mode().unwrap();
    // The id of the next call, success, then a class that is not there.
    cluster.fail_calls(&[("setSafeMode", CallFault::Answers(b"\0\0\0\x02\0\0\0\0\0\x03int"))]);
    let error = client.is_in_safe_mode().unwrap_err();
    assert!(matches!(error, HdfsError::BadAnswer { call: "setSafeMode", .. }), "{error}");
    assert!(!client.is_in_safe_mode().unwrap());
    assert_eq!(cluster.state.lock().connections, 2);
}

#[test]
fn a_namenode_that_ends_in_the_first_call_is_tried_again_and_called_nothing_else() {
    let mut cluster = Cluster::start(&[]);
    cluster.state.lock().is_closing = true;
    let (state, pauses) = (Arc::clone(&cluster.state), Arc::new(AtomicU32::new(0)));
    let counted = Arc::clone(&pauses);
    let pause = Pauses::through(move |_| {
        if counted.fetch_add(1, Ordering::Relaxed) == 1 {
            state.lock().is_closing = false;
        }
    });
    let options = HdfsOptions { pauses: pause, connect_retries: 7, ..Cluster::options() };
    assert!(!cluster.client_with(options.clone()).is_in_safe_mode().unwrap(), "it came back meanwhile");
    assert_eq!(pauses.load(Ordering::Relaxed), 2);
    cluster.state.lock().is_closing = true;
    let error = cluster.client_with(options).is_in_safe_mode().unwrap_err();
    assert_eq!(pauses.load(Ordering::Relaxed), 4, "two more tries, not seven");
    let text = error.to_string();
    assert!(error.is_temporary() && text.contains("either it is no NameNode of Hadoop 1, or it ended"), "{text}");
    // Without tries, as a daemon that asks again later.
    let error = cluster.client().is_in_safe_mode().unwrap_err();
    assert!(matches!(error, HdfsError::ClosedAtOnce { .. }), "{error}");
    cluster.stop_namenode();
    assert!(matches!(cluster.client().is_in_safe_mode(), Err(HdfsError::Connect { .. })));
}

#[test]
fn a_client_outlives_its_namenode() {
    let mut cluster = Cluster::start(&[None]);
    let client = cluster.client();
    cluster.add_file("/f", b"x");
    assert!(client.status(&path("/f")).unwrap().is_some());
    cluster.stop_namenode();
    let error = client.status(&path("/f")).unwrap_err();
    assert!(error.is_temporary() && error.to_string().contains("cannot connect"), "{error}");
    cluster.start_namenode();
    assert!(client.status(&path("/f")).unwrap().is_some());
    // A connection that has ended meanwhile is not used: nothing is to be looked at after an answer that was never to come.
    cluster.stop_namenode();
    cluster.start_namenode();
    cluster.state.lock().calls.clear();
    assert!(client.delete(&path("/f"), false).unwrap());
    assert_eq!(cluster.state.lock().calls, ["delete"]);
}

#[test]
fn few_connections_are_kept_and_none_for_long() {
    let cluster = Cluster::start(&[]);
    let client = cluster.client();
    let ask_at_once = |count: u32| {
        cluster.state.lock().is_silent = true;
        std::thread::scope(|scope| {
            let calls: Vec<_> = (0..count).map(|_| scope.spawn(|| client.is_in_safe_mode().unwrap())).collect();
            cluster.state.wait_until(|state| state.held == count);
            cluster.state.change(|state| state.is_silent = false);
            for call in calls {
                call.join().unwrap();
            }
        });
        cluster.state.lock().connections
    };
    assert_eq!(ask_at_once(4), 4);
    assert_eq!(ask_at_once(4), 6, "two of four were kept");
    let options = HdfsOptions { max_idle_ms: 50, call_timeout: Duration::from_millis(500), ..Cluster::options() };
    let client = cluster.client_with(options);
    client.is_in_safe_mode().unwrap();
    cluster.state.lock().is_silent = true;
    // Half a second goes by.
    assert!(matches!(client.as_user("h2").is_in_safe_mode(), Err(HdfsError::Silent { .. })));
    cluster.state.change(|state| state.is_silent = false);
    let before = cluster.state.lock().connections;
    client.is_in_safe_mode().unwrap();
    assert_eq!(cluster.state.lock().connections, before + 1);
}

/// Each name is resolved when it is connected to, and each of its addresses tried.
#[test]
fn a_host_with_several_addresses_is_reached_at_the_one_that_listens() {
    let cluster = Cluster::start(&[]);
    let endpoint = Endpoint { host: "localhost".to_owned(), port: cluster.port };
    let client = HdfsClient::new(endpoint, "h1", Cluster::options());
    assert!(!client.is_in_safe_mode().unwrap());
}

#[test]
fn exhausted_quotas_and_missing_rights_are_named_with_path_and_kind() {
    const QUOTA: &str = "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException";
    const RIGHTS: &str = "org.apache.hadoop.security.AccessControlException";
    let cluster = Cluster::start(&[None]);
    let client = cluster.client();
    cluster.refuse("mkdirs", "", "/full", (QUOTA, "The NameSpace quota (directories and files) is exceeded: quota=1"));
    let error = client.make_dirs(&path("/full/d"), 0o755).unwrap_err();
    assert!(error.to_string().contains("mkdirs /full/d: The NameSpace quota"), "{error}");
    assert_eq!((error.exception_kind(), error.is_temporary()), (Some(ExceptionKind::Quota), false));
    assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::QuotaExceeded);
    cluster.refuse("", "h2", "/private", (RIGHTS, "Permission denied: user=h2"));
    cluster.add_file("/private/f", b"x");
    assert!(client.status(&path("/private/f")).unwrap().is_some());
    let error = client.as_user("h2").open(&path("/private/f")).unwrap_err();
    assert!(error.is_denied() && error.to_string().contains("/private/f: Permission denied: user=h2"), "{error}");
}
