//! Files that are handed over, on the disk.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::Mutex;

use super::*;
use crate::fs::FileUri;
use crate::server::submission::uploads::ledger::UploadLedger;

const LIMITS: UploadLimits = UploadLimits { job_bytes: 100, user_bytes: 1_000, all_bytes: 1_000, keep_free_bytes: 0 };

struct Place {
    scratch: tempfile::TempDir,
    folders: UploadFolders,
    ledger: Arc<Mutex<UploadLedger>>,
    job: JobId,
}

impl Place {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap().join("staging");
        for folder in [&root, &scratch.path().join("state")] {
            fs::create_dir(folder).unwrap();
        }
        let staging = StagingRoot::at(FileUri::parse(root.to_str().unwrap()).unwrap());
        let folders = UploadFolders::new(staging, scratch.path().join("state"), LIMITS, "mapred".to_owned());
        Self { scratch, folders, ledger: Arc::default(), job: "job_7_0001".parse().unwrap() }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.scratch.path().join("staging").join(path)
    }

    /// Hands a file of user `u-1` over; with `cut_at`, no more than that many bytes come.
    fn hand_over(&self, name: &str, content: &[u8], cut_at: Option<usize>) -> Result<u64, FileRefusal> {
        let upload = JobUpload { job: self.job, name: name.to_owned(), sha256: Sha256::digest(content).into() };
        let owner = (Arc::from("u-1"), self.job);
        let peer = std::net::IpAddr::from([127, 0, 0, 1]).into();
        let reservation = UploadReservation::new(&self.ledger, LIMITS, (owner, peer), (name, None))?;
        let (sender, received) = mpsc::channel(1_000);
        for piece in content[..cut_at.unwrap_or(content.len())].chunks(7) {
            sender.try_send(UploadPiece::Bytes(piece.to_vec().into())).unwrap();
        }
        if cut_at.is_none() {
            sender.try_send(UploadPiece::End).unwrap();
        }
        drop(sender);
        self.folders.receive(&upload, "u-1", reservation, received)
    }

    /// All files in the staging root.
    fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut folders = vec![self.path("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                } else {
                    files.push(entry.path().strip_prefix(self.path("")).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        files.sort();
        files
    }
}

#[test]
fn a_file_lies_closed_to_others_and_its_name_again_replaces_it() {
    let place = Place::new();
    assert_eq!(place.hand_over("lib/a.jar", b"first", None).unwrap(), 5);
    assert_eq!(place.hand_over("lib/a.jar", &[7; 60], None).unwrap(), 60);
    assert_eq!(place.hand_over("job.xml", b"<x/>", None).unwrap(), 4);
    let job = "u-1/.staging/job_7_0001";
    assert_eq!(place.files(), [format!("{job}/job.xml"), format!("{job}/lib/a.jar")]);
    assert_eq!(fs::read(place.path(&format!("{job}/lib/a.jar"))).unwrap(), [7; 60]);
    let mode = |path: &str| fs::metadata(place.path(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(["u-1", "u-1/.staging", job, &format!("{job}/lib")].map(mode), [0o700; 4]);
    assert_eq!(mode(&format!("{job}/lib/a.jar")), 0o600);
    let owner = fs::metadata(place.path(job)).unwrap().uid();
    assert_eq!(owner, geteuid().as_raw(), "no machine has the user u-1");
}

#[test]
fn of_an_upload_that_fails_nothing_stays() {
    let place = Place::new();
    place.hand_over("kept", b"kept", None).unwrap();
    let cut = place.hand_over("kept", &[1; 50], Some(30)).unwrap_err();
    assert!(cut.text.contains("cut off") && cut.status == StatusCode::BAD_REQUEST, "{cut:?}");
    let long = place.hand_over("long", &[1; 97], None).unwrap_err();
    assert!(long.text.contains("jobtracker.upload.max-mb") && long.status == StatusCode::PAYLOAD_TOO_LARGE, "{long:?}");
    let upload = JobUpload { job: place.job, name: "other".to_owned(), sha256: [0; 32] };
    let peer = std::net::IpAddr::from([127, 0, 0, 1]).into();
    let reservation =
        UploadReservation::new(&place.ledger, LIMITS, ((Arc::from("u-1"), place.job), peer), ("other", None)).unwrap();
    let (sender, received) = mpsc::channel(10);
    sender.try_send(UploadPiece::End).unwrap();
    let other = place.folders.receive(&upload, "u-1", reservation, received).unwrap_err();
    assert!(other.text.contains("other has another SHA-256"), "{other:?}");
    assert_eq!(place.files(), ["u-1/.staging/job_7_0001/kept"]);
    assert_eq!(fs::read(place.path("u-1/.staging/job_7_0001/kept")).unwrap(), b"kept");
    // All of the room is there again.
    assert_eq!(place.hand_over("last", &[1; 96], None).unwrap(), 96);
}

#[test]
fn no_link_leads_to_another_place() {
    let place = Place::new();
    fs::create_dir(place.scratch.path().join("victim")).unwrap();
    for link in ["u-1", "u-1/.staging", "u-1/.staging/job_7_0001", "u-1/.staging/job_7_0001/lib"] {
        fs::create_dir_all(place.path(link).parent().unwrap()).unwrap();
        symlink(place.scratch.path().join("victim"), place.path(link)).unwrap();
        let refused = place.hand_over("lib/a", b"x", None).unwrap_err();
        assert!(refused.text.contains("is a symbolic link"), "{link}: {refused:?}");
        fs::remove_file(place.path(link)).unwrap();
    }
    // A link in the place of a file is replaced, not followed.
    fs::create_dir_all(place.path("u-1/.staging/job_7_0001")).unwrap();
    symlink(place.scratch.path().join("victim/a"), place.path("u-1/.staging/job_7_0001/a")).unwrap();
    place.hand_over("a", b"x", None).unwrap();
    assert_eq!(fs::read_dir(place.scratch.path().join("victim")).unwrap().count(), 0);
    fs::create_dir(place.path("u-1/.staging/job_7_0001/folder")).unwrap();
    assert!(place.hand_over("folder", b"x", None).is_err());
}

#[test]
fn a_folder_of_somebody_else_is_refused_with_what_to_do() {
    if !geteuid().is_root() {
        return;
    }
    let place = Place::new();
    fs::create_dir_all(place.path("u-1")).unwrap();
    std::os::unix::fs::chown(place.path("u-1"), Some(54_321), None).unwrap();
    let refused = place.hand_over("a", b"x", None).unwrap_err();
    assert!(refused.text.contains("belongs to uid 54321") && refused.text.contains("staging/u-1 if no job needs it"));
    assert_eq!(refused.status, StatusCode::CONFLICT);
}

#[test]
fn markers_lead_back_to_what_was_never_submitted() {
    let place = Place::new();
    place.hand_over("a", b"12345", None).unwrap();
    place.hand_over("lib/b", b"123", None).unwrap();
    let owner: Owner = (Arc::from("u-1"), place.job);
    let markers = place.folders.markers().unwrap();
    assert_eq!(markers.len(), 1);
    assert_eq!((&markers[0].owner, markers[0].bytes >= 8), (&owner, true));
    place.folders.remove(&owner).unwrap();
    place.folders.remove(&owner).unwrap();
    assert!(!place.path("u-1/.staging/job_7_0001").exists() && place.folders.markers().unwrap().is_empty());
}

#[test]
fn room_on_the_disk_is_kept() {
    let mut place = Place::new();
    place.folders.limits.keep_free_bytes = u64::MAX;
    let refused = place.hand_over("a", b"x", None).unwrap_err();
    assert!(refused.text.contains("jobtracker.upload.keep-free-mb"), "{refused:?}");
    assert_eq!(refused.status, StatusCode::INSUFFICIENT_STORAGE);
}

#[test]
fn user_names_are_names_of_folders() {
    assert!(["alice", "o'brien", "a.b", "ä"].into_iter().all(is_user_name));
    let long = "x".repeat(129);
    assert!(!["", ".", "..", "a/b", "/", "a\0", "a\n", &long].into_iter().any(is_user_name));
}
