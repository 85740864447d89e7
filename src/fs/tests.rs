//! Files and folders that other users prepared.

mod hdfs;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode};
use rustix::process::geteuid;

use super::*;

/// A user of its own on no machine.
const STRANGER: u32 = 54_321;

fn us() -> u32 {
    geteuid().as_raw()
}

fn any() -> Expected {
    Expected::file_of_any_owner()
}

fn fifo(path: &Path) {
    rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
}

/// A scratch folder whose name is in no text.
fn scratch() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}

fn text(root: &Path, result: Result<CheckedFile, FsError>) -> String {
    let text = match result {
        Ok(file) => String::from_utf8(file.read_limited(100).unwrap()).unwrap(),
        Err(error) => error.to_string(),
    };
    text.replace(root.to_str().unwrap(), "ROOT").replace(&format!("uid {}", us()), "uid US")
}

#[test]
fn a_file_is_read_below_its_root_by_either_path() {
    let (_folder, root) = scratch();
    fs::create_dir(root.join("a")).unwrap();
    fs::write(root.join("a/job.xml"), "text").unwrap();
    let expected = Expected::file_of([us()]).at_most(4).with_one_link();
    for path in [Path::new("a/job.xml"), Path::new("a//./job.xml"), &root.join("a/job.xml")] {
        assert_eq!(open_below(&root, path, &expected).unwrap().read_limited(4).unwrap(), b"text");
    }
    // The root itself may be a link: it is ours.
    symlink(&root, root.join("root")).unwrap();
    let file = open_below(&root.join("root"), Path::new("a/job.xml"), &any()).unwrap();
    assert_eq!(file.metadata.len(), 4);
}

#[test]
fn what_is_no_plain_file_below_the_root_is_refused() {
    let (_folder, root) = scratch();
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(root.join("a/b/file"), "secret").unwrap();
    fs::hard_link(root.join("a/b/file"), root.join("a/twice")).unwrap();
    symlink("b", root.join("a/link")).unwrap();
    symlink("b/file", root.join("a/file-link")).unwrap();
    symlink(root.join("a/loop"), root.join("a/loop")).unwrap();
    fifo(&root.join("a/fifo"));
    let _socket = std::os::unix::net::UnixListener::bind(root.join("a/socket")).unwrap();
    let expected = any().at_most(5).with_one_link();
    let paths = [
        "a/b",
        "a/b/file",
        "a/twice",
        "a/link/file",
        "a/file-link",
        "a/loop",
        "a/fifo",
        "a/fifo/x",
        "a/socket",
        "a/none",
        "a/../a/b/file",
        "",
        "/etc/passwd",
    ];
    let found = paths.map(|path| text(&root, open_below(&root, Path::new(path), &expected)));
    insta::assert_snapshot!(found.join("\n"), @"
    ROOT/a/b: expected a regular file
    ROOT/a/b/file has 2 hard links; expected one
    ROOT/a/twice has 2 hard links; expected one
    ROOT/a/link is a symbolic link; expected a path without links
    ROOT/a/file-link is a symbolic link; expected a path without links
    ROOT/a/loop is a symbolic link; expected a path without links
    ROOT/a/fifo: expected a regular file
    ROOT/a/fifo: expected a folder
    ROOT/a/socket: expected a regular file
    cannot read ROOT/a/none: No such file or directory (os error 2); expected a readable file
    a/../a/b/file: expected a path below its root, without `..`
    ROOT: expected a regular file
    /etc/passwd: expected a path below its root, without `..`
    ");
    let no_bytes = text(&root, open_below(&root, Path::new("a/b/file"), &any().at_most(5)));
    assert_eq!(no_bytes, "ROOT/a/b/file: expected at most 5 bytes");
}

#[test]
fn a_file_of_another_user_is_refused() {
    let (_folder, root) = scratch();
    fs::write(root.join("file"), "text").unwrap();
    let other = us() + 1;
    let error = text(&root, open_below(&root, Path::new("file"), &Expected::file_of([other])));
    assert_eq!(error, format!("ROOT/file belongs to uid US; expected uid {other}"));
    assert_eq!(text(&root, open_below(&root, Path::new("file"), &Expected::file_of([other, us()]))), "text");
}

#[test]
fn neither_kernel_files_nor_devices_are_read() {
    let (_folder, root) = scratch();
    symlink("/proc/self/environ", root.join("environ")).unwrap();
    symlink("/proc/kmsg", root.join("endless")).unwrap();
    symlink("/dev/zero", root.join("zero")).unwrap();
    fs::write(root.join("open"), "text").unwrap();
    let open = File::open(root.join("open")).unwrap();
    // What the kernel calls a link and is none: followed by its text, so nothing of this process is opened that has no name.
    let of_ours = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&open));
    let found = ["environ", "endless", "zero"].map(|name| text(&root, open_behind_links(&root.join(name), &any())));
    insta::assert_snapshot!(found.join("\n").replace(&std::process::id().to_string(), "PID"), @"
    /proc/PID/environ lies on procfs; expected a stored file
    /proc/kmsg lies on procfs; expected a stored file
    /dev/zero: expected a regular file
    ");
    assert_eq!(text(&root, open_behind_links(Path::new(&of_ours), &any())), "text");
    fs::remove_file(root.join("open")).unwrap();
    assert!(open_behind_links(Path::new(&of_ours), &any()).unwrap_err().is_not_found());
    for expected in [any(), any().at_most(1 << 20)] {
        let error = open_below(Path::new("/proc"), Path::new("version"), &expected).unwrap_err();
        assert!(matches!(error, FsError::KernelFile { file_system: "procfs", .. }), "{error}");
    }
}

#[test]
fn no_open_waits_for_the_other_end_of_a_pipe() {
    let (_folder, root) = scratch();
    fifo(&root.join("fifo"));
    symlink("fifo", root.join("link")).unwrap();
    let expected = "ROOT/fifo: expected a regular file";
    assert_eq!(text(&root, open_below(&root, Path::new("fifo"), &any())), expected);
    assert_eq!(text(&root, open_behind_links(&root.join("link"), &any())), expected);
    assert_eq!(text(&root, open_named_by_conf(&root.join("link"))), expected);
    // Even when it takes a file's place between the look and the open.
    fs::write(root.join("file"), "text").unwrap();
    let found = path_walk::walk_from_top(&root.join("file"), path_walk::Links::Refused).unwrap();
    fs::remove_file(root.join("file")).unwrap();
    fifo(&root.join("file"));
    assert_eq!(text(&root, checked_file::open_found(&found, &any())), "ROOT/file: expected a regular file");
}

#[test]
fn a_link_that_takes_a_files_place_is_not_followed() {
    let (_folder, root) = scratch();
    fs::write(root.join("file"), "text").unwrap();
    fs::write(root.join("secret"), "secret").unwrap();
    let found = path_walk::walk_from_top(&root.join("file"), path_walk::Links::Refused).unwrap();
    fs::remove_file(root.join("file")).unwrap();
    symlink("secret", root.join("file")).unwrap();
    assert_eq!(text(&root, checked_file::open_found(&found, &any())), "ROOT/file: expected a regular file");
}

#[test]
fn a_folder_that_is_swapped_while_open_stays_the_same() {
    let (_folder, root) = scratch();
    fs::create_dir_all(root.join("user/job")).unwrap();
    fs::create_dir(root.join("others")).unwrap();
    fs::write(root.join("user/job/file"), "own").unwrap();
    fs::write(root.join("others/file"), "others").unwrap();
    let job = open_folder_below(&root, Path::new("user/job")).unwrap();
    fs::rename(root.join("user/job"), root.join("moved")).unwrap();
    symlink(root.join("others"), root.join("user/job")).unwrap();
    assert_eq!(text(&root, job.file(Path::new("file"), &any())), "own");
    assert!(job.remove(OsStr::new("file")).unwrap());
    assert!(root.join("others/file").exists());
    assert!(open_folder_below(&root, Path::new("user/job")).is_err());
}

#[test]
fn a_growing_file_is_read_up_to_the_limit() {
    let (_folder, root) = scratch();
    fs::write(root.join("file"), "1234").unwrap();
    let expected = any().at_most(5);
    let open = || open_below(&root, Path::new("file"), &expected).unwrap();
    let (fits, grown) = (open(), open());
    let mut writer = File::options().append(true).open(root.join("file")).unwrap();
    writer.write_all(b"5").unwrap();
    assert_eq!(fits.read_limited(5).unwrap(), b"12345");
    writer.write_all(b"6").unwrap();
    assert!(matches!(grown.read_limited(5), Err(FsError::TooLong { bytes: 6, max_bytes: 5, .. })));
    // One that shrinks is what is left of it.
    let shrunk = open_below(&root, Path::new("file"), &any()).unwrap();
    writer.set_len(2).unwrap();
    assert_eq!(shrunk.read_limited(5).unwrap(), b"12");
}

#[test]
fn inputs_may_lie_behind_links() {
    let (_folder, root) = scratch();
    fs::create_dir_all(root.join("data/in")).unwrap();
    fs::write(root.join("data/in/part"), "text").unwrap();
    symlink("data/in", root.join("in")).unwrap();
    symlink("../../in/part", root.join("data/in/again")).unwrap();
    symlink(root.join("in/again"), root.join("whole")).unwrap();
    let file = open_behind_links(&root.join("whole"), &any()).unwrap();
    assert_eq!(file.path, root.join("data/in/part"));
    assert_eq!(text(&root, Ok(file)), "text");
    symlink(root.join("round"), root.join("round")).unwrap();
    let error = text(&root, open_behind_links(&root.join("round"), &any()));
    assert!(error.starts_with("cannot read ROOT/round: Too many levels of symbolic links"), "{error}");
}

#[test]
fn a_configured_path_may_lead_through_links_of_root_and_our_own_only() {
    let (_folder, root) = scratch();
    fs::create_dir(root.join("conf")).unwrap();
    fs::write(root.join("conf/hosts"), "n1").unwrap();
    symlink("conf", root.join("current")).unwrap();
    let linked = root.join("current/hosts");
    assert_eq!(text(&root, open_named_by_conf(&linked)), "n1");
    fs::set_permissions(root.join("conf"), fs::Permissions::from_mode(0o777)).unwrap();
    let error = text(&root, open_named_by_conf(&linked));
    assert!(error.starts_with("ROOT/current/hosts: ROOT/conf is writable for others (mode 777); "), "{error}");
    assert_eq!(text(&root, open_named_by_conf(&root.join("conf/hosts"))), "n1", "without a link nothing is asked");
    if us() != 0 {
        return;
    }
    fs::set_permissions(root.join("conf"), fs::Permissions::from_mode(0o755)).unwrap();
    let to_us = |path: &str| std::os::unix::fs::lchown(root.join(path), Some(0), None).unwrap();
    for (path, is_refused) in [("conf", true), ("current", true), ("conf/hosts", true)] {
        std::os::unix::fs::lchown(root.join(path), Some(STRANGER), None).unwrap();
        let found = open_named_by_conf(&linked);
        assert_eq!(found.is_err(), is_refused, "{path}: {found:?}");
        to_us(path);
    }
    assert_eq!(text(&root, open_named_by_conf(&linked)), "n1");
}

#[test]
fn a_folder_of_ours_is_made_with_its_parents() {
    let (_folder, root) = scratch();
    let path = root.join("a/b/state");
    for _ in 0..2 {
        let made = open_trusted_folder(&path, 0o700, Privacy::Private).unwrap();
        assert_eq!((made.folder.path(), made.warnings.len()), (path.as_path(), 0));
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
    assert_eq!((mode(&path), mode(&root.join("a"))), (0o700, 0o755));
    let shared = root.join("staging");
    drop(open_trusted_folder(&shared, 0o1777, Privacy::Shared).unwrap());
    assert_eq!(mode(&shared), 0o1777, "whatever the umask");
    assert!(open_trusted_folder(&shared, 0o700, Privacy::Private).is_err());
    // The mode of one that is there stays, and a group is warned of once for each folder.
    fs::set_permissions(root.join("a"), fs::Permissions::from_mode(0o775)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o770)).unwrap();
    let found = open_trusted_folder(&path, 0o700, Privacy::Private).unwrap();
    assert_eq!(found.warnings.len(), 2, "{:?}", found.warnings);
    assert_eq!(mode(&path), 0o770);
    fs::write(root.join("file"), "").unwrap();
    for path in ["file", "file/state"] {
        assert!(matches!(
            open_trusted_folder(&root.join(path), 0o700, Privacy::Private),
            Err(FsError::WrongKind { .. })
        ));
    }
}

#[test]
fn a_folder_that_others_decide_on_is_refused() {
    let (_folder, root) = scratch();
    let set_mode = |path: &str, mode: u32| {
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    let open = |path: &str| open_trusted_folder(&root.join(path), 0o700, Privacy::Private);
    fs::create_dir_all(root.join("a/state")).unwrap();
    for (mode, is_good) in [(0o777, false), (0o1777, true), (0o757, false), (0o755, true)] {
        set_mode("a", mode);
        assert_eq!(open("a/state").is_ok(), is_good, "{mode:o}");
        assert_eq!(open("a/new/state").is_ok(), is_good, "{mode:o}");
    }
    for (mode, is_good) in [(0o777, false), (0o1777, false), (0o702, false), (0o755, true)] {
        set_mode("a/state", mode);
        assert_eq!(open("a/state").is_ok(), is_good, "{mode:o}");
    }
    symlink("state", root.join("a/link")).unwrap();
    assert_eq!(open("a/link").unwrap().folder.path(), root.join("a/state"), "a link of our own");
    if us() != 0 {
        return;
    }
    // As where a local user was there before the first start.
    let give = |path: &str, uid: u32| std::os::unix::fs::lchown(root.join(path), Some(uid), None).unwrap();
    set_mode("a", 0o1777);
    for (path, asked) in [("a/state", "a/state"), ("a/link", "a/link"), ("a", "a/state"), ("a/state", "a/state/deeper")]
    {
        give(path, STRANGER);
        let error = open(asked).unwrap_err().to_string();
        let expected =
            format!("{}: {} belongs to uid {STRANGER}; ", root.join(asked).display(), root.join(path).display());
        assert!(error.starts_with(&expected), "{error}");
        give(path, 0);
    }
    assert!(!root.join("a/state/deeper").exists(), "nothing is made on the way");
}

#[test]
fn removal_stays_below_its_root() {
    let (_folder, root) = scratch();
    fs::create_dir_all(root.join("staging/job/deep/deeper")).unwrap();
    fs::create_dir(root.join("others")).unwrap();
    fs::write(root.join("others/file"), "kept").unwrap();
    fs::write(root.join("staging/job/deep/file"), "gone").unwrap();
    fifo(&root.join("staging/job/fifo"));
    symlink(root.join("others"), root.join("staging/job/link")).unwrap();
    symlink(root.join("others"), root.join("staging/link")).unwrap();
    let staging = root.join("staging");
    let remove = |path: &str| remove_below(&staging, Path::new(path));
    for path in ["link/file", "", "../others", "/etc"] {
        assert!(remove(path).is_err(), "{path:?}");
    }
    assert!(remove("job").unwrap());
    assert!(!remove("job").unwrap());
    assert!(!remove("none/job").unwrap());
    assert!(remove("link").unwrap(), "the link itself");
    assert_eq!(fs::read_dir(&staging).unwrap().count(), 0);
    assert_eq!(fs::read(root.join("others/file")).unwrap(), b"kept");
}

#[test]
fn no_tree_is_too_deep_to_be_removed() {
    let (_folder, root) = scratch();
    for branch in ["d", "e"] {
        let deep: PathBuf = std::iter::once("job").chain(std::iter::repeat_n(branch, 1000)).collect();
        fs::create_dir_all(root.join(&deep)).unwrap();
        fs::write(root.join(deep).join("file"), "gone").unwrap();
    }
    fs::create_dir(root.join("job/.deeper-1")).unwrap();
    assert!(remove_below(&root, Path::new("job")).unwrap());
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
}

#[test]
fn what_is_made_in_an_open_folder_has_its_mode_and_takes_no_links_place() {
    let (_folder, root) = scratch();
    fs::write(root.join("secret"), "secret").unwrap();
    fs::create_dir(root.join("ours")).unwrap();
    fs::create_dir(root.join("others")).unwrap();
    symlink("../secret", root.join("ours/lock")).unwrap();
    symlink("../others", root.join("ours/folder")).unwrap();
    fs::hard_link(root.join("secret"), root.join("ours/linked")).unwrap();
    fifo(&root.join("ours/fifo"));
    let ours = FolderHandle::open(&root.join("ours")).unwrap();
    for name in ["lock", "linked", "fifo"] {
        assert!(ours.open_own_file(OsStr::new(name), 0o600).is_err(), "{name}");
        assert!(ours.create_file(OsStr::new(name), 0o600).is_err(), "{name}");
    }
    for name in ["lock", "folder"] {
        assert!(ours.make_folder(OsStr::new(name), 0o700).is_err(), "{name}");
    }
    for name in ["", ".", "..", "a/b"] {
        assert!(ours.create_file(OsStr::new(name), 0o600).is_err(), "{name:?}");
        assert!(ours.remove(OsStr::new(name)).is_err(), "{name:?}");
    }
    assert_eq!(fs::metadata(root.join("others")).unwrap().mode() & 0o777, 0o755);
    drop(ours.open_own_file(OsStr::new("new"), 0o600).unwrap());
    drop(ours.open_own_file(OsStr::new("new"), 0o600).unwrap());
    ours.write_unsynced(OsStr::new("open"), b"text", 0o666).unwrap();
    ours.make_folder(OsStr::new("open-folder"), 0o777).unwrap();
    let mode = |name: &str| fs::metadata(root.join("ours").join(name)).unwrap().mode() & 0o777;
    assert_eq!(["new", "open", "open-folder"].map(mode), [0o600, 0o666, 0o777]);
    assert_eq!(ours.names(ListBound::OWN).unwrap(), ["fifo", "folder", "linked", "lock", "new", "open", "open-folder"]);
    assert_eq!(fs::read(root.join("secret")).unwrap(), b"secret");
    if us() == 0 {
        chown(root.join("ours/new"), Some(STRANGER), None).unwrap();
        assert!(matches!(ours.open_own_file(OsStr::new("new"), 0o600), Err(FsError::WrongOwner { .. })));
    }
}
