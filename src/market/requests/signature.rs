//! HMAC-SHA1 signatures as the document's Python client makes them.
//!
//! A servlet request signs its raw query string, a job submission `&user=U&timestamp=T`. The first form always names
//! an operation and the second never does, so neither serves as the other. Requests about applications sign `METHOD
//! PATH?QUERY`, which neither of them can be: a query has no blank.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use sha1::Sha1;
use subtle::ConstantTimeEq;

use crate::market::money::KeyId;

use super::acl::{Acl, Role};
use super::key::Key;

/// What Python's `urllib.quote` escapes: everything but letters, digits and `_.-/`.
const QUOTED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'.').remove(b'-').remove(b'/');

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifiedUser {
    pub user: String,
    pub role: Role,
    pub key_id: KeyId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum SignatureError {
    #[error("the signature is missing")]
    Missing,
    #[error("the signature has a broken % escape")]
    BrokenEscape,
    /// The user is missing or not in the ACL.
    #[error("the user is unknown")]
    UnknownUser,
    /// Another message or another key was signed.
    #[error("the signature does not match")]
    Mismatch,
}

/// The result of verifying the signature of a job submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobSignature {
    /// `mapred.job.signature` is not set.
    Missing,
    /// `mapred.job.timestamp` is not set.
    MissingTimestamp,
    NotVerified(SignatureError),
    /// The signature is valid, but its timestamp is not a number of milliseconds.
    BadTimestamp(String),
    Verified {
        user: VerifiedUser,
        timestamp_ms: i64,
    },
}

/// The signature of a message, URL-encoded as the document's Python client does.
pub fn sign(message: &str, key: &Key) -> String {
    utf8_percent_encode(&base64_mac(message, key), QUOTED).to_string()
}

/// The base64 text in an `Authorization` value or a `mapred.job.signature`: each `%XX` is decoded once, a literal `+` stays a `+`.
pub(crate) fn decode_header(header: &str) -> Result<Vec<u8>, SignatureError> {
    let mut decoded = Vec::with_capacity(header.len());
    let mut bytes = header.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit =
            || bytes.next().and_then(|digit| char::from(digit).to_digit(16)).and_then(|d| u8::try_from(d).ok());
        match (digit(), digit()) {
            (Some(high), Some(low)) => decoded.push(high << 4 | low),
            _ => return Err(SignatureError::BrokenEscape),
        }
    }
    Ok(decoded)
}

/// Verifies a signature of `message` by `user` in constant time.
pub(crate) fn verify(
    acl: &Acl,
    user: Option<&str>,
    message: &str,
    header: Option<&str>,
) -> Result<VerifiedUser, SignatureError> {
    let given = decode_header(header.ok_or(SignatureError::Missing)?)?;
    let user = user.ok_or(SignatureError::UnknownUser)?;
    let entry = acl.get(user).ok_or(SignatureError::UnknownUser)?;
    let signed = |key: &&Key| is_mac(message, &given, key);
    let key = acl.keys_of(user).find(signed).ok_or(SignatureError::Mismatch)?;
    Ok(VerifiedUser { user: user.to_owned(), role: entry.role, key_id: key.key_id() })
}

/// Whether `header` is a signature of `message` by this key, in constant time.
pub(crate) fn is_by_key(message: &str, header: &str, key: &Key) -> bool {
    decode_header(header).is_ok_and(|given| is_mac(message, &given, key))
}

fn is_mac(message: &str, given: &[u8], key: &Key) -> bool {
    base64_mac(message, key).as_bytes().ct_eq(given).into()
}

/// The message that a job submission signs: the query part before the user is empty.
pub fn job_message(user: &str, timestamp: &str) -> String {
    format!("&user={user}&timestamp={timestamp}")
}

/// Verifies a job's `mapred.job.timestamp` and `mapred.job.signature`, given its submitter, who must be known, signed or not.
pub(crate) fn job_signature(acl: &Acl, user: &str, timestamp: Option<&str>, signature: Option<&str>) -> JobSignature {
    if acl.get(user).is_none() {
        return JobSignature::NotVerified(SignatureError::UnknownUser);
    }
    let Some(signature) = signature else { return JobSignature::Missing };
    let Some(timestamp) = timestamp else { return JobSignature::MissingTimestamp };
    match verify(acl, Some(user), &job_message(user, timestamp), Some(signature)) {
        Err(error) => JobSignature::NotVerified(error),
        Ok(user) => match timestamp.parse() {
            Ok(timestamp_ms) => JobSignature::Verified { user, timestamp_ms },
            Err(_) => JobSignature::BadTimestamp(timestamp.to_owned()),
        },
    }
}

/// Base64 of the HMAC-SHA1, with padding: always 28 characters.
fn base64_mac(message: &str, key: &Key) -> String {
    #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
    let mut mac = Hmac::<Sha1>::new_from_slice(key.as_bytes()).expect("a key of any length");
    mac.update(message.as_bytes());
    STANDARD.encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::RetiringKey;

    const INFO: &str = "info=alice&user=alice&timestamp=1700000000000";
    const INFO_SIGNATURE: &str = "JVa0yXYFKIhmBKTdmYzPdNt4IaE%3D";
    const JOB_SIGNATURE: &str = "JD3O%2Brpv43yYZ9IQpkDsySnG1pI%3D";

    fn acl() -> Acl {
        Acl::parse("alice user alicekey-abc\nroot admin rootkey\n", "acl").unwrap()
    }

    fn check(message: &str, header: &str) -> Result<VerifiedUser, SignatureError> {
        verify(&acl(), Some("alice"), message, Some(header))
    }

    #[test]
    fn signatures_equal_the_original_clients() {
        let key = Key::new("alicekey-abc");
        assert_eq!(sign(INFO, &key), INFO_SIGNATURE);
        assert_eq!(sign(&job_message("alice", "1700000000000"), &key), JOB_SIGNATURE);
    }

    #[test]
    fn a_good_signature_names_user_role_and_key() {
        let key_id = Key::new("alicekey-abc").key_id();
        let alice = VerifiedUser { user: "alice".to_owned(), role: Role::User, key_id };
        assert_eq!(check(INFO, INFO_SIGNATURE), Ok(alice));
    }

    #[test]
    fn an_old_key_signs_beside_the_new_one_under_its_own_id() {
        let line = RetiringKey { user: "alice".to_owned(), until_ms: 1_000, key: Key::new("alicekey-abc") };
        let acl = Acl::parse("alice user new\n", "acl").unwrap().with_retiring([line]);
        let check = |acl: &Acl, key: &str| verify(acl, Some("alice"), INFO, Some(&sign(INFO, &Key::new(key))));
        for key in ["alicekey-abc", "new"] {
            assert_eq!(check(&acl, key).map(|user| user.key_id), Ok(Key::new(key).key_id()));
        }
        let later = acl.without_expired(1_000).unwrap();
        assert_eq!(check(&later, "alicekey-abc"), Err(SignatureError::Mismatch));
        assert!(check(&later, "new").is_ok());
        assert_eq!(acl.without_expired(999), None);
    }

    #[test]
    fn escapes_are_decoded_once_and_a_plus_stays_a_plus() {
        let message = job_message("alice", "1700000000000");
        assert!(check(&message, "JD3O%2brpv43yYZ9IQpkDsySnG1pI%3d").is_ok());
        assert!(check(&message, "JD3O+rpv43yYZ9IQpkDsySnG1pI=").is_ok());
        assert_eq!(check(&message, "JD3O%252Brpv43yYZ9IQpkDsySnG1pI%253D"), Err(SignatureError::Mismatch));
        assert_eq!(check(&message, "JD3O rpv43yYZ9IQpkDsySnG1pI="), Err(SignatureError::Mismatch));
        for broken in ["%", "JD3O%2", "JD3O%2G", "%+1aa", "% 1aa", "%é"] {
            assert_eq!(check(&message, broken), Err(SignatureError::BrokenEscape), "{broken:?}");
        }
    }

    #[test]
    fn a_slash_may_be_escaped_or_not() {
        let key = Key::new("k");
        let acl = Acl::parse("u user k", "acl").unwrap();
        let message = (0..).map(|number| number.to_string()).find(|m| sign(m, &key).contains('/')).unwrap();
        let signature = sign(&message, &key);
        assert!(verify(&acl, Some("u"), &message, Some(&signature)).is_ok());
        assert!(verify(&acl, Some("u"), &message, Some(&signature.replace('/', "%2F"))).is_ok());
    }

    #[test]
    fn each_failure_has_its_name() {
        assert_eq!(verify(&acl(), Some("alice"), INFO, None), Err(SignatureError::Missing));
        assert_eq!(verify(&acl(), None, INFO, Some(INFO_SIGNATURE)), Err(SignatureError::UnknownUser));
        assert_eq!(verify(&acl(), Some("bob"), INFO, Some(INFO_SIGNATURE)), Err(SignatureError::UnknownUser));
        assert_eq!(verify(&acl(), Some("root"), INFO, Some(INFO_SIGNATURE)), Err(SignatureError::Mismatch));
        assert_eq!(check("info=bob&user=alice&timestamp=1700000000000", INFO_SIGNATURE), Err(SignatureError::Mismatch));
        assert_eq!(check(INFO, ""), Err(SignatureError::Mismatch));
        assert_eq!(check(INFO, &INFO_SIGNATURE[..20]), Err(SignatureError::Mismatch));
    }

    #[test]
    fn a_servlet_signature_is_no_job_signature() {
        let verdict = job_signature(&acl(), "alice", Some("1700000000000"), Some(INFO_SIGNATURE));
        assert_eq!(verdict, JobSignature::NotVerified(SignatureError::Mismatch));
    }

    #[test]
    fn job_signatures_are_judged() {
        let verified = |timestamp, signature| job_signature(&acl(), "alice", timestamp, signature);
        let result = verified(Some("1700000000000"), Some(JOB_SIGNATURE));
        assert!(matches!(result, JobSignature::Verified { timestamp_ms: 1_700_000_000_000, .. }));
        assert_eq!(verified(Some("1"), None), JobSignature::Missing);
        assert_eq!(verified(None, Some(JOB_SIGNATURE)), JobSignature::MissingTimestamp);
        assert_eq!(verified(Some("1"), Some(JOB_SIGNATURE)), JobSignature::NotVerified(SignatureError::Mismatch));
        let signed = sign(&job_message("alice", "soon"), &Key::new("alicekey-abc"));
        assert_eq!(verified(Some("soon"), Some(&signed)), JobSignature::BadTimestamp("soon".to_owned()));
    }

    /// Defect 24: the original's messages depended on the platform's charset.
    #[test]
    fn defect_24_keys_and_messages_are_utf_8() {
        let acl = Acl::parse("zoë user schlüssel", "acl").unwrap();
        let message = "info=zoë&user=zoë&timestamp=1";
        let signature = sign(message, &Key::new("schlüssel"));
        assert!(verify(&acl, Some("zoë"), message, Some(&signature)).is_ok());
        assert_eq!(
            verify(&acl, Some("zoë"), "info=zo?&user=zo?&timestamp=1", Some(&signature)),
            Err(SignatureError::Mismatch)
        );
    }
}
