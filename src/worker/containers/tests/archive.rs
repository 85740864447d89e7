//! Archives that stay in their folder, and those that want to leave it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

/// A name, and what stands under it.
enum Entry {
    File(&'static str, &'static str, u32),
    Folder(&'static str),
    Link(&'static str, &'static str),
    HardLink(&'static str, &'static str),
    Pipe(&'static str),
}

fn tar_of(entries: &[Entry]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for entry in entries {
        let mut header = tar::Header::new_gnu();
        let (name, kind, mode, content) = match entry {
            Entry::File(name, content, mode) => (name, EntryType::Regular, *mode, *content),
            Entry::Folder(name) => (name, EntryType::Directory, 0o755, ""),
            Entry::Link(name, target) => {
                header.set_link_name(target).unwrap();
                (name, EntryType::Symlink, 0o777, "")
            }
            Entry::HardLink(name, target) => {
                header.set_link_name(target).unwrap();
                (name, EntryType::Link, 0o644, "")
            }
            Entry::Pipe(name) => (name, EntryType::Fifo, 0o644, ""),
        };
        // Written by hand: the library refuses to make names that lead out.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(content.len() as u64);
        header.set_cksum();
        builder.append(&header, content.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

fn unpack_bytes(format: ArchiveFormat, bytes: &[u8]) -> (tempfile::TempDir, Result<(), String>) {
    let scratch = tempfile::tempdir().unwrap();
    let packed = scratch.path().join("packed");
    fs::write(&packed, bytes).unwrap();
    fs::create_dir(scratch.path().join("in")).unwrap();
    let folder = FolderHandle::open(&scratch.path().join("in")).unwrap();
    let unpacked = unpack(format, File::open(&packed).unwrap(), &folder, &|| false);
    (scratch, unpacked.map_err(|error| error.to_string()))
}

#[test]
fn files_folders_and_links_inside_come_and_files_are_read_only() {
    let bytes = tar_of(&[
        Entry::Folder("./d"),
        Entry::File("d/run.sh", "#!/bin/sh", 0o755),
        Entry::File("e/f/data", "old", 0o644),
        Entry::File("e/f/data", "new", 0o644),
        Entry::Link("e/f/up", "../../d/run.sh"),
        Entry::HardLink("same", "d/run.sh"),
    ]);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&bytes).unwrap();
    for (format, bytes) in [(ArchiveFormat::Tar, bytes), (ArchiveFormat::TarGz, packed.finish().unwrap())] {
        let (scratch, unpacked) = unpack_bytes(format, &bytes);
        assert_eq!(unpacked, Ok(()));
        let at = |name: &str| scratch.path().join("in").join(name);
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(fs::read_to_string(at("e/f/data")).unwrap(), "new");
        assert_eq!(fs::read_to_string(at("e/f/up")).unwrap(), "#!/bin/sh");
        assert_eq!((mode("d/run.sh"), mode("e/f/data"), mode("same")), (0o500, 0o400, 0o500));
    }
}

#[test]
fn what_leads_out_is_refused_by_name() {
    let cases: [(&[Entry], &str); 8] = [
        (&[Entry::File("../out", "x", 0o644)], r#""../out" leads out"#),
        (&[Entry::File("a/../../out", "x", 0o644)], "leads out"),
        (&[Entry::File("/out", "x", 0o644)], "leads out"),
        (&[Entry::Link("l", "..")], "is a link that leads out"),
        (&[Entry::Link("l", "/etc")], "is a link that leads out"),
        // `here` is the folder itself, so that `here/..` is above it.
        (&[Entry::Link("here", "."), Entry::Link("l", "here/..")], "is a link that leads out"),
        (&[Entry::HardLink("l", "../packed")], "leads out"),
        (&[Entry::Pipe("p")], "is no file, folder or link"),
    ];
    for (entries, expected) in cases {
        let (scratch, unpacked) = unpack_bytes(ArchiveFormat::Tar, &tar_of(entries));
        let refused = unpacked.unwrap_err();
        assert!(refused.contains(expected), "{refused}");
        assert!(!scratch.path().join("out").exists());
    }
}

#[test]
fn nothing_is_written_through_a_link() {
    let entries = [Entry::Folder("d"), Entry::Link("l", "d"), Entry::File("l/file", "x", 0o644)];
    let (scratch, unpacked) = unpack_bytes(ArchiveFormat::Tar, &tar_of(&entries));
    assert!(unpacked.unwrap_err().contains("link"));
    assert!(!scratch.path().join("in/d/file").exists());
}

#[test]
fn a_zip_has_the_same_rules() {
    let zip_of = |names: &[&str]| {
        let mut zip = ZipWriter::new(io::Cursor::new(Vec::new()));
        for name in names {
            zip.start_file(*name, SimpleFileOptions::default().unix_permissions(0o755)).unwrap();
            zip.write_all(b"content").unwrap();
        }
        zip.add_symlink("link", "a/b", SimpleFileOptions::default()).unwrap();
        zip.finish().unwrap().into_inner()
    };
    let (scratch, unpacked) = unpack_bytes(ArchiveFormat::Zip, &zip_of(&["a/b"]));
    assert_eq!(unpacked, Ok(()));
    assert_eq!(fs::read_to_string(scratch.path().join("in/link")).unwrap(), "content");
    let (_scratch, unpacked) = unpack_bytes(ArchiveFormat::Zip, &zip_of(&["../b"]));
    assert!(unpacked.unwrap_err().contains("leads out"));
    let (_scratch, unpacked) = unpack_bytes(ArchiveFormat::Zip, b"no archive");
    assert!(unpacked.unwrap_err().contains("cannot be read"));
}

#[test]
fn a_container_that_is_to_end_does_not_wait_for_its_archive() {
    let scratch = tempfile::tempdir().unwrap();
    let packed = scratch.path().join("packed");
    fs::write(&packed, tar_of(&[Entry::File("a", "x", 0o644)])).unwrap();
    let folder = FolderHandle::open(scratch.path()).unwrap();
    let stopped = unpack(ArchiveFormat::Tar, File::open(&packed).unwrap(), &folder, &|| true);
    assert!(matches!(stopped, Err(ResourceFault::Stopped)));
}

/// A small archive may hold a disk's worth of zeros.
#[test]
fn what_an_archive_becomes_has_bounds() {
    let scratch = tempfile::tempdir().unwrap();
    let packed = scratch.path().join("packed");
    fs::write(&packed, tar_of(&[Entry::File("a", "12345", 0o644), Entry::File("b", "12345", 0o644)])).unwrap();
    let folder = FolderHandle::open(scratch.path()).unwrap();
    let within = |entries, bytes| {
        let left = Left { entries: Cell::new(entries), bytes: Cell::new(bytes) };
        let unpacked = unpack_within(left, ArchiveFormat::Tar, File::open(&packed).unwrap(), &folder, &|| false);
        unpacked.map_err(|fault| fault.to_string())
    };
    assert_eq!(within(2, 10), Ok(()));
    assert!(within(1, 10).unwrap_err().contains("more than 500000 entries"));
    assert!(within(2, 9).unwrap_err().contains("holds more than"));
}
