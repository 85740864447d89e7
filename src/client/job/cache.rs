//! Files and archives of the distributed cache: their times of change, sizes and visibility, by which trackers know them (1.2.1
//! `TrackerDistributedCacheManager`).

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _};

use crate::config::keys::Key;
use crate::config::{Configuration, keys};
use crate::fs::{Expected, FileSystem, FileSystems, FileUri, FileUriError, FsError};

/// May others read it, or search it.
const READ_BY_OTHERS: u32 = 0o4;
const SEARCHED_BY_OTHERS: u32 = 0o1;
/// Where a tar file has its magic word.
const TAR_MAGIC_BYTES: usize = 257;
/// Times of local files in the Java that runs stock trackers are of whole seconds.
const SECOND_MS: i64 = 1000;

/// Why a file of the cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// No such file.
    #[error("{key}: {uri} does not exist; expected a file where workers read the input")]
    Missing {
        /// The option or the key that names it.
        key: &'static str,
        /// Its URI.
        uri: String,
    },
    /// An unsupported path or URI.
    #[error("{key}: {source}")]
    Uri {
        /// The option or the key that names it.
        key: &'static str,
        /// What is wrong with it.
        source: FileUriError,
    },
    /// It cannot be looked at.
    #[error("{key}: {source}")]
    File {
        /// The option or the key that names it.
        key: &'static str,
        /// The error of the file system.
        source: Box<FsError>,
    },
    /// Workers unpack archives by the ends of their names.
    #[error(
        "{key}: {uri} is no archive{because}; expected a .tgz, .tar.gz, .tar, .zip or .jar; --file ships a file as it is"
    )]
    NoArchive {
        /// The option or the key that names it.
        key: &'static str,
        /// Its URI.
        uri: String,
        /// What is wrong.
        because: &'static str,
    },
}

/// A key that names files, and the properties that the client writes for them.
struct CacheKeys {
    files: &'static Key,
    times: &'static str,
    sizes: &'static str,
    visibilities: &'static str,
}

const CACHES: [CacheKeys; 2] = [
    CacheKeys {
        files: &keys::CACHE_FILES,
        times: keys::CACHE_FILES_TIMESTAMPS.name,
        sizes: "mapred.cache.files.filesizes",
        visibilities: "mapreduce.job.cache.files.visibilities",
    },
    CacheKeys {
        files: &keys::CACHE_ARCHIVES,
        times: keys::CACHE_ARCHIVES_TIMESTAMPS.name,
        sizes: "mapred.cache.archives.filesizes",
        visibilities: "mapreduce.job.cache.archives.visibilities",
    },
];

/// Sets what the client writes for the files and archives that a job's `configuration` names; `archives` are those of options.
/// Errors: a file does not exist, cannot be looked at, or is none that can be unpacked.
pub(super) fn stamp(
    properties: &mut BTreeMap<String, String>,
    configuration: &Configuration,
    file_systems: &FileSystems,
    archives: &[String],
) -> Result<(), CacheError> {
    for CacheKeys { files, times, sizes, visibilities } in CACHES {
        let key = files.name;
        let is_archives = key == keys::CACHE_ARCHIVES.name;
        let uris = configuration.list(files).unwrap_or_default();
        if uris.is_empty() {
            continue;
        }
        let (mut all_times, mut all_sizes, mut all_visibilities) = (Vec::new(), Vec::new(), Vec::new());
        for uri in uris {
            let key = if is_archives && archives.contains(&uri) { "--archive" } else { key };
            let path = uri.split_once('#').map_or(uri.as_str(), |(path, _)| path);
            let file = configuration.resolve(path).map_err(|source| CacheError::Uri { key, source })?;
            let of_file = |source: FsError| CacheError::File { key, source: source.into() };
            let missing = || CacheError::Missing { key, uri: file.to_string() };
            let files = file_systems.of(&file);
            let status = files.status(&file).map_err(of_file)?.ok_or_else(missing)?;
            if key == "--archive" {
                check_archive(&files, &file, key)?;
            }
            let changed_ms = files.modified_ms(&file).map_err(of_file)?.ok_or_else(missing)?;
            let is_local = file.local_path().is_some();
            all_times.push(if is_local { changed_ms - changed_ms % SECOND_MS } else { changed_ms }.to_string());
            all_sizes.push(status.length_bytes.to_string());
            let is_public =
                status.mode & READ_BY_OTHERS != 0 && are_folders_searched(&files, &file).map_err(of_file)?;
            all_visibilities.push(is_public.to_string());
        }
        for (name, values) in [(times, all_times), (sizes, all_sizes), (visibilities, all_visibilities)] {
            properties.insert(name.to_owned(), values.join(","));
        }
    }
    Ok(())
}

/// Looks at the name of an archive and at its first bytes, if they can be read here.
fn check_archive(files: &FileSystem, file: &FileUri, key: &'static str) -> Result<(), CacheError> {
    let refused = |because| Err(CacheError::NoArchive { key, uri: file.to_string(), because });
    let name = file.name().unwrap_or_default().to_ascii_lowercase();
    let has_end = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let (at, begin): (usize, &[u8]) = match () {
        () if has_end(&[".tgz", ".tar.gz"]) => (0, b"\x1f\x8b"),
        () if has_end(&[".zip", ".jar"]) => (0, b"PK"),
        () if has_end(&[".tar"]) => (TAR_MAGIC_BYTES, b"ustar"),
        () => return refused(" by its name"),
    };
    let mut head = vec![0; at + begin.len()];
    let opened = files.open(file, &Expected::file_of_any_owner()).map_err(std::io::Error::from);
    match opened.and_then(|mut input| input.read_exact(&mut head)) {
        Ok(()) if head[at..] == *begin => Ok(()),
        Ok(()) => refused(" by its content"),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => refused(" by its content"),
        // A worker may read what this user cannot.
        Err(_) => Ok(()),
    }
}

/// Whether everybody may search all folders above a file.
fn are_folders_searched(files: &FileSystem, file: &FileUri) -> Result<bool, FsError> {
    let mut folder = file.parent();
    while let Some(path) = folder {
        if files.status(&path)?.is_some_and(|status| status.mode & SEARCHED_BY_OTHERS == 0) {
            return Ok(false);
        }
        folder = path.parent();
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    fn stamped(given: &[(&str, &str)]) -> Result<BTreeMap<String, String>, String> {
        let mut configuration = Configuration::new(BTreeMap::new());
        for (name, value) in given {
            configuration.add_override(&format!("{name}={value}")).unwrap();
        }
        let mut properties = BTreeMap::new();
        let archives = given.iter().filter(|(name, _)| *name == "--archive").map(|(_, uri)| (*uri).to_owned());
        let archives: Vec<String> = archives.collect();
        if !archives.is_empty() {
            configuration.add_override(&format!("mapred.cache.archives={}", archives.join(","))).unwrap();
        }
        stamp(&mut properties, &configuration, &FileSystems::with_defaults("alice"), &archives)
            .map(|()| properties)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn files_have_times_sizes_and_visibilities_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        for (name, mode) in [("open", 0o644), ("closed", 0o600)] {
            fs::write(path(name), name).unwrap();
            fs::set_permissions(path(name), Permissions::from_mode(mode)).unwrap();
            let changed = UNIX_EPOCH + Duration::from_millis(1_700_000_000_987);
            File::options().write(true).open(path(name)).unwrap().set_modified(changed).unwrap();
        }
        let both = format!("file:{}#x,{}", path("open"), path("closed"));
        let stamped_in = |mode| {
            fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
            stamped(&[("mapred.cache.files", &both)]).unwrap()
        };
        let found = stamped_in(0o755);
        assert_eq!(found["mapred.cache.files.timestamps"], "1700000000000,1700000000000");
        assert_eq!(found["mapred.cache.files.filesizes"], "4,6");
        assert_eq!(found["mapreduce.job.cache.files.visibilities"], "true,false");
        assert_eq!(found.len(), 3, "nothing is said of archives");
        assert_eq!(stamped_in(0o700)["mapreduce.job.cache.files.visibilities"], "false,false");
    }

    #[test]
    fn files_that_are_not_there_are_named() {
        let refused = |value: &str| stamped(&[("mapred.cache.archives", value)]).unwrap_err();
        assert_eq!(
            refused("file:/none/lib.tgz#tools"),
            "mapred.cache.archives: file:/none/lib.tgz does not exist; expected a file where workers read the input"
        );
        assert!(refused("s3://n/x").contains("unknown file system \"s3\""));
        assert!(refused("lib.tgz").starts_with("mapred.cache.archives: "));
    }

    #[test]
    fn what_is_no_archive_is_refused_and_called_by_its_option() {
        let folder = tempfile::tempdir().unwrap();
        let mut tar = vec![0; TAR_MAGIC_BYTES];
        tar.extend_from_slice(b"ustar\0");
        for (name, content, because) in [
            ("a.tgz", &b"\x1f\x8b\x08"[..], None),
            ("a.tar", &tar[..], None),
            ("a.JAR", &b"PK\x03\x04"[..], None),
            ("a.txt", &b"PK"[..], Some("by its name")),
            ("b.tar.gz", &b"text"[..], Some("by its content")),
            ("b.zip", &b""[..], Some("by its content")),
            ("b.tar", &b"short"[..], Some("by its content")),
        ] {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            let uri = format!("file:{}#x", path.display());
            match (stamped(&[("--archive", &uri)]), because) {
                (Ok(_), None) => {}
                (Err(text), Some(because)) => {
                    assert!(text.starts_with("--archive: file:") && text.contains(because), "{text}");
                }
                (other, _) => panic!("{name}: {other:?}"),
            }
        }
        let missing = stamped(&[("--archive", "file:/none/lib.tgz#tools")]).unwrap_err();
        assert!(missing.starts_with("--archive: file:/none/lib.tgz does not exist"), "{missing}");
    }
}
