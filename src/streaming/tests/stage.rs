//! A scratch folder in which recorded jobs run again, with `sh` in place of Python.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::Configuration;
use crate::fs::{FileSystems, FileUri};
use crate::model::AttemptId;
use crate::wire::Phase;

use super::attempt::AttemptContext;
use super::environment::{AttemptEnvironment, build_environment};
use super::failure::TaskFailure;
use super::map_task::{MapResult, MapSplit};
use super::plan::StreamingPlan;
use super::progress::Progress;
use super::{fixtures, map_task, working_folder};

/// Words of each line; a counter for each line.
const MAPPER: &str = r#"
while IFS= read -r line || [ -n "$line" ]; do
    for word in $line; do printf '%s\t1\n' "$word"; done
    echo "reporter:counter:My Group,lines,1" >&2
done
echo "reporter:status:mapper is done" >&2
echo "plain stderr line" >&2
"#;
/// Sums of each key.
const REDUCER: &str = r#"
awk -F'\t' '$1"" != key"" { if (NR > 1) print key "\t" sum; key = $1; sum = 0 } { sum += $2 } END { if (NR) print key "\t" sum }'
"#;

pub(crate) struct Stage {
    pub(crate) scratch: tempfile::TempDir,
    pub(crate) configuration: Configuration,
    pub(crate) plan: StreamingPlan,
}

pub(crate) fn attempt_id(kind: char, task: u32) -> AttemptId {
    format!("attempt_202611211027_0016_{kind}_{task:06}_0").parse().unwrap()
}

pub(crate) fn progress_of(attempt: AttemptId, limit: Option<Duration>) -> Progress {
    Progress::new(attempt, Phase::Starting, limit).unwrap()
}

impl Stage {
    /// A recorded job with changes.
    pub(crate) fn new(job: &str, changes: &[(&str, &str)]) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let jar = scratch.path().join("jar");
        fs::create_dir(&jar).unwrap();
        fs::write(jar.join("map.sh"), MAPPER).unwrap();
        fs::write(jar.join("reduce.sh"), REDUCER).unwrap();
        let mut configuration = Configuration::new(BTreeMap::new());
        configuration.add_job_xml("job.xml", &fixtures::bytes(&format!("jobxml/{job}.job.xml"))).unwrap();
        let output = scratch.path().join("out").display().to_string();
        let reducer = if job == "keyfields" { "cat" } else { "sh+reduce.sh" };
        let mapper = if job == "keyfields" { "cat" } else { "sh+map.sh" };
        let ours = [
            ("mapred.output.dir", output.as_str()),
            ("stream.map.streamprocessor", mapper),
            ("stream.reduce.streamprocessor", reducer),
            ("stream.combine.streamprocessor", reducer),
            ("mapred.tasktracker.tasks.sleeptime-before-sigkill", "100"),
        ];
        for (name, value) in ours.iter().chain(changes) {
            configuration.add_override(&format!("{name}={value}")).unwrap();
        }
        let plan = StreamingPlan::read(&configuration).unwrap();
        Self { scratch, configuration, plan }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    pub(crate) fn split(&self, file: &Path) -> MapSplit {
        let uri = format!("file:{}", file.display());
        MapSplit {
            file: FileUri::parse(&uri).unwrap(),
            uri,
            start_bytes: 0,
            length_bytes: fs::metadata(file).unwrap().len(),
            raw_bytes: 79,
        }
    }

    /// Calls `run` with an attempt whose folders are ready.
    pub(crate) fn attempt<T>(
        &self,
        partition: u32,
        split: Option<&MapSplit>,
        progress: &Progress,
        run: impl FnOnce(&AttemptContext<'_>) -> T,
    ) -> T {
        let folder = self.path(&progress.attempt().to_string());
        let work_folder = folder.join("work");
        working_folder::prepare_working_folder(&work_folder, Some(&self.path("jar")), &[], "tmp").unwrap();
        let facts = AttemptEnvironment {
            attempt: progress.attempt(),
            partition,
            user: "alice".to_owned(),
            work_folder: work_folder.clone(),
            attempt_folder: folder.clone(),
            job_folder: self.path("job"),
            jar: None,
            token_file: self.path("jobToken"),
            cache_files: Vec::new(),
            cache_archives: Vec::new(),
            split: split.cloned(),
            work_output: None,
        };
        let of_daemon = [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into();
        let environment = build_environment(&self.configuration, &facts, &of_daemon).unwrap();
        let folder = folder.join("output");
        fs::create_dir(&folder).unwrap();
        run(&AttemptContext {
            plan: &self.plan,
            files: &FileSystems::with_defaults("alice"),
            partition,
            folder: &folder,
            work_folder: &work_folder,
            environment: &environment,
            supervisor: None,
            log: None,
            progress,
        })
    }

    /// Runs a map over an input file of the recorded jobs; returns its result and its progress.
    pub(crate) fn map(&self, task: u32, file: &str) -> (Result<MapResult, TaskFailure>, Progress) {
        self.map_file(task, &fixtures::path(&format!("input/{file}.txt")))
    }

    /// Runs a map over any file.
    pub(crate) fn map_file(&self, task: u32, file: &Path) -> (Result<MapResult, TaskFailure>, Progress) {
        let progress = progress_of(attempt_id('m', task), self.plan.process.time_limit);
        let split = self.split(file);
        let result = self.attempt(task, Some(&split), &progress, |attempt| map_task::run(attempt, &split));
        (result, progress)
    }

    /// The folder that holds a map's output.
    pub(crate) fn map_folder(&self, task: u32) -> PathBuf {
        self.path(&format!("{}/output", attempt_id('m', task)))
    }
}

/// The counters that a table names, as `name value`.
pub(crate) fn counted(progress: &Progress, names: &[&str]) -> Vec<i64> {
    let counters = progress.counters().snapshot();
    let value = |name: &&str| {
        let all = counters.groups.iter().flat_map(|group| &group.counters);
        all.filter(|counter| *counter.name == **name).map(|counter| counter.value).sum()
    };
    names.iter().map(value).collect()
}
