//! A PostgreSQL server of a test's own: on a free port, in a folder of its own, stopped when it is dropped.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use rustix::process::{Pid, Signal, kill_process};
use tokio_postgres::{NoTls, SimpleQueryMessage};

use jobtracker::config::settings::{PostgresSettings, SslMode};

use super::skip::skip;

/// A server refuses to run as root.
const NOBODY: u32 = 65_534;
const PASSWORD: &str = "s3cret-of-postgres";
const STARTS: u32 = 20;

/// A server with the role `postgres`, which owns all, its password in a file.
#[derive(Debug)]
pub struct PostgresServer {
    folder: tempfile::TempDir,
    programs: PathBuf,
    port: u16,
    options: Vec<String>,
    /// What runs it as its user, if not this process.
    runner: Vec<OsString>,
    server: Option<Child>,
}

/// The folder of its programs: on the path, or where Debian puts them.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
        folders.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    folders.into_iter().find(|folder| ["initdb", "postgres"].iter().all(|program| folder.join(program).is_file()))
}

// === impl PostgresServer ===

impl PostgresServer {
    /// None, and the test is skipped, where there is no PostgreSQL.
    pub fn start_or_skip(test: &str) -> Option<Self> {
        let found = programs();
        let lacks = found.is_none().then(|| "no initdb and postgres on the path or in /usr/lib/postgresql".to_owned());
        if skip(test, lacks) {
            return None;
        }
        let mut server = Self::made(found?);
        server.start();
        Some(server)
    }

    /// One that has what this one has now, which is stopped.
    pub fn copy(&self) -> Self {
        assert!(self.server.is_none());
        let copy = Self::placed(self.programs.clone());
        let copied = Command::new("cp").arg("-a").arg(self.data()).arg(copy.data()).status().unwrap();
        assert!(copied.success());
        set_mode(&copy.password_file(), 0o600);
        copy
    }

    /// Without data.
    fn placed(programs: PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        if rustix::process::geteuid().is_root() {
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        std::fs::write(folder.path().join("password"), format!("{PASSWORD}\n")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self { folder, programs, port, options: Vec::new(), runner: Vec::new(), server: None }
    }

    fn made(programs: PathBuf) -> Self {
        let server = Self::placed(programs);
        let password = server.password_file();
        let mut initdb = server.command("initdb");
        if rustix::process::geteuid().is_root() {
            chown(&password, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        initdb.arg("--pgdata").arg(server.data()).args(["--username=postgres", "--auth=scram-sha-256", "--no-sync"]);
        initdb.arg("--encoding=UTF8").arg("--locale=C").arg("--pwfile").arg(&password);
        let made = initdb.output().unwrap();
        assert!(made.status.success(), "{made:?}");
        if rustix::process::geteuid().is_root() {
            // The daemon's own file from now on.
            chown(&password, Some(0), Some(0)).unwrap();
        }
        set_mode(&password, 0o600);
        server
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.current_dir("/").env("LC_ALL", "C").stdin(Stdio::null());
        if rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn password_file(&self) -> PathBuf {
        self.folder.path().join("password")
    }

    /// Starts it, with what [`Self::set_option`] said; as often as a killed one's remains need.
    pub fn start(&mut self) {
        for _ in 0..STARTS {
            let mut command = match self.runner.split_first() {
                Some((program, arguments)) => {
                    let mut command = Command::new(program);
                    command.args(arguments).arg(self.programs.join("postgres")).env("LC_ALL", "C");
                    command
                }
                None => self.command("postgres"),
            };
            command.arg("-D").arg(self.data()).arg("-p").arg(self.port.to_string());
            command.arg("-k").arg(self.folder.path());
            for option in ["listen_addresses=127.0.0.1", "fsync=off", "shared_buffers=16MB", "max_connections=40"] {
                command.args(["-c", option]);
            }
            for option in &self.options {
                command.args(["-c", option]);
            }
            let mut server = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            let stderr = server.stderr.take().unwrap();
            let (said, is_ready) = mpsc::channel();
            std::thread::spawn(move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    if line.contains("ready to accept connections") {
                        let _ = said.send(());
                    }
                }
            });
            if is_ready.recv().is_ok() {
                self.server = Some(server);
                return;
            }
            let _ = server.wait();
        }
        panic!("postgres does not start in {}", self.folder.path().display());
    }

    /// A setting from the next start on, `name=value`.
    pub fn set_option(&mut self, option: &str) {
        self.options.push(option.to_owned());
    }

    /// Is run by this command of root's from the next start on.
    pub fn set_runner(&mut self, command: &Command) {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        self.runner = words.map(OsString::from).collect();
        let user = format!("--reuid={NOBODY}");
        self.runner.extend(["setpriv", &user, &format!("--regid={NOBODY}"), "--clear-groups"].map(OsString::from));
    }

    /// Its process.
    pub fn process_id(&self) -> u32 {
        self.server.as_ref().unwrap().id()
    }

    /// Serves TLS from now on with this certificate, after a restart.
    pub fn install_certificate(&mut self, certificate: &Path, key: &Path) {
        self.stop();
        for (from, name) in [(certificate, "server.crt"), (key, "server.key")] {
            let to = self.folder.path().join(name);
            std::fs::copy(from, &to).unwrap();
            set_mode(&to, 0o600);
            if rustix::process::geteuid().is_root() {
                chown(&to, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        let folder = self.folder.path().display().to_string();
        if self.options.iter().all(|option| option != "ssl=on") {
            self.set_option("ssl=on");
            self.set_option(&format!("ssl_cert_file={folder}/server.crt"));
            self.set_option(&format!("ssl_key_file={folder}/server.key"));
        }
        self.start();
    }

    fn process(&self) -> Option<Pid> {
        self.server.as_ref().map(Pid::from_child)
    }

    /// Stops it, whoever is connected.
    pub fn stop(&mut self) {
        if let Some(process) = self.process() {
            kill_process(process, Signal::INT).unwrap();
        }
        self.reap();
    }

    /// Kills it, as a crash does; its sessions end when they see it.
    pub fn kill(&mut self) {
        if let Some(process) = self.process() {
            kill_process(process, Signal::KILL).unwrap();
        }
        self.reap();
    }

    fn reap(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.wait().unwrap();
        }
    }

    /// Rows of a statement, or of the last of several, as text; NULL is empty.
    pub fn try_query(&self, database: &str, user: &str, sql: &str) -> Result<Vec<Vec<String>>, String> {
        try_query(self.port, database, user, sql)
    }

    /// The same as its owner, of a statement that succeeds.
    pub fn query(&self, database: &str, sql: &str) -> Vec<Vec<String>> {
        self.try_query(database, "postgres", sql).unwrap()
    }

    /// A new database.
    pub fn create_database(&self, name: &str) {
        self.query("postgres", &format!("CREATE DATABASE {name}"));
    }

    /// Where the daemon finds a database.
    pub fn settings(&self, database: &str) -> PostgresSettings {
        PostgresSettings {
            url: self.url(database),
            ssl_mode: SslMode::Prefer,
            root_certificates: None,
            password_file: Some(self.password_file()),
        }
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// The configuration of a daemon with this database.
    pub fn overrides(&self, database: &str) -> [String; 3] {
        [
            "mapred.dynamic-scheduler.store=postgres".to_owned(),
            format!("mapred.dynamic-scheduler.store.url={}", self.url(database)),
            format!("mapred.dynamic-scheduler.store.password-file={}", self.password_file().display()),
        ]
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Rows of a statement, or of the last of several, as text, by the server of this port; NULL is empty.
pub fn try_query(port: u16, database: &str, user: &str, sql: &str) -> Result<Vec<Vec<String>>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(port).user(user).dbname(database).password(PASSWORD);
        let text = |error: tokio_postgres::Error| match error.as_db_error() {
            Some(server) => server.message().to_owned(),
            None => format!("{error:?}"),
        };
        let (client, connection) = config.connect(NoTls).await.map_err(text)?;
        let driven = tokio::spawn(connection);
        let found = client.simple_query(sql).await.map_err(text)?;
        drop(client);
        let _ = driven.await;
        let rows = found.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|column| row.get(column).unwrap_or_default().to_owned()).collect())
            }
            _ => None,
        });
        Ok(rows.collect())
    })
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
