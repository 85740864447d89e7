//! Files and archives of the distributed cache: their times of change, sizes and visibility, by which trackers know them (1.2.1
//! `TrackerDistributedCacheManager`).

use std::collections::BTreeMap;

use crate::config::keys::Key;
use crate::config::{Configuration, keys};
use crate::fs::{FileSystem, FileSystems, FileUri, FileUriError, FsError};

/// May others read it, or search it.
const READ_BY_OTHERS: u32 = 0o4;
const SEARCHED_BY_OTHERS: u32 = 0o1;
/// Times of local files in the Java that runs stock trackers are of whole seconds.
const SECOND_MS: i64 = 1000;

/// Why a file of the cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// No such file.
    #[error("{key}: {uri} does not exist; expected a file where workers read the input")]
    Missing {
        /// The key that names it.
        key: &'static str,
        /// Its URI.
        uri: String,
    },
    /// An unsupported path or URI.
    #[error("{key}: {source}")]
    Uri {
        /// The key that names it.
        key: &'static str,
        /// What is wrong with it.
        source: FileUriError,
    },
    /// It cannot be looked at.
    #[error("{key}: {source}")]
    File {
        /// The key that names it.
        key: &'static str,
        /// The error of the file system.
        source: Box<FsError>,
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

/// Sets what the client writes for the files and archives that a job's `configuration` names.
///
/// # Errors
/// [`CacheError`]: a file does not exist or cannot be looked at.
pub(super) fn stamp(
    properties: &mut BTreeMap<String, String>,
    configuration: &Configuration,
    file_systems: &FileSystems,
) -> Result<(), CacheError> {
    for CacheKeys { files, times, sizes, visibilities } in CACHES {
        let key = files.name;
        let uris = configuration.list(files).unwrap_or_default();
        if uris.is_empty() {
            continue;
        }
        let (mut all_times, mut all_sizes, mut all_visibilities) = (Vec::new(), Vec::new(), Vec::new());
        for uri in uris {
            let path = uri.split_once('#').map_or(uri.as_str(), |(path, _)| path);
            let file = configuration.resolve(path).map_err(|source| CacheError::Uri { key, source })?;
            let of_file = |source: FsError| CacheError::File { key, source: source.into() };
            let missing = || CacheError::Missing { key, uri: file.to_string() };
            let files = file_systems.of(&file);
            let status = files.status(&file).map_err(of_file)?.ok_or_else(missing)?;
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
        stamp(&mut properties, &configuration, &FileSystems::with_defaults("alice"))
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
}
