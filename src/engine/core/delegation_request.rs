//! Calls about delegation tokens.

use std::sync::Arc;

use crate::engine::state::DELEGATION_KEY_BYTES;
use crate::wire::Token;

/// A call about a delegation token, and who calls.
#[derive(Debug)]
pub struct DelegationRequest {
    pub(crate) call: DelegationCall,
    /// The user of the connection.
    pub(crate) user: Arc<str>,
    /// The user that acts for `user`, if another does.
    pub(crate) real_user: Option<Arc<str>>,
    /// A number for the caller's host.
    pub(crate) origin: u128,
}

#[derive(Debug)]
pub(crate) enum DelegationCall {
    /// A token of the caller.
    Get {
        /// Who may renew it; empty: no user.
        renewer: String,
        /// Random bytes: the secret of a new key, if one is due.
        secret: [u8; DELEGATION_KEY_BYTES],
    },
    /// A later end of a token.
    Renew(Token),
    Cancel(Token),
}
