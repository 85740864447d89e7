//! Histories of jobs after deaths: for each finished job one file, whole, and one more for the user that wants it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::cluster::Cluster;
use crate::daemon::child::DaemonFolders;
use crate::laws::rows;
use crate::scenes::looked_into;
use crate::stage::Stage;

use jobtracker::model::{JobId, RunState};

/// A user that the system knows in any case; a daemon that is not root's writes everything as its own user.
const USER: &str = "root";

/// A job of a user that has a copy of its history.
pub fn a_copy(stage: &mut Stage) {
    let copies = stage.place.path("copies");
    let mut cluster = Cluster::new();
    cluster.properties = vec![("hadoop.job.history.user.location".to_owned(), copies.display().to_string())];
    stage.begin_life();
    cluster.beat(stage);
    stage.ask(USER, &format!("addQueue={USER}"));
    stage.ask(USER, &format!("addBudget=5&queue={USER}"));
    let job = cluster.submit(stage, USER, (1, 0));
    cluster.finish(stage, USER, job, RunState::Succeeded);
    await_histories(stage);
    cluster.clean_up(stage);
    stage.stop();
    check(&stage.place, &[job]);
    check_copy(&copies.join("_logs/history"), job);
}

/// Waits until all jobs are over and it is recorded that their histories are written.
pub fn await_histories(stage: &mut Stage) {
    let due =
        "SELECT count(*) FROM job LEFT JOIN job_history USING (job) WHERE finish_ms IS NULL OR written_ms IS NULL";
    let is_none = |database: Connection| database.query_row(due, [], |row| row.get(0)).is_ok_and(|due: i32| due == 0);
    stage.wait_until("histories", |place| looked_into(place).is_some_and(is_none));
}

/// Each job has its files in the done folder, once, and nothing else is there.
pub fn check(place: &DaemonFolders, jobs: &[JobId]) {
    let written =
        rows(place, "SELECT path FROM job_history WHERE written_ms IS NOT NULL AND job_xml IS NULL ORDER BY job");
    assert_eq!(written.len(), jobs.len(), "{written:?}");
    let files = files_below(&place.path("state/history/done"));
    assert_eq!(files.len(), 2 * jobs.len(), "{files:?}");
    for (path, job) in written.iter().zip(jobs) {
        let path = Path::new(path.strip_prefix("file:").unwrap());
        assert!(files.contains(&path.to_owned()), "{path:?} of {files:?}");
        let of_job = |file: &&PathBuf| name(file).starts_with(&job.to_string());
        assert_eq!(files.iter().filter(of_job).count(), 2, "{files:?}");
        check_whole(path, *job);
    }
}

/// A copy is written once: after a death in between it stays as it is, and what has its name is whole.
fn check_copy(folder: &Path, job: JobId) {
    let files = if folder.exists() { files_below(folder) } else { Vec::new() };
    let named: Vec<_> = files.iter().filter(|file| !name(file).starts_with('.')).collect();
    assert!(named.len() <= 2 && files.len() <= 2, "{files:?}");
    for file in named {
        let text = fs::read_to_string(file).unwrap();
        if name(file) == format!("{job}_conf.xml") {
            assert!(text.ends_with("</configuration>\n"), "{job}: {text}");
        } else {
            check_history(file, &text, job);
        }
    }
}

/// The file is written to its end, and so is that of the configuration beside it.
fn check_whole(history: &Path, job: JobId) {
    let text = fs::read_to_string(history).unwrap();
    check_history(history, &text, job);
    let conf = fs::read_to_string(history.with_file_name(format!("{job}_conf.xml"))).unwrap();
    assert!(conf.ends_with("</configuration>\n"), "{job}: {conf}");
}

fn check_history(history: &Path, text: &str, job: JobId) {
    assert!(text.starts_with("Meta VERSION=\"1\" .\nJob "), "{history:?}: {text}");
    let last = text.lines().next_back().unwrap();
    assert!(
        last.starts_with(&format!("Job JOBID=\"{job}\" FINISH_TIME=")) && text.ends_with(" .\n"),
        "{history:?}: {text}"
    );
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}
