//! `jobtracker run` and `jobtracker app` beside a daemon and a worker on this machine.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::cluster::Cluster;
use crate::program::{Said, said};

impl Cluster {
    /// `jobtracker` with these words and alice's key, in the cluster's folder.
    fn command(&self, words: &[&str]) -> tokio::process::Command {
        let http = self.serving.as_ref().unwrap().http.to_string();
        let mut command = tokio::process::Command::new(crate::daemon::child::built_program());
        // `--server` has to stand before `--`.
        command.arg(words[0]).args(if words[0] == "app" { &words[1..2] } else { &[][..] });
        command.args(["--server", &http, "--as", "alice"]).args(&words[if words[0] == "app" { 2 } else { 1 }..]);
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
