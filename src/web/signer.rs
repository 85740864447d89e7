//! Who signed a request: a user of the ACL, by a signature in `Authorization`. What text is signed is the caller's business.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;

use crate::market::{Acl, VerifiedUser, signature};

/// The user who signed `signed_text`, if the signature in the headers is valid. The ACL is read only if there is one.
pub(super) async fn find_signer(
    acl: impl Future<Output = Arc<Acl>>,
    user: Option<&str>,
    signed_text: &str,
    headers: &HeaderMap,
) -> Option<VerifiedUser> {
    let header = signature_in(headers)?;
    signature::verify(acl.await.as_ref(), user, signed_text, Some(header)).ok()
}

/// The signature that a request carries.
pub(super) fn signature_in(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION)?.to_str().ok()
}
