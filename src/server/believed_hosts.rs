//! The hosts whose RPC callers may change jobs without a signature (`jobtracker.job-changes.hosts`), by their addresses.
//!
//! Names are resolved off the owner's thread: at the start, at each reload, and again while one cannot be resolved. Until
//! then its host is not believed.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;

/// Pause before names that could not be resolved are tried again.
const RETRY: Duration = Duration::from_secs(60);

/// Hosts by the names and addresses of the configuration.
#[derive(Debug, Default)]
pub(crate) struct BelievedHosts {
    hosts: RefCell<BTreeMap<String, Resolution>>,
    changed: Notify,
}

#[derive(Clone, Debug, Default)]
struct Resolution {
    addresses: BTreeSet<IpAddr>,
    /// Resolved since the list was set.
    is_done: bool,
    /// The log has a line about it.
    has_failed: bool,
}

impl BelievedHosts {
    pub(crate) fn new(hosts: &[String]) -> Self {
        let believed = Self::default();
        believed.set(hosts);
        believed
    }

    /// Replaces the list. Names that stay keep their addresses until they are resolved again.
    pub(crate) fn set(&self, hosts: &[String]) {
        let mut before = self.hosts.take();
        let of_host = |host: &String| {
            let resolution = match host.parse::<IpAddr>() {
                Ok(address) => {
                    Resolution { addresses: [address.to_canonical()].into(), is_done: true, has_failed: false }
                }
                Err(_) => Resolution { is_done: false, ..before.remove(host).unwrap_or_default() },
            };
            (host.clone(), resolution)
        };
        *self.hosts.borrow_mut() = hosts.iter().map(of_host).collect();
        self.changed.notify_one();
    }

    /// Whether callers from that address are believed.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.hosts.borrow().values().any(|host| host.addresses.contains(&address))
    }

    /// Resolves names when the list is set, and those that failed again. Never completes.
    pub(crate) async fn resolve(self: Rc<Self>) {
        loop {
            let open = || {
                let hosts = self.hosts.borrow();
                let open = hosts.iter().filter(|(_, host)| !host.is_done).map(|(name, _)| name.clone());
                open.collect::<Vec<String>>()
            };
            for name in open() {
                // A thread of the pool waits for the name server.
                let found = tokio::net::lookup_host((name.as_str(), 0)).await;
                self.resolved(&name, found.map(|found| found.map(|found| found.ip().to_canonical()).collect()));
            }
            let retry = async {
                match open().is_empty() {
                    true => std::future::pending().await,
                    false => tokio::time::sleep(RETRY).await,
                }
            };
            tokio::select! {
                () = self.changed.notified() => {}
                () = retry => {}
            }
        }
    }

    fn resolved(&self, name: &str, found: std::io::Result<BTreeSet<IpAddr>>) {
        let mut hosts = self.hosts.borrow_mut();
        // It may be off the list meanwhile.
        let Some(host) = hosts.get_mut(name) else { return };
        match found {
            Ok(addresses) => {
                if host.has_failed {
                    tracing::info!("host {name} of jobtracker.job-changes.hosts resolves again");
                }
                *host = Resolution { addresses, is_done: true, has_failed: false };
            }
            Err(error) if !host.has_failed => {
                host.has_failed = true;
                let outcome = match host.addresses.is_empty() {
                    true => "its callers are not believed",
                    false => "its last known addresses stay valid",
                };
                tracing::warn!(
                    "host {name} of jobtracker.job-changes.hosts cannot be resolved, {outcome}: {error}; tried again every \
                     {} s",
                    RETRY.as_secs()
                );
            }
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(hosts: &[&str]) -> Vec<String> {
        hosts.iter().map(|host| (*host).to_owned()).collect()
    }

    #[test]
    fn addresses_count_at_once_and_names_once_they_are_resolved() {
        let hosts = BelievedHosts::new(&list(&["127.0.0.2", "::ffff:10.0.0.1", "admin.example"]));
        let has = |text: &str| hosts.contains(text.parse().unwrap());
        assert!(has("127.0.0.2") && has("::ffff:127.0.0.2") && has("10.0.0.1") && !has("127.0.0.1"));
        assert!(!has("192.0.2.1"));
        hosts.resolved("admin.example", Ok(["192.0.2.1".parse().unwrap()].into()));
        assert!(has("192.0.2.1"));
        hosts.set(&list(&["admin.example"]));
        assert!(has("192.0.2.1") && !has("127.0.0.2"), "until it is resolved again");
        hosts.resolved("admin.example", Err(std::io::Error::other("no server")));
        assert!(has("192.0.2.1"), "a name server that is down locks no administrator out");
        hosts.resolved("admin.example", Ok(["192.0.2.7".parse().unwrap()].into()));
        assert!(has("192.0.2.7") && !has("192.0.2.1"));
        hosts.set(&[]);
        hosts.resolved("admin.example", Ok(["192.0.2.7".parse().unwrap()].into()));
        assert!(!has("192.0.2.7"), "it is off the list");
    }

    #[tokio::test]
    async fn a_name_is_resolved_while_others_wait() {
        let hosts = Rc::new(BelievedHosts::new(&list(&["localhost"])));
        let resolved = async {
            while !hosts.contains([127, 0, 0, 1].into()) && !hosts.contains(std::net::Ipv6Addr::LOCALHOST.into()) {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = hosts.clone().resolve() => {}
            () = resolved => {}
        }
    }
}
