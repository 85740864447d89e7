//! Tokens and credentials.

use super::Text;

/// A token (`org.apache.hadoop.security.token.Token`). The password is secret: it does not print.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Token {
    /// Identifier bytes.
    pub identifier: Vec<u8>,
    /// Password bytes.
    pub password: Vec<u8>,
    /// For example `mapreduce.job`.
    pub kind: Text,
    /// What it is for.
    pub service: Text,
}

/// Tokens and secret keys by alias, in the order in which they came.
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
