//! Where the JobTracker is: one order of options, variables and files for all commands.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use crate::client::daemon_status::{StatusError, daemon_status};
use crate::client::job::configuration::JobConfiguration;
use crate::client::market::MarketClient;
use crate::config::settings::ClientAddresses;
use crate::config::{ConfigError, Environment, HostPort};
use crate::fs::LocalFileSystem;

use super::exit_code::{HasExitCode, UNREACHABLE, WRONG_USAGE};

/// Heading of these options in each help.
pub(super) const HEADING: &str = "Server and signer";
/// File with the server's address, from the Dynamic Priority Scheduler document.
const SERVER_FILE: &str = "/etc/hadoop_server";
const MAX_ADDRESS_BYTES: u64 = 4096;
/// HTTP port of a JobTracker.
const HTTP_PORT: u16 = 50030;
/// RPC port of a JobTracker without a conf folder.
const RPC_PORT: u16 = 8021;
const LOOPBACK: &str = "127.0.0.1";
const JOBTRACKER_SERVER: &str = "JOBTRACKER_SERVER";
const JOBTRACKER_CONF: &str = "JOBTRACKER_CONF";
const HADOOP_CONF_DIR: &str = "HADOOP_CONF_DIR";

/// Options that say where the JobTracker is.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct PlaceArguments {
    /// HTTP address of the JobTracker, host:port; default: as --conf has it, else $JOBTRACKER_SERVER, $JOBTRACKER_CONF,
    /// $HADOOP_CONF_DIR, ~/.config/jobtracker/config.toml, /etc/hadoop_server, 127.0.0.1:50030
    #[arg(long, value_name = "ADDRESS", help_heading = HEADING)]
    pub(super) server: Option<String>,
    /// RPC address of the JobTracker, host:port; default: as --conf has it, else asked at the HTTP address
    #[arg(long, value_name = "ADDRESS", help_heading = HEADING)]
    pub(super) jobtracker: Option<String>,
    /// Conf folder of the cluster
    #[arg(long, value_name = "DIR", help_heading = HEADING)]
    pub(super) conf: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum PlaceError {
    #[error("the {kind} address {text:?} is from {origin}: expected host:port")]
    Address {
        kind: &'static str,
        /// As written.
        text: String,
        /// Who names it.
        origin: String,
    },
    #[error("{source}{note}")]
    ConfFolder {
        source: Box<ConfigError>,
        /// Who names the folder.
        note: String,
    },
    #[error("{0}")]
    Define(#[from] ConfigError),
    #[error("{0}")]
    UserConfig(#[from] UserConfigError),
    #[error("{source}{note}; or give the RPC address: --jobtracker HOST:PORT")]
    NoRpcAddress {
        /// Why not.
        source: StatusError,
        /// Who names the web server.
        note: String,
    },
}

/// An address, and who names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundAddress {
    pub(super) address: HostPort,
    pub(super) origin: AddressOrigin,
}

/// A JobTracker, by what the first source in the order says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct JobTrackerPlace {
    http: Option<FoundAddress>,
    rpc: Option<FoundAddress>,
    /// The conf folder, for all other values.
    pub(super) conf: Option<PathBuf>,
}

/// What names a server besides options.
#[derive(Clone, Debug, Default)]
struct Surroundings {
    server: Option<String>,
    /// Conf folders, by variable.
    conf_folders: Vec<(&'static str, PathBuf)>,
    config: UserConfig,
    /// The content of [`SERVER_FILE`].
    server_file: Option<String>,
}

impl HasExitCode for PlaceError {
    fn exit_code(&self) -> u8 {
        if matches!(self, Self::NoRpcAddress { .. }) { UNREACHABLE } else { WRONG_USAGE }
    }
}

impl PlaceArguments {
    /// The first that names a JobTracker: options and `-D` (`key=value`), variables, files, else this machine.
    pub(super) fn find(&self, overrides: &[String]) -> Result<JobTrackerPlace, PlaceError> {
        self.find_in(&Surroundings::of_process()?, overrides)
    }

    pub(super) fn market(&self) -> Result<MarketClient, PlaceError> {
        Ok(self.find(&[])?.http().market())
    }

    fn find_in(&self, around: &Surroundings, overrides: &[String]) -> Result<JobTrackerPlace, PlaceError> {
        let mut place = JobTrackerPlace::default();
        if let Some(text) = &self.server {
            place.http = Some(http(text, AddressOrigin::Option("--server"))?);
        }
        if let Some(text) = &self.jobtracker {
            place.rpc = Some(rpc(text, AddressOrigin::Option("--jobtracker"))?);
        }
        let defined = JobConfiguration::load(None, overrides, &user_name())?.addresses()?;
        place.complete(defined, &AddressOrigin::Option("-D"));
        if let Some(folder) = &self.conf {
            place.add_conf("--conf", folder)?;
        }
        if place.is_found() {
            return Ok(place);
        }
        if let Some(text) = &around.server {
            place.http = Some(http(text, AddressOrigin::Variable(JOBTRACKER_SERVER))?);
            return Ok(place);
        }
        for (variable, folder) in &around.conf_folders {
            place.add_conf(variable, folder)?;
            if place.is_found() {
                return Ok(place);
            }
        }
        let UserConfig { server, jobtracker, path, .. } = &around.config;
        let origin = || AddressOrigin::File(path.clone());
        place.http = server.as_deref().map(|text| http(text, origin())).transpose()?;
        place.rpc = jobtracker.as_deref().map(|text| rpc(text, origin())).transpose()?;
        if let Some(text) = around.server_file.as_deref().filter(|_| !place.is_found()) {
            place.http = Some(http(text, AddressOrigin::File(SERVER_FILE.into()))?);
        }
        Ok(place)
    }
}

impl JobTrackerPlace {
    fn is_found(&self) -> bool {
        self.http.is_some() || self.rpc.is_some()
    }

    /// Whether the RPC address is named, not only a web server.
    pub(super) fn has_rpc(&self) -> bool {
        self.rpc.is_some()
    }

    fn complete(&mut self, ClientAddresses { rpc, http }: ClientAddresses, origin: &AddressOrigin) {
        let found = |address: Option<HostPort>| address.map(|address| FoundAddress { address, origin: origin.clone() });
        self.rpc = self.rpc.take().or_else(|| found(rpc));
        // A web server that the folder does not name is beside the RPC server that it names.
        self.http = self.http.take().or_else(|| found(http));
    }

    fn add_conf(&mut self, name: &str, folder: &Path) -> Result<(), PlaceError> {
        let shown = if name == "--conf" { name.to_owned() } else { format!("${name}") };
        let refused = |source: ConfigError| {
            let note = if name == "--conf" { String::new() } else { format!("; the folder is from {shown}") };
            PlaceError::ConfFolder { source: source.into(), note }
        };
        let configuration = JobConfiguration::load(Some(folder), &[], &user_name()).map_err(refused)?;
        let mut addresses = configuration.addresses().map_err(refused)?;
        // The web server of another JobTracker than the folder's own.
        if let (Some(given), Some(own), Some(web)) = (&self.rpc, &addresses.rpc, &mut addresses.http)
            && web.host == own.host
        {
            web.host.clone_from(&given.address.host);
        }
        self.complete(addresses, &AddressOrigin::ConfFolder(shown.clone(), folder.to_owned()));
        self.conf.get_or_insert_with(|| folder.to_owned());
        Ok(())
    }

    /// The web server: as named, else beside the RPC server, else on this machine.
    pub(super) fn http(&self) -> FoundAddress {
        let beside = |rpc: &FoundAddress| FoundAddress {
            address: HostPort { port: HTTP_PORT, ..rpc.address.clone() },
            ..rpc.clone()
        };
        self.http
            .clone()
            .or_else(|| self.rpc.as_ref().map(beside))
            .unwrap_or_else(|| FoundAddress::default_at(HTTP_PORT))
    }

    /// The web server, if an option, a variable or a file other than a conf folder names it.
    pub(super) fn named_http(&self) -> Option<&FoundAddress> {
        let is_named = |found: &&FoundAddress| !matches!(found.origin, AddressOrigin::ConfFolder(..));
        self.http.as_ref().filter(is_named)
    }

    /// The RPC server: as named, else as the web server says, else on this machine.
    pub(super) async fn rpc(&self) -> Result<FoundAddress, PlaceError> {
        match (&self.rpc, &self.http) {
            (Some(rpc), _) => Ok(rpc.clone()),
            (None, Some(http)) => asked_at(http).await,
            (None, None) => Ok(FoundAddress::default_at(RPC_PORT)),
        }
    }

    /// Options that name the same place from another folder or with other variables.
    pub(super) fn options(&self) -> PlaceArguments {
        let is_named =
            |found: &&FoundAddress| !matches!(found.origin, AddressOrigin::ConfFolder(..) | AddressOrigin::Default);
        let text =
            |found: &Option<FoundAddress>| found.as_ref().filter(is_named).map(|found| found.address.to_string());
        PlaceArguments { server: text(&self.http), jobtracker: text(&self.rpc), conf: self.conf.clone() }
    }
}

impl FoundAddress {
    fn default_at(port: u16) -> Self {
        Self { address: HostPort { host: LOOPBACK.to_owned(), port }, origin: AddressOrigin::Default }
    }

    pub(super) fn market(&self) -> MarketClient {
        MarketClient::new(self.address.to_string()).found(self.origin.note())
    }
}

impl Surroundings {
    fn of_process() -> Result<Self, UserConfigError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let folder = |name: &'static str| variable(name).map(|folder| (name, PathBuf::from(folder)));
        let file = LocalFileSystem.read_limited(Path::new(SERVER_FILE), MAX_ADDRESS_BYTES).ok();
        Ok(Self {
            server: variable(JOBTRACKER_SERVER),
            conf_folders: [JOBTRACKER_CONF, HADOOP_CONF_DIR].into_iter().filter_map(folder).collect(),
            config: UserConfig::of_process()?,
            server_file: file.and_then(|bytes| String::from_utf8(bytes).ok()).filter(|text| !text.trim().is_empty()),
        })
    }
}

/// For `${user.name}` in conf folders.
fn user_name() -> String {
    Environment::of_process().properties.remove("user.name").unwrap_or_default()
}

/// `host`, `host:port` or `http://host:port/`.
fn http(text: &str, origin: AddressOrigin) -> Result<FoundAddress, PlaceError> {
    let server = text.trim();
    let server = server.strip_prefix("http://").unwrap_or(server).trim_end_matches('/');
    // An address of IPv6 has colons of its own, in brackets.
    let has_port = server.rsplit(']').next().unwrap_or_default().contains(':');
    let server = if has_port { server.to_owned() } else { format!("{server}:{HTTP_PORT}") };
    let address = HostPort::parse(&server).filter(|_| !server.contains("://"));
    found("HTTP", text, address, origin)
}

fn rpc(text: &str, origin: AddressOrigin) -> Result<FoundAddress, PlaceError> {
    found("RPC", text, HostPort::parse(text), origin)
}

fn found(
    kind: &'static str,
    text: &str,
    address: Option<HostPort>,
    origin: AddressOrigin,
) -> Result<FoundAddress, PlaceError> {
    match address {
        Some(address) => Ok(FoundAddress { address, origin }),
        None => Err(PlaceError::Address { kind, text: text.trim().to_owned(), origin: origin.to_string() }),
    }
}

/// Asks a web server for the RPC address of its JobTracker.
async fn asked_at(http: &FoundAddress) -> Result<FoundAddress, PlaceError> {
    let server = http.address.to_string();
    let unknown = |source| PlaceError::NoRpcAddress { source, note: http.origin.note() };
    let rpc = daemon_status(&server).await.map_err(unknown)?.rpc;
    let Some(mut address) = rpc.as_deref().and_then(HostPort::parse) else {
        return Err(unknown(StatusError { server, reason: "it names no RPC address".to_owned() }));
    };
    if matches!(&*address.host, "0.0.0.0" | "::") {
        address.host.clone_from(&http.address.host);
    }
    Ok(FoundAddress { address, origin: AddressOrigin::Server(Box::new(http.origin.clone()), server) })
}

/// Where an address comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AddressOrigin {
    Option(&'static str),
    Variable(&'static str),
    /// The conf folder that an option or a variable names.
    ConfFolder(String, PathBuf),
    File(PathBuf),
    /// The web server that this names.
    Server(Box<AddressOrigin>, String),
    /// Nothing names one.
    Default,
}

impl AddressOrigin {
    /// Ends the text of an error about the address.
    pub(crate) fn note(&self) -> String {
        match self {
            Self::Default => {
                "; nothing names another: give --server HOST:PORT or --conf DIR, or set JOBTRACKER_SERVER".to_owned()
            }
            origin => format!("; the address is from {origin}"),
        }
    }
}

impl fmt::Display for AddressOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(name) => formatter.write_str(name),
            Self::Variable(name) => write!(formatter, "${name}"),
            Self::ConfFolder(name, folder) => write!(formatter, "{name} {}", folder.display()),
            Self::File(path) => path.display().fmt(formatter),
            Self::Server(origin, server) => write!(formatter, "the web server {server} of {origin}"),
            Self::Default => formatter.write_str("no option, variable or file"),
        }
    }
}

/// The file below the home directory.
const FILE: &str = ".config/jobtracker/config.toml";
const MAX_BYTES: u64 = 64 << 10;

#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct UserConfig {
    pub(crate) server: Option<String>,
    pub(crate) jobtracker: Option<String>,
    /// Who signs.
    pub(crate) user: Option<String>,
    /// File with the secret key; a relative path begins at the folder of this file.
    pub(crate) key_file: Option<PathBuf>,
    #[serde(skip)]
    pub(crate) path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}; expected lines such as server = \"master:50030\", with server, jobtracker, user or key-file", path.display())]
pub(crate) struct UserConfigError {
    path: PathBuf,
    reason: String,
}

impl UserConfig {
    /// Reads the file of this process's user; without one everything is left open.
    pub(crate) fn of_process() -> Result<Self, UserConfigError> {
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
        home.map_or_else(|| Ok(Self::default()), |home| Self::in_home(Path::new(&home)))
    }

    fn in_home(home: &Path) -> Result<Self, UserConfigError> {
        let path = home.join(FILE);
        let failed = |reason: String| UserConfigError { path: path.clone(), reason };
        let bytes = match LocalFileSystem.read_limited(&path, MAX_BYTES).map_err(io::Error::from) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Self::default());
            }
            bytes => bytes.map_err(|error| failed(error.to_string()))?,
        };
        let text = String::from_utf8(bytes).map_err(|error| failed(error.to_string()))?;
        let mut config: Self = toml::from_str(&text).map_err(|error| failed(place_of(&error, &text)))?;
        config.key_file = config.key_file.map(|file| match file.strip_prefix("~") {
            Ok(below) => home.join(below),
            Err(_) => path.parent().unwrap_or(home).join(&file),
        });
        Ok(Self { path, ..config })
    }
}

/// The line that cannot be read, and why.
fn place_of(error: &toml::de::Error, text: &str) -> String {
    let reason = error.message().trim().replace('\n', " ");
    let before = error.span().and_then(|span| text.get(..span.start));
    before.map_or_else(|| reason.clone(), |before| format!("line {}: {reason}", before.matches('\n').count() + 1))
}

#[cfg(test)]
#[path = "tests/place.rs"]
mod tests;

#[cfg(test)]
mod user_config_tests {
    use super::*;

    fn read_text(text: &str) -> Result<UserConfig, String> {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(FILE);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let shown = |text: String| text.replace(&home.path().display().to_string(), "HOME");
        let config = UserConfig::in_home(home.path()).map_err(|error| shown(error.to_string()))?;
        let key_file = config.key_file.map(|file| PathBuf::from(shown(file.display().to_string())));
        Ok(UserConfig { key_file, path: PathBuf::new(), ..config })
    }

    #[test]
    fn a_file_names_server_user_and_key() {
        let text =
            "# mine\nserver = \"master:50030\"\njobtracker = 'master:8021'\nuser = \"alice\"\nkey-file = \"~/k\"\n";
        let expected = UserConfig {
            server: Some("master:50030".to_owned()),
            jobtracker: Some("master:8021".to_owned()),
            user: Some("alice".to_owned()),
            key_file: Some("HOME/k".into()),
            path: PathBuf::new(),
        };
        assert_eq!(read_text(text), Ok(expected));
        assert_eq!(read_text("key-file = 'k'").unwrap().key_file, Some("HOME/.config/jobtracker/k".into()));
        assert_eq!(read_text("key-file = '/k'").unwrap().key_file, Some("/k".into()));
        assert_eq!(UserConfig::in_home(Path::new("/nowhere/at/all")).unwrap(), UserConfig::default());
    }

    #[test]
    fn a_slip_is_named_with_its_line() {
        for (text, expected) in [
            ("user = 'a'\nsevrer = 'b:1'\n", "config.toml: line 2: unknown field `sevrer`"),
            ("server = master\n", "config.toml: line 1: "),
            ("server = 5\n", "config.toml: line 1: invalid type"),
        ] {
            let error = read_text(text).unwrap_err();
            assert!(error.starts_with("HOME/.config/jobtracker/") && error.contains(expected), "{error}");
        }
    }
}
