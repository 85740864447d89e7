//! A caller who was verified, and what was signed of the body.

use crate::engine::{ApplicationCaller, Caller};

use super::query_parameters::QueryParameters;

/// Who asks, and what the signature says of the body.
#[derive(Clone, Debug)]
pub(super) struct Verified {
    pub(super) caller: ApplicationCaller,
    pub(super) body: SignedBody,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SignedBody {
    /// Nothing was signed, and nothing needs to be.
    Unsigned,
    /// Its SHA-256 as 64 hex digits; none: a signature without it, good for requests without a body.
    Digest(Option<String>),
}

impl Verified {
    /// A caller of an address that is open to all. What a signature would bring is passed over.
    pub(super) fn unknown(parameters: &mut QueryParameters) -> Self {
        for name in ["user", "timestamp", "sha256", "user.name"] {
            parameters.take(name);
        }
        let caller = ApplicationCaller::User { caller: Caller::named(""), is_administrator: false, signed: None };
        Self { caller, body: SignedBody::Unsigned }
    }
}
