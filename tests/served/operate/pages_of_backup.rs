//! `jobtracker pages`: the pages and the API over a backup, where no JobTracker runs.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::daemon::answered::Answered;
use crate::daemon::child::{ChildDaemon, DaemonFolders, try_get};
use crate::operate::BUDGETS;

/// A process that shows a file.
struct Shown {
    process: Child,
    http: SocketAddr,
}

fn command(file: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jobtracker"));
    command.args(["pages", "--http", "127.0.0.1:0", "--state"]).arg(file).args(more);
    command
}

// === impl Shown ===

impl Shown {
    fn of(file: &Path, more: &[&str]) -> Self {
        let mut process = command(file, more).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let http = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).unwrap().parse().unwrap();
        Self { process, http }
    }

    fn get(&self, target: &str) -> Answered {
        try_get(self.http, target, "").unwrap()
    }

    /// Ends it by SIGTERM; its exit code.
    fn end(mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.process), Signal::TERM).unwrap();
        self.process.wait().unwrap().code()
    }
}

#[test]
fn a_backup_shows_what_the_daemon_showed_and_is_not_changed() {
    let place = DaemonFolders::new(BUDGETS);
    let mut public = place.command();
    public.args(["-D", "jobtracker.market.visibility=public"]);
    let serving = ChildDaemon::of(public).unwrap();
    serving.top_up("alice", "5");
    let live = serving.get("/api/v1/queues", "").body;
    assert!(live.contains("\"budget\":\"105.0\""), "{live}");
    let copy = place.path("monday.db");
    let state = format!("jobtracker.state.dir={}", place.path("state").display());
    let mut backup = Command::new(env!("CARGO_BIN_EXE_jobtracker"));
    assert!(backup.arg("backup").arg(&copy).args(["-D", &state]).status().unwrap().success());
    assert_eq!(serving.stop().0, 0);
    let bytes = fs::read(&copy).unwrap();
    let all = Shown::of(&copy, &["--show-all"]);
    assert_eq!(all.get("/api/v1/queues").body, live);
    for page in ["/", "/jobs", "/queues", "/queues/alice", "/market", "/workers", "/policy", "/users", "/health"] {
        let answered = all.get(page);
        assert_eq!(answered.status, 200, "{page}: {}", answered.body);
        assert!(answered.body.contains("no JobTracker runs here"), "{page}: {}", answered.body);
    }
    assert_eq!((all.get("/healthz").status, all.get("/readyz").status), (200, 503));
    // What asks a JobTracker that runs, or changes something, is not there.
    for address in ["/scheduler?price", "/jobtracker.jsp", "/jmx", "/logLevel", "/ws/v1/cluster/info", "/session"] {
        assert_eq!(all.get(address).status, 404, "{address}");
    }
    assert_eq!(all.end(), Some(0));
    // Strangers see no money.
    let some = Shown::of(&copy, &[]);
    let (queues, page) = (some.get("/api/v1/queues").body, some.get("/queues/alice").body);
    assert!(queues.contains("alice") && !queues.contains("105.0") && !page.contains("105.0"), "{queues}: {page}");
    assert_eq!(some.end(), Some(0));
    assert!(bytes == fs::read(&copy).unwrap());
    let names: Vec<String> = place.names("").into_iter().filter(|name| name.starts_with("monday")).collect();
    assert_eq!(names, ["monday.db"], "nothing was written beside it");
}

#[test]
fn a_file_that_cannot_be_shown_is_refused_with_what_to_change() {
    let place = DaemonFolders::new(BUDGETS);
    let refused = |name: &str| {
        let output = command(&place.path(name), &[]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, missing) = refused("missing.db");
    assert!(code == Some(2) && missing.contains("missing.db: No such file"), "{missing}");
    fs::write(place.path("notes.db"), "no database ".repeat(90)).unwrap();
    let (code, foreign) = refused("notes.db");
    assert!(code == Some(1) && foreign.contains("notes.db") && foreign.contains("not a database"), "{foreign}");
    let (code, folder) = refused("");
    assert!(code == Some(2) && folder.contains("it is a folder; expected a state.db"), "{folder}");
}
