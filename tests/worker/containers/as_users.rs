//! Containers that a worker of root's runs with the ids of their users: only where tests run as root.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;

use jobtracker::api::{ContainerKill, ContainerLaunch};
use jobtracker::model::{
    ApplicationId, BroughtResource, Capability, ContainerExit, ContainerId, LaunchContext, LocalResource, LogKey,
    OutputPlace, ResourceKind,
};
use rustix::process::{Pid, Signal, kill_process};
use sha2::{Digest, Sha256};

use crate::daemon::child::built_program;
use crate::daemon::process_usage::resident_bytes;
use crate::job_user::users::{TestUser, Users, give};

use super::fake_jobtracker::FakeJobTracker;

/// Valid for all of a test.
const EXPIRES_MS: i64 = 1 << 50;

struct Stage {
    place: tempfile::TempDir,
    users: Arc<Users>,
    jobtracker: FakeJobTracker,
    worker: Child,
}

impl Stage {
    fn of_test(test: &str) -> Option<Self> {
        let users = Users::of_test(test)?;
        let place = tempfile::tempdir().unwrap();
        give(place.path(), (0, 0), 0o711);
        for user in [&users.alice, &users.bob] {
            let home = place.path().join(&user.name);
            std::fs::create_dir(&home).unwrap();
            user.owns(&home, 0o700);
        }
        let conf = place.path().join("conf");
        std::fs::create_dir(&conf).unwrap();
        let jobtracker = FakeJobTracker::start();
        let mut command = users.known_to("true");
        command.arg(built_program()).args(["tasktracker", "--conf", conf.to_str().unwrap()]);
        let disk = place.path().join("disk").display().to_string();
        for define in [
            format!("mapred.job.tracker={}", jobtracker.address),
            format!("mapred.local.dir={disk}"),
            format!("hadoop.tmp.dir={}", place.path().join("tmp").display()),
            "mapred.task.tracker.http.address=127.0.0.1:0".to_owned(),
            "jobtracker.worker.run-as=job-user".to_owned(),
        ] {
            command.args(["-D", &define]);
        }
        command.env_remove("HADOOP_CONF_DIR").env("SECRET", "of the worker").stdin(Stdio::null()).stderr(Stdio::null());
        let worker = command.spawn().unwrap();
        Some(Self { place, users, jobtracker, worker })
    }

    fn home(&self, user: &TestUser) -> PathBuf {
        self.place.path().join(&user.name)
    }

    /// A file of a user that no other may read, as a resource.
    fn file_of(&self, user: &TestUser, text: &str) -> LocalResource {
        let path = self.home(user).join("data");
        std::fs::write(&path, text).unwrap();
        user.owns(&path, 0o600);
        let sha256 = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        let (resource, size) = (format!("file://{}", path.display()), text.len() as u64);
        LocalResource::Brought(BroughtResource { resource, sha256, size, kind: ResourceKind::File, executable: false })
    }

    fn log(&self, id: ContainerId, name: &str) -> String {
        let path = self.place.path().join("disk/userlogs").join(id.application.to_string()).join(id.to_string());
        std::fs::read_to_string(path.join(name)).unwrap()
    }

    /// Asks the worker to end; returns whether it has ended well.
    fn stop(&mut self) -> bool {
        kill_process(Pid::from_child(&self.worker), Signal::TERM).unwrap();
        self.worker.wait().unwrap().success()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // A worker that is killed takes its containers with it.
        let _ = self.worker.kill();
        let _ = self.worker.wait();
    }
}

fn key() -> LogKey {
    LogKey::of_token(b"of the application")
}

fn launch(number: u64, user: &TestUser, script: &str) -> ContainerLaunch {
    ContainerLaunch {
        id: ApplicationId::new(5, 1).container(1, number),
        capability: Capability::new(512, 1),
        user: user.name.clone(),
        context: LaunchContext::of_command(["sh", "-c", script].map(str::to_owned).into()),
        item: None,
        secret: Some("s3cret".to_owned()),
        log_key: key().to_hex(),
        server: "h:50030".to_owned(),
    }
}

fn get(node: &str, path: &str) -> String {
    let (_, port) = node.rsplit_once(':').unwrap();
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_container_has_the_rights_of_its_user_and_no_others() {
    let Some(stage) = Stage::of_test("a_container_has_the_rights_of_its_user_and_no_others") else { return };
    let users = stage.users.clone();
    let (alice, bob) = (&users.alice, &users.bob);
    let script =
        "id -u; id -ng; stat -c %u . data; cat data \"$JOBTRACKER_SECRET_FILE\"; echo; echo \"$JOBTRACKER_NODE_ID\"
        env | grep -c SECRET=; true";
    let mut good = launch(1, alice, script);
    good.context.local_resources.insert("data".to_owned(), stage.file_of(alice, "of alice\n"));
    let mut theirs = launch(2, alice, "true");
    theirs.context.local_resources.insert("data".to_owned(), stage.file_of(bob, "of bob\n"));
    let mut writes = launch(3, alice, "true");
    writes.context.stdout = OutputPlace::File(stage.home(bob).join("out").display().to_string());
    let ids = [good.id, theirs.id, writes.id];
    [good, theirs, writes].into_iter().for_each(|launch| stage.jobtracker.launch(launch));
    let [good, theirs, writes] = ids.map(|id| stage.jobtracker.end_of(id));
    assert_eq!(good.exit, ContainerExit::SUCCESS, "{}", good.diagnostics);
    let log = stage.log(ids[0], "stdout");
    let lines: Vec<&str> = log.lines().collect();
    let uid = alice.uid.to_string();
    assert_eq!(lines[..6], [uid.as_str(), alice.name.as_str(), &uid, &uid, "of alice", "s3cret"]);
    assert_eq!(lines[7], "0", "nothing of the worker's environment");
    assert!(theirs.exit == ContainerExit::INVALID && theirs.diagnostics.contains("Permission denied"), "{theirs:?}");
    assert!(writes.exit == ContainerExit::INVALID && writes.diagnostics.contains("Permission denied"), "{writes:?}");
    // Its log is shown for a ticket.
    let path = format!("/ws/v1/node/containers/{}/logs/stdout", ids[0]);
    assert!(get(lines[6], &path).starts_with("HTTP/1.1 403"));
    let ticket = key().container_ticket(ids[0], EXPIRES_MS);
    let part = get(lines[6], &format!("{path}?expires={EXPIRES_MS}&ticket={ticket}&start=0&end={}", uid.len()));
    assert!(part.starts_with("HTTP/1.1 200") && part.ends_with(&format!("\r\n\r\n{uid}")), "{part}");
    let (report, secret) = stage.jobtracker.report_and_secret();
    let digest: String = Sha256::digest(secret).iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(report.split(' ').any(|word| word == format!("beat={digest}")), "{report}");
}

#[test]
fn a_kill_reaches_a_users_container_and_a_stop_of_the_worker_too() {
    let Some(mut stage) = Stage::of_test("a_kill_reaches_a_users_container_and_a_stop_of_the_worker_too") else {
        return;
    };
    let users = stage.users.clone();
    // Both leave a process that ignores TERM in a session of its own.
    let script =
        "trap 'exit 9' TERM; setsid sh -c 'trap \"\" TERM; while :; do sleep 0.1; done' & while :; do sleep 0.1; done";
    let launches = [launch(1, &users.alice, script), launch(2, &users.alice, script)];
    let ids = [launches[0].id, launches[1].id];
    launches.into_iter().for_each(|launch| stage.jobtracker.launch(launch));
    ids.iter().for_each(|id| stage.jobtracker.wait_until_running(*id));
    let (exit, diagnostics) = (ContainerExit::KILLED_BY_OWNER, "asked".to_owned());
    stage.jobtracker.kill(ContainerKill { id: ids[0], exit, diagnostics, grace_ms: 60_000 });
    let killed = stage.jobtracker.end_of(ids[0]);
    assert_eq!((killed.exit, killed.diagnostics.as_str()), (ContainerExit::KILLED_BY_OWNER, "asked"));
    assert!(stage.stop());
    let stopped = stage.jobtracker.end_of(ids[1]);
    assert_eq!((stopped.exit, stopped.diagnostics.as_str()), (ContainerExit::ABORTED, "the worker was stopped"));
    assert_eq!(processes_of(users.alice.uid), Vec::<String>::new());
}

/// The processes of a user.
fn processes_of(uid: u32) -> Vec<String> {
    use std::os::unix::fs::MetadataExt;
    let entries = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let is_process = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().parse::<u32>().is_ok());
    let of_user = entries.filter(|path| is_process(path) && path.metadata().is_ok_and(|about| about.uid() == uid));
    of_user.map(|path| path.display().to_string()).collect()
}

#[test]
fn containers_share_files_with_those_of_their_own_user_alone() {
    let Some(stage) = Stage::of_test("containers_share_files_with_those_of_their_own_user_alone") else { return };
    let users = stage.users.clone();
    let (alice, bob) = (&users.alice, &users.bob);
    let with = |number, user, file: &LocalResource, script: &str| {
        let mut launch = launch(number, user, script);
        launch.context.local_resources.insert("data".to_owned(), file.clone());
        let id = launch.id;
        stage.jobtracker.launch(launch);
        let end = stage.jobtracker.end_of(id);
        (end, stage.log(id, "stdout"))
    };
    let of_alice = stage.file_of(alice, "of alice\n");
    let look = "cat data; stat -c '%u %a %i' data";
    let (first, second) = (with(1, alice, &of_alice, look), with(2, alice, &of_alice, look));
    assert_eq!(first.0.exit, ContainerExit::SUCCESS, "{}", first.0.diagnostics);
    assert!(first.1.starts_with(&format!("of alice\n{} 400 ", alice.uid)), "{}", first.1);
    assert_eq!(first.1, second.1, "it is the same file");
    // Who knows path, size and SHA-256 still has to be able to read it.
    let (refused, _) = with(3, bob, &of_alice, "true");
    assert!(refused.exit == ContainerExit::INVALID && refused.diagnostics.contains("Permission denied"), "{refused:?}");
    let of_bob = stage.file_of(bob, "of alice\n");
    let script = format!("{look}; ls ../../../container-files; ls ../../../container-files/{}; true", alice.uid);
    let (end, log) = with(4, bob, &of_bob, &script);
    assert_eq!(end.exit, ContainerExit::SUCCESS, "{}", end.diagnostics);
    assert!(log.starts_with(&format!("of alice\n{} 400 ", bob.uid)) && log.lines().count() == 2, "{log}");
    assert_ne!(log.lines().nth(1), first.1.lines().nth(1), "each user has a file of its own");
    // What its user has changed is not given to the next one.
    let (end, _) = with(5, alice, &of_alice, "chmod u+w data && echo evil >data");
    assert_eq!(end.exit, ContainerExit::SUCCESS, "{}", end.diagnostics);
    assert!(with(6, alice, &of_alice, look).1.starts_with("of alice\n"));
}

/// Names without end in a user's own folder of files cost that user the files, and neither others theirs nor the worker its memory.
#[test]
fn a_folder_of_files_that_its_user_fills_costs_nobody_else() {
    let Some(stage) = Stage::of_test("a_folder_of_files_that_its_user_fills_costs_nobody_else") else { return };
    let users = stage.users.clone();
    let (alice, bob) = (&users.alice, &users.bob);
    let look = |number, user: &TestUser, file: &LocalResource| {
        let mut launch = launch(number, user, "cat data; stat -c %i data");
        launch.context.local_resources.insert("data".to_owned(), file.clone());
        let id = launch.id;
        stage.jobtracker.launch(launch);
        let end = stage.jobtracker.end_of(id);
        assert_eq!(end.exit, ContainerExit::SUCCESS, "{}", end.diagnostics);
        stage.log(id, "stdout")
    };
    let (of_alice, of_bob) = (stage.file_of(alice, "of alice\n"), stage.file_of(bob, "of bob\n"));
    let (first, _) = (look(1, bob, &of_bob), look(2, alice, &of_alice));
    let mut find = std::process::Command::new("find");
    find.arg(stage.place.path()).args(["-path", &format!("*/container-files/{}", alice.uid)]);
    let found = String::from_utf8(find.output().unwrap().stdout).unwrap();
    let folder = Path::new(found.trim());
    for number in 0..30_000 {
        std::fs::File::create(folder.join(number.to_string())).unwrap();
    }
    let quiet = resident_bytes(stage.worker.id());
    let other = stage.file_of(alice, "another of alice\n");
    assert!(look(3, alice, &other).starts_with("another of alice\n"));
    assert_eq!(look(4, bob, &of_bob), first, "bob's is the same file");
    let grown = resident_bytes(stage.worker.id()).saturating_sub(quiet) >> 20;
    assert!(grown < 20, "{grown} MiB more in the worker");
}
