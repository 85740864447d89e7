//! What this process and this machine say of themselves: Java's system properties, which `${…}` may refer to besides keys, and
//! the host names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::fs::{Account, LocalFileSystem};

use super::configuration::Configuration;
use super::error::ConfigError;
use super::host_port::HostPort;
use super::keys;
use super::keys::Key;

/// Names and values of a process that configuration values may refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `user.name`, `user.home`, `java.io.tmpdir` and other properties of the caller. `hadoop.tmp.dir` here is not a property, but that
    /// key's default without a conf folder.
    pub properties: BTreeMap<String, String>,
    /// The conf folder of `JOBTRACKER_CONF`, else of `HADOOP_CONF_DIR`.
    pub conf_dir: Option<PathBuf>,
}

impl Environment {
    /// Reads the environment of this process. The user is the process's real user, whatever `USER` contains.
    #[must_use]
    pub(crate) fn of_process() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let user_id = rustix::process::getuid().as_raw();
        let account = Account::of(user_id);
        let name = account.as_ref().map(|account| account.name.clone()).or_else(|| variable("USER"));
        let home = variable("HOME").or_else(|| account.map(|account| account.home).filter(|home| !home.is_empty()));
        let mut properties = BTreeMap::new();
        properties.insert("user.name".to_owned(), name.unwrap_or_else(|| user_id.to_string()));
        properties.insert("java.io.tmpdir".to_owned(), variable("TMPDIR").unwrap_or_else(|| "/tmp".to_owned()));
        properties.extend(home.map(|home| ("user.home".to_owned(), home)));
        let conf_dir = variable("JOBTRACKER_CONF").or_else(|| variable("HADOOP_CONF_DIR")).map(PathBuf::from);
        Environment { properties, conf_dir }
    }
}

/// The kernel's host name; `localhost` if it is empty or not UTF-8.
#[must_use]
pub(crate) fn host_name() -> String {
    let name = rustix::system::uname();
    match name.nodename().to_str() {
        Ok(name) if !name.is_empty() => name.to_owned(),
        _ => "localhost".to_owned(),
    }
}

/// Names that the administrator of this machine gave to addresses.
const HOSTS_FILE: &str = "/etc/hosts";
/// Maximum size of that file, bytes.
const MAX_HOSTS_FILE_BYTES: u64 = 1 << 20;
/// Entry in `jobtracker.web.hosts` for every name.
const ANY: &str = "*";

/// The host names that the web servers of this machine answer to, besides addresses and `localhost`; `None`: any name. These are the
/// names of the machine, the hosts of the configured addresses, `slave.host.name`, and the names in `jobtracker.web.hosts`.
pub(crate) fn web_host_names(configuration: &Configuration) -> Result<Option<BTreeSet<String>>, ConfigError> {
    let listed = configuration.list(&keys::WEB_HOSTS)?;
    if listed.iter().any(|name| name == ANY) {
        return Ok(None);
    }
    let mut names = machine_names();
    for key in [&keys::RPC_ADDRESS, &keys::HTTP_ADDRESS, &keys::TRACKER_HTTP_ADDRESS] {
        names.extend(host_of(configuration, key)?);
    }
    names.extend(configuration.text(&keys::HTTP_BIND_ADDRESS)?.map(|host| host.trim().to_owned()));
    names.extend(configuration.text(&keys::SLAVE_HOST_NAME)?);
    names.extend(listed);
    names.retain(|name| !name.is_empty());
    Ok(Some(names))
}

/// The host of an address; `None` for `local`.
fn host_of(configuration: &Configuration, key: &Key) -> Result<Option<String>, ConfigError> {
    Ok(configuration.setting(key)?.and_then(|setting| HostPort::parse(&setting.value)).map(|address| address.host))
}

/// The kernel's host name, whole and up to the first dot, and its aliases in `/etc/hosts`.
fn machine_names() -> BTreeSet<String> {
    let name = host_name();
    let mut names: BTreeSet<String> = name.split('.').next().map(str::to_owned).into_iter().collect();
    // Without the file there are no other names.
    let hosts = LocalFileSystem.read_limited(Path::new(HOSTS_FILE), MAX_HOSTS_FILE_BYTES).unwrap_or_default();
    names.extend(other_names(&String::from_utf8_lossy(&hosts), &name));
    names.insert(name);
    names
}

/// The names on the lines of a hosts file that hold `name`.
fn other_names(hosts: &str, name: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in hosts.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let of_line: Vec<&str> = line.split_whitespace().skip(1).collect();
        if of_line.iter().any(|other| other.eq_ignore_ascii_case(name)) {
            names.extend(of_line.into_iter().map(str::to_owned));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_process_has_a_user_and_a_scratch_folder() {
        let properties = Environment::of_process().properties;
        assert!(properties.contains_key("user.name") && properties.contains_key("java.io.tmpdir"));
    }

    fn names(overrides: &[&str]) -> Option<BTreeSet<String>> {
        let mut configuration = Configuration::new(BTreeMap::new());
        overrides.iter().for_each(|define| configuration.add_override(define).unwrap());
        web_host_names(&configuration).unwrap()
    }

    #[test]
    fn names_of_the_machine_and_of_the_configuration_are_served() {
        let names_here = names(&[]).unwrap();
        assert!(names_here.contains(&host_name()), "{names_here:?}");
        let all = names(&[
            "mapred.job.tracker=master.example.com:9001",
            "mapred.job.tracker.http.address=web.example.com:50030",
            "slave.host.name=node7",
            "jobtracker.web.hosts= proxy.example.com , other",
        ])
        .unwrap();
        for name in ["master.example.com", "web.example.com", "node7", "proxy.example.com", "other"] {
            assert!(all.contains(name), "{name}: {all:?}");
        }
        assert!(names(&["mapred.job.tracker=local"]).is_some());
        assert_eq!(names(&["jobtracker.web.hosts=a,*"]), None);
    }

    #[test]
    fn a_hosts_file_gives_a_name_others() {
        let hosts = "127.0.0.1 localhost\n10.0.0.7 node7.example.com node7 # evil\n10.0.0.8 node8\n";
        assert_eq!(other_names(hosts, "NODE7"), ["node7.example.com", "node7"]);
        assert!(other_names(hosts, "evil").is_empty());
    }
}
