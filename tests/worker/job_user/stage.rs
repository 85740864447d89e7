//! A JobTracker of root's, workers of root's that run jobs as their users, and clients of these users.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use crate::cluster::Cluster;
use crate::daemon::child::built_program;
use crate::program::{Said, job_command, said};

use super::users::{TestUser, Users, give};

/// What a test works with.
pub struct Stage {
    pub cluster: Cluster,
    pub users: Arc<Users>,
}

impl Stage {
    /// Without a worker; none where the users cannot be made.
    pub fn of_test(test: &str) -> Option<Self> {
        Users::of_test(test).map(|users| Self::with(Cluster::new(0), users))
    }

    /// The same, with a JobTracker that is not root's.
    pub fn of_daemon_of_nobody(test: &str) -> Option<Self> {
        Users::of_test(test).map(|users| Self::with(Cluster::of_nobody(), users))
    }

    fn with(cluster: Cluster, users: Arc<Users>) -> Self {
        // Each user has a folder here, and the program may lie where no user may go.
        give(cluster.place.dir.path(), (0, 0), 0o711);
        cluster.place.set_mode("hadoop", 0o711);
        let program = cluster.place.path("program");
        if std::fs::hard_link(built_program(), &program).is_err() {
            std::fs::copy(built_program(), &program).unwrap();
        }
        let stage = Self { cluster, users };
        for user in [&stage.users.alice, &stage.users.bob] {
            std::fs::create_dir(stage.home(user)).unwrap();
            user.owns(&stage.home(user), 0o700);
        }
        stage
    }

    /// Starts a worker with a conf folder.
    pub fn add_worker(&mut self, defines: &[&str]) {
        self.start_worker("true", defines);
    }

    /// The same, under another umask.
    pub fn add_worker_with_umask(&mut self, umask: &str) {
        self.start_worker(&format!("umask {umask}"), &[]);
    }

    /// `first`: what a shell runs before.
    fn start_worker(&mut self, first: &str, defines: &[&str]) {
        let mut command = self.users.known_to(first);
        command.arg(built_program());
        let conf = self.cluster.place.path("conf");
        std::fs::create_dir_all(&conf).unwrap();
        let disk = format!("mapred.local.dir={}", self.disk().display());
        self.cluster.add_worker_with(
            command,
            &["--conf", conf.to_str().unwrap()],
            &[&[disk.as_str()], defines].concat(),
        );
    }

    /// The worker's disk.
    pub fn disk(&self) -> PathBuf {
        self.cluster.place.path("disk")
    }

    /// A folder of a user that no other may enter.
    pub fn home(&self, user: &TestUser) -> PathBuf {
        self.cluster.place.path(&user.name)
    }

    /// A file of a user.
    pub fn write(&self, user: &TestUser, name: &str, text: &str) -> PathBuf {
        let path = self.home(user).join(name);
        std::fs::write(&path, text).unwrap();
        user.owns(&path, 0o600);
        path
    }

    /// `jobtracker job` with these words, run by this user in the own folder.
    pub fn job(&self, user: &TestUser, words: &[&str]) -> Said {
        let rpc = self.cluster.rpc.to_string();
        let as_user = job_command(&self.home(user), &[words, &["--jobtracker", &rpc]].concat());
        let as_user = as_user.into_std();
        let mut command = self.users.known_to("true");
        let (uid, gid) = (user.uid.to_string(), user.gid.to_string());
        command.args(["setpriv", "--reuid", &uid, "--regid", &gid, "--init-groups"]);
        command.arg(self.cluster.place.path("program")).args(as_user.get_args());
        command.current_dir(self.home(user)).env("HOME", self.home(user));
        for name in ["HADOOP_KEY", "HADOOP_HOME", "HADOOP_CONF_DIR"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut command = tokio::process::Command::from(command);
        command.kill_on_drop(true);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(said(command))
    }

    /// The id of a job that a user submits and leaves alone.
    pub fn submit(&self, user: &TestUser, words: &[&str]) -> String {
        id_of(&self.job(user, &[&["submit", "--detach"], words].concat()).done())
    }

    /// What is said of a job that fails.
    pub fn failure_of(&self, job: &str) -> String {
        let said = self.cluster.job(&["follow", job]);
        assert_eq!(said.code, 1, "{}{}", said.stdout, said.stderr);
        said.stdout + &said.stderr
    }
}

/// The id in what a client prints of a job.
pub fn id_of(said: &str) -> String {
    said.split_whitespace().find(|word| word.starts_with("job_")).unwrap().trim_end_matches([':', ',']).to_owned()
}

/// The property for a cache file under this name.
pub fn cached(path: &Path, link: &str) -> String {
    format!("mapred.cache.files=file:{}#{link}", path.display())
}

/// The owner and the mode of a path, links not followed.
pub fn owner_and_mode(path: &Path) -> (u32, u32) {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::symlink_metadata(path).unwrap();
    (metadata.uid(), metadata.mode() & 0o7777)
}
