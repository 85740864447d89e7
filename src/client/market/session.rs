//! Read-only sessions: a signed link for a browser, or the text that a program sends as its bearer.

use hyper::StatusCode;

use crate::client::signed_query::{SignedQuery, escaped};

use super::{Carried, MarketClient, MarketClientError, Signer};

/// Path of links that begin a session.
const SESSION: &str = "/session";
/// Where the session of a program begins.
const FIRST_PAGE: &str = "/";

impl MarketClient {
    /// A link that signs a browser in and leads it to a page, a path. It works once, for as long as a signature is good.
    ///
    /// # Errors
    /// [`MarketClientError`]; [`MarketClientError::Refused`] by a server without a market, which has nothing to hide.
    pub(crate) async fn session_link(&self, page: &str, signer: &Signer) -> Result<String, MarketClientError> {
        let signed = SignedQuery::new(&asked(page), &signer.user, self.time_ms().await?, &signer.key)?;
        Ok(format!("http://{}{}", self.server(), signed.link(SESSION)))
    }

    /// A session, for the header `Authorization: Bearer`.
    ///
    /// # Errors
    /// As [`Self::session_link`], and [`MarketClientError::Denied`].
    pub(crate) async fn session(&self, signer: &Signer) -> Result<String, MarketClientError> {
        let answer = self.answer_signed((SESSION, Carried::InLink), &asked(FIRST_PAGE), signer).await?;
        if answer.status != StatusCode::SEE_OTHER {
            let body = self.body_or_error(answer)?;
            return Err(
                self.unreachable(format!("expected a session, got {:?}", body.lines().next().unwrap_or_default()))
            );
        }
        let session = answer.cookie.as_deref().and_then(|cookie| cookie.split_once('='));
        session.map(|(_, session)| session.to_owned()).ok_or_else(|| self.unreachable("its answer has no session"))
    }
}

fn asked(page: &str) -> String {
    format!("session={}", escaped(page))
}
