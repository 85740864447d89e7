//! Identifiers of the JobTracker's delegation tokens (1.2.1 `mapreduce.security.token.delegation.DelegationTokenIdentifier`).

use std::fmt;

use super::{Decode, Encode, Reader, Text, WireError, Writer};

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
    #[must_use]
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
