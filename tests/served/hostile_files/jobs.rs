//! Files of jobs that are not what they seem, and directories that are not the submitter's.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::daemon::child::{ChildDaemon, DaemonFolders};
use crate::daemon::skip::skip_without_root;

use jobtracker::ipc::client::{IpcClient, IpcError};
use jobtracker::model::JobId;
use jobtracker::wire::Credentials;
use jobtracker::wire::file::{SplitMeta, write_split_meta};
use jobtracker::wire::protocol::{Call, JobSubmissionCall, Protocol, Value};

const JOB_XML: &str =
    "<configuration><property><name>mapred.map.tasks</name><value>1</value></property></configuration>";

/// A served daemon, and one of its users.
struct Stage {
    place: DaemonFolders,
    serving: ChildDaemon,
    runtime: tokio::runtime::Runtime,
}

impl Stage {
    fn new(mut place: DaemonFolders) -> Self {
        place
            .overrides
            .push("mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler".to_owned());
        let serving = place.start();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { place, serving, runtime }
    }

    fn rpc(&self) -> SocketAddr {
        self.serving.rpc()
    }

    fn ask(&self, user: &str, call: JobSubmissionCall) -> Result<Value, IpcError> {
        self.runtime.block_on(async {
            let mut client = IpcClient::connect(self.rpc(), Protocol::JobSubmission, user).await?;
            client.call(&Call::JobSubmission(call)).await
        })
    }

    /// A job of that user, whose files are as the daemon expects them.
    fn staged(&self, user: &str) -> (JobId, PathBuf) {
        let Value::JobId(id) = self.ask(user, JobSubmissionCall::GetNewJobId).unwrap() else { panic!("no id") };
        let folder = self.place.path(&format!("hadoop/mapred/staging/{user}/.staging/{id}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("job.xml"), JOB_XML).unwrap();
        let meta = SplitMeta { locations: Vec::new(), offset_bytes: 7, length_bytes: 100 };
        fs::write(folder.join("job.splitmetainfo"), write_split_meta(&[meta])).unwrap();
        // All belongs to the daemon's user, who removes it in the end.
        let owner = fs::metadata(self.place.path("hadoop")).unwrap().uid();
        let area = folder.parent().unwrap();
        for path in [area.parent().unwrap(), area, &folder, &folder.join("job.xml"), &folder.join("job.splitmetainfo")]
        {
            chown(path, Some(owner), None).unwrap();
        }
        (id, folder)
    }

    /// The answer to a submission: nothing, or why it is refused.
    fn submit(&self, user: &str, id: JobId, folder: &Path) -> Result<(), String> {
        let call = JobSubmissionCall::SubmitJob {
            job: Some(id),
            directory: Some(format!("file:{}", folder.display())),
            credentials: Some(Credentials::default()),
        };
        match self.ask(user, call) {
            Ok(Value::JobStatus(Some(_))) => Ok(()),
            Err(IpcError::Remote { exception, .. }) => Err(exception.message),
            other => panic!("{other:?}"),
        }
    }
}

fn both(test: impl Fn(Stage)) {
    test(Stage::new(DaemonFolders::new("")));
    test(Stage::new(DaemonFolders::of_nobody("")));
}

/// Readable for a daemon without the rights of root.
fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
}

#[test]
fn files_that_are_none_are_refused_at_once_and_the_next_job_goes_in() {
    both(|stage| {
        for file in ["job.xml", "job.splitmetainfo"] {
            // More than there are places for at one time: none of them stays taken.
            for number in 0..20 {
                let (id, folder) = stage.staged("mallory");
                let path = folder.join(file);
                fs::rename(&path, folder.join("good")).unwrap();
                match number % 4 {
                    0 => fifo(&path),
                    1 => symlink("/proc/kmsg", &path).unwrap(),
                    2 => symlink("good", &path).unwrap(),
                    _ => fs::hard_link(folder.join("good"), &path).unwrap(),
                }
                let refused = stage.submit("mallory", id, &folder).unwrap_err();
                assert!(refused.contains(path.to_str().unwrap()), "{refused}");
            }
        }
        let (id, folder) = stage.staged("alice");
        stage.submit("alice", id, &folder).unwrap();
    });
}

#[test]
fn a_job_lies_where_its_user_was_sent() {
    both(|stage| {
        let (alices, folder) = stage.staged("alice");
        let (bobs, bobs_folder) = stage.staged("bob");
        let staging = stage.place.path("hadoop/mapred/staging");
        // As she keeps private work where root alone could read it too.
        let private = stage.place.path("private").join(bobs.to_string());
        fs::create_dir_all(&private).unwrap();
        for name in ["job.xml", "job.splitmetainfo"] {
            fs::copy(folder.join(name), private.join(name)).unwrap();
        }
        let expected = format!("expected file:{}/bob/.staging/{bobs} (", staging.display());
        for directory in [&private, &folder, &staging.join(format!("bob/.staging/../../alice/.staging/{alices}"))] {
            let refused = stage.submit("bob", bobs, directory).unwrap_err();
            assert!(refused.contains(&expected), "{refused}");
        }
        // Nor by a link in any part of the path.
        fs::remove_dir_all(&bobs_folder).unwrap();
        symlink(&private, &bobs_folder).unwrap();
        let refused = stage.submit("bob", bobs, &bobs_folder).unwrap_err();
        assert!(refused.contains("is a symbolic link"), "{refused}");
        stage.submit("alice", alices, &folder).unwrap();
    });
}

#[test]
fn files_of_other_users_are_not_the_submitters() {
    if skip_without_root("files_of_other_users_are_not_the_submitters") {
        return;
    }
    let stage = Stage::new(DaemonFolders::new(""));
    let (id, folder) = stage.staged("mallory");
    // Everything is a neighbour's but one file, which is another's again.
    let area = folder.parent().unwrap();
    for path in [area.parent().unwrap(), area, &folder, &folder.join("job.splitmetainfo")] {
        chown(path, Some(54_321), None).unwrap();
    }
    chown(folder.join("job.xml"), Some(54_322), None).unwrap();
    let refused = stage.submit("mallory", id, &folder).unwrap_err();
    assert!(refused.contains("job.xml belongs to uid 54322; expected uid 54321 or uid 0"), "{refused}");
    chown(folder.join("job.xml"), Some(54_321), None).unwrap();
    stage.submit("mallory", id, &folder).unwrap();
}

#[test]
fn what_is_removed_is_the_jobs_own_directory() {
    both(|stage| {
        let (id, folder) = stage.staged("mallory");
        stage.submit("mallory", id, &folder).unwrap();
        // A victim's directory of the same name, to which the way now leads.
        let victim = stage.place.path("victim").join(id.to_string());
        fs::create_dir_all(&victim).unwrap();
        fs::write(victim.join("kept"), "").unwrap();
        let area = folder.parent().unwrap();
        fs::rename(area, area.with_file_name("away")).unwrap();
        symlink(victim.parent().unwrap(), area).unwrap();
        stage.ask("mallory", JobSubmissionCall::KillJob { job: Some(id) }).unwrap();
        stage.serving.log.wait_for("cannot remove files of a job");
        assert!(victim.join("kept").exists());
        // One whose way is as it was goes.
        let (id, folder) = {
            fs::remove_file(area).unwrap();
            fs::rename(area.with_file_name("away"), area).unwrap();
            stage.staged("mallory")
        };
        stage.submit("mallory", id, &folder).unwrap();
        stage.ask("mallory", JobSubmissionCall::KillJob { job: Some(id) }).unwrap();
        crate::daemon::child::wait_for_files(area, || !folder.exists());
    });
}

#[test]
fn a_job_whose_files_for_trackers_cannot_be_written_leaves_nothing() {
    let stage = Stage::new(DaemonFolders::new(""));
    let (id, folder) = stage.staged("alice");
    let system = stage.place.path("hadoop/mapred/system");
    let away = system.with_file_name("away");
    fs::rename(&system, &away).unwrap();
    fs::write(&system, "").unwrap();
    let refused = stage.submit("alice", id, &folder).unwrap_err();
    assert!(refused.contains(system.to_str().unwrap()), "{refused}");
    assert!(!folder.exists(), "a stock client leaves them");
    fs::remove_file(&system).unwrap();
    fs::rename(&away, &system).unwrap();
    let (id, folder) = stage.staged("alice");
    stage.submit("alice", id, &folder).unwrap();
}
