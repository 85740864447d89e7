//! What keeps a daemon from starting is reported in one line with the remedy, by exit codes that scripts know.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};

/// A start that must fail: what is wrong, the daemon, its exit code, its arguments, the expected words.
type Case<'a> = (&'a str, &'a str, i32, Vec<String>, &'a [&'a str]);

/// The last line and the exit code of a daemon that does not start.
fn refused(daemon: &str, arguments: &[String], scratch: &Path) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jobtracker"));
    command.arg(daemon).args(["-D", &format!("hadoop.tmp.dir={}", scratch.display())]);
    // The addresses of a case come later, and the last one counts.
    for key in ["mapred.job.tracker", "mapred.job.tracker.http.address", "mapred.task.tracker.http.address"] {
        let is_set = arguments.iter().any(|argument| argument.contains(key) || argument == "--conf");
        command.args(if is_set { vec![] } else { vec!["-D".to_owned(), format!("{key}=127.0.0.1:0")] });
    }
    command.args(arguments).env_remove("HADOOP_CONF_DIR").env_remove("RUST_LOG");
    let output = command.stdin(Stdio::null()).stdout(Stdio::null()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("jobtracker: ")).collect();
    assert_eq!(errors.len(), 1, "one line: {said}");
    assert_eq!(said.lines().last(), Some(errors[0]), "and it is the last: {said}");
    (output.status.code().unwrap_or(-1), errors[0].to_owned())
}

#[test]
fn each_refusal_is_one_line_that_says_how_to_mend_it() {
    let scratch = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap();
    let folder = scratch.path().join("conf");
    std::fs::create_dir(&folder).unwrap();
    let file = scratch.path().join("file");
    std::fs::write(&file, "alice user\n").unwrap();
    let good = scratch.path().join("good");
    std::fs::write(&good, "root admin secret\n").unwrap();
    let good = good.display().to_string();
    let (file, folder) = (file.display().to_string(), folder.display().to_string());
    let set =
        |settings: &[String]| settings.iter().flat_map(|text| ["-D".to_owned(), text.clone()]).collect::<Vec<_>>();
    let one = |key: &str, value: &str| set(&[format!("{key}={value}")]);
    let conf = |folder: &str| vec!["--conf".to_owned(), folder.to_owned()];
    let market = |acl: &str| {
        let scheduler = "mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.DynamicPriorityScheduler".to_owned();
        let budgets = "mapred.dynamic-scheduler.budget-file=/proc/none".to_owned();
        set(&[scheduler, budgets, format!("mapred.priority-scheduler.acl-file={acl}")])
    };
    let taken = taken.to_string();
    let live = scratch.path().join("live");
    let _listener = UnixListener::bind(&live).unwrap();
    let live = format!("{}", live.display());
    let long = format!("/run/{}", "s".repeat(81));
    let socket = |path: &str| one("jobtracker.web.socket", path);
    let cases: [Case<'_>; 21] = [
        ("port", "serve", 1, one("mapred.job.tracker", &taken), &["in use", "-D mapred.job.tracker=HOST:PORT"]),
        (
            "web port",
            "serve",
            1,
            one("mapred.job.tracker.http.address", &taken),
            &["-D mapred.job.tracker.http.address="],
        ),
        ("port", "tasktracker", 1, one("mapred.task.tracker.http.address", &taken), &["in use", "such as 50061"]),
        (
            "state",
            "serve",
            2,
            one("jobtracker.state.dir", "/proc/none"),
            &["/proc/none", "set jobtracker.state.dir to"],
        ),
        ("system", "serve", 2, one("mapred.system.dir", "/proc/none"), &["/proc/none", "set mapred.system.dir to"]),
        ("socket, a file", "serve", 2, socket(&file), &["jobtracker.web.socket = ", "is there and is no socket"]),
        ("socket, a folder", "serve", 2, socket("/"), &["expected the absolute path of a socket"]),
        ("socket, long", "serve", 2, socket(&long), &["at most 107 bytes, with at most 80 after the last slash"]),
        ("socket, live", "serve", 1, socket(&live), &["listens there: stop it", "-D jobtracker.web.socket=PATH"]),
        (
            "scratch",
            "tasktracker",
            2,
            one("mapred.local.dir", "/proc/none"),
            &["/proc/none", "mapred.local.dir", "must name"],
        ),
        ("logs", "tasktracker", 2, one("hadoop.log.dir", &file), &["hadoop.log.dir must name folders"]),
        ("no ACL", "serve", 2, market("/proc/none"), &["No such file", "acl-file", "`USER ROLE KEY`", "root admin"]),
        ("bad ACL", "serve", 2, market(&file), &["file:1: expected three fields", "user role key"]),
        ("no budgets", "serve", 2, market(&good), &["no budget file", "`queue budget rate`", "budget-file"]),
        (
            "no folder",
            "serve",
            2,
            conf("/proc/none"),
            &["conf folder /proc/none: No such file", "--conf or HADOOP_CONF_DIR"],
        ),
        ("no folder", "tasktracker", 2, conf("/proc/none"), &["conf folder /proc/none", "--conf or HADOOP_CONF_DIR"]),
        ("a file", "serve", 2, conf(&file), &["Not a directory", "--conf or HADOOP_CONF_DIR"]),
        (
            "empty folder",
            "serve",
            2,
            conf(&folder),
            &["host:port", "in the conf folder or with -D mapred.job.tracker="],
        ),
        (
            "empty folder",
            "tasktracker",
            2,
            conf(&folder),
            &["host:port", "in the conf folder or with -D mapred.job.tracker="],
        ),
        ("files", "serve", 2, one("fs.default.name", "s3://n"), &["\"s3://n\"", "or a file: or hdfs: URI"]),
        ("files", "tasktracker", 2, one("fs.default.name", "s3://n"), &["\"s3://n\"", "or a file: or hdfs: URI"]),
    ];
    for (what, daemon, code, arguments, words) in cases {
        let (found, said) = refused(daemon, &arguments, scratch.path());
        assert_eq!(found, code, "{daemon}, {what}: {said}");
        for word in words {
            assert!(said.contains(word), "{daemon}, {what}: {word:?} is not in {said}");
        }
    }
}
