//! Addresses of configured host names, looked up when a connection needs them, and cached for a while.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::{OnceCell, Semaphore};
use tokio::time::Instant;

/// Validity of the addresses of a name, and of none.
const VALID_FOR: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(10));
/// Timeout of a lookup; the system's resolver may take longer, on a thread of the pool.
const TIMEOUT: Duration = Duration::from_secs(10);
const CONCURRENT_LOOKUPS: usize = 4;
/// Names in the cache; they come from the configuration.
const REMEMBERED_NAMES: usize = 10_000;

/// The addresses of a name, with their time. Concurrent lookups of a name share one.
type Answer = Rc<OnceCell<(Instant, BTreeSet<IpAddr>)>>;

#[derive(Debug)]
pub(super) struct HostAddresses {
    known: RefCell<BTreeMap<String, Answer>>,
    permits: Semaphore,
}

impl Default for HostAddresses {
    fn default() -> Self {
        Self { known: RefCell::default(), permits: Semaphore::new(CONCURRENT_LOOKUPS) }
    }
}

impl HostAddresses {
    pub(super) async fn any_has(&self, names: &BTreeSet<String>, address: IpAddr) -> bool {
        let address = address.to_canonical();
        // Addresses need no lookup.
        if names.iter().filter_map(|name| name.parse::<IpAddr>().ok()).any(|other| other.to_canonical() == address) {
            return true;
        }
        for name in names.iter().filter(|name| name.parse::<IpAddr>().is_err()) {
            let answer = self.answer(name);
            let (_, addresses) = answer.get_or_init(|| self.look_up(name)).await;
            if addresses.contains(&address) {
                return true;
            }
        }
        false
    }

    /// The cell of a name: that of a valid answer or of a lookup in progress, or a new one.
    fn answer(&self, name: &str) -> Answer {
        let mut known = self.known.borrow_mut();
        let is_valid = |answer: &&Answer| {
            answer.get().is_none_or(|(asked, addresses)| {
                asked.elapsed() < if addresses.is_empty() { VALID_FOR.1 } else { VALID_FOR.0 }
            })
        };
        if let Some(answer) = known.get(name).filter(is_valid) {
            return answer.clone();
        }
        if known.len() >= REMEMBERED_NAMES {
            known.clear();
        }
        let answer = Answer::default();
        known.insert(name.to_owned(), answer.clone());
        answer
    }

    async fn look_up(&self, name: &str) -> (Instant, BTreeSet<IpAddr>) {
        let _permit = self.permits.acquire().await;
        let found = tokio::time::timeout(TIMEOUT, tokio::net::lookup_host((name, 0))).await;
        let addresses: BTreeSet<IpAddr> = match found {
            Ok(Ok(found)) => found.map(|found| found.ip().to_canonical()).collect(),
            Ok(Err(error)) => {
                tracing::warn!(
                    "host {name} of hadoop.proxyuser.* cannot be resolved, it has no address for now: {error}"
                );
                BTreeSet::new()
            }
            Err(_) => {
                tracing::warn!(
                    "host {name} of hadoop.proxyuser.* is not resolved within {TIMEOUT:?}, it has no address for now"
                );
                BTreeSet::new()
            }
        };
        (Instant::now(), addresses)
    }
}
