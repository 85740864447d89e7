//! Which hosts' TaskTrackers are served (`jobtracker.trackers.admit`): all, or those listed in `mapred.hosts` that
//! connect from one of their own addresses.
//!
//! Names are resolved off the owner's thread when the list is read, every 5 minutes, and when a listed host connects
//! from an unknown address. If that fails the last known addresses stay valid. A host without any known address is
//! neither served nor refused: a stock TaskTracker that is refused exits, and a DNS outage must not stop a cluster.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;

use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::clock::Clock;
use crate::config::settings::AdmittedTrackers;

/// Validity of resolved addresses, ms.
const VALID_MS: u64 = 300_000;
/// Pause before a name without an address is resolved again, ms; also the minimum interval after an unexpected address.
const RETRY_MS: u64 = 10_000;
/// Minimum interval of logged refusals, ms.
const LOG_INTERVAL_MS: u64 = 1_000;
/// Concurrent resolutions; each occupies a thread.
const CONCURRENT_LOOKUPS: usize = 8;

/// Resolves a name to its addresses.
type Resolve = Box<dyn Fn(String) -> Resolving>;
type Resolving = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>>>>;

/// The hosts whose TaskTrackers are served.
pub(super) struct TrackerAdmission {
    clock: Clock,
    listed: Option<Listed>,
    /// When the next refusal may be logged, ms of the monotonic clock.
    next_log_ms: Cell<u64>,
}

struct Listed {
    hosts: RefCell<Hosts>,
    resolve: Resolve,
    /// A resolution is due.
    asked: Notify,
    /// A resolution succeeded or failed.
    answered: Notify,
}

#[derive(Debug, Default)]
struct Hosts {
    by_name: BTreeMap<String, Host>,
    /// Names by due time, ms of the monotonic clock; without those being resolved.
    due: BTreeSet<(u64, String)>,
}

#[derive(Debug, Default)]
struct Host {
    /// `None` before the first answer.
    addresses: Option<Vec<IpAddr>>,
    due_ms: u64,
    /// Time of the last resolution, successful or not.
    tried_ms: Option<u64>,
    is_failing: bool,
    is_resolving: bool,
}

/// Whether a TaskTracker is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admitted {
    Yes,
    NotListed,
    /// It connects from an address that its host does not have.
    WrongAddress,
    /// Its host is being resolved.
    Unknown,
}

impl TrackerAdmission {
    /// Admission as configured; [`Self::set_list`] sets the list.
    pub(super) fn new(admitted: AdmittedTrackers, clock: Clock) -> Self {
        Self::with_resolver(admitted, clock, Box::new(|host| Box::pin(addresses(host))))
    }

    fn with_resolver(admitted: AdmittedTrackers, clock: Clock, resolve: Resolve) -> Self {
        let listed = Listed { hosts: RefCell::default(), resolve, asked: Notify::new(), answered: Notify::new() };
        let listed = (admitted == AdmittedTrackers::Listed).then_some(listed);
        Self { clock, listed, next_log_ms: Cell::new(0) }
    }

    /// Whether a refusal may be logged: one a second.
    pub(super) fn can_log(&self) -> bool {
        let now_ms = self.clock.mono_ms();
        let can_log = now_ms >= self.next_log_ms.get();
        if can_log {
            self.next_log_ms.set(now_ms + LOG_INTERVAL_MS);
        }
        can_log
    }

    /// Whether only listed hosts are admitted.
    pub(super) fn is_listed(&self) -> bool {
        self.listed.is_some()
    }

    /// Sets the list and schedules resolution of all its names. Until then the known addresses of hosts that stay are
    /// valid.
    pub(super) fn set_list<'a>(&self, names: impl IntoIterator<Item = &'a String>) {
        let Some(listed) = &self.listed else { return };
        let now_ms = self.clock.mono_ms();
        let mut hosts = listed.hosts.borrow_mut();
        let mut before = std::mem::take(&mut hosts.by_name);
        for name in names {
            let mut host = before.remove(name).unwrap_or_default();
            if !host.is_resolving {
                hosts.due.remove(&(host.due_ms, name.clone()));
                host.due_ms = now_ms;
                hosts.due.insert((now_ms, name.clone()));
            }
            hosts.by_name.insert(name.clone(), host);
        }
        for (name, host) in before {
            hosts.due.remove(&(host.due_ms, name));
        }
        listed.asked.notify_one();
        listed.answered.notify_waiters();
    }

    /// Whether a TaskTracker of `host` that connects from `address` is served.
    pub(super) fn admits(&self, host: &str, address: IpAddr) -> Admitted {
        let Some(listed) = &self.listed else { return Admitted::Yes };
        let now_ms = self.clock.mono_ms();
        let mut hosts = listed.hosts.borrow_mut();
        let Some(found) = hosts.by_name.get(host) else { return Admitted::NotListed };
        let is_fresh = found.tried_ms.is_some_and(|tried_ms| now_ms < tried_ms + RETRY_MS);
        let outcome = match &found.addresses {
            Some(addresses) if addresses.contains(&address) => return Admitted::Yes,
            Some(_) if is_fresh => return Admitted::WrongAddress,
            // The host may have a new address.
            Some(_) | None => Admitted::Unknown,
        };
        if !is_fresh {
            hosts.make_due(host);
            listed.asked.notify_one();
        }
        outcome
    }

    /// Completes when the result of [`Self::admits`] may have changed.
    pub(super) async fn changed(&self) {
        match &self.listed {
            Some(listed) => listed.answered.notified().await,
            None => std::future::pending().await,
        }
    }

    /// Resolves names as they come due. Never completes.
    pub(super) async fn resolve(self: Rc<Self>) {
        let Some(listed) = &self.listed else { return std::future::pending().await };
        let mut resolutions = JoinSet::new();
        loop {
            let now_ms = self.clock.mono_ms();
            while resolutions.len() < CONCURRENT_LOOKUPS
                && let Some(name) = listed.hosts.borrow_mut().next_due(now_ms)
            {
                let resolving = (listed.resolve)(name.clone());
                resolutions.spawn_local(async move { (name, resolving.await) });
            }
            let next_ms = listed.hosts.borrow().due.first().map(|(due_ms, _)| (*due_ms).max(now_ms + 1));
            let has_room = resolutions.len() < CONCURRENT_LOOKUPS;
            let next = async {
                match next_ms.filter(|_| has_room) {
                    Some(next_ms) => tokio::time::sleep_until(self.clock.instant(next_ms)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(resolved) = resolutions.join_next() => if let Ok((name, addresses)) = resolved {
                    self.resolved(listed, name, addresses);
                },
                () = listed.asked.notified() => {}
                () = next => {}
            }
        }
    }

    fn resolved(&self, listed: &Listed, name: String, addresses: io::Result<Vec<IpAddr>>) {
        let now_ms = self.clock.mono_ms();
        let mut hosts = listed.hosts.borrow_mut();
        // The host may be off the list meanwhile.
        let Some(host) = hosts.by_name.get_mut(&name) else { return };
        host.tried_ms = Some(now_ms);
        host.is_resolving = false;
        match addresses {
            Ok(addresses) => {
                if std::mem::take(&mut host.is_failing) {
                    tracing::info!("host {name} of mapred.hosts resolves again");
                }
                host.addresses = Some(addresses);
            }
            Err(error) => {
                if !std::mem::replace(&mut host.is_failing, true) {
                    let outcome = match host.addresses {
                        Some(_) => "its last known addresses stay valid",
                        None => "its TaskTrackers wait (jobtracker.trackers.admit = listed)",
                    };
                    tracing::warn!("host {name} of mapred.hosts cannot be resolved, {outcome}: {error}");
                }
            }
        }
        host.due_ms = now_ms + if host.is_failing { RETRY_MS } else { VALID_MS };
        let due = (host.due_ms, name);
        hosts.due.insert(due);
        listed.answered.notify_waiters();
    }
}

impl Hosts {
    /// Removes and returns a name that is due.
    fn next_due(&mut self, now_ms: u64) -> Option<String> {
        let (_, name) = self.due.first().filter(|(due_ms, _)| *due_ms <= now_ms).cloned()?;
        self.due.pop_first();
        if let Some(host) = self.by_name.get_mut(&name) {
            host.is_resolving = true;
        }
        Some(name)
    }

    /// Makes a name due at once, unless it is being resolved.
    fn make_due(&mut self, name: &str) {
        let Some(host) = self.by_name.get_mut(name) else { return };
        if self.due.remove(&(host.due_ms, name.to_owned())) {
            host.due_ms = 0;
            self.due.insert((0, name.to_owned()));
        }
    }
}

/// Resolves a name on a thread of the pool.
async fn addresses(host: String) -> io::Result<Vec<IpAddr>> {
    let found = tokio::net::lookup_host((host, 0)).await?;
    let addresses: BTreeSet<IpAddr> = found.map(|found| found.ip().to_canonical()).collect();
    match addresses.is_empty() {
        true => Err(io::Error::other("the name has no address")),
        false => Ok(addresses.into_iter().collect()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Names that a test changes, and the number of resolutions.
    #[derive(Clone, Default)]
    struct Names {
        known: Rc<RefCell<BTreeMap<String, IpAddr>>>,
        asked: Rc<Cell<usize>>,
        is_silent: Rc<Cell<bool>>,
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    impl Names {
        fn set(&self, name: &str, address: &str) {
            self.known.borrow_mut().insert(name.to_owned(), ip(address));
        }

        fn admission(&self) -> Rc<TrackerAdmission> {
            let names = self.clone();
            let resolve = move |name: String| -> Resolving {
                let names = names.clone();
                Box::pin(async move {
                    names.asked.set(names.asked.get() + 1);
                    if names.is_silent.get() {
                        std::future::pending::<()>().await;
                    }
                    let found = names.known.borrow().get(&name).copied();
                    found.map(|address| vec![address]).ok_or_else(|| io::Error::other("no such name"))
                })
            };
            let admission =
                Rc::new(TrackerAdmission::with_resolver(AdmittedTrackers::Listed, Clock::start(), Box::new(resolve)));
            tokio::task::spawn_local(admission.clone().resolve());
            admission
        }
    }

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    async fn run(test: impl Future<Output = ()>) {
        tokio::task::LocalSet::new().run_until(test).await;
    }

    async fn settle() {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_listed_host_is_served_from_its_own_address_only() {
        run(async {
            let names = Names::default();
            names.set("n1", "10.0.0.1");
            names.set("n2", "10.0.0.2");
            let admission = names.admission();
            assert_eq!(admission.admits("n1", ip("10.0.0.1")), Admitted::NotListed, "an empty list admits none");
            admission.set_list(&list(&["n1"]));
            assert_eq!(admission.admits("n1", ip("10.0.0.1")), Admitted::Unknown);
            settle().await;
            assert_eq!(admission.admits("n1", ip("10.0.0.1")), Admitted::Yes);
            assert_eq!(admission.admits("n1", ip("10.0.0.2")), Admitted::WrongAddress);
            assert_eq!(admission.admits("n2", ip("10.0.0.2")), Admitted::NotListed);
            admission.set_list(&list(&["n2"]));
            settle().await;
            assert_eq!(admission.admits("n1", ip("10.0.0.1")), Admitted::NotListed);
            assert_eq!(admission.admits("n2", ip("10.0.0.2")), Admitted::Yes);
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn an_unexpected_address_has_the_name_resolved_again_before_it_is_refused() {
        run(async {
            let names = Names::default();
            names.set("n1", "10.0.0.1");
            let admission = names.admission();
            admission.set_list(&list(&["n1"]));
            settle().await;
            tokio::time::sleep(Duration::from_secs(60)).await;
            names.set("n1", "10.0.0.7");
            assert_eq!(admission.admits("n1", ip("10.0.0.7")), Admitted::Unknown);
            settle().await;
            assert_eq!(admission.admits("n1", ip("10.0.0.7")), Admitted::Yes);
            // Other addresses do not trigger resolution each time.
            let asked = names.asked.get();
            for _ in 0..100 {
                assert_eq!(admission.admits("n1", ip("10.0.0.66")), Admitted::WrongAddress);
                settle().await;
            }
            assert_eq!(names.asked.get(), asked);
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_known_addresses_hold_while_names_cannot_be_resolved() {
        run(async {
            let names = Names::default();
            names.set("n1", "10.0.0.1");
            let admission = names.admission();
            admission.set_list(&list(&["n1", "n2"]));
            settle().await;
            names.known.borrow_mut().clear();
            tokio::time::sleep(Duration::from_secs(1_000)).await;
            assert!(names.asked.get() > 4, "{} times", names.asked.get());
            assert_eq!(admission.admits("n1", ip("10.0.0.1")), Admitted::Yes);
            admission.set_list(&list(&["n1", "n2"]));
            settle().await;
            assert_eq!(admission.admits("n1", ip("10.0.0.1")), Admitted::Yes);
            // No address of the other host was ever known: it is not refused.
            assert_eq!(admission.admits("n2", ip("10.0.0.2")), Admitted::Unknown);
            names.set("n2", "10.0.0.2");
            tokio::time::sleep(Duration::from_secs(11)).await;
            assert_eq!(admission.admits("n2", ip("10.0.0.2")), Admitted::Yes);
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn few_names_are_resolved_at_one_time_and_none_twice() {
        run(async {
            let names = Names::default();
            names.is_silent.set(true);
            let admission = names.admission();
            let hosts: Vec<String> = (0..100).map(|number| format!("n{number}")).collect();
            admission.set_list(&hosts);
            for _ in 0..3 {
                settle().await;
                admission.set_list(&hosts);
                hosts.iter().for_each(|host| assert_eq!(admission.admits(host, ip("10.0.0.1")), Admitted::Unknown));
            }
            assert_eq!(names.asked.get(), CONCURRENT_LOOKUPS);
        })
        .await;
    }
}
