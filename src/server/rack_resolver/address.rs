//! Resolves host names to addresses concurrently, on threads: a name server that does not answer blocks a thread until
//! the system's resolver times out.

use std::net::ToSocketAddrs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

const CONCURRENT_LOOKUPS: usize = 4;
/// Maximum threads, those of abandoned batches included.
const MAX_THREADS: usize = 24;
/// Timeout of a batch; names without an answer by then are used unresolved.
const TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, Default)]
pub(super) struct AddressLookups {
    threads: Arc<AtomicUsize>,
}

struct NamesToResolve {
    names: Vec<String>,
    state: Mutex<LookupState>,
    changed: Condvar,
}

struct LookupState {
    next: usize,
    left: usize,
    found: Vec<Option<String>>,
}

struct Thread(Arc<AtomicUsize>);

impl Drop for Thread {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl AddressLookups {
    /// The program's arguments for hosts: addresses, as 1.2.1 `NetUtils.normalizeHostName` gives them; unresolved names
    /// stay, without leading dashes, so that none becomes an option. Blocking.
    pub(super) fn of(&self, hosts: &[String]) -> Vec<String> {
        let is_name = |host: &&String| !host.starts_with(|first: char| first.is_ascii_digit());
        let names: Vec<String> = hosts.iter().filter(is_name).cloned().collect();
        let mut found = self.look_up(names).into_iter();
        let given = |host: &String| match is_name(&host) {
            true => found.next().flatten().unwrap_or_else(|| host.trim_start_matches('-').to_owned()),
            false => host.clone(),
        };
        hosts.iter().map(given).collect()
    }

    fn look_up(&self, names: Vec<String>) -> Vec<Option<String>> {
        let count = names.len();
        let state = LookupState { next: 0, left: count, found: vec![None; count] };
        let names = Arc::new(NamesToResolve { names, state: Mutex::new(state), changed: Condvar::new() });
        let started = (0..CONCURRENT_LOOKUPS.min(count)).filter(|_| self.start(&names)).count();
        let state = names.state.lock().unwrap_or_else(PoisonError::into_inner);
        if started == 0 {
            return state.found.clone();
        }
        let waited = names.changed.wait_timeout_while(state, TIMEOUT, |state| state.left > 0);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        // Running threads take no further name.
        state.next = count;
        state.found.clone()
    }

    fn start(&self, names: &Arc<NamesToResolve>) -> bool {
        if self.threads.fetch_add(1, Ordering::Relaxed) >= MAX_THREADS {
            self.threads.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        let (thread, names) = (Thread(self.threads.clone()), names.clone());
        let look_up = move || {
            let _thread = thread;
            names.resolve_names();
        };
        std::thread::Builder::new().name("addresses".to_owned()).spawn(look_up).is_ok()
    }
}

impl NamesToResolve {
    fn resolve_names(&self) {
        loop {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let index = state.next;
            let Some(name) = self.names.get(index) else { return };
            state.next += 1;
            drop(state);
            let first = (name.as_str(), 0).to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.found[index] = first.map(|address| address.ip().to_string());
            state.left -= 1;
            if state.left == 0 {
                self.changed.notify_all();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_addresses_or_stay_and_none_becomes_an_option() {
        let hosts = ["10.0.0.1", "localhost", "--version", "no-such-host.invalid", "::1"].map(str::to_owned);
        let given = AddressLookups::default().of(&hosts);
        assert!(["127.0.0.1", "::1"].contains(&&*given[1]), "{given:?}");
        assert_eq!(
            [&*given[0], &*given[2], &*given[3], &*given[4]],
            ["10.0.0.1", "version", "no-such-host.invalid", "::1"]
        );
    }

    #[test]
    fn without_a_free_thread_names_stay_as_they_are() {
        let lookups = AddressLookups { threads: Arc::new(AtomicUsize::new(MAX_THREADS)) };
        assert_eq!(lookups.of(&["localhost".to_owned()]), ["localhost"]);
        assert_eq!(lookups.threads.load(Ordering::Relaxed), MAX_THREADS);
    }
}
