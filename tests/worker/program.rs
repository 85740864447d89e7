//! The program beside a daemon of the test: run to its end while trackers of the test work.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

/// What the program said, and its exit code.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    /// What it printed, if it did its work.
    pub fn done(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.stdout, self.stderr);
        self.stdout
    }

    /// What it complained of, if it ended so.
    pub fn refused(self, code: i32) -> String {
        assert_eq!(self.code, code, "{}{}", self.stdout, self.stderr);
        self.stderr
    }
}

/// `jobtracker job` with these arguments, in a folder of its own, by nobody who has a key.
pub fn job_command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jobtracker"));
    command.arg("job").args(arguments).current_dir(folder).env("HOME", folder);
    for name in ["HADOOP_KEY", "HADOOP_HOME", "HADOOP_CONF_DIR"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

pub async fn said(mut command: Command) -> Said {
    let output = command.output().await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { code: output.status.code().unwrap_or(-1), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

pub async fn job(folder: &Path, arguments: &[&str]) -> Said {
    said(job_command(folder, arguments)).await
}
