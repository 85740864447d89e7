//! Tokens and credentials, and identifiers of the JobTracker's delegation tokens (1.2.1 `mapreduce.security.token.delegation`).

use std::fmt;

use super::limits::CREDENTIALS_BYTES;
use super::{Decode, Encode, Reader, Text, WireError, Writer};

/// A token (`org.apache.hadoop.security.token.Token`). The password is secret and never printed.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Token {
    /// Identifier bytes.
    pub identifier: Vec<u8>,
    /// Password bytes.
    pub password: Vec<u8>,
    /// For example `mapreduce.job`.
    pub kind: Text,
    /// The service it is for.
    pub service: Text,
}

/// Tokens and secret keys by alias, in order of arrival.
#[derive(Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Credentials {
    /// Tokens by alias.
    pub tokens: Vec<(Text, Token)>,
    /// Secret keys by alias.
    pub secrets: Vec<(Text, Vec<u8>)>,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Token").field("kind", &self.kind).field("service", &self.service).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials")
            .field("tokens", &self.tokens.len())
            .field("secrets", &self.secrets.len())
            .finish_non_exhaustive()
    }
}

impl Decode for Token {
    const MIN_BYTES: usize = 4;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            identifier: reader.vint_bytes("identifier of a token")?.to_vec(),
            password: reader.vint_bytes("password of a token")?.to_vec(),
            kind: reader.text("kind of a token")?,
            service: reader.text("service of a token")?,
        })
    }
}

impl Encode for Token {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vint_bytes(&self.identifier);
        writer.vint_bytes(&self.password);
        writer.text(&self.kind);
        writer.text(&self.service);
    }
}

impl Decode for Credentials {
    const MIN_BYTES: usize = 2;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let count = reader.vint("number of tokens")?;
        let count = reader.count(count, 1 + Token::MIN_BYTES, "number of tokens")?;
        let mut tokens = Vec::with_capacity(count);
        for _ in 0..count {
            tokens.push((reader.text("alias of a token")?, Token::decode(reader)?));
        }
        let count = reader.vint("number of secret keys")?;
        let count = reader.count(count, 2, "number of secret keys")?;
        let mut secrets = Vec::with_capacity(count);
        for _ in 0..count {
            secrets.push((reader.text("alias of a secret key")?, reader.vint_bytes("secret key")?.to_vec()));
        }
        Ok(Self { tokens, secrets })
    }
}

impl Credentials {
    /// Reads the credentials that a client submits with a job: refused beyond [`CREDENTIALS_BYTES`], before any of it is copied.
    pub(crate) fn decode_submitted(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let start = reader.clone();
        let mut ahead = reader.clone();
        let is_within = |ahead: &Reader<'_>| {
            start.check_limit(start.bytes_until(ahead).len(), CREDENTIALS_BYTES, "credentials of the job")
        };
        let count = ahead.vint("number of tokens")?;
        for _ in 0..ahead.count(count, 1 + Token::MIN_BYTES, "number of tokens")? {
            for what in ["alias of a token", "identifier of a token", "password of a token", "kind of a token"] {
                ahead.vint_bytes(what)?;
            }
            ahead.vint_bytes("service of a token")?;
            is_within(&ahead)?;
        }
        let count = ahead.vint("number of secret keys")?;
        for _ in 0..ahead.count(count, 2, "number of secret keys")? {
            ahead.vint_bytes("alias of a secret key")?;
            ahead.vint_bytes("secret key")?;
            is_within(&ahead)?;
        }
        Self::decode(reader)
    }
}

impl Encode for Credentials {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vint_count(self.tokens.len());
        for (alias, token) in &self.tokens {
            writer.text(alias);
            token.encode(writer);
        }
        writer.vint_count(self.secrets.len());
        for (alias, key) in &self.secrets {
            writer.text(alias);
            writer.vint_bytes(key);
        }
    }
}

/// The kind of these tokens.
pub(crate) const DELEGATION_KIND: &str = "MAPREDUCE_DELEGATION_TOKEN";

/// The version of the layout.
const VERSION: i8 = 0;

/// What a delegation token says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DelegationIdentifier {
    /// The user that it stands for.
    pub(crate) owner: Text,
    /// The user that may renew it; empty: none.
    pub(crate) renewer: Text,
    /// The user that asked for it in the name of the owner; empty: the owner.
    pub(crate) real_user: Text,
    /// When it was issued, epoch ms.
    pub(crate) issue_ms: i64,
    /// When it ends, however often it is renewed, epoch ms.
    pub(crate) max_ms: i64,
    /// Its number.
    pub(crate) sequence: i32,
    /// The number of the key that signs it.
    pub(crate) key: i32,
}

/// Bytes that are no identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DelegationIdentifierError {
    /// Another layout.
    #[error("Unknown version of delegation token {0}")]
    Version(i8),
    /// Malformed bytes.
    #[error("identifier of a delegation token: {0}")]
    Wire(#[from] WireError),
}

impl DelegationIdentifier {
    /// Reads an identifier. Bytes after it are ignored, as Java does.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, DelegationIdentifierError> {
        let mut reader = Reader::new(bytes);
        let version = reader.i8("version of a delegation token")?;
        if version != VERSION {
            return Err(DelegationIdentifierError::Version(version));
        }
        Ok(Self {
            owner: Text::decode(&mut reader)?,
            renewer: Text::decode(&mut reader)?,
            real_user: Text::decode(&mut reader)?,
            issue_ms: reader.vlong("issue date of a delegation token")?,
            max_ms: reader.vlong("last date of a delegation token")?,
            sequence: reader.vint("number of a delegation token")?,
            key: reader.vint("key of a delegation token")?,
        })
    }

    /// The bytes that its key signs.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        writer.i8(VERSION);
        self.owner.encode(&mut writer);
        self.renewer.encode(&mut writer);
        self.real_user.encode(&mut writer);
        writer.vlong(self.issue_ms);
        writer.vlong(self.max_ms);
        writer.vint(self.sequence);
        writer.vint(self.key);
        bytes
    }
}

/// As 1.2.1 prints it in its log.
impl fmt::Display for DelegationIdentifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { owner, renewer, real_user, issue_ms, max_ms, sequence, key } = self;
        write!(
            f,
            "owner={}, renewer={}, realUser={}, issueDate={issue_ms}, maxDate={max_ms}, sequenceNumber={sequence}, \
             masterKeyId={key}",
            &**owner, &**renewer, &**real_user
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identifier() -> DelegationIdentifier {
        DelegationIdentifier {
            owner: "alice".into(),
            renewer: "oozie".into(),
            real_user: "".into(),
            issue_ms: 300,
            max_ms: -1,
            sequence: 7,
            key: 128,
        }
    }

    #[test]
    fn the_bytes_are_those_of_java() {
        let bytes = identifier().to_bytes();
        let expected = b"\0\x05alice\x05oozie\0\x8e\x01\x2c\xff\x07\x8f\x80";
        assert_eq!(bytes, expected);
        assert_eq!(DelegationIdentifier::from_bytes(&bytes), Ok(identifier()));
        assert_eq!(DelegationIdentifier::from_bytes(&[&bytes[..], b"more"].concat()), Ok(identifier()));
        insta::assert_snapshot!(identifier(), @"owner=alice, renewer=oozie, realUser=, issueDate=300, maxDate=-1, sequenceNumber=7, masterKeyId=128");
    }

    #[test]
    fn what_is_no_identifier_is_refused() {
        assert_eq!(
            DelegationIdentifier::from_bytes(&[9]).unwrap_err().to_string(),
            "Unknown version of delegation token 9"
        );
        let bytes = identifier().to_bytes();
        assert!((0..bytes.len()).all(|end| DelegationIdentifier::from_bytes(&bytes[..end]).is_err()));
    }
}
