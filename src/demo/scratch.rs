//! The folder of a demo, with everything that an administrator would set up: keys, ACL, budgets, settings of the daemons.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::client::market::Signer;
use crate::config::settings::DYNAMIC_CLASS;
use crate::config::{Environment, LoadOptions};
use crate::fs::FileUri;
use crate::log::start_log;
use crate::market::Key;
use crate::model::{PerKind, hex};

use super::error::DemoError;

/// A user who bids.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bidder {
    pub(super) name: &'static str,
    /// Credits for one slot over one interval.
    pub(super) bid: &'static str,
}

/// The competing users. Their rates are not binary fractions.
pub(super) const BIDDERS: [Bidder; 2] = [Bidder { name: "alice", bid: "1.1" }, Bidder { name: "bob", bid: "2.2" }];
/// First balance of each, credits.
pub(super) const BUDGET: &str = "1000";
/// Time between two ticks, s.
pub(super) const ALLOC_INTERVAL_S: u64 = 1;
const ADMINISTRATOR: &str = "operator";
pub(super) const WORKERS: [&str; 2] = ["worker-1", "worker-2"];
/// Slots of all workers. Thirds and quarters of the map slots are whole.
pub(super) const SLOTS: PerKind<u32> = PerKind::new(12, 4);
/// Most names to try for the folder: a dead process of the same id may have left one.
const MOST_TRIES: u32 = 100;
const KEY_BYTES: usize = 16;
/// The name of this program in commands of tasks.
pub(super) const TASK_PROGRAM: &str = "jobtracker";

/// A folder that is removed with this value, unless it is kept.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: PathBuf,
    is_kept: bool,
    /// In the order of [`BIDDERS`].
    pub(super) bidders: [Signer; 2],
    /// May see all queues.
    pub(super) administrator: Signer,
}

impl Scratch {
    pub(super) fn create() -> Result<Self, DemoError> {
        let [alice, bob] = BIDDERS.map(|bidder| bidder.name);
        let keys = [(alice, "user", new_key()?), (bob, "user", new_key()?), (ADMINISTRATOR, "admin", new_key()?)];
        let [alice, bob, administrator] =
            keys.each_ref().map(|(name, _, key)| Signer { user: (*name).to_owned(), key: Key::new(key) });
        let scratch = Self { folder: new_folder()?, is_kept: false, bidders: [alice, bob], administrator };
        for (name, _, key) in &keys {
            write(&scratch.key_file(name), &format!("{key}\n"))?;
        }
        let acl: String = keys.iter().map(|(name, role, key)| format!("{name} {role} {key}\n")).collect();
        write(&scratch.path("hadoop.acl"), &acl)?;
        let budgets: String = BIDDERS.iter().map(|Bidder { name, bid }| format!("{name} {BUDGET} {bid}\n")).collect();
        write(&scratch.path("hadoop.budget"), &budgets)?;
        let programs = scratch.path("bin");
        fs::create_dir(&programs).map_err(DemoError::file("make", &programs))?;
        let program = std::env::current_exe().map_err(DemoError::system)?;
        let link = programs.join(TASK_PROGRAM);
        symlink(program, &link).map_err(DemoError::file("make", &link))?;
        Ok(scratch)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn keep(&mut self) {
        self.is_kept = true;
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn log(&self) -> PathBuf {
        self.path("log")
    }

    pub(super) fn corpus_folder(&self) -> PathBuf {
        self.path("texts")
    }

    pub(super) fn output_folder(&self, bidder: Bidder) -> PathBuf {
        self.path(&format!("counts-of-{}", bidder.name))
    }

    pub(super) fn key_file(&self, user: &str) -> PathBuf {
        self.path(&format!("{user}.key"))
    }

    pub(super) fn uri(path: &Path) -> Result<FileUri, DemoError> {
        Ok(FileUri::parse(&path.to_string_lossy())?)
    }

    pub(super) fn log_to_file(&self) -> Result<(), DemoError> {
        let log = self.log();
        let file = File::create(&log).map_err(DemoError::file("write", &log))?;
        // A second demo in the same process uses the first one's log.
        start_log(Mutex::new(file), false);
        Ok(())
    }

    pub(super) fn jobtracker_options(&self) -> LoadOptions {
        self.options(&[
            ("mapred.job.tracker", "127.0.0.1:0"),
            ("mapred.job.tracker.http.address", "127.0.0.1:0"),
            ("mapred.jobtracker.taskScheduler", DYNAMIC_CLASS),
            ("mapred.dynamic-scheduler.alloc-interval", &ALLOC_INTERVAL_S.to_string()),
            ("mapred.dynamic-scheduler.budget-file", &self.text("hadoop.budget")),
            ("mapred.priority-scheduler.acl-file", &self.text("hadoop.acl")),
            // Its page is to be looked at.
            ("jobtracker.market.visibility", "public"),
            ("jobtracker.state.dir", &self.text("state")),
            ("hadoop.tmp.dir", &self.text("hadoop")),
        ])
    }

    pub(super) fn worker_options(&self, worker: &str, jobtracker: &str) -> LoadOptions {
        let slots = |of_all: u32| (of_all / WORKERS.len() as u32).to_string();
        self.options(&[
            // Its users are of no machine, and its jobs are signed.
            ("jobtracker.worker.run-as", "self"),
            ("mapred.job.tracker", jobtracker),
            ("mapred.task.tracker.http.address", "127.0.0.1:0"),
            ("mapred.tasktracker.map.tasks.maximum", &slots(SLOTS.map)),
            ("mapred.tasktracker.reduce.tasks.maximum", &slots(SLOTS.reduce)),
            ("hadoop.tmp.dir", &self.text(worker)),
        ])
    }

    /// `PATH` of tasks: this program first.
    pub(super) fn task_environment(&self) -> BTreeMap<String, String> {
        let others = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
        BTreeMap::from([("PATH".to_owned(), format!("{}:{others}", self.text("bin")))])
    }

    /// Without any conf folder of the machine.
    fn options(&self, values: &[(&str, &str)]) -> LoadOptions {
        LoadOptions {
            conf_dir: None,
            overrides: values.iter().map(|(key, value)| format!("{key}={value}")).collect(),
            environment: Environment::of_process(),
        }
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.is_kept {
            // Left files are in a folder for temporary files.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// Writes a new private file.
fn write(path: &Path, text: &str) -> Result<(), DemoError> {
    let file = File::options().create_new(true).write(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(DemoError::file("write", path))
}

fn new_folder() -> Result<PathBuf, DemoError> {
    let place = std::env::temp_dir();
    let place = place.canonicalize().map_err(DemoError::file("find", &place))?;
    let process = std::process::id();
    let mut number = 0;
    loop {
        let folder = place.join(match number {
            0 => format!("jobtracker-demo-{process}"),
            _ => format!("jobtracker-demo-{process}-{number}"),
        });
        match fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < MOST_TRIES => number += 1,
            Err(error) => return Err(DemoError::file("make", &folder)(error)),
        }
    }
}

/// A random key, hexadecimal.
fn new_key() -> Result<String, DemoError> {
    let mut bytes = [0; KEY_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| DemoError::system(std::io::Error::other(error)))?;
    Ok(hex(&bytes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_is_private_and_removed() {
        let scratch = Scratch::create().unwrap();
        let folder = scratch.folder().to_owned();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            [mode(&folder), mode(&scratch.key_file("alice")), mode(&folder.join("hadoop.acl"))],
            [0o700, 0o600, 0o600]
        );
        let keys = BIDDERS.map(|bidder| fs::read_to_string(scratch.key_file(bidder.name)).unwrap());
        assert_ne!(keys[0], keys[1]);
        let second = Scratch::create().unwrap();
        assert_ne!(second.folder(), folder);
        drop(scratch);
        assert!(!folder.exists());
        let mut second = second;
        second.keep();
        let kept = second.folder().to_owned();
        drop(second);
        assert!(kept.exists());
        fs::remove_dir_all(kept).unwrap();
    }
}
