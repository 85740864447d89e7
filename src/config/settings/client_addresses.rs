//! Where clients of a configuration reach its JobTracker.

use crate::config::configuration::Configuration;
use crate::config::error::ConfigError;
use crate::config::host_port::HostPort;
use crate::config::keys::{self, Key};

/// Hosts that stand for all addresses of a machine.
const EVERY_ADDRESS: [&str; 2] = ["0.0.0.0", "::"];

/// The addresses of a JobTracker for its clients; each none where the configuration does not have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientAddresses {
    pub(crate) rpc: Option<HostPort>,
    /// Of the web server: one that listens on all addresses is on the JobTracker's host, else on this machine.
    pub(crate) http: Option<HostPort>,
}

impl ClientAddresses {
    /// Those that a configuration has; validates no other value.
    pub(crate) fn of(configuration: &Configuration) -> Result<Self, ConfigError> {
        let is_set = |key: &Key| configuration.written().any(|(name, _, _)| key.spellings().any(|known| known == name));
        let rpc = is_set(&keys::RPC_ADDRESS).then(|| rpc_address(configuration)).transpose()?;
        let rpc = rpc.map(|rpc| reachable(rpc, None));
        let is_http_set = [&keys::HTTP_ADDRESS, &keys::HTTP_PORT, &keys::HTTP_BIND_ADDRESS].into_iter().any(is_set);
        let http = is_http_set.then(|| http_address(configuration)).transpose()?;
        let http = http.map(|http| reachable(http, rpc.as_ref()));
        Ok(Self { rpc, http })
    }
}

/// The address on the other's host, else on this machine, if it stands for all addresses.
fn reachable(mut address: HostPort, other: Option<&HostPort>) -> HostPort {
    if EVERY_ADDRESS.contains(&&*address.host) {
        address.host = other.map_or_else(|| "127.0.0.1".to_owned(), |other| other.host.clone());
    }
    address
}

/// `local` makes Hadoop run jobs inside the client; it is no address for a JobTracker.
pub(super) fn rpc_address(configuration: &Configuration) -> Result<HostPort, ConfigError> {
    let key = &keys::RPC_ADDRESS;
    match configuration.setting(key)? {
        Some(setting) if setting.value.trim() == "local" => {
            Err(setting.bad_value("host:port; a JobTracker cannot be local"))
        }
        _ => configuration.address(key),
    }
}

/// The deprecated pair replaces the parts it sets (1.2.1 `NetUtils.getServerAddress`).
pub(super) fn http_address(configuration: &Configuration) -> Result<HostPort, ConfigError> {
    let mut address = configuration.address(&keys::HTTP_ADDRESS)?;
    if configuration.checked(&keys::HTTP_PORT)?.is_some() {
        address.port = configuration.number(&keys::HTTP_PORT)?;
    }
    if let Some(host) = configuration.setting(&keys::HTTP_BIND_ADDRESS)?.filter(|host| !host.value.trim().is_empty()) {
        address = HostPort::parse(&format!("{}:{}", host.value.trim(), address.port))
            .ok_or_else(|| host.bad_value("a host name or address"))?;
    }
    Ok(address)
}

/// Both servers on one port of one address: the second cannot listen.
pub(super) fn check_ports(configuration: &Configuration) -> Result<(), ConfigError> {
    let (Ok(rpc), Ok(http)) = (rpc_address(configuration), http_address(configuration)) else { return Ok(()) };
    let is_every = |address: &HostPort| EVERY_ADDRESS.contains(&&*address.host);
    let shares_host =
        rpc.host == http.host || is_every(&rpc) || is_every(&http) || (rpc.is_loopback() && http.is_loopback());
    if rpc.port == 0 || rpc.port != http.port || !shares_host {
        return Ok(());
    }
    let of_port = configuration.checked(&keys::HTTP_PORT)?;
    let setting = of_port.map_or_else(|| configuration.required(&keys::HTTP_ADDRESS), Ok)?;
    Err(setting.bad_value(format!("another port than that of {} = {rpc}", keys::RPC_ADDRESS.name)))
}

#[cfg(test)]
mod tests {
    use super::super::test_options as options;
    use super::*;

    fn addresses(overrides: &[&str]) -> [Option<String>; 2] {
        let mut configuration = Configuration::new(options(None, &[]).environment.properties);
        for set in overrides {
            configuration.add_override(set).unwrap();
        }
        let ClientAddresses { rpc, http } = ClientAddresses::of(&configuration).unwrap();
        [rpc, http].map(|address| address.map(|address| address.to_string()))
    }

    #[test]
    fn clients_reach_a_web_server_on_all_addresses_at_the_jobtrackers_host() {
        let http = |overrides: &[&str]| addresses(overrides)[1].clone().unwrap();
        let every = "mapred.job.tracker.http.address=0.0.0.0:50030";
        assert_eq!(http(&["mapred.job.tracker=master:9001", every]), "master:50030");
        assert_eq!(http(&["mapred.job.tracker=[::1]:9001", "mapred.job.tracker.http.address=[::]:80"]), "[::1]:80");
        assert_eq!(http(&["mapred.job.tracker=0.0.0.0:9001", every]), "127.0.0.1:50030");
        assert_eq!(http(&["mapred.job.tracker=master:9001", "mapred.job.tracker.http.address=web:80"]), "web:80");
        assert_eq!(http(&["mapred.job.tracker=master:9001", "mapred.job.tracker.info.port=80"]), "master:80");
        assert_eq!(http(&["mapred.job.tracker.info.bindAddress=web"]), "web:50030");
    }

    #[test]
    fn both_servers_on_one_port_are_refused() {
        let refusal = |overrides: &[&str]| {
            let mut configuration = Configuration::new(options(None, &[]).environment.properties);
            overrides.iter().for_each(|set| configuration.add_override(set).unwrap());
            check_ports(&configuration).err().map(|error| error.to_string())
        };
        let expected = "-D: mapred.job.tracker.http.address = \"0.0.0.0:9001\": expected another port than that of mapred.job.tracker = master:9001";
        let rpc = "mapred.job.tracker=master:9001";
        assert_eq!(refusal(&[rpc, "mapred.job.tracker.http.address=0.0.0.0:9001"]).as_deref(), Some(expected));
        assert!(refusal(&[rpc, "mapred.job.tracker.http.address=master:9001"]).is_some());
        assert!(refusal(&[rpc, "mapred.job.tracker.info.port=9001"]).is_some_and(|text| text.contains("info.port")));
        assert_eq!(refusal(&[rpc, "mapred.job.tracker.http.address=web:9001"]), None);
        assert_eq!(refusal(&["mapred.job.tracker=h:0", "mapred.job.tracker.http.address=h:0"]), None);
    }

    #[test]
    fn what_is_not_set_has_no_address() {
        assert_eq!(addresses(&["io.sort.mb=5"]), [None, None]);
        assert_eq!(addresses(&["mapreduce.jobtracker.address=master:9001"]), [Some("master:9001".to_owned()), None]);
        let mut configuration = Configuration::new(options(None, &[]).environment.properties);
        configuration.add_override("mapred.job.tracker=local").unwrap();
        let refused = ClientAddresses::of(&configuration).unwrap_err().to_string();
        assert!(refused.contains("mapred.job.tracker") && refused.contains("host:port"), "{refused}");
    }
}
