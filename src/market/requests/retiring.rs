//! Keys that stay valid for a while after a user has another: `user until_ms key` lines of a file beside the ACL.

use super::acl_line::{AclError, AclProblem, has_control_character, lines_of, shown_word, three_fields};
use super::key::Key;

/// The longest time for which an old key stays valid, ms.
pub(crate) const MAX_RETIRING_MS: i64 = 7 * 86_400_000;
/// Tolerated on top, since clocks differ and are corrected.
const CLOCK_TOLERANCE_MS: i64 = 3_600_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetiringKey {
    pub user: String,
    /// From when on it is no longer valid, epoch ms.
    pub until_ms: i64,
    pub key: Key,
}

impl RetiringKey {
    /// Whether it may sign at `now_ms`, epoch ms: it has not expired, and does not claim to be valid for longer than [`MAX_RETIRING_MS`].
    pub(crate) fn is_valid(&self, now_ms: i64) -> bool {
        let latest_ms = now_ms.saturating_add(MAX_RETIRING_MS).saturating_add(CLOCK_TOLERANCE_MS);
        now_ms < self.until_ms && self.until_ms <= latest_ms
    }

    /// Reads all lines, with those that do not count. `origin` names the file in errors.
    pub(crate) fn parse_all(text: &str, origin: &str) -> (Vec<RetiringKey>, Vec<AclError>) {
        let (mut keys, mut errors) = (Vec::new(), Vec::new());
        for (line, number) in lines_of(text) {
            match parse_line(line) {
                Ok(key) => keys.push(key),
                Err(problem) => {
                    let text = shown_word(line);
                    errors.push(AclError { file: origin.to_owned(), line: number, text, problem });
                }
            }
        }
        (keys, errors)
    }
}

fn parse_line(line: &str) -> Result<RetiringKey, AclProblem> {
    let [user, until, key] = three_fields(line).ok_or(AclProblem::RetiringFields)?;
    if has_control_character([user, until, key]) {
        return Err(AclProblem::ControlCharacter);
    }
    let until_ms = until.parse().map_err(|_| AclProblem::Until)?;
    Ok(RetiringKey { user: user.to_owned(), until_ms, key: Key::new(key) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_a_user_a_time_and_a_key() {
        let (keys, errors) = RetiringKey::parse_all("# old\nalice 5000 k0\r\n\talice\t6000  k1\n", "acl.retiring");
        assert_eq!(errors, []);
        let times: Vec<_> = keys.iter().map(|key| (key.user.as_str(), key.until_ms)).collect();
        assert_eq!(times, [("alice", 5000), ("alice", 6000)]);
        let (keys, errors) = RetiringKey::parse_all("alice soon s3cret\nalice 5000\nbob 1 k\n", "acl.retiring");
        assert_eq!(keys.len(), 1);
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                r#"acl.retiring:1: the second field is no time; expected milliseconds since 1970: "alice …""#,
                r#"acl.retiring:2: expected three fields: user until_ms key: "alice …""#,
            ]
        );
    }

    #[test]
    fn a_key_is_valid_until_its_time_and_no_longer_than_seven_days() {
        let key = |until_ms| RetiringKey { user: "alice".to_owned(), until_ms, key: Key::new("k") };
        let now_ms = 1_000_000_000_000;
        assert!(key(now_ms + 1).is_valid(now_ms));
        assert!(!key(now_ms).is_valid(now_ms));
        assert!(key(now_ms + MAX_RETIRING_MS).is_valid(now_ms));
        assert!(!key(now_ms + MAX_RETIRING_MS + CLOCK_TOLERANCE_MS + 1).is_valid(now_ms));
        assert!(!key(i64::MAX).is_valid(now_ms));
    }
}
