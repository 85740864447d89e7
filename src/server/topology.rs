//! Racks of hosts: asked of the administrator's program, once for each host.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::config::settings::TrackerSettings;

/// The rack of hosts of which nothing else is known.
pub const DEFAULT_RACK: &str = "/default-rack";

/// The program, and a host's name, get this long.
const PATIENCE: Duration = Duration::from_secs(30);
/// Hosts whose rack is remembered.
const REMEMBERED_HOSTS: usize = 100_000;

/// Resolves hosts to racks (1.2.1 `ScriptBasedMapping`). What fails is `/default-rack` for now and is asked again.
#[derive(Debug)]
pub struct Topology {
    script: Option<PathBuf>,
    hosts_per_run: usize,
    known: RefCell<BTreeMap<String, String>>,
}

/// Racks of some hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Racks(BTreeMap<String, String>);

// === impl Racks ===

impl Racks {
    /// The rack of a host.
    pub fn rack_of(&self, host: &str) -> &str {
        self.0.get(host).map_or(DEFAULT_RACK, String::as_str)
    }
}

// === impl Topology ===

impl Topology {
    /// As the settings say; without a program all hosts stand in one rack.
    pub fn new(settings: &TrackerSettings) -> Self {
        Self {
            script: settings.topology_script.clone(),
            hosts_per_run: settings.topology_script_arguments.max(1),
            known: RefCell::default(),
        }
    }

    /// The racks of these hosts.
    pub async fn racks(&self, hosts: &[String]) -> Racks {
        let Some(script) = &self.script else { return Racks::default() };
        let unknown: Vec<&String> = hosts.iter().filter(|host| !self.known.borrow().contains_key(*host)).collect();
        for hosts in unknown.chunks(self.hosts_per_run) {
            match ask(script, hosts).await {
                Ok(racks) => self.remember(hosts, racks),
                Err(reason) => tracing::warn!(
                    "{} (topology.script.file.name) {reason}; {} hosts stand in {DEFAULT_RACK} for now",
                    script.display(),
                    hosts.len()
                ),
            }
        }
        let known = self.known.borrow();
        Racks(hosts.iter().filter_map(|host| Some((host.clone(), known.get(host)?.clone()))).collect())
    }

    fn remember(&self, hosts: &[&String], racks: Vec<String>) {
        let mut known = self.known.borrow_mut();
        // Names of hosts come from clients: they must not fill the memory.
        if known.len() >= REMEMBERED_HOSTS {
            known.clear();
        }
        known.extend(hosts.iter().map(|host| (*host).clone()).zip(racks));
    }
}

/// One run of the program: hosts as arguments, one rack for each as answer.
async fn ask(script: &PathBuf, hosts: &[&String]) -> Result<Vec<String>, String> {
    let mut addresses = Vec::with_capacity(hosts.len());
    for host in hosts {
        addresses.push(address(host).await);
    }
    let run = Command::new(script).args(addresses).stdin(Stdio::null()).kill_on_drop(true).output();
    let output = match tokio::time::timeout(PATIENCE, run).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(format!("cannot be run: {error}")),
        Err(_) => return Err(format!("has not answered within {} s", PATIENCE.as_secs())),
    };
    if !output.status.success() {
        return Err(format!("ended with {}", output.status));
    }
    let text = String::from_utf8(output.stdout).map_err(|_| "printed no text".to_owned())?;
    let racks: Vec<String> = text.split_ascii_whitespace().map(str::to_owned).collect();
    if racks.len() != hosts.len() {
        return Err(format!("printed {} racks for {} hosts", racks.len(), hosts.len()));
    }
    match racks.iter().find(|rack| !is_rack(rack)) {
        Some(rack) => Err(format!("printed {rack:?}; expected a rack such as {DEFAULT_RACK}")),
        None => Ok(racks),
    }
}

/// The program is given addresses, as 1.2.1 `NetUtils.normalizeHostName` gives them; names that have none as they are.
async fn address(host: &str) -> String {
    if host.starts_with(|first: char| first.is_ascii_digit()) {
        return host.to_owned();
    }
    let resolved = tokio::time::timeout(PATIENCE, tokio::net::lookup_host((host, 0))).await;
    let first = resolved.ok().and_then(Result::ok).and_then(|mut addresses| addresses.next());
    match first {
        Some(address) => address.ip().to_string(),
        // No host of a split may become an option of the program.
        None => host.trim_start_matches('-').to_owned(),
    }
}

fn is_rack(rack: &str) -> bool {
    rack.len() > 1 && rack.starts_with('/') && !rack.ends_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn topology(folder: &tempfile::TempDir, script: &str) -> Topology {
        let path = folder.path().join("racks");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        Topology { script: Some(path), hosts_per_run: 2, known: RefCell::default() }
    }

    fn hosts(hosts: &[&str]) -> Vec<String> {
        hosts.iter().map(|host| (*host).to_owned()).collect()
    }

    #[tokio::test]
    async fn each_host_is_asked_for_once() {
        let folder = tempfile::tempdir().unwrap();
        let topology = topology(&folder, r#"for host; do echo "$host" >> "$0.asked"; echo "/rack-$host"; done"#);
        let racks = topology.racks(&hosts(&["10.0.0.1", "10.0.0.2", "10.0.0.3"])).await;
        assert_eq!(racks.rack_of("10.0.0.3"), "/rack-10.0.0.3");
        topology.racks(&hosts(&["10.0.0.2", "10.0.0.4"])).await;
        let asked = std::fs::read_to_string(folder.path().join("racks.asked")).unwrap();
        assert_eq!(asked.lines().count(), 4, "{asked}");
    }

    #[tokio::test]
    async fn a_program_that_fails_leaves_the_default_rack() {
        let folder = tempfile::tempdir().unwrap();
        for script in ["exit 1", "echo /one /two /three", "echo rack", "echo"] {
            let racks = topology(&folder, script).racks(&hosts(&["10.0.0.1"])).await;
            assert_eq!(racks.rack_of("10.0.0.1"), DEFAULT_RACK, "{script}");
        }
    }
}
