//! Containers under a supervisor of their own, and under a keeper that has kept others: nothing of them is left, and what they used
//! is counted.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jobtracker::api::{ContainerEnd, ContainerLaunch};
use jobtracker::model::{ApplicationId, Capability, ContainerExit, LaunchContext};
use jobtracker::supervisor::{Keepers, Supervision};
use jobtracker::worker::containers::control::{ContainerControl, KillWish};
use jobtracker::worker::containers::control_groups::ProcessLooks;
use jobtracker::worker::containers::order::ContainerOrder;
use jobtracker::worker::containers::run::ContainerRun;

use crate::cluster::wait_until_gone;
use crate::daemon::child::built_program;

struct Stage {
    scratch: tempfile::TempDir,
    order: ContainerOrder,
    control: ContainerControl,
    /// None: it gets a supervisor of its own.
    keepers: Option<Arc<Keepers>>,
}

/// The script under a supervisor of its own, and under a keeper that has kept another command.
fn stages(script: &str) -> [Stage; 2] {
    let keepers = Arc::new(Keepers::new(built_program()));
    let before = Stage { keepers: Some(keepers.clone()), ..Stage::new("sleep 1000 & exit 3") };
    assert_eq!(before.run().exit, ContainerExit(3));
    [Stage::new(script), Stage { keepers: Some(keepers), ..Stage::new(script) }]
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
        Self { scratch, order, control: ContainerControl::new().unwrap(), keepers: None }
    }

    fn run_then(&self, started: &dyn Fn()) -> ContainerEnd {
        let logs = ["stdout", "stderr"].map(|name| File::create(self.at(name)).unwrap());
        let program: PathBuf = built_program();
        ContainerRun {
            order: &self.order,
            control: &self.control,
            supervision: self.keepers.as_ref().map_or(Supervision::Own(&program), Supervision::Keeper),
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
    for stage in stages(&format!("{LEAVE} exit 3")) {
        let end = stage.run();
        assert_eq!((end.exit, end.diagnostics.as_str()), (ContainerExit(3), "exit code 3"));
        assert!(!is_there(stage.printed_pid()));
    }
}

#[test]
fn a_kill_reaches_what_ignores_it_after_the_grace() {
    for stage in stages(&format!("trap '' TERM; {LEAVE} while :; do sleep 0.01; done")) {
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
}

#[test]
fn a_signal_differs_from_the_code_that_shells_write_for_it() {
    for by_signal in stages("kill -KILL $$").map(|stage| stage.run()) {
        assert_eq!((by_signal.exit.0, by_signal.diagnostics.contains("signal 9 KILL")), (137, true));
    }
    for by_code in stages("exit 137").map(|stage| stage.run()) {
        assert_eq!((by_code.exit.0, by_code.diagnostics.as_str()), (137, "exit code 137"));
    }
}

#[test]
fn a_command_that_kills_its_supervisor_leaves_nothing_behind() {
    // One that is killed before it has reported the start has started nothing.
    let wait = "while [ ! -e ../started ]; do sleep 0.01; done";
    for stage in stages(&format!("sh -c 'echo $$; exec sleep 1000' & {wait}; kill -KILL $PPID; exec sleep 1000")) {
        let end = stage.run_then(&|| drop(File::create(stage.order.folder.join("started")).unwrap()));
        assert_eq!(end.exit.0, 137, "{}", end.diagnostics);
        if let Ok(pid) = stage.stdout().trim().parse() {
            wait_until_gone(pid);
        }
    }
}

#[test]
fn memory_of_all_its_processes_counts_wherever_they_went() {
    for stage in stages("setsid dd if=/dev/zero of=/dev/null bs=128M & wait; exec sleep 1000") {
        let end = stage.run();
        assert_eq!(end.exit, ContainerExit::KILLED_EXCEEDED_MEMORY, "{}", end.diagnostics);
        assert!(end.diagnostics.contains("more than its 64 MB"), "{}", end.diagnostics);
    }
}

#[test]
fn its_processor_time_is_counted() {
    for stage in stages("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done") {
        let end = stage.run();
        assert!(end.exit == ContainerExit::SUCCESS && end.cpu_ms > 20 && end.peak_memory_mb > 0, "{end:?}");
    }
}

#[test]
fn one_keeper_keeps_one_command_after_another_and_is_replaced_when_it_was_killed() {
    let keepers = Arc::new(Keepers::new(built_program()));
    let keeper_of = |script: &str| {
        let stage = Stage { keepers: Some(keepers.clone()), ..Stage::new(script) };
        let end = stage.run();
        assert_eq!((end.exit, end.cpu_ms < 1_000), (ContainerExit::SUCCESS, true), "{}", end.diagnostics);
        stage.printed_pid()
    };
    // The second command does not count what the first took, nor gets what it left.
    let keeper = keeper_of("echo $PPID; sleep 1000 & i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
    assert_eq!(keeper_of("echo $PPID"), keeper);
    let refused = Stage { keepers: Some(keepers.clone()), ..Stage::new("exec nothing-has-this-name") };
    assert_eq!(refused.run().exit.0, 127);
    assert_eq!(keeper_of("echo $PPID"), keeper);
    let Some(pid) = rustix::process::Pid::from_raw(keeper) else { panic!("no process") };
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let other = loop {
        // Until its end is seen it may be taken for one that waits.
        let stage = Stage { keepers: Some(keepers.clone()), ..Stage::new("echo $PPID") };
        if stage.run().exit == ContainerExit::SUCCESS {
            break stage.printed_pid();
        }
    };
    assert_ne!(other, keeper);
    keepers.end_idle(Duration::ZERO);
    assert!(!is_there(other));
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
