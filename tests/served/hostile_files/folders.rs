//! Folders of the daemon that were there before its first start.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::Path;

use crate::daemon::child::DaemonFolders;
use crate::daemon::skip::skip_without_root;

/// A user of no machine.
const NEIGHBOUR: u32 = 54_321;
const SECRET: &str = "a file that others may not even read";
const TREE: &str = "shared/hadoop/mapred";

/// A place whose folders lie where everybody may make some, as in `/tmp`, and which the configuration leaves alone.
fn beside_neighbours(place: DaemonFolders) -> DaemonFolders {
    let mut place = place;
    fs::create_dir(place.path("shared")).unwrap();
    place.set_mode("shared", 0o1777);
    fs::write(place.path("secret"), SECRET).unwrap();
    fs::create_dir(place.path("outside")).unwrap();
    place.set_mode("outside", 0o755);
    let shared = place.path("shared/hadoop").display().to_string();
    place.overrides.extend([
        format!("hadoop.tmp.dir={shared}"),
        format!("jobtracker.state.dir={shared}/mapred/state"),
        "mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler".to_owned(),
    ]);
    place
}

fn give(path: &Path) {
    lchown(path, Some(NEIGHBOUR), Some(NEIGHBOUR)).unwrap();
}

/// The daemon does not start, says why, and has changed nothing outside.
fn assert_refused(place: &DaemonFolders, words: &[&str]) {
    let (status, log) = place.try_start(&[]).map(|_| ()).unwrap_err();
    assert!(!status.success());
    for words in words {
        assert!(log.contains(words), "{words:?} is not in:\n{log}");
    }
    assert_eq!(fs::read_to_string(place.path("secret")).unwrap(), SECRET);
    assert_eq!(fs::metadata(place.path("outside")).unwrap().mode() & 0o7777, 0o755);
    assert_eq!(place.names("outside"), Vec::<String>::new());
}

/// What a neighbour has made in the tree, whose folders are all the neighbour's; `prepare` makes more.
fn refused_if_prepared(prepare: impl Fn(&DaemonFolders)) {
    for of_place in [DaemonFolders::new as fn(&str) -> DaemonFolders, DaemonFolders::of_nobody] {
        let place = beside_neighbours(of_place(""));
        fs::create_dir_all(place.path(TREE)).unwrap();
        prepare(&place);
        for path in ["shared/hadoop", TREE] {
            give(&place.path(path));
        }
        let owner = format!("belongs to uid {NEIGHBOUR}");
        assert_refused(&place, &["shared/hadoop", &owner, "chown"]);
    }
}

#[test]
fn folders_that_a_neighbour_has_prepared_are_refused_at_start() {
    if skip_without_root("folders_that_a_neighbour_has_prepared_are_refused_at_start") {
        return;
    }
    refused_if_prepared(|_| {});
    refused_if_prepared(|place| {
        fs::create_dir(place.path(TREE).join("state")).unwrap();
        symlink(place.path("secret"), place.path(TREE).join("state/lock")).unwrap();
        symlink(place.path("outside/state.db"), place.path(TREE).join("state/state.db")).unwrap();
    });
    refused_if_prepared(|place| symlink(place.path("outside"), place.path(TREE).join("system")).unwrap());
    refused_if_prepared(|place| symlink(place.path("outside"), place.path(TREE).join("state")).unwrap());
}

#[test]
fn a_neighbours_folder_or_link_among_ours_is_refused() {
    if skip_without_root("a_neighbours_folder_or_link_among_ours_is_refused") {
        return;
    }
    for name in ["state", "system", "staging"] {
        for is_link in [false, true] {
            let place = beside_neighbours(DaemonFolders::new(""));
            let path = place.path(TREE).join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if is_link {
                symlink(place.path("outside"), &path).unwrap();
            } else {
                fs::create_dir(&path).unwrap();
            }
            give(&path);
            assert_refused(&place, &[path.to_str().unwrap(), &format!("belongs to uid {NEIGHBOUR}")]);
        }
    }
}

#[test]
fn no_link_stands_for_a_file_of_ours() {
    for of_place in [DaemonFolders::new as fn(&str) -> DaemonFolders, DaemonFolders::of_nobody] {
        for name in ["lock", "state.db"] {
            let place = beside_neighbours(of_place(""));
            // The folder is our own by mistake of whoever unpacked it: what is in it is not.
            let state = format!("jobtracker.state.dir={}", place.path("state").display());
            symlink(place.path("secret"), place.path("state").join(name)).unwrap();
            let (_, log) = place.try_start(&["-D", &state]).map(|_| ()).unwrap_err();
            assert!(log.contains(&format!("state/{name} is a symbolic link")), "{log}");
            assert_eq!(fs::read_to_string(place.path("secret")).unwrap(), SECRET);
        }
    }
}

#[test]
fn folders_that_others_may_write_to_are_refused_and_a_groups_are_told() {
    let place = beside_neighbours(DaemonFolders::new(""));
    place.set_mode("shared", 0o777);
    assert_refused(&place, &["shared is writable for others (mode 777)", "chmod o-w"]);
    place.set_mode("shared", 0o1777);
    let serving = place.start();
    let log = serving.kill();
    assert!(!log.contains("is writable for"), "{log}");
    for (path, mode) in [("system", 0o700), ("staging", 0o1777), ("state", 0o700)] {
        let about = fs::metadata(place.path(TREE).join(path)).unwrap();
        assert_eq!(about.permissions().mode() & 0o7777, mode, "{path}");
    }
    place.set_mode(TREE, 0o775);
    let log = place.start().kill();
    assert!(log.contains("mapred is writable for its group"), "{log}");
}
