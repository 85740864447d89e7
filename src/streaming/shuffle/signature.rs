//! Signatures of map output requests, made with the job's secret (1.2.1 `SecureShuffleUtils`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use subtle::ConstantTimeEq;

use crate::wire::file::job_token_password;

/// The password of a job's token. It does not print.
#[derive(Clone, PartialEq, Eq)]
pub struct ShuffleSecret(Vec<u8>);

impl std::fmt::Debug for ShuffleSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ShuffleSecret")
    }
}

impl ShuffleSecret {
    /// From the content of a job's token file; `None` when no job token is in it.
    pub fn of_token_file(file: &[u8]) -> Option<Self> {
        job_token_password(file).map(Self)
    }

    /// What a request for `path_and_query` on `port` carries as `UrlHash`.
    pub fn url_hash(&self, port: u16, path_and_query: &str) -> String {
        self.sign(&[port.to_string().as_bytes(), path_and_query.as_bytes()])
    }

    /// What the answer to a request with that `UrlHash` carries as `ReplyHash`.
    pub(crate) fn reply_hash(&self, url_hash: &str) -> String {
        self.sign(&[url_hash.as_bytes()])
    }

    fn sign(&self, parts: &[&[u8]]) -> String {
        let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(&self.0) else { return String::new() };
        parts.iter().for_each(|part| mac.update(part));
        STANDARD.encode(mac.finalize().into_bytes())
    }
}

/// Whether two hashes are equal; takes as long for wrong ones as for right ones.
pub(crate) fn is_same_hash(given: &str, expected: &str) -> bool {
    !expected.is_empty() && bool::from(given.as_bytes().ct_eq(expected.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streaming::fixtures;

    #[test]
    fn recorded_requests_and_answers_have_our_hashes() {
        for job in ["plain", "zlib", "keyfields"] {
            let secret = ShuffleSecret::of_token_file(&fixtures::bytes(&format!("{job}/jobToken"))).unwrap();
            for map in fixtures::decoded()[job]["maps"].as_object().unwrap().values() {
                for reduce in map["reduces"].as_array().unwrap() {
                    let text = |name: &str| reduce[name].as_str().unwrap().to_owned();
                    let signed = text("signed_text");
                    let (port, path) = signed.split_at(signed.find('/').unwrap());
                    assert_eq!(secret.url_hash(port.parse().unwrap(), path), text("UrlHash"));
                    assert_eq!(secret.reply_hash(&text("UrlHash")), text("ReplyHash"));
                }
            }
        }
    }

    #[test]
    fn only_equal_hashes_are_the_same() {
        assert!(is_same_hash("a", "a"));
        assert!(!is_same_hash("a", "b") && !is_same_hash("", "") && !is_same_hash("a", "aa"));
        assert_eq!(ShuffleSecret::of_token_file(b"x"), None);
    }
}
