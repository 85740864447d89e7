//! Tokens and credentials.

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
    /// Reads the credentials that a client submits with a job: refused beyond [`CREDENTIALS_BYTES`], before any of it
    /// is copied.
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
