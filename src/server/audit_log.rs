//! The audit log: target `jobtracker::audit`. Each change is a line; refusals of one caller that repeat are one with a count.

use std::collections::BTreeMap;

use crate::engine::AuditEntry;

/// Refusals of one caller and verb within this time are counted, ms.
const WINDOW_MS: u64 = 60_000;
/// Callers and verbs whose refusals are counted apart; further ones share a count.
const MAX_COUNTED: usize = 1_000;

pub(crate) fn write_audit_line(line: &String) {
    tracing::info!(target: "jobtracker::audit", "{line}");
}

/// The refusals of the last minute.
#[derive(Debug, Default)]
pub(crate) struct AuditLog {
    refusals: BTreeMap<Refused, Repeated>,
}

/// Who was refused what; none for those beyond [`MAX_COUNTED`].
type Refused = Option<(&'static str, String)>;

#[derive(Debug)]
struct Repeated {
    /// When the first one was written, ms of the monotonic clock.
    since_ms: u64,
    /// Refusals after it.
    count: u64,
}

impl AuditLog {
    /// The line of an entry, unless it repeats a refusal.
    pub(crate) fn line_of(&mut self, entry: &AuditEntry, now_ms: u64) -> Option<String> {
        if entry.is_denied {
            let mut refused = Some((entry.verb, entry.user.clone()));
            if !self.refusals.contains_key(&refused) && self.refusals.len() >= MAX_COUNTED {
                refused = None;
            }
            if let Some(repeated) = self.refusals.get_mut(&refused) {
                repeated.count += 1;
                return None;
            }
            self.refusals.insert(refused, Repeated { since_ms: now_ms, count: 0 });
        }
        Some(entry.to_string())
    }

    /// When the next lines are due, ms of the monotonic clock; none while no refusal is counted.
    pub(crate) fn next_due_ms(&self) -> Option<u64> {
        self.refusals.values().map(|repeated| repeated.since_ms + WINDOW_MS).min()
    }

    /// The counts of refusals that began a minute ago, or of all, which are no longer counted then.
    pub(crate) fn take_repeated(&mut self, now_ms: Option<u64>) -> Vec<String> {
        let is_due = |repeated: &Repeated| now_ms.is_none_or(|now_ms| now_ms >= repeated.since_ms + WINDOW_MS);
        let mut lines = Vec::new();
        self.refusals.retain(|refused, repeated| {
            let is_due = is_due(repeated);
            if is_due && repeated.count > 0 {
                let (verb, user) = match refused {
                    Some((verb, user)) => (*verb, user.as_str()),
                    None => ("other", "*"),
                };
                lines.push(AuditEntry::new(verb, user).with("repeated", repeated.count).denied().to_string());
            }
            !is_due
        });
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(user: &str) -> AuditEntry {
        AuditEntry::new("kill", user).with("job", "job_1_0001").denied()
    }

    #[test]
    fn changes_are_all_written_and_refusals_counted() {
        let mut log = AuditLog::default();
        let change = AuditEntry::new("kill", "bob").with("job", "job_1_0001");
        for _ in 0..3 {
            assert_eq!(log.line_of(&change, 5).as_deref(), Some("kill user=bob job=job_1_0001"));
        }
        assert_eq!(log.next_due_ms(), None);
        assert_eq!(log.line_of(&refused("mallory"), 10).as_deref(), Some("denied kill user=mallory job=job_1_0001"));
        assert!((0..4).all(|_| log.line_of(&refused("mallory"), 20).is_none()));
        assert!(log.line_of(&refused("alice"), 30).is_some(), "another caller");
        assert_eq!(log.next_due_ms(), Some(60_010));
        assert_eq!(log.take_repeated(Some(60_009)), [""; 0]);
        assert_eq!(log.take_repeated(Some(60_010)), ["denied kill user=mallory repeated=4"]);
        assert!(log.line_of(&refused("mallory"), 60_011).is_some(), "counted afresh");
        assert_eq!(log.take_repeated(None), [""; 0], "none was repeated");
        assert_eq!(log.next_due_ms(), None);
    }

    /// Names that a caller makes up fill neither the memory nor the log.
    #[test]
    fn many_callers_share_a_count() {
        let mut log = AuditLog::default();
        let lines = (0..5_000).filter_map(|user| log.line_of(&refused(&format!("u{user}")), 0)).count();
        assert_eq!((lines, log.refusals.len()), (1_001, 1_001));
        assert_eq!(log.take_repeated(None), ["denied other user=* repeated=3999"]);
    }
}
