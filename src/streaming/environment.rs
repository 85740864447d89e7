//! The environment of a command: the job's whole configuration, and what stock tasks add (1.2.1 `PipeMapRed`,
//! `TaskRunner`). Of the daemon's own environment, only variables that hold no secrets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::config::keys::Key;
use crate::config::{ConfigError, Configuration, keys};
use crate::model::AttemptId;

use super::map_split::MapSplit;

/// Variables that commands inherit from the daemon, beside `LC_…`.
const PASSED_ON: &[&str] = &["PATH", "LANG", "LANGUAGE", "TZ", "JAVA_HOME"];
/// Longest entry with which the system starts a process, bytes.
const LONGEST_ENTRY_BYTES: usize = (128 << 10) - 1;
/// Most bytes of all entries; the rest of the system's limit is for arguments.
const MOST_BYTES: usize = 1 << 20;

/// What the environment of one attempt holds beside the job's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AttemptEnvironment {
    pub(crate) attempt: AttemptId,
    pub(crate) partition: u32,
    pub(crate) user: String,
    pub(crate) work_folder: PathBuf,
    pub(crate) attempt_folder: PathBuf,
    /// Shared by the job's tasks here.
    pub(crate) job_folder: PathBuf,
    pub(crate) jar: Option<PathBuf>,
    pub(crate) token_file: PathBuf,
    /// Cache files on this machine, in the order of the job.
    pub(crate) cache_files: Vec<PathBuf>,
    pub(crate) cache_archives: Vec<PathBuf>,
    /// For a map.
    pub(crate) split: Option<MapSplit>,
    /// Where side files go that are committed with the task, as a URI.
    pub(crate) work_output: Option<String>,
}

/// Whether commands inherit a variable from the daemon.
pub(crate) fn is_passed_on(name: &str) -> bool {
    PASSED_ON.contains(&name) || name.starts_with("LC_")
}

/// Builds the environment, sorted by name. Errors: [`ConfigError`] for a value that expands without end.
pub(crate) fn build_environment(
    configuration: &Configuration,
    facts: &AttemptEnvironment,
    of_daemon: &BTreeMap<String, String>,
) -> Result<Vec<(String, String)>, ConfigError> {
    let mut all: BTreeMap<String, String> = of_daemon
        .iter()
        .filter(|(name, _)| is_passed_on(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let text = |key: &Key| configuration.text(key).map(Option::unwrap_or_default);
    let work = facts.work_folder.display().to_string();
    let libraries = match of_daemon.get("LD_LIBRARY_PATH") {
        Some(path) => format!("{work}:{path}"),
        None => work.clone(),
    };
    let mut set = |name: &str, value: String| all.insert(name.to_owned(), value);
    set("PWD", work.clone());
    set("HADOOP_WORK_DIR", work);
    set("LD_LIBRARY_PATH", libraries);
    set("USER", facts.user.clone());
    set("LOGNAME", facts.user.clone());
    set("HOME", home_of_commands(configuration, of_daemon.get("HOME"))?);
    set("SHELL", text(&keys::TASK_SHELL)?);
    set("HADOOP_TOKEN_FILE_LOCATION", facts.token_file.display().to_string());
    let of_kind = if facts.split.is_some() { &keys::MAP_CHILD_ENVIRONMENT } else { &keys::REDUCE_CHILD_ENVIRONMENT };
    let for_tasks = match configuration.text(of_kind)? {
        Some(for_tasks) => for_tasks,
        None => text(&keys::CHILD_ENVIRONMENT)?,
    };
    for entry in for_tasks.split(',') {
        if let Some((name, value)) = entry.trim().split_once('=') {
            let value = replace_variables(value, |name| all.get(name).or_else(|| of_daemon.get(name)));
            all.insert(name.to_owned(), value);
        }
    }
    for (name, value) in configuration.expanded_values() {
        all.insert(variable_name(name), value);
    }
    for (name, value) in facts.properties() {
        all.insert(variable_name(name), value);
    }
    for entry in text(&keys::ADD_ENVIRONMENT)?.split(' ') {
        if let Some((name, value)) = entry.split_once('=') {
            all.insert(name.to_owned(), value.to_owned());
        }
    }
    let temporary = facts.work_folder.join(text(&keys::CHILD_TMP)?.trim_start_matches("./"));
    all.insert("TMPDIR".to_owned(), temporary.display().to_string());
    Ok(startable(all))
}

/// `HOME` of commands: what the configuration names, else that of their worker or user, else its default.
/// Errors: [`ConfigError`] for a value that expands without end.
pub(crate) fn home_of_commands(configuration: &Configuration, own: Option<&String>) -> Result<String, ConfigError> {
    match (own, configuration.named(keys::TASK_HOME.name)?) {
        (Some(own), None) => Ok(own.clone()),
        _ => Ok(configuration.text(&keys::TASK_HOME)?.unwrap_or_default()),
    }
}

/// Keeps only entries with which a process can start.
fn startable(all: BTreeMap<String, String>) -> Vec<(String, String)> {
    let mut left = MOST_BYTES;
    let fits = |(name, value): &(String, String)| {
        let bytes = name.len() + value.len() + 2;
        let sound = !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0');
        let fits = sound && bytes <= LONGEST_ENTRY_BYTES && bytes <= left;
        left -= if fits { bytes } else { 0 };
        fits
    };
    all.into_iter().filter(fits).collect()
}

/// A property's name as a variable's: anything but ASCII letters and digits becomes `_`.
fn variable_name(property: &str) -> String {
    // Java replaces units of UTF-16.
    let units = property.encode_utf16();
    units.map(|unit| char::from_u32(unit.into()).filter(char::is_ascii_alphanumeric).unwrap_or('_')).collect()
}

/// Replaces `$NAME`.
fn replace_variables<'a>(text: &str, value: impl Fn(&str) -> Option<&'a String>) -> String {
    let mut pieces = text.split('$');
    let mut replaced = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(piece.len());
        if end == 0 {
            replaced.push('$');
        }
        replaced += value(&piece[..end]).map_or("", String::as_str);
        replaced += &piece[end..];
    }
    replaced
}

impl AttemptEnvironment {
    /// What stock trackers add to the configuration of an attempt.
    fn properties(&self) -> Vec<(&'static str, String)> {
        let path = |path: &Path| path.display().to_string();
        let list = |paths: &[PathBuf]| paths.iter().map(|one| path(one)).collect::<Vec<_>>().join(",");
        let mut properties = vec![
            ("mapred.job.id", self.attempt.task.job.to_string()),
            ("mapred.tip.id", self.attempt.task.to_string()),
            ("mapred.task.id", self.attempt.to_string()),
            ("mapred.task.partition", self.partition.to_string()),
            ("mapred.task.is.map", self.split.is_some().to_string()),
            ("mapred.local.dir", path(&self.attempt_folder)),
            ("job.local.dir", path(&self.job_folder)),
            ("user.name", self.user.clone()),
            ("mapred.skip.on", "false".to_owned()),
        ];
        if let Some(jar) = &self.jar {
            properties.push(("mapred.jar", path(jar)));
        }
        if !self.cache_files.is_empty() {
            properties.push(("mapred.cache.localFiles", list(&self.cache_files)));
        }
        if !self.cache_archives.is_empty() {
            properties.push(("mapred.cache.localArchives", list(&self.cache_archives)));
        }
        if let Some(split) = &self.split {
            properties.push(("map.input.file", split.uri.clone()));
            properties.push(("map.input.start", split.start_bytes.to_string()));
            properties.push(("map.input.length", split.length_bytes.to_string()));
        }
        if let Some(output) = &self.work_output {
            properties.push(("mapred.work.output.dir", output.clone()));
        }
        properties
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures;
    use super::*;

    fn environment(changes: &[&str]) -> BTreeMap<String, String> {
        let mut configuration = Configuration::new(BTreeMap::new());
        configuration.add_job_xml("job.xml", &fixtures::bytes("jobxml/all-options.job.xml")).unwrap();
        changes.iter().for_each(|change| configuration.add_override(change).unwrap());
        let facts = AttemptEnvironment {
            attempt: "attempt_202611211027_0016_m_000001_0".parse().unwrap(),
            partition: 1,
            user: "alice".to_owned(),
            work_folder: "/l/a/work".into(),
            attempt_folder: "/l/a".into(),
            job_folder: "/l/work".into(),
            jar: Some("/l/jars/job.jar".into()),
            token_file: "/l/jobToken".into(),
            cache_files: vec!["/c/1".into(), "/c/2".into()],
            cache_archives: Vec::new(),
            split: Some(MapSplit {
                uri: "file:/in/a.txt".to_owned(),
                file: crate::fs::FileUri::parse("file:/in/a.txt").unwrap(),
                start_bytes: 3,
                length_bytes: 4,
                raw_bytes: 0,
            }),
            work_output: None,
        };
        let of_daemon = [("PATH", "/bin"), ("SECRET", "x"), ("LC_ALL", "C"), ("LD_LIBRARY_PATH", "/lib"), ("B", "tb")];
        let mut of_daemon: BTreeMap<String, String> =
            of_daemon.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        if changes.contains(&"own=home") {
            of_daemon.insert("HOME".to_owned(), "/home/worker".to_owned());
        }
        build_environment(&configuration, &facts, &of_daemon).unwrap().into_iter().collect()
    }

    #[test]
    fn commands_see_what_stock_commands_see() {
        let environment = environment(&["mapred.child.env=B=$B:/y,C=$A$B$none,PATH=/new:$PATH", "x.é-1=${io.sort.mb}"]);
        let expected = [
            ("PATH", "/new:/bin"),
            ("LC_ALL", "C"),
            ("PWD", "/l/a/work"),
            ("HOME", "/homes/"),
            ("SHELL", "/bin/bash"),
            ("USER", "alice"),
            ("TMPDIR", "/l/a/work/tmp"),
            ("LD_LIBRARY_PATH", "/l/a/work:/lib"),
            ("mapred_job_id", "job_202611211027_0016"),
            ("mapred_tip_id", "task_202611211027_0016_m_000001"),
            ("mapred_task_id", "attempt_202611211027_0016_m_000001_0"),
            ("mapred_task_partition", "1"),
            ("mapred_task_is_map", "true"),
            ("map_input_file", "file:/in/a.txt"),
            ("map_input_start", "3"),
            ("mapred_jar", "/l/jars/job.jar"),
            ("mapred_cache_localFiles", "/c/1,/c/2"),
            ("mapred_local_dir", "/l/a"),
            ("user_name", "alice"),
            ("x___1", "100"),
            // -cmdenv wins over mapred.child.env.
            ("A", "1"),
            ("B", "two"),
            ("C", "tb:/y"),
        ];
        for (name, value) in expected {
            assert_eq!(environment.get(name).map(String::as_str), Some(value), "{name}");
        }
        assert!(!environment.contains_key("SECRET"));
    }

    #[test]
    fn a_worker_with_a_home_shares_it_unless_the_job_has_another() {
        let (own, other) = (environment(&["own=home"]), environment(&["own=home", "mapreduce.admin.user.home.dir=/h"]));
        assert_eq!([&own["HOME"], &other["HOME"]], ["/home/worker", "/h"]);
    }

    #[test]
    fn what_no_process_can_be_started_with_is_left_out() {
        let environment = environment(&[&format!("long={}", "x".repeat(200_000)), "nul=a\0b"]);
        assert!(!environment.contains_key("long") && !environment.contains_key("nul"));
    }
}
