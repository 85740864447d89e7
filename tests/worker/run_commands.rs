//! `jobtracker run` and `jobtracker app` beside a daemon and a worker on this machine.

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::applications::Master;
use crate::cluster::Cluster;
use crate::daemon::signer::Signer;
use crate::program::{Said, said};

impl Cluster {
    /// `jobtracker` with these words and alice's key, in the cluster's folder.
    fn command(&self, words: &[&str]) -> tokio::process::Command {
        self.command_at(&self.serving.as_ref().unwrap().http.to_string(), words)
    }

    /// The same for who reads what it says while it runs.
    pub fn std_command(&self, words: &[&str]) -> std::process::Command {
        self.command(words).into_std()
    }

    /// The same of another address of the server.
    fn command_at(&self, http: &str, words: &[&str]) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(crate::daemon::child::built_program());
        // `--server` has to stand before `--`.
        command.arg(words[0]).args(if words[0] == "app" { &words[1..2] } else { &[][..] });
        command.args(["--server", http, "--as", "alice"]).args(&words[if words[0] == "app" { 2 } else { 1 }..]);
        command.current_dir(self.folder()).env("HOME", self.folder());
        command.env("HADOOP_KEY", "alicekey");
        for name in ["HADOOP_HOME", "HADOOP_CONF_DIR"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    pub fn says(&self, words: &[&str]) -> Said {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { said(self.command(words)).await })
    }
}

#[test]
fn a_command_runs_as_if_it_ran_here() {
    let cluster = Cluster::new(1);
    let ran = cluster.says(&["run", "--env", "A=b", "--", "sh", "-c", "pwd; echo $A {}; echo oops >&2; exit 3"]);
    assert_eq!((ran.code, ran.stdout), (3, format!("{}\nb {{}}\n", cluster.folder().display())), "{}", ran.stderr);
    assert!(ran.stderr.contains("oops\n"), "{}", ran.stderr);
    let killed = cluster.says(&["run", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(killed.code, 137);
    let missing = cluster.says(&["run", "--", "./no-such-program"]);
    assert_eq!(missing.code, 1);
    assert!(missing.stderr.contains("no-such-program"), "{}", missing.stderr);
}

#[test]
fn items_run_once_each_and_the_failed_ones_are_listed() {
    let cluster = Cluster::new(1);
    let words = ["run", "--array", "1-20", "--max-running", "2", "--", "sh", "-c", "echo {}; test $((({}) % 10)) != 7"];
    let ran = cluster.says(&words);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stdout.contains("failed  7,17\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("item 7: exit code 1\n1 more item failed the same way\n"), "{}", ran.stdout);
    let logs = cluster.says(&["app", "logs", ran.stdout.split_whitespace().next().unwrap()]);
    assert!(logs.stderr.contains("item 7: exit code 1\n"), "{}", logs.stderr);
    let id = ran.stdout.split_whitespace().next().unwrap().to_owned();
    assert_eq!(cluster.says(&["app", "logs", &id, "--item", "17"]).done(), "17\n");
    assert!(cluster.says(&["app", "status", &id, "--failed"]).done().contains("failed      7,17"));
    assert!(cluster.says(&["app", "list", "--all"]).done().contains(&id));
    std::fs::write(cluster.folder().join("names"), "anna\nbob\n").unwrap();
    let greeted = cluster.says(&["run", "--each-line", "names", "--stdout", "hello.{}", "--", "echo", "hello", "{}"]);
    assert_eq!(greeted.code, 0, "{}", greeted.stderr);
    assert_eq!(std::fs::read_to_string(cluster.folder().join("hello.bob")).unwrap(), "hello bob\n");
}

/// What a program says of its end is text of a stranger's to an administrator.
#[test]
fn words_of_a_program_forge_no_lines_of_a_status() {
    let cluster = Cluster::new(0);
    let http = cluster.serving.as_ref().unwrap().http;
    let mut master = Master::register(&mut Signer::new("alice", "alicekey"), http, json!({}));
    let diagnostics = "gone\nstate       RUNNING\r\n\u{2028}user        root\n\u{1b}[2Kcost        0.0";
    let end = json!({"attempt": 1, "final-status": "FAILED", "diagnostics": diagnostics});
    master.signer.done(http, "POST", &format!("/apps/{}/unregister", master.id), Some(&end));
    let said = cluster.says(&["app", "status", &master.id]).done();
    assert!(said.contains("gone") && !said.contains('\u{1b}'), "{said}");
    // They stand below their own label, to the right of all labels.
    let theirs =
        said.split(['\n', '\r']).filter(|line| ["RUNNING", "root", "0.0"].iter().any(|word| line.ends_with(word)));
    assert!(theirs.clone().count() == 3 && theirs.clone().all(|line| line.starts_with("       ")), "{said}");
}

/// A port before a server that cuts a connection off once nothing has come on it for so long, and how many it has cut.
fn cutting_proxy(server: SocketAddr, idle: Duration) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (here, cut) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counted = cut.clone();
    std::thread::spawn(move || {
        for near in listener.incoming().map_while(Result::ok) {
            let far = TcpStream::connect(server).unwrap();
            let (mut asks, mut serves) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut asks, &mut serves));
            let counted = counted.clone();
            std::thread::spawn(move || {
                far.set_read_timeout(Some(idle)).unwrap();
                let ended = std::io::copy(&mut &far, &mut &near);
                counted.fetch_add(usize::from(ended.is_err()), Ordering::Relaxed);
                for end in [near, far] {
                    let _ = end.shutdown(Shutdown::Both);
                }
            });
        }
    });
    (here, cut)
}

/// Load balancers cut off what is silent for long, as a wait for the end of an application is.
#[test]
fn waits_outlive_a_proxy_that_cuts_silent_connections_off() {
    let cluster = Cluster::new(1);
    let (proxy, cut) = cutting_proxy(cluster.serving.as_ref().unwrap().http, Duration::from_millis(400));
    let words = ["run", "--array", "1-2", "--", "sleep", "1.5"];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ran = runtime.block_on(async { said(cluster.command_at(&proxy.to_string(), &words)).await });
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(cut.load(Ordering::Relaxed) > 0, "nothing was cut");
}

#[test]
fn an_interrupt_ends_the_command() {
    let cluster = Cluster::new(1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        use tokio::io::{AsyncBufReadExt, BufReader};
        let mut command = cluster.command(&["run", "--", "sh", "-c", "echo $$; exec sleep 1000"]);
        let mut running = command.spawn().unwrap();
        let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
        let pid: i32 = lines.next_line().await.unwrap().unwrap().parse().unwrap();
        kill_process(Pid::from_raw(running.id().unwrap().cast_signed()).unwrap(), Signal::INT).unwrap();
        assert_eq!(running.wait().await.unwrap().code(), Some(130));
        crate::cluster::wait_until_gone(pid);
    });
}
