//! Values that are valid by themselves but contradict each other. The start and `check-config` warn about them.

use crate::fs::FileUri;
use crate::model::nearest;

use super::configuration::{Configuration, Setting};
use super::error::{NO_SUCH_QUEUE, Warning};
use super::host_port::HostPort;
use super::keys::{Key, ValueKind};
use super::settings::scheduler::{CAPACITY_CLASS, DYNAMIC_CLASS, FAIR_CLASS, FIFO_CLASS};
use super::{access_lists, keys};

/// Contradictions in a JobTracker's values; under FIFO a market may exist without ruling. Invalid values are ignored
/// here: they are refused elsewhere.
#[must_use]
pub(crate) fn of_jobtracker(configuration: &Configuration, has_market: bool) -> Vec<Warning> {
    let values = ComparedValues { configuration };
    let mut found = values.folders();
    found.extend(values.hosts());
    found.extend(values.short_times(OF_JOBTRACKER));
    found.extend(values.web_hosts());
    found.extend(values.strategy());
    found.extend(values.memory());
    found.extend(values.scheduler(has_market));
    found.extend(lists_cut_elsewhere(configuration, |key| *key != keys::QUEUE_NAMES));
    found.extend(of_queues(configuration));
    found.extend(of_proxy_users(configuration));
    found.extend(access_lists::warnings(configuration));
    found
}

/// Values of queues that apply to no queue, or not at all.
#[must_use]
pub(crate) fn of_queues(configuration: &Configuration) -> Vec<Warning> {
    let queues = configuration.list(&keys::QUEUE_NAMES).unwrap_or_default();
    let are_lists_on = configuration.flag(&keys::ACLS_ENABLED).unwrap_or_default();
    let cut_elsewhere = lists_cut_elsewhere(configuration, |key| *key == keys::QUEUE_NAMES);
    let found = configuration.written().filter_map(|(name, value, origin)| {
        let (key, queue) = OF_QUEUES.iter().find_map(|key| Some((*key, key.queue_in(name)?)))?;
        let is_list = *key != keys::QUEUE_STATE;
        let remark = if !queues.iter().any(|listed| listed == queue) {
            let similar = nearest(queue, queues.iter().map(String::as_str));
            let hint = similar.map(|listed| format!("; did you mean {}?", key.for_queue(listed))).unwrap_or_default();
            format!("has no effect: {NO_SUCH_QUEUE} ({}){hint}", some_of(&queues))
        } else if is_list && !are_lists_on && !is_any_or_blank(value) {
            format!("has no effect while {} is not true", keys::ACLS_ENABLED.name)
        } else {
            return None;
        };
        let (key, value, origin) = (name.to_owned(), value.to_owned(), origin.clone());
        Some(Warning::Contradiction { key, value, origin, remark })
    });
    cut_elsewhere.into_iter().chain(found).collect()
}

/// Lists whose entries something else than commas was meant to separate, of the keys that are chosen.
fn lists_cut_elsewhere(configuration: &Configuration, is_chosen: impl Fn(&Key) -> bool) -> Vec<Warning> {
    let remark_on = |key: &Key| {
        let Setting { name, value, origin, .. } = configuration.checked(key).ok().flatten()?;
        let is_cut = |entry: &&str| match key.kind {
            ValueKind::List => entry.contains([';', ' ', '\t', '\n']),
            // A path may have blanks.
            ValueKind::LocalPaths => entry.contains([';', '\n']) || entry.starts_with('/') && entry.contains(":/"),
            _ => false,
        };
        let entry = value.split(',').map(str::trim).find(is_cut)?.to_owned();
        let remark = format!("has {entry:?} as one entry: separate entries by commas");
        Some(Warning::Contradiction { key: name, value, origin, remark })
    };
    keys::all().filter(|key| !key.is_pattern() && is_chosen(key)).filter_map(remark_on).collect()
}

/// Users that may act for others by one of two lists, of which both are needed.
#[must_use]
pub(crate) fn of_proxy_users(configuration: &Configuration) -> Vec<Warning> {
    let both = [&keys::PROXY_HOSTS, &keys::PROXY_GROUPS];
    let found = configuration.written().filter_map(|(name, value, origin)| {
        let (other, user) =
            [(0, 1), (1, 0)].into_iter().find_map(|(own, other)| Some((both[other], both[own].queue_in(name)?)))?;
        let other = other.for_user(user);
        let is_missing = configuration.named(&other).ok().flatten().is_none();
        let remark = format!("has no effect while {other} is not set: {user} may act for no user");
        let (key, value, origin) = (name.to_owned(), value.to_owned(), origin.clone());
        is_missing.then_some(Warning::Contradiction { key, value, origin, remark })
    });
    found.collect()
}

/// The first queues.
pub(super) fn some_of(queues: &[String]) -> String {
    const MOST: usize = 8;
    let more = queues.len().saturating_sub(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", queues[..queues.len().min(MOST)].join(", "))
}

/// What a queue has besides its name.
const OF_QUEUES: [&Key; 3] = [&keys::QUEUE_STATE, &keys::QUEUE_ACL_SUBMIT, &keys::QUEUE_ACL_ADMINISTER];

/// Whether an access list is Hadoop's own default, or a template's.
fn is_any_or_blank(list: &str) -> bool {
    matches!(list.trim(), "" | "*")
}

#[must_use]
pub(crate) fn of_tasktracker(configuration: &Configuration) -> Vec<Warning> {
    let values = ComparedValues { configuration };
    let mut found: Vec<_> = values.slots().into_iter().collect();
    found.extend(values.reach());
    found.extend(values.scratch_in_state());
    found.extend(lists_cut_elsewhere(configuration, |key| *key == keys::LOCAL_DIR));
    found.extend(values.short_times(OF_TASKTRACKER));
    found
}

/// A time, its least sensible value in ms, and what happens below.
type ShortTime = (&'static Key, i64, &'static str);

const OF_JOBTRACKER: &[ShortTime] = &[
    (
        &keys::TRACKER_EXPIRY_INTERVAL,
        10_000,
        "a tracker whose heartbeat is a moment late is lost, and what ran there runs again",
    ),
    (&keys::TASK_TIMEOUT, 10_000, "a task that reports nothing for a moment is killed"),
    (&keys::HISTORY_MAX_AGE, 60_000, "histories of jobs are removed as soon as they are written"),
    (&keys::DELEGATION_MAX_LIFETIME, 60_000, "the tokens of running jobs end"),
    (&keys::DELEGATION_RENEW_INTERVAL, 60_000, "the tokens of running jobs end"),
];
const OF_TASKTRACKER: &[ShortTime] = &[
    (&keys::SOCKET_TIMEOUT, 1_000, "a DataNode that is slow for a moment is given up"),
    (&keys::SOCKET_WRITE_TIMEOUT, 1_000, "a DataNode that is slow for a moment is given up"),
    (&keys::FETCH_CONNECT_TIMEOUT, 1_000, "a worker that is slow for a moment has lost its map output"),
    (&keys::FETCH_READ_TIMEOUT, 1_000, "a worker that is slow for a moment has lost its map output"),
];

struct ComparedValues<'a> {
    configuration: &'a Configuration,
}

impl ComparedValues<'_> {
    fn setting(&self, key: &Key) -> Option<Setting> {
        self.configuration.checked(key).ok().flatten()
    }

    fn number(&self, key: &Key) -> Option<i64> {
        keys::parse_number(&self.setting(key)?.value)
    }

    fn is_written(&self, key: &Key) -> bool {
        self.configuration.written().any(|(name, _, _)| key.spellings().any(|spelling| spelling == name))
    }

    fn remark(&self, key: &Key, remark: impl Into<String>) -> Option<Warning> {
        let Setting { name, value, origin, .. } = self.setting(key)?;
        Some(Warning::Contradiction { key: name, value, origin, remark: remark.into() })
    }

    fn path(&self, key: &Key) -> Option<FileUri> {
        self.configuration.file_uri(key).ok()
    }

    /// Directories inside each other.
    fn folders(&self) -> Vec<Warning> {
        let state = self.configuration.local_path(&keys::STATE_DIR).ok().flatten();
        let (system, staging) = (self.path(&keys::SYSTEM_DIR), self.path(&keys::STAGING_ROOT_DIR));
        let mut found: Vec<_> = self.scratch_in_state().into_iter().collect();
        let state = state.and_then(|state| FileUri::parse(state.to_str()?).ok());
        let inside = |inner: &Option<FileUri>, outer: &Option<FileUri>| match (inner, outer) {
            (Some(inner), Some(outer)) => inner.is_in(outer),
            _ => false,
        };
        let wiped = "is inside mapred.system.dir, which a Java JobTracker deletes at its start";
        found.extend(self.remark(&keys::STATE_DIR, wiped).filter(|_| inside(&state, &system)));
        found.extend(self.remark(&keys::STAGING_ROOT_DIR, wiped).filter(|_| inside(&staging, &system)));
        let hidden = "is inside jobtracker.state.dir, which only the JobTracker may access";
        for (key, folder) in [(&keys::SYSTEM_DIR, &system), (&keys::STAGING_ROOT_DIR, &staging)] {
            found.extend(self.remark(key, hidden).filter(|_| inside(folder, &state)));
        }
        found
    }

    fn scratch_in_state(&self) -> Option<Warning> {
        let state = self.configuration.local_path(&keys::STATE_DIR).ok().flatten()?;
        let scratch = self.configuration.local_paths(&keys::LOCAL_DIR).ok()?;
        let is_inside = scratch.iter().any(|folder| folder.starts_with(&state));
        self.remark(&keys::LOCAL_DIR, "is inside jobtracker.state.dir, which must contain only the JobTracker's state")
            .filter(|_| is_inside)
    }

    fn address(&self, key: &Key) -> Option<HostPort> {
        self.configuration.address(key).ok()
    }

    /// Times of milliseconds that were meant as seconds.
    fn short_times(&self, times: &[ShortTime]) -> Vec<Warning> {
        let found = times.iter().filter_map(|(key, least_ms, effect)| {
            self.number(key).filter(|time_ms| (1..*least_ms).contains(time_ms))?;
            self.remark(key, format!("is in ms, and below {least_ms}: {effect}"))
        });
        found.collect()
    }

    /// Entries that are no names of hosts: a request names one without scheme and path, and its port does not count.
    fn web_hosts(&self) -> Option<Warning> {
        let hosts = self.configuration.list(&keys::WEB_HOSTS).ok()?;
        let bad = hosts.iter().find(|host| host.contains('/') || host.matches(':').count() == 1)?;
        self.remark(
            &keys::WEB_HOSTS,
            format!("admits no request for {bad:?}: expected host names, without http:// and port"),
        )
    }

    /// Values that only another value puts in force.
    fn strategy(&self) -> Vec<Warning> {
        let governed = [
            (&keys::CONSTRAINT_FIXED, &keys::CONSTRAINT_STRATEGY, "fixed"),
            (&keys::CONSTRAINT_MIN_SAMPLES, &keys::CONSTRAINT_HISTORY, "true"),
            (&keys::CONSTRAINT_ALPHA, &keys::CONSTRAINT_HISTORY, "true"),
        ];
        let found =
            governed.into_iter().filter(|(key, ..)| self.is_written(key)).filter_map(|(key, governor, needed)| {
                let is_in_force = self.setting(governor)?.value.trim() == needed;
                self.remark(key, format!("has no effect while {} is not {needed}", governor.name))
                    .filter(|_| !is_in_force)
            });
        found.collect()
    }

    fn hosts(&self) -> Option<Warning> {
        let (admitted, excluded) = (self.setting(&keys::HOSTS)?, self.setting(&keys::HOSTS_EXCLUDE)?);
        let remark = "is also the file of mapred.hosts, so no host is admitted";
        self.remark(&keys::HOSTS_EXCLUDE, remark).filter(|_| admitted.value.trim() == excluded.value.trim())
    }

    fn memory(&self) -> Vec<Warning> {
        let of_map = (&keys::MAP_SLOT_MEMORY, &keys::MAX_MAP_MEMORY);
        let of_reduce = (&keys::REDUCE_SLOT_MEMORY, &keys::MAX_REDUCE_MEMORY);
        let all = [of_map.0, of_reduce.0, of_map.1, of_reduce.1];
        let is_set = |key: &Key| self.number(key).is_some_and(|megabytes| megabytes >= 0);
        let mut found = Vec::new();
        if self.number(&keys::MAX_TASK_VIRTUAL_MEMORY).is_none()
            && let Some(unset) = all.into_iter().find(|key| !is_set(key))
        {
            let remark = format!("has no effect while {} is not set", unset.name);
            found.extend(all.into_iter().filter(|key| is_set(key)).find_map(|key| self.remark(key, remark.clone())));
        }
        for (slot, most) in [of_map, of_reduce] {
            let is_more = is_set(most) && self.number(slot) > self.number(most);
            let remark = format!("exceeds {}, the maximum that a task may request", most.name);
            found.extend(self.remark(slot, remark).filter(|_| is_more));
        }
        found
    }

    fn scheduler(&self, has_market: bool) -> Vec<Warning> {
        let Some(class) = self.setting(&keys::TASK_SCHEDULER) else { return Vec::new() };
        let (unread, needed) = match class.value.trim() {
            FIFO_CLASS | CAPACITY_CLASS | FAIR_CLASS if !has_market => (keys::MARKET, DYNAMIC_CLASS),
            DYNAMIC_CLASS => (&[keys::COMPATIBLE][..], FIFO_CLASS),
            _ => return Vec::new(),
        };
        let or_file = match needed {
            DYNAMIC_CLASS => format!(", or if the file of {} is there", keys::ACL_FILE.name),
            _ => String::new(),
        };
        let remark = format!("is read only if mapred.jobtracker.taskScheduler is {needed}{or_file}");
        let written = unread.iter().filter(|key| self.is_written(key));
        let mut found: Vec<_> = written.filter_map(|key| self.remark(key, remark.clone())).collect();
        if let (Some(alloc), Some(kill)) = (self.number(&keys::ALLOC_INTERVAL), self.number(&keys::KILL_INTERVAL))
            && needed == FIFO_CLASS
            && alloc > 0
            && kill % alloc != 0
        {
            let remark = format!(
                "is not a multiple of mapred.dynamic-scheduler.alloc-interval ({alloc}): rounds of preemption do not follow the ticks"
            );
            found.extend(self.remark(&keys::KILL_INTERVAL, remark));
        }
        found
    }

    fn slots(&self) -> Option<Warning> {
        let has_none = self.number(&keys::MAP_SLOTS) == Some(0) && self.number(&keys::REDUCE_SLOTS) == Some(0);
        let remark = "and mapred.tasktracker.reduce.tasks.maximum is also 0: the tasktracker would run no tasks";
        self.remark(&keys::MAP_SLOTS, remark).filter(|_| has_none)
    }

    /// Tasktrackers on other machines fetch map output from it.
    fn reach(&self) -> Option<Warning> {
        let (jobtracker, http) = (self.address(&keys::RPC_ADDRESS)?, self.address(&keys::TRACKER_HTTP_ADDRESS)?);
        let is_alone = !jobtracker.is_loopback() && http.is_loopback();
        let remark = format!(
            "is reachable from this machine only, but the JobTracker is at {jobtracker}: tasktrackers on other machines could not fetch map output"
        );
        self.remark(&keys::TRACKER_HTTP_ADDRESS, remark).filter(|_| is_alone)
    }
}

#[cfg(test)]
#[path = "tests/contradictions.rs"]
mod tests;
