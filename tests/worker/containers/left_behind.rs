//! Containers under the program's own supervisor: nothing of them is left, and what they used is counted.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jobtracker::api::{ContainerEnd, ContainerLaunch};
use jobtracker::model::{ApplicationId, Capability, ContainerExit, LaunchContext};
use jobtracker::worker::containers::control::{ContainerControl, KillWish};
use jobtracker::worker::containers::memory_watch::ProcessLooks;
use jobtracker::worker::containers::order::ContainerOrder;
use jobtracker::worker::containers::run::ContainerRun;

use crate::cluster::wait_until_gone;
use crate::daemon::child::built_program;

struct Stage {
    scratch: tempfile::TempDir,
    order: ContainerOrder,
    control: ContainerControl,
}

impl Stage {
    fn new(script: &str) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("container");
        std::fs::create_dir(&folder).unwrap();
        let order = ContainerOrder {
            launch: ContainerLaunch {
                id: ApplicationId::new(5, 1).container(1, 7),
                capability: Capability::new(64, 1),
                user: "alice".to_owned(),
                context: LaunchContext::of_command(["sh", "-c", script].map(str::to_owned).into()),
                item: None,
                secret: None,
                log_key: "00".repeat(32),
                server: "h:50030".to_owned(),
            },
            folder,
            shared_files: None,
            environment: [("PATH".to_owned(), std::env::var("PATH").unwrap())].into(),
            node_id: "h:50060".to_owned(),
            log_limit_bytes: 1 << 20,
            memory_interval: Duration::from_millis(20),
            group: None,
            watches_memory: true,
        };
        Self { scratch, order, control: ContainerControl::new().unwrap() }
    }

    fn run_then(&self, started: &dyn Fn()) -> ContainerEnd {
        let logs = ["stdout", "stderr"].map(|name| File::create(self.at(name)).unwrap());
        let program: PathBuf = built_program();
        ContainerRun {
            order: &self.order,
            control: &self.control,
            supervisor: Some(&program),
            looks: &ProcessLooks::default(),
            on_started: &|_, _| started(),
        }
        .run(logs)
    }

    fn run(&self) -> ContainerEnd {
        self.run_then(&|| {})
    }

    fn at(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn stdout(&self) -> String {
        std::fs::read_to_string(self.at("stdout")).unwrap()
    }

    /// The process whose number the container has printed.
    fn printed_pid(&self) -> i32 {
        self.stdout().trim().parse().unwrap()
    }
}

fn is_there(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Starts a process in a session of its own, which ignores what ends it, and prints its number.
const LEAVE: &str = "setsid sh -c 'trap \"\" TERM HUP; echo $$; exec >/dev/null 2>&1; while :; do sleep 0.01; done' &
    while [ ! -s ../../stdout ]; do sleep 0.01; done;";

#[test]
fn what_leaves_its_session_ends_with_the_container() {
    let stage = Stage::new(&format!("{LEAVE} exit 3"));
    let end = stage.run();
    assert_eq!((end.exit, end.diagnostics.as_str()), (ContainerExit(3), "exit code 3"));
    assert!(!is_there(stage.printed_pid()));
}

#[test]
fn a_kill_reaches_what_ignores_it_after_the_grace() {
    let stage = Stage::new(&format!("trap '' TERM; {LEAVE} while :; do sleep 0.01; done"));
    let end = std::thread::scope(|scope| {
        scope.spawn(|| {
            while std::fs::read_to_string(stage.at("stdout")).unwrap_or_default().is_empty() {
                std::thread::yield_now();
            }
            let (exit, diagnostics) = (ContainerExit::PREEMPTED, "preempted".to_owned());
            stage.control.kill(KillWish { exit, diagnostics, grace: Duration::from_millis(50) });
        });
        stage.run()
    });
    assert_eq!(end.exit, ContainerExit::PREEMPTED);
    assert!(!is_there(stage.printed_pid()));
}

#[test]
fn a_signal_differs_from_the_code_that_shells_write_for_it() {
    let by_signal = Stage::new("kill -KILL $$").run();
    assert_eq!((by_signal.exit.0, by_signal.diagnostics.contains("signal 9 KILL")), (137, true));
    let by_code = Stage::new("exit 137").run();
    assert_eq!((by_code.exit.0, by_code.diagnostics.as_str()), (137, "exit code 137"));
}

#[test]
fn a_command_that_kills_its_supervisor_leaves_nothing_behind() {
    // One that is killed before it has reported the start has started nothing.
    let wait = "while [ ! -e ../started ]; do sleep 0.01; done";
    let stage = Stage::new(&format!("sh -c 'echo $$; exec sleep 1000' & {wait}; kill -KILL $PPID; exec sleep 1000"));
    let end = stage.run_then(&|| drop(File::create(stage.order.folder.join("started")).unwrap()));
    assert_eq!(end.exit.0, 137, "{}", end.diagnostics);
    if let Ok(pid) = stage.stdout().trim().parse() {
        wait_until_gone(pid);
    }
}

#[test]
fn memory_of_all_its_processes_counts_wherever_they_went() {
    let stage = Stage::new("setsid dd if=/dev/zero of=/dev/null bs=128M & wait; exec sleep 1000");
    let end = stage.run();
    assert_eq!(end.exit, ContainerExit::KILLED_EXCEEDED_MEMORY, "{}", end.diagnostics);
    assert!(end.diagnostics.contains("more than its 64 MB"), "{}", end.diagnostics);
}

#[test]
fn its_processor_time_is_counted() {
    let end = Stage::new("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done").run();
    assert!(end.exit == ContainerExit::SUCCESS && end.cpu_ms > 20 && end.peak_memory_mb > 0, "{end:?}");
}

#[test]
fn a_command_has_three_descriptors_whatever_the_worker_has_inherited() {
    let inherited = File::open("/etc/passwd").unwrap();
    // As a descriptor that the worker was started with: open across the start of programs.
    rustix::io::fcntl_setfd(&inherited, rustix::io::FdFlags::empty()).unwrap();
    let script = "n=0; while [ $n -lt 1024 ]; do [ -e /proc/$$/fd/$n ] && echo $n; n=$((n + 1)); done; true";
    let stage = Stage::new(script);
    assert_eq!(stage.run().exit, ContainerExit(0));
    assert_eq!(stage.stdout(), "0\n1\n2\n");
}
