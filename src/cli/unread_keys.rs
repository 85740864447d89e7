//! Keys that are set and that nothing reads.

use crate::config::error::Warning;
use crate::config::{Configuration, keys, not_acted_on};

use super::similar_key::{is_legitimate, nearest_key};

/// Prefixes of the JobTracker's own keys: every unread key under them is reported.
const OWN_PREFIXES: [&str; 2] = ["mapred.jobtracker.", "jobtracker."];

/// Unread keys that are probably mistakes: those with the JobTracker's prefixes or with a name close to a known key.
/// Hadoop itself has hundreds of keys that other programs read.
pub(super) fn unread_keys(configuration: &Configuration) -> Vec<Warning> {
    let unknown = configuration.written().filter(|(name, _, _)| !keys::all().any(|key| key.is_spelled(name)));
    let is_ours = |name: &str| OWN_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let reported = unknown.filter_map(|(name, _, origin)| {
        let is_hadoops = is_legitimate(name) || not_acted_on::is_listed(name);
        let similar = nearest_key(name, if is_ours(name) { 3 } else { 2 }).filter(|_| !is_hadoops);
        ((is_ours(name) && !not_acted_on::is_listed(name)) || similar.is_some()).then(|| Warning::NothingReads {
            key: name.to_owned(),
            origin: origin.clone(),
            similar,
        })
    });
    reported.collect()
}
