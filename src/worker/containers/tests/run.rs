//! Containers from their launch to their end, without a supervisor: what concerns what a command leaves behind is tested with
//! the program itself.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use base64::Engine as _;
use sha2::{Digest, Sha256};

use super::super::resource_cache::ResourceCaches;
use super::*;
use crate::api::{ContainerLaunch, LaunchedItem};
use crate::model::{
    ApplicationId, BroughtResource, Capability, ContentResource, LaunchContext, LocalResource, OutputPlace,
    ResourceKind, hex,
};

const LIMIT_BYTES: u64 = 4 << 10;

/// A folder, and a container that runs in it.
struct Stage {
    scratch: tempfile::TempDir,
    order: ContainerOrder,
    control: Arc<ContainerControl>,
}

impl Stage {
    fn new(command: &[&str]) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("container");
        fs::create_dir(&folder).unwrap();
        let context = LaunchContext::of_command(command.iter().map(|word| (*word).to_owned()).collect());
        let path = std::env::var("PATH").unwrap();
        let environment =
            [("PATH", path.as_str()), ("LC_ALL", "C"), ("SECRET", "of the worker"), ("HOME", "/homes/alice")];
        let order = ContainerOrder {
            launch: ContainerLaunch {
                id: ApplicationId::new(1_700_000_000_000, 1).container(1, 7),
                capability: Capability::new(512, 2),
                user: "alice".to_owned(),
                context,
                item: None,
                secret: None,
                log_key: "00".repeat(32),
                server: "h:50030".to_owned(),
            },
            folder,
            shared_files: None,
            environment: environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            node_id: "h:50060".to_owned(),
            log_limit_bytes: LIMIT_BYTES,
            memory_interval: Duration::from_millis(20),
            group: None,
            watches_memory: true,
        };
        Self { scratch, order, control: Arc::new(ContainerControl::new().unwrap()) }
    }

    fn shell(script: &str) -> Self {
        Self::new(&["sh", "-c", script])
    }

    fn context(&mut self) -> &mut LaunchContext {
        &mut self.order.launch.context
    }

    /// Runs it; calls `started` once it runs.
    fn run_then(&self, started: &dyn Fn()) -> ContainerEnd {
        let logs = ["stdout", "stderr"].map(|name| File::create(self.at(name)).unwrap());
        let looks = ProcessLooks::default();
        let on_started = |_, _| started();
        let run = ContainerRun {
            order: &self.order,
            control: &self.control,
            supervision: Supervision::Absent,
            looks: &looks,
            on_started: &on_started,
        };
        run.run(logs)
    }

    fn run(&self) -> ContainerEnd {
        self.run_then(&|| {})
    }

    /// Its status, and what is said about it.
    fn outcome(&self) -> (i32, String) {
        let end = self.run();
        (end.exit.0, end.diagnostics)
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.scratch.path().join(name)
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    /// A resource in the file system with this content.
    fn brought(&self, name: &str, content: &[u8]) -> BroughtResource {
        let path = self.at(name);
        fs::write(&path, content).unwrap();
        let sha256 = hex(Sha256::digest(content).as_slice());
        let (size, kind) = (content.len() as u64, ResourceKind::File);
        BroughtResource { resource: format!("file://{}", path.display()), sha256, size, kind, executable: false }
    }

    fn add(&mut self, name: &str, resource: LocalResource) {
        self.context().local_resources.insert(name.to_owned(), resource);
    }
}

fn content(text: &str, executable: bool) -> LocalResource {
    let content = base64::engine::general_purpose::STANDARD.encode(text);
    LocalResource::Content(ContentResource { content, executable })
}

#[test]
fn a_command_ends_with_its_own_code_or_signal() {
    assert_eq!(Stage::new(&["true"]).outcome(), (0, String::new()));
    assert_eq!(Stage::shell("exit 3").outcome(), (3, "exit code 3".to_owned()));
    assert_eq!(Stage::shell("exit 137").outcome(), (137, "exit code 137".to_owned()));
    let (exit, text) = Stage::shell("kill -SEGV $$").outcome();
    assert_eq!((exit, text.as_str()), (139, "died of signal 11 SEGV, which the worker did not send"));
    let end = Stage::new(&["true"]).run();
    assert!(end.started_ms.is_some_and(|started_ms| started_ms <= end.ended_ms));
}

#[test]
fn its_environment_is_exactly_what_is_promised() {
    let mut stage = Stage::new(&["env"]);
    stage.order.launch.item = Some(LaunchedItem { number: 5, attempt: 2 });
    stage.order.launch.secret = Some("s3cret".to_owned());
    let context = stage.context();
    context.environment = [("A", "{}"), ("LC_ALL", "fr"), ("USER", "root")].map(|(a, b)| (a.into(), b.into())).into();
    assert_eq!(stage.outcome().0, 0);
    let folder = stage.order.folder.display().to_string();
    let path = std::env::var("PATH").unwrap();
    let expected: BTreeMap<&str, String> = [
        ("PATH", path),
        ("HOME", "/homes/alice".to_owned()),
        ("LC_ALL", "fr".to_owned()),
        ("A", "5".to_owned()),
        ("PWD", format!("{folder}/work")),
        ("TMPDIR", format!("{folder}/tmp")),
        ("USER", "alice".to_owned()),
        ("LOGNAME", "alice".to_owned()),
        ("HADOOP_WORK_DIR", folder.clone()),
        ("OMP_NUM_THREADS", "2".to_owned()),
        ("JOBTRACKER_APPLICATION_ID", "application_1700000000000_0001".to_owned()),
        ("JOBTRACKER_CONTAINER_ID", "container_1700000000000_0001_01_000007".to_owned()),
        ("JOBTRACKER_ATTEMPT", "1".to_owned()),
        ("JOBTRACKER_NODE_ID", "h:50060".to_owned()),
        ("JOBTRACKER_MEMORY_MB", "512".to_owned()),
        ("JOBTRACKER_VCORES", "2".to_owned()),
        ("JOBTRACKER_SERVER", "h:50030".to_owned()),
        ("JOBTRACKER_ITEM", "5".to_owned()),
        ("JOBTRACKER_ITEM_ATTEMPT", "2".to_owned()),
        ("JOBTRACKER_SECRET_FILE", format!("{folder}/secret")),
    ]
    .into();
    let log = stage.log("stdout");
    let found: BTreeMap<&str, String> =
        log.lines().map(|line| line.split_once('=').unwrap()).map(|(name, value)| (name, value.to_owned())).collect();
    assert_eq!(found, expected);
    let secret = stage.order.secret_file();
    assert_eq!(fs::read_to_string(&secret).unwrap(), "s3cret");
    assert_eq!(fs::metadata(secret).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn it_reads_nothing_and_works_in_its_own_folder() {
    let stage = Stage::shell("cat; pwd; echo words >&2; : > \"$TMPDIR/x\"");
    assert_eq!(stage.outcome().0, 0);
    assert_eq!(stage.log("stdout"), format!("{}/work\n", stage.order.folder.display()));
    assert_eq!(stage.log("stderr"), "words\n");
}

#[test]
fn files_are_there_read_only_before_it_starts() {
    let mut stage = Stage::shell("cat data sub/list; ./run.sh; stat -c %a data run.sh");
    let data = stage.brought("source", b"data\n");
    stage.add("data", LocalResource::Brought(data));
    stage.add("sub/list", content("list\n", false));
    stage.add("run.sh", content("#!/bin/sh\necho ran\n", true));
    assert_eq!(stage.outcome(), (0, String::new()), "{}", stage.log("stderr"));
    assert_eq!(stage.log("stdout"), "data\nlist\nran\n400\n500\n");
}

#[test]
fn containers_share_files_that_their_user_can_read() {
    let mut stage = Stage::shell("cat data; stat -c '%a %i' data");
    let shared = ResourceCaches::new(1 << 20).folder_of(stage.scratch.path(), None).unwrap();
    stage.order.shared_files = shared;
    let data = stage.brought("source", b"data\n");
    stage.add("data", LocalResource::Brought(data.clone()));
    let mut outputs = Vec::new();
    for folder in ["first", "second"] {
        stage.order.folder = stage.at(folder);
        fs::create_dir(&stage.order.folder).unwrap();
        assert_eq!(stage.outcome(), (0, String::new()));
        outputs.push(stage.log("stdout"));
    }
    assert!(outputs[0].starts_with("data\n400 ") && outputs[0] == outputs[1], "{outputs:?}");
    // Who cannot read it gets nothing by its SHA-256.
    fs::remove_file(stage.at("source")).unwrap();
    stage.order.folder = stage.at("third");
    fs::create_dir(&stage.order.folder).unwrap();
    let (exit, text) = stage.outcome();
    assert!(exit == -1000 && text.contains("does not exist on this worker's machine"), "{text}");
}

#[test]
fn a_file_of_lines_does_not_stay_in_a_working_directory() {
    let mut stage = Stage::new(&["echo", "item", "{}"]);
    fs::create_dir(stage.at("shared")).unwrap();
    stage.context().working_directory = Some(stage.at("shared").display().to_string());
    stage.context().values_from = Some(".lines".to_owned());
    let list = stage.brought("values", b"one\ntwo\n");
    stage.add(".lines", LocalResource::Brought(list));
    stage.order.launch.item = Some(LaunchedItem { number: 2, attempt: 1 });
    assert_eq!(stage.outcome(), (0, String::new()));
    assert_eq!(stage.log("stdout"), "item two\n");
    assert_eq!(fs::read_dir(stage.at("shared")).unwrap().count(), 0);
}

#[test]
fn a_file_that_is_not_the_one_meant_stops_it_before_it_starts() {
    type Change = dyn Fn(&mut BroughtResource);
    let cases: [(&Change, &str); 4] = [
        (&|brought| brought.sha256 = "0".repeat(64), "SHA-256"),
        (&|brought| brought.size = 4, "has 5 bytes; the context says 4"),
        (&|brought| brought.resource.push('x'), "does not exist on this worker's machine"),
        (&|brought| brought.resource = "hdfs://h/source".to_owned(), "hdfs://h/source"),
    ];
    for (change, expected) in cases {
        let mut stage = Stage::shell("echo started");
        let mut data = stage.brought("source", b"data\n");
        change(&mut data);
        stage.add("data", LocalResource::Brought(data));
        let (exit, text) = stage.outcome();
        assert!(exit == -1000 && text.contains("local resource \"data\"") && text.contains(expected), "{text}");
        assert_eq!(stage.log("stdout"), "");
    }
    let mut stage = Stage::shell("echo started");
    stage.add("../out", content("x", false));
    assert!(stage.outcome().1.contains("leads out"));
}

#[test]
fn an_archive_is_unpacked_into_a_folder_of_its_name() {
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(4);
    header.set_mode(0o644);
    archive.append_data(&mut header, "a/b", &b"text"[..]).unwrap();
    let bytes = archive.into_inner().unwrap();
    let mut stage = Stage::shell("cat model/a/b; ls");
    let mut brought = stage.brought("model.tar", &bytes);
    brought.kind = ResourceKind::Archive;
    stage.add("model", LocalResource::Brought(brought.clone()));
    assert_eq!(stage.outcome(), (0, String::new()));
    assert_eq!(stage.log("stdout"), "textmodel\n");
    let mut stage = Stage::shell("true");
    fs::write(stage.at("model.rar"), bytes).unwrap();
    brought.resource = format!("file://{}", stage.at("model.rar").display());
    stage.add("model", LocalResource::Brought(brought));
    let (exit, text) = stage.outcome();
    assert!(exit == -1000 && text.contains(".zip, .tar, .tar.gz, .tgz"), "{text}");
}

#[test]
fn in_a_working_directory_of_others_files_are_added_and_none_is_replaced() {
    let with_list = |stage: &mut Stage| {
        fs::create_dir_all(stage.at("shared")).unwrap();
        let shared = stage.at("shared").display().to_string();
        stage.context().working_directory = Some(shared);
        stage.add("list", content("mine", false));
    };
    let mut stage = Stage::shell("cat list; pwd");
    with_list(&mut stage);
    assert_eq!(stage.outcome(), (0, String::new()));
    assert_eq!(stage.log("stdout"), format!("mine{}\n", stage.at("shared").display()));
    assert_eq!(stage.outcome().0, 0, "it is there with the same content");
    assert_eq!(fs::read_dir(stage.at("shared")).unwrap().count(), 1, "nothing else is left");
    let mut other = Stage::shell("true");
    with_list(&mut other);
    fs::write(other.at("shared/list"), "theirs").unwrap();
    let (exit, text) = other.outcome();
    assert!(exit == -1000 && text.contains("is there already"), "{text}");
    assert_eq!(fs::read_to_string(other.at("shared/list")).unwrap(), "theirs");
}

#[test]
fn what_cannot_be_started_is_named() {
    let cases: [(&[&str], &str); 4] = [
        (&["no-such-program-here"], "the program \"no-such-program-here\" cannot be started: no folder of its PATH"),
        (&["./missing"], "the program \"./missing\" cannot be started: No such file"),
        (&["/"], "it is no file"),
        (&["/etc/passwd"], "the program \"/etc/passwd\" cannot be started: Permission denied"),
    ];
    for (command, expected) in cases {
        let (exit, text) = Stage::new(command).outcome();
        assert!(exit == -1000 && text.contains(expected), "{text}");
    }
    let mut stage = Stage::new(&["./script"]);
    let folder = stage.at("scripts");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("script"), "#!/bin/sh\r\necho\r\n").unwrap();
    fs::set_permissions(folder.join("script"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    stage.context().working_directory = Some(folder.display().to_string());
    let (exit, text) = stage.outcome();
    let expected = "the program \"./script\" cannot be started: the interpreter \"/bin/sh\\r\" in the first line of script is not there: the file has DOS line ends";
    assert!(exit == -1000 && text.contains(expected), "{text}");
    let mut stage = Stage::new(&["true"]);
    for (folder, expected) in
        [("/no/such/folder", "does not exist"), ("x", "no absolute path"), ("/etc/passwd", "is no folder")]
    {
        stage.context().working_directory = Some(folder.to_owned());
        let (exit, text) = stage.outcome();
        assert!(exit == -1000 && text.contains(folder) && text.contains(expected), "{text}");
    }
    let mut stage = Stage::new(&["true"]);
    stage.context().stdout = OutputPlace::File("missing/out".to_owned());
    let (exit, text) = stage.outcome();
    assert!(exit == -1000 && text.contains("stdout cannot be written to \"missing/out\""), "{text}");
}

#[test]
fn items_and_their_values_stand_in_place_of_the_placeholder() {
    let mut stage = Stage::new(&["echo", "item", "{}"]);
    stage.order.launch.item = Some(LaunchedItem { number: 2, attempt: 1 });
    stage.context().stdout = OutputPlace::File("out.{}".to_owned());
    assert_eq!(stage.outcome(), (0, String::new()));
    assert_eq!(fs::read_to_string(stage.order.folder.join("work/out.2")).unwrap(), "item 2\n");
    stage.context().values_from = Some("list".to_owned());
    stage.context().stdout = OutputPlace::Log;
    stage.order.folder = stage.at("second");
    fs::create_dir(&stage.order.folder).unwrap();
    let list = stage.brought("values", b"one\ntwo words\nthree\n");
    stage.add("list", LocalResource::Brought(list));
    assert_eq!(stage.outcome(), (0, String::new()));
    assert_eq!(stage.log("stdout"), "item two words\n");
    stage.order.launch.item = Some(LaunchedItem { number: 4, attempt: 1 });
    let (exit, text) = stage.outcome();
    assert_eq!((exit, text.as_str()), (-1000, "item 4 has no value: in \"list\" there are lines 1 to 3"));
}

#[test]
fn both_outputs_may_go_to_one_file_or_nowhere() {
    let mut stage = Stage::shell("echo a; echo b >&2; echo c");
    let path = stage.at("both").display().to_string();
    let context = stage.context();
    (context.stdout, context.stderr) = (OutputPlace::File(path.clone()), OutputPlace::File(path.clone()));
    assert_eq!(stage.outcome().0, 0);
    assert_eq!(fs::read_to_string(path).unwrap(), "a\nb\nc\n");
    let mut stage = Stage::shell("echo a; echo b >&2");
    stage.context().stdout = OutputPlace::Nowhere;
    assert_eq!(stage.outcome().0, 0);
    assert_eq!((stage.log("stdout").as_str(), stage.log("stderr").as_str()), ("", "b\n"));
}

#[test]
fn a_flood_of_output_is_cut_and_the_container_runs_on() {
    let stage = Stage::shell("yes flood | head -c 1000000; exit 4");
    assert_eq!(stage.outcome().0, 4);
    let log = stage.log("stdout");
    assert_eq!(log.len() as u64, LIMIT_BYTES);
    assert!(log.starts_with("flood\n") && log.ends_with("jobtracker.containers.log.limit.kb = 4]\n"), "{log}");
}

#[test]
fn a_flood_of_output_kills_where_that_is_asked_for() {
    let mut stage = Stage::shell("exec yes flood");
    stage.context().log_overflow = LogOverflow::Kill;
    let (exit, text) = stage.outcome();
    assert!(exit == -109 && text.contains("more than 4 kB"), "{text}");
}

#[test]
fn who_runs_too_long_is_ended() {
    let mut stage = Stage::shell("exec sleep 1000");
    stage.context().time_limit_ms = Some(50);
    assert_eq!(stage.outcome(), (-200, "ran longer than its time-limit-ms of 50".to_owned()));
}

#[test]
fn the_time_limit_begins_before_files_are_brought() {
    let mut stage = Stage::shell("cat data");
    let data = stage.brought("source", b"data\n");
    stage.add("data", LocalResource::Brought(data));
    stage.context().time_limit_ms = Some(0);
    let expected = "ran longer than its time-limit-ms of 0, in which its files were not brought";
    assert_eq!(stage.outcome(), (-200, expected.to_owned()));
}

#[test]
fn who_takes_more_memory_than_it_has_is_killed() {
    // dd holds a block of that size.
    let mut stage = Stage::shell("exec dd if=/dev/zero of=/dev/null bs=64M");
    stage.order.launch.capability.memory_mb = 32;
    let end = stage.run();
    let text = end.diagnostics;
    assert!(end.exit.0 == -104 && text.contains("more than its 32 MB") && end.peak_memory_mb > 32, "{text}");
    assert!(text.contains(&format!("used {} MB", end.peak_memory_mb)), "{text}");
}

fn kill(exit: ContainerExit, grace: Duration) -> KillWish {
    KillWish { exit, diagnostics: "asked".to_owned(), grace }
}

#[test]
fn a_kill_waits_for_its_grace_and_no_longer() {
    // The command ends at TERM by itself: its status is that of the kill all the same.
    let stage = Stage::shell("trap 'echo ends; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
    let wish = kill(ContainerExit::KILLED_BY_OWNER, Duration::from_secs(600));
    let control = stage.control.clone();
    let log = stage.at("stdout");
    let killer = std::thread::spawn(move || {
        while fs::read_to_string(&log).unwrap_or_default() != "ready\n" {
            std::thread::yield_now();
        }
        control.kill(wish);
    });
    assert_eq!(stage.outcome(), (-105, "asked".to_owned()));
    killer.join().unwrap();
    assert_eq!(stage.log("stdout"), "ready\nends\n");
    // One that ignores TERM ends by KILL after the grace.
    let stage = Stage::shell("trap '' TERM; while :; do sleep 0.01; done");
    let end = stage.run_then(&|| stage.control.kill(kill(ContainerExit::PREEMPTED, Duration::from_millis(50))));
    assert_eq!((end.exit, end.diagnostics.as_str()), (ContainerExit::PREEMPTED, "asked"));
}

#[test]
fn a_second_kill_can_only_hasten_the_end() {
    let stage = Stage::shell("trap '' TERM; while :; do sleep 0.01; done");
    let end = stage.run_then(&|| {
        stage.control.kill(kill(ContainerExit::KILLED_BY_OWNER, Duration::from_secs(600)));
        stage.control.kill(kill(ContainerExit::KILLED_BY_ADMINISTRATOR, Duration::ZERO));
    });
    assert_eq!(end.exit, ContainerExit::KILLED_BY_OWNER);
}

#[test]
fn one_that_is_killed_before_it_starts_never_starts() {
    let stage = Stage::shell("echo started");
    stage.control.kill(kill(ContainerExit::ABORTED, Duration::from_secs(5)));
    let end = stage.run();
    assert_eq!((end.exit, end.started_ms, end.diagnostics.as_str()), (ContainerExit::ABORTED, None, "asked"));
    assert_eq!(stage.log("stdout"), "");
}
