//! Files of a NameNode of the test.

use std::ffi::OsStr;
use std::io::{Read, Write};

use crate::hdfs::tests::fake_hdfs::cluster::{CallFault, Cluster};
use crate::hdfs::{HdfsOptions, Pauses};

use super::*;

fn files_of(cluster: &Cluster, user: &str, values: &[(&str, &str)]) -> (FileSystem, FileUri) {
    let value_of = |key: &str| values.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned());
    let options = HdfsOptions::from_keys(value_of).map(|options| HdfsOptions {
        pauses: Pauses::through(|_| {}),
        connect_retries: 0,
        ..options
    });
    let root = FileUri::parse(&cluster.uri()).unwrap();
    (FileSystems::new(user, options).of(&root), root)
}

fn at(root: &FileUri, path: &str) -> FileUri {
    path.split('/').fold(root.clone(), |above, name| above.join(name).unwrap())
}

fn write(files: &FileSystem, path: &FileUri, content: &[u8]) -> Result<(), FsError> {
    let mut file = files.create(path)?;
    file.write_all(content).unwrap();
    file.finish().map(drop).map_err(FsError::of_writing(path))
}

fn content(files: &FileSystem, path: &FileUri) -> String {
    let file = files.open(path, &Expected::file_of_any_owner()).unwrap();
    String::from_utf8(file.read_limited(1 << 20).unwrap()).unwrap()
}

#[test]
fn new_files_have_the_modes_replicas_and_owner_that_are_asked_for() {
    let cluster = Cluster::stock(&[None, None, None]);
    let values = [("dfs.umaskmode", "077"), ("dfs.replication", "2"), ("dfs.block.size", "1048576")];
    let (files, root) = files_of(&cluster, "alice", &values);
    write(&files, &at(&root, "d/under-umask"), b"x").unwrap();
    files.create_with(&at(&root, "d/exact"), 0o744, None, &mut |file| file.write_all(b"y")).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    fs::write(scratch.path().join("job.jar"), "z").unwrap();
    files.copy_in(&scratch.path().join("job.jar"), &at(&root, "d/copied"), 0o644, Some(3)).unwrap();
    let state = cluster.state.lock();
    let found = ["under-umask", "exact", "copied"].map(|name| {
        let file = &state.files[&format!("/d/{name}")];
        (file.mode, file.replication, file.block_bytes, &*file.owner)
    });
    assert_eq!(found, [(0o600, 2, 1 << 20, "alice"), (0o744, 2, 1 << 20, "alice"), (0o644, 3, 1 << 20, "alice")]);
    drop(state);
    let there = files.create_with(&at(&root, "d/exact"), 0o744, None, &mut |_| Ok(())).unwrap_err().to_string();
    assert!(there.contains("/d/exact") && there.contains("expected a name that is free"), "{there}");
    assert_eq!(content(&files, &at(&root, "d/exact")), "y", "a file that was there stays");
}

/// As a writer leaves it that was killed: a NameNode refuses another writer for a minute.
#[test]
fn a_file_that_a_dead_writer_has_left_open_is_replaced() {
    let cluster = Cluster::stock(&[None]);
    let (files, root) = files_of(&cluster, "alice", &[]);
    cluster.leave_open("alice", "/out/_SUCCESS");
    write(&files, &at(&root, "out/_SUCCESS"), b"").unwrap();
    assert_eq!(cluster.content("/out/_SUCCESS"), Some(Vec::new()));
    // Where nothing is to be replaced, that is said.
    cluster.leave_open("alice", "/out/part");
    let error = files.create_with(&at(&root, "out/part"), 0o644, None, &mut |_| Ok(())).unwrap_err().to_string();
    assert!(error.contains("/out/part") && error.contains("already being created"), "{error}");
}

#[test]
fn a_rename_replaces_a_file_and_loses_none_where_it_cannot() {
    let cluster = Cluster::stock(&[None]);
    let (files, root) = files_of(&cluster, "alice", &[]);
    let (new, old, folder) = (at(&root, "d/new"), at(&root, "d/old"), at(&root, "d/folder"));
    write(&files, &old, b"old").unwrap();
    assert!(files.rename(&new, &old).unwrap_err().is_not_found());
    assert_eq!(content(&files, &old), "old", "there is nothing to take its place");
    write(&files, &new, b"new").unwrap();
    files.make_dir_all(&folder, 0o755).unwrap();
    assert!(matches!(files.rename(&new, &folder), Err(FsError::WrongKind { .. })));
    assert_eq!(content(&files, &new), "new", "nothing is moved into a folder");
    // Cut off between its two calls: the new file is there under its first name, so the same again succeeds.
    cluster.fail_calls(&[("rename", CallFault::Throws("java.io.IOException"))]);
    assert!(files.rename_synced(&new, &old).is_err());
    assert_eq!(content(&files, &new), "new");
    files.rename_synced(&new, &old).unwrap();
    assert_eq!(content(&files, &old), "new");
    assert!(files.kind_of(&new).unwrap().is_none());
    files.rename(&old, &at(&root, "none/old")).unwrap_err();
    assert_eq!(content(&files, &old), "new", "its target has no parent");
}

#[test]
fn folders_are_ours_or_refused_with_the_reason() {
    let cluster = Cluster::stock(&[]);
    let (files, root) = files_of(&cluster, "mapred", &[]);
    let open = |name: &str| files.trusted_folder(&at(&root, name), 0o700, Privacy::Private);
    let made = open("system").unwrap().folder;
    assert_eq!((made.mode().unwrap(), made.owner().unwrap()), (0o700, EntryOwner::Name("mapred".to_owned())));
    let (others, others_root) = files_of(&cluster, "mallory", &[]);
    others.make_dir_all(&at(&others_root, "theirs"), 0o700).unwrap();
    let error = open("theirs").unwrap_err().to_string();
    assert!(error.contains("/theirs belongs to mallory; expected a folder of the JobTracker's own user"), "{error}");
    files.make_dir_all(&at(&root, "open"), 0o777).unwrap();
    let error = open("open").unwrap_err().to_string();
    assert!(error.contains("is writable for others (mode 777)"), "{error}");
    files.make_dir_all(&at(&root, "open"), 0o755).unwrap();
    assert_eq!(open("open").unwrap().folder.mode().unwrap(), 0o755, "made again, it has the new mode");
    cluster.add_file("/file", b"x");
    assert!(matches!(files.make_dir_all(&at(&root, "file"), 0o755), Err(FsError::WrongKind { .. })));
    assert!(matches!(files.entries(&at(&root, "file"), ListBound::OWN), Err(FsError::WrongKind { .. })));
}

#[test]
fn only_what_is_meant_is_removed_and_listed() {
    let cluster = Cluster::stock(&[None]);
    let (files, root) = files_of(&cluster, "alice", &[]);
    for name in ["d/e/f", "d/g"] {
        write(&files, &at(&root, name), b"x").unwrap();
    }
    assert_eq!(files.names_in(&at(&root, "d"), ListBound::OWN).unwrap(), ["e", "g"]);
    let folder = files.folder(&at(&root, "d")).unwrap();
    assert!(!folder.remove_empty_folder(OsStr::new("e")).unwrap(), "it holds something");
    assert!(files.remove_dir_all(&root).is_err(), "the root");
    assert!(files.remove_file(&at(&root, "d/e/f")).unwrap() && !files.remove_file(&at(&root, "d/e/f")).unwrap());
    assert!(folder.remove_empty_folder(OsStr::new("e")).unwrap());
    assert!(files.remove_dir_all(&at(&root, "d")).unwrap());
    assert!(files.names_in(&at(&root, "d"), ListBound::OWN).unwrap_err().is_not_found());
}

#[test]
fn a_file_is_read_whole_or_not_at_all() {
    let cluster = Cluster::stock(&[None]);
    let (files, root) = files_of(&cluster, "alice", &[]);
    let path = at(&root, "job.xml");
    write(&files, &path, &[b'x'; 5_000]).unwrap();
    let open = |most| files.open(&path, &Expected::file_of_any_owner().at_most(most));
    assert!(matches!(open(4_999), Err(FsError::TooLong { bytes: 5_000, max_bytes: 4_999, .. })));
    let file = files.open(&path, &Expected::file_of_any_owner()).unwrap();
    assert!(matches!(file.read_limited(4_999), Err(FsError::TooLong { bytes: 5_000, .. })));
    // It becomes shorter while it is read.
    let file = open(5_000).unwrap();
    write(&files, &path, b"y").unwrap();
    cluster.state.lock().nodes[0].replicas.retain(|_, replica| replica.bytes.len() == 1);
    let error = file.read_limited(5_000).unwrap_err().to_string();
    assert!(error.contains("job.xml") && error.contains("another file took its place"), "{error}");
    // A seek is to bytes, as in a local file.
    let mut file = files.open(&path, &Expected::file_of_any_owner()).unwrap();
    let mut all = Vec::new();
    file.read_to_end(&mut all).unwrap();
    assert_eq!((all, file.length_bytes()), (b"y".to_vec(), 1));
}

#[test]
fn what_stands_in_the_way_is_one_line_with_the_path_and_passes_or_not() {
    let mut cluster = Cluster::stock(&[None]);
    let (files, root) = files_of(&cluster, "alice", &[]);
    let path = at(&root, "d/f");
    write(&files, &path, b"x").unwrap();
    let refused = |class: &'static str, message: &'static str| {
        cluster.refuse("create", "", "/d", (class, message));
        let error = write(&files, &path, b"y").unwrap_err();
        cluster.state.lock().refusals.clear();
        error
    };
    let denied = refused("org.apache.hadoop.security.AccessControlException", "Permission denied: user=alice");
    let quota =
        refused("org.apache.hadoop.hdfs.protocol.DSQuotaExceededException", "The DiskSpace quota of /d is exceeded");
    assert!(denied.is_denied() && !quota.is_denied());
    cluster.state.lock().safe_mode = true;
    let safe = write(&files, &path, b"y").unwrap_err();
    assert!(!files.is_writable(&path).unwrap());
    cluster.state.lock().safe_mode = false;
    assert!(files.is_writable(&path).unwrap());
    cluster.refuse(
        "addBlock",
        "",
        "/d",
        ("java.io.IOException", "File /d/f could only be replicated to 0 nodes, instead of 1"),
    );
    let mut file = files.create(&path).unwrap();
    file.write_all(b"y").unwrap();
    let full = FsError::of_writing(&path)(file.finish().unwrap_err());
    cluster.state.lock().refusals.clear();
    cluster.stop_namenode();
    let away = write(&files, &path, b"y").unwrap_err();
    assert!(files.is_writable(&path).is_err());
    cluster.start_namenode();
    let advised = [&quota, &safe, &away].map(|error| error.to_string().rsplit_once("; ").unwrap().1.to_owned());
    let advice = ["a quota with room", "a NameNode that is out of safe mode", "a NameNode that answers"];
    assert_eq!(advised, advice.map(|wanted| format!("expected {wanted}")));
    let cases = [
        (&denied, "Permission denied: user=alice", false),
        (&quota, "The DiskSpace quota of /d is exceeded", false),
        (&safe, "Name node is in safe mode", true),
        (&full, "could only be replicated to 0 nodes", false),
        (&away, "cannot connect", true),
    ];
    for (error, part, may_pass) in cases {
        let text = error.to_string();
        assert!(text.contains(part) && text.contains("/d/f") && text.contains(&cluster.port.to_string()), "{text}");
        assert_eq!((text.lines().count(), error.is_temporary()), (1, may_pass), "{text}");
    }
}

#[test]
fn a_configuration_that_cannot_be_used_is_named_at_each_use() {
    let cluster = Cluster::stock(&[]);
    let (files, root) = files_of(&cluster, "alice", &[("dfs.replication", "none")]);
    let error = files.status(&at(&root, "f")).unwrap_err().to_string();
    assert!(error.contains("dfs.replication = \"none\": expected a number from 1 to 512"), "{error}");
    assert_eq!(cluster.state.lock().connections, 0);
}
