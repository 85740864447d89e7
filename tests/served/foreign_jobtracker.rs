//! What another JobTracker has left in the system directory, as recorded of the Java one: taken in, tried again, closed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::daemon::child::{ChildDaemon, DaemonFolders, wait_for_files};

use jobtracker::model::JobId;
use jobtracker::wire::file::JobInfo;
use jobtracker::wire::{Encode, Text, WString, Writer};

/// The recorded job: two maps of the user h1.
const JOB: &str = "job_202611210913_0005";

/// A place where a Java JobTracker has accepted the recorded job and was cut off.
struct Scene {
    place: DaemonFolders,
}

// === impl Scene ===

impl Scene {
    fn new() -> Self {
        let mut place = DaemonFolders::new("");
        place
            .overrides
            .push("mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler".to_owned());
        let scene = Self { place };
        fs::create_dir_all(scene.staging()).unwrap();
        for name in ["job.xml", "job.split", "job.splitmetainfo"] {
            fs::copy(recorded("staging-old-api").join(name), scene.staging().join(name)).unwrap();
        }
        scene.leave_job("jobToken");
        scene.leave_sign();
        scene
    }

    fn system(&self) -> PathBuf {
        self.place.path("hadoop/mapred/system")
    }

    fn staging(&self) -> PathBuf {
        self.place.path("hadoop/mapred/staging/h1/.staging").join(JOB)
    }

    /// The job's system directory, with that one of the recorded tokens.
    fn leave_job(&self, token: &str) {
        let directory = self.system().join(JOB);
        fs::create_dir_all(&directory).unwrap();
        let info = JobInfo {
            job: JOB.parse::<JobId>().unwrap(),
            user: Text("h1".to_owned()),
            directory: WString(Some(format!("file:{}", self.staging().display()))),
        };
        let mut bytes = Vec::new();
        info.encode(&mut Writer::new(&mut bytes));
        fs::write(directory.join("job-info"), bytes).unwrap();
        fs::copy(recorded("system-dir").join(token), directory.join("jobToken")).unwrap();
    }

    /// What a Java JobTracker writes at each of its starts.
    fn leave_sign(&self) {
        fs::create_dir_all(self.system()).unwrap();
        fs::write(self.system().join("jobtracker.info"), [0; 4]).unwrap();
        fs::write(self.system().join(".jobtracker.info.crc"), "crc").unwrap();
    }

    /// Starts the daemon and waits until it has seen to the system directory.
    fn start(&self) -> ChildDaemon {
        let serving = self.place.start();
        wait_for_files(&self.system(), || !self.system().join("jobtracker.info").exists());
        serving
    }

    /// Of the job: its state, user, lowest number of an attempt and token.
    fn row(&self) -> Option<(String, String, i64, Option<Vec<u8>>)> {
        let sql = "SELECT state, user, first_attempt, token_file FROM job WHERE job = ?1";
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
        self.place.database().query_row(sql, [JOB], row).ok()
    }
}

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hadoop1/files").join(name)
}

fn token(name: &str) -> Vec<u8> {
    fs::read(recorded("system-dir").join(name)).unwrap()
}

fn prep(first_attempt: i64, token_name: &str) -> Option<(String, String, i64, Option<Vec<u8>>)> {
    Some(("PREP".to_owned(), "h1".to_owned(), first_attempt, Some(token(token_name))))
}

#[test]
fn a_recorded_job_is_taken_in_under_its_id_with_its_token() {
    let scene = Scene::new();
    let serving = scene.start();
    serving.log.wait_for(&format!("adopted {JOB} of h1 from another JobTracker"));
    assert_eq!(scene.row(), prep(1_000, "jobToken"));
    assert_eq!(fs::read(scene.system().join(JOB).join("jobToken")).unwrap(), token("jobToken"));
    assert!(scene.system().join(JOB).join("job-info").exists(), "it may be given back");
    assert!(!scene.system().join(".jobtracker.info.crc").exists());
    let sql = "SELECT max(substr(identifier, 11)) FROM daemon_run";
    let minute: String = scene.place.database().query_row(sql, [], |row| row.get(0)).unwrap();
    assert!(minute.parse::<u32>().unwrap() >= 60, "{minute}: an id that the Java one may give out");
    serving.kill();
    // It is ours now: a restart continues it as any other.
    let serving = scene.place.start();
    serving.log.wait_for("1 unfinished jobs continue after the restart");
    assert!(!serving.log.text().contains("another JobTracker"), "{}", serving.log.text());
    assert_eq!(scene.row(), prep(1_000, "jobToken"));
}

#[test]
fn a_job_that_it_had_meanwhile_begins_anew_with_the_token_that_is_there_now() {
    let scene = Scene::new();
    assert_eq!(scene.start().stop().0, 0);
    scene.leave_job("jobToken.with-secret");
    scene.leave_sign();
    let serving = scene.start();
    serving.log.wait_for("it has ended 0 of 1 unfinished jobs");
    assert_eq!(scene.row(), prep(2_000, "jobToken.with-secret"));
    assert_eq!(fs::read(scene.system().join(JOB).join("jobToken")).unwrap(), token("jobToken.with-secret"));
}

#[test]
fn a_job_that_it_has_ended_is_closed() {
    let scene = Scene::new();
    assert_eq!(scene.start().stop().0, 0);
    fs::remove_dir_all(scene.system()).unwrap();
    scene.leave_sign();
    let serving = scene.start();
    serving.log.wait_for(&format!("{JOB} is over: it has ended under another JobTracker"));
    assert_eq!(scene.row().unwrap().0, "KILLED");
    assert!(!scene.system().join(JOB).exists(), "it is not needed");
}

#[test]
fn a_job_that_cannot_be_taken_in_is_told_and_stays_for_the_next_start() {
    let scene = Scene::new();
    let splits = fs::read(scene.staging().join("job.splitmetainfo")).unwrap();
    fs::remove_file(scene.staging().join("job.splitmetainfo")).unwrap();
    let serving = scene.start();
    let line = serving.log.wait_for("is not adopted");
    assert!(line.contains(JOB) && line.contains("job.splitmetainfo"), "{line}");
    assert_eq!(serving.stop().0, 0);
    assert_eq!((scene.row(), scene.system().join(JOB).join("jobToken").exists()), (None, true));
    // Somebody has mended it.
    fs::write(scene.staging().join("job.splitmetainfo"), splits).unwrap();
    let serving = scene.place.start();
    serving.log.wait_for(&format!("adopted {JOB} of h1 from"));
    assert_eq!(serving.stop().0, 0);
    assert_eq!(scene.row(), prep(1_000, "jobToken"));
}

/// The Java JobTracker takes any URL: one that cannot be called costs the owner the call, not the job.
#[test]
fn a_job_whose_end_cannot_be_notified_is_taken_in() {
    let scene = Scene::new();
    let job_xml = scene.staging().join("job.xml");
    let text = fs::read_to_string(&job_xml).unwrap();
    let url = "<property><name>job.end.notification.url</name><value>https://h/end</value></property></configuration>";
    fs::write(&job_xml, text.replace("</configuration>", url)).unwrap();
    let serving = scene.start();
    serving.log.wait_for(&format!("adopted {JOB} of h1 from another JobTracker"));
    assert_eq!(scene.row(), prep(1_000, "jobToken"));
    assert_eq!(serving.log.text().matches("will not be notified of its end").count(), 1, "{}", serving.log.text());
}

#[test]
fn nothing_is_taken_in_where_nothing_is_to_be_recovered() {
    let mut scene = Scene::new();
    scene.place.overrides.push("mapred.jobtracker.restart.recover=false".to_owned());
    let serving = scene.start();
    let line = serving.log.wait_for("is not adopted");
    assert!(line.contains(JOB) && line.contains("mapred.jobtracker.restart.recover"), "{line}");
    assert_eq!(serving.stop().0, 0);
    assert_eq!((scene.row(), scene.system().join(JOB).join("job-info").exists()), (None, true));
}

#[test]
fn attempts_are_numbered_on_after_a_copy_of_the_state_was_put_back() {
    let scene = Scene::new();
    let serving = scene.start();
    serving.log.wait_for("from another JobTracker; it runs from the start");
    let (copy, state) = (scene.place.path("copy.db"), scene.place.path("state"));
    let mut backup = Command::new(env!("CARGO_BIN_EXE_jobtracker"));
    let state_dir = format!("jobtracker.state.dir={}", state.display());
    let made = backup.env_remove("HADOOP_CONF_DIR").arg("backup").arg(&copy).args(["-D", &state_dir]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    serving.kill();
    for name in ["state.db-wal", "state.db-shm"] {
        let _ = fs::remove_file(state.join(name));
    }
    fs::copy(&copy, state.join("state.db")).unwrap();
    for _ in 0..2 {
        // The second start finds the state of the first.
        assert_eq!(scene.place.start().stop().0, 0);
        assert_eq!(scene.row(), prep(2_000, "jobToken"));
    }
}
