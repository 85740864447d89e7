//! Reads the files of a conf folder, in Hadoop's order.

use std::path::Path;
use std::sync::Arc;

use crate::fs::{FsError, open_named_by_conf};
use crate::model::edit_distance;

use super::configuration::Configuration;
use super::error::{ConfigError, Origin, Warning};
use super::keys;

pub(crate) const LONGEST_FILE_BYTES: u64 = 16 << 20;

/// Deprecated since Hadoop 0.20, still read by 1.2.1 after the others.
const HADOOP_SITE: &str = "hadoop-site.xml";
/// Files of a conf folder that are read under these names only.
const KNOWN_FILES: [&str; 7] = [
    "core-site.xml",
    "mapred-site.xml",
    "hdfs-site.xml",
    "mapred-queue-acls.xml",
    "capacity-scheduler.xml",
    "fair-scheduler.xml",
    "hadoop-policy.xml",
];
/// Most edits that make the name of a file a mistyped one.
const MOST_EDITS: usize = 2;
/// What is read, in this order.
const SITE_FILES: [&str; 4] = ["core-site.xml", "mapred-site.xml", "hdfs-site.xml", HADOOP_SITE];
/// The queues of Hadoop 0.21 and 0.22.
const QUEUES_FILE: &str = "mapred-queues.xml";
/// The file of YARN's daemons.
const YARN_SITE: &str = "yarn-site.xml";
/// What runs the jobs of clients of Hadoop 0.23 and later.
const FRAMEWORK: &str = "mapreduce.framework.name";

/// Adds the files of a conf folder: `core-site.xml`, `mapred-site.xml`, `hdfs-site.xml`,
/// `hadoop-site.xml`, `mapred-queue-acls.xml`. Each may be missing, but not the folder.
/// Errors: the folder cannot be read, a file cannot be read, is too long or is not a configuration file.
pub(crate) fn add_conf_folder(configuration: &mut Configuration, folder: &Path) -> Result<(), ConfigError> {
    add_files(configuration, folder).into_iter().next().map_or(Ok(()), Err)
}

/// The same with the errors of all files; those without an error are added.
pub(super) fn add_files(configuration: &mut Configuration, folder: &Path) -> Vec<ConfigError> {
    // Listing it distinguishes a missing or unreadable folder from a folder without these files.
    if let Err(error) = std::fs::read_dir(folder) {
        return vec![ConfigError::ConfFolder { folder: folder.to_owned(), reason: error.to_string() }];
    }
    let mut errors = Vec::new();
    for name in SITE_FILES {
        let path = folder.join(name);
        let file = path.display().to_string();
        let added = read_optional(&path, &file).and_then(|bytes| {
            let Some(bytes) = bytes else { return Ok(()) };
            if name == HADOOP_SITE {
                configuration.add_warning(Warning::HadoopSite { file: Arc::from(file.as_str()) });
            }
            configuration.add_file(&file, &bytes)
        });
        errors.extend(added.err());
    }
    let path = folder.join("mapred-queue-acls.xml");
    let file = path.display().to_string();
    let added = read_optional(&path, &file)
        .and_then(|bytes| bytes.map_or(Ok(()), |bytes| configuration.add_queue_acls_file(&file, &bytes)));
    errors.extend(added.err());
    warn_of_other_lines(configuration, folder);
    errors
}

/// What says that a folder was made for another program, or another line of Hadoop.
fn warn_of_other_lines(configuration: &mut Configuration, folder: &Path) {
    let has = |folder: &Path, name: &str| folder.join(name).exists();
    let has_site = |folder: &Path| SITE_FILES.iter().any(|name| has(folder, name));
    if !has_site(folder) {
        let inside = ["conf", "hadoop", "etc/hadoop", "hadoop/conf"].map(|name| folder.join(name));
        let inside = inside.into_iter().find(|folder| has_site(folder));
        configuration.add_warning(Warning::NoSiteFiles { folder: folder.to_owned(), inside });
    }
    let is_of_mapreduce = |name: &str| name == "mapred-site.xml" || name == HADOOP_SITE;
    if has_site(folder) && !SITE_FILES.iter().any(|name| is_of_mapreduce(name) && has(folder, name)) {
        configuration.add_warning(Warning::NoMapredSite { folder: folder.to_owned() });
    }
    for (file, meant) in misnamed_files(folder) {
        // A value may name it: an allocation file or a list of hosts has any name.
        if configuration.written().any(|(_, value, _)| value.trim().rsplit('/').next() == Some(&*file)) {
            continue;
        }
        configuration.add_warning(Warning::MisnamedFile { file: folder.join(file), meant });
    }
    if has(folder, QUEUES_FILE) {
        configuration.add_warning(Warning::QueuesFile { file: folder.join(QUEUES_FILE) });
    }
    let framework = configuration.named(FRAMEWORK).ok().flatten();
    let has_jobtracker = configuration.setting(&keys::RPC_ADDRESS).is_ok_and(|address| {
        address.is_some_and(|address| address.origin != Origin::Default && address.value.trim() != "local")
    });
    let sign = match framework.filter(|framework| framework.value.trim().starts_with("yarn")) {
        Some(framework) => format!("{}: {FRAMEWORK} = {:?}", framework.origin, framework.value),
        None if has(folder, YARN_SITE) && !has_jobtracker => format!("{YARN_SITE} is there"),
        None => return,
    };
    configuration.add_warning(Warning::ForYarn { folder: folder.to_owned(), sign });
}

/// Files with almost the name of one that is read and missing, by name.
fn misnamed_files(folder: &Path) -> Vec<(String, &'static str)> {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let missing: Vec<&str> = KNOWN_FILES.into_iter().filter(|known| !names.iter().any(|name| name == known)).collect();
    let meant = |name: &str| {
        let lower = name.to_ascii_lowercase();
        let of = |known: &&str| edit_distance(&lower, known, MOST_EDITS).is_some();
        missing.iter().copied().find(|known| !KNOWN_FILES.contains(&name) && of(known))
    };
    names.iter().filter_map(|name| Some((name.clone(), meant(name)?))).collect()
}

/// The bytes of a file; none if it does not exist.
pub(super) fn read_optional(path: &Path, file: &str) -> Result<Option<Vec<u8>>, ConfigError> {
    let unreadable =
        |reason: String| ConfigError::Unreadable { file: Arc::from(file), reason, limit_bytes: LONGEST_FILE_BYTES };
    match open_named_by_conf(path).and_then(|file| file.read_limited(LONGEST_FILE_BYTES)) {
        Ok(bytes) => Ok(Some(bytes)),
        // A dangling link is a mistake, a missing file is not.
        Err(error) if error.is_not_found() && std::fs::symlink_metadata(path).is_err() => Ok(None),
        Err(error) => Err(unreadable(reason(&error))),
    }
}

/// Why a file cannot be read, without its name, which the message has already.
pub(super) fn reason(error: &FsError) -> String {
    match error {
        FsError::Refused { source, .. } => source.to_string(),
        FsError::WrongKind { .. } => "not a regular file".to_owned(),
        FsError::TooLong { .. } => "too long".to_owned(),
        error => error.to_string(),
    }
}

#[cfg(test)]
#[path = "tests/conf_folder.rs"]
mod tests;
