//! A client of the market: asks `/scheduler` in the name of a user.
//!
//! Signatures carry the server's time, which anybody may ask for, so a clock of this machine that goes wrong matters
//! to nobody. A refusal because another request of the same user had that millisecond changes nothing at the server, so
//! the request is signed anew and sent again; nothing else is ever sent twice.

mod answer;
pub(crate) mod http;

use serde::de::DeserializeOwned;

use crate::client::signed_query::{QueryCharacterError, SignedQuery, escaped};
use crate::engine::explanation::Explanation;
use crate::market::{Key, PriceHistory, QueueStanding, Standings, Statement};

pub use answer::{AnswerError, MarketAnswer, QueueLine, QuoteLine};
pub use http::HttpError;
use http::{HttpAnswer, get};

/// Where the document's operations are served.
const SCHEDULER: &str = "/scheduler";
/// Where statements are served.
const STATEMENT: &str = "/scheduler/statement";
/// Where it is told how queues stand.
const QUEUES: &str = "/scheduler/queues";
/// Where it is told why a job has the slots it has.
const EXPLAIN: &str = "/scheduler/explain";
/// Where histories are served.
const HISTORY: &str = "/scheduler/history";
/// Signatures for one request at most: so many other requests of the user may come between.
const MOST_SIGNATURES: usize = 20;
/// How far ahead of the server's time a request is signed at most, ms: a signature must not be good on another day.
const MOST_AHEAD_MS: i64 = 300_000;
/// How a denial begins, by the document.
const DENIED: &str = "ACCESS DENIED: ";

/// Who signs.
#[derive(Clone, Debug)]
pub struct Signer {
    /// The user.
    pub user: String,
    /// The user's key.
    pub key: Key,
}

/// A client of one server.
#[derive(Clone, Debug)]
pub struct MarketClient {
    server: String,
}

/// Why a request brought nothing.
#[derive(Debug, thiserror::Error)]
pub enum MarketClientError {
    /// There is no server, it does not answer, or what it says makes no sense.
    #[error("{server} cannot be reached: {reason}")]
    Unreachable {
        /// `host:port`.
        server: String,
        /// What went wrong.
        reason: String,
    },
    /// Not allowed.
    #[error("access denied{}", .reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default())]
    Denied {
        /// Why, for those whose signature is good.
        reason: Option<String>,
    },
    /// Refused for what was asked.
    #[error("{0}")]
    Refused(String),
    /// It cannot be sent.
    #[error("{0}")]
    Query(#[from] QueryCharacterError),
}

// === impl MarketClient ===

impl MarketClient {
    /// A client of `server`, `host:port`.
    pub fn new(server: impl Into<String>) -> Self {
        Self { server: server.into() }
    }

    /// Asks what needs no signature: `price` or `time`.
    ///
    /// # Errors
    /// [`MarketClientError`]
    pub async fn ask(&self, query: &str) -> Result<MarketAnswer, MarketClientError> {
        let answer = self.get(&format!("{SCHEDULER}?{query}"), None).await?;
        self.parse(&self.judge(answer)?)
    }

    /// Asks signed: any operation of `/scheduler`.
    ///
    /// # Errors
    /// [`MarketClientError`]. After [`MarketClientError::Unreachable`] a change may have been made all the same.
    pub async fn ask_signed(&self, query: &str, signer: &Signer) -> Result<MarketAnswer, MarketClientError> {
        self.parse(&self.signed(SCHEDULER, query, signer).await?)
    }

    /// The history of a queue, the signer's own if none is named, since a moment, epoch ms: as many requests as it takes.
    ///
    /// # Errors
    /// [`MarketClientError`]
    pub async fn statement(
        &self,
        queue: Option<&str>,
        since_ms: Option<i64>,
        signer: &Signer,
    ) -> Result<Statement, MarketClientError> {
        let mut query = queue.map_or_else(|| "statement".to_owned(), |queue| format!("statement={}", escaped(queue)));
        if let Some(since_ms) = since_ms {
            query += &format!("&since={since_ms}");
        }
        let mut statement = self.statement_page(&query, signer).await?;
        while let Some(first) = statement.rows.first().filter(|_| statement.has_earlier) {
            let earlier = self.statement_page(&format!("{query}&before={}", first.number), signer).await?;
            // Nothing earlier can be there that was not there before, unless it has been folded meanwhile.
            statement.has_earlier = earlier.has_earlier && !earlier.rows.is_empty();
            statement.rows.splice(0..0, earlier.rows);
        }
        Ok(statement)
    }

    /// How one queue stands at this moment, or all that the signer may see.
    ///
    /// # Errors
    /// [`MarketClientError`]; refused by servers of others, who do not tell.
    pub async fn standings(
        &self,
        queue: Option<&str>,
        signer: &Signer,
    ) -> Result<Vec<QueueStanding>, MarketClientError> {
        let query = queue.map_or_else(|| "queues".to_owned(), |queue| format!("queues={}", escaped(queue)));
        let Standings { queues } = self.signed_json(QUEUES, &query, signer).await?;
        Ok(queues)
    }

    /// The price over time, since a moment, epoch ms, or over the last day.
    ///
    /// # Errors
    /// [`MarketClientError`]
    pub async fn price_history(&self, since_ms: Option<i64>, points: u32) -> Result<PriceHistory, MarketClientError> {
        let since = since_ms.map(|since_ms| format!("&since={since_ms}")).unwrap_or_default();
        let answer = self.get(&format!("{HISTORY}?history&points={points}{since}"), None).await?;
        self.read_json(&self.judge(answer)?)
    }

    /// Why a job has the slots it has. A server without a market asks for no signature.
    ///
    /// # Errors
    /// [`MarketClientError`]
    pub async fn explain(&self, job: &str, signer: Option<&Signer>) -> Result<Explanation, MarketClientError> {
        let query = format!("job={}", escaped(job));
        if let Some(signer) = signer {
            match self.signed_json(EXPLAIN, &query, signer).await {
                Err(MarketClientError::Refused(_)) if self.ask("time").await.is_err() => {}
                answer => return answer,
            }
        }
        let text = self.judge(self.get(&format!("{EXPLAIN}?{query}"), None).await?)?;
        self.read_json(&text)
    }

    async fn signed_json<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &str,
        signer: &Signer,
    ) -> Result<T, MarketClientError> {
        self.read_json(&self.signed(path, query, signer).await?)
    }

    fn read_json<T: DeserializeOwned>(&self, text: &str) -> Result<T, MarketClientError> {
        serde_json::from_str(text).map_err(|error| self.unreachable(format!("what it sends makes no sense: {error}")))
    }

    async fn statement_page(&self, query: &str, signer: &Signer) -> Result<Statement, MarketClientError> {
        self.signed_json(STATEMENT, query, signer).await
    }

    /// The text of a signed answer.
    async fn signed(&self, path: &str, query: &str, signer: &Signer) -> Result<String, MarketClientError> {
        let time = self.ask("time").await?.time_ms;
        let time_ms = time.ok_or_else(|| self.unreachable("it does not tell its time"))?;
        let mut timestamp_ms = time_ms;
        let mut signatures = 1;
        loop {
            let signed = SignedQuery::new(query, &signer.user, timestamp_ms, &signer.key)?;
            let answer = self.get(&format!("{path}?{}", signed.query), Some(&signed.authorization)).await?;
            let is_near = |last_ms: &i64| last_ms.saturating_sub(time_ms) < MOST_AHEAD_MS;
            match last_accepted_ms(&answer).filter(is_near) {
                Some(last_ms) if signatures < MOST_SIGNATURES => {
                    timestamp_ms = last_ms.saturating_add(1).max(timestamp_ms)
                }
                _ => return self.judge(answer),
            }
            signatures += 1;
        }
    }

    async fn get(&self, path: &str, authorization: Option<&str>) -> Result<HttpAnswer, MarketClientError> {
        get(&self.server, path, authorization).await.map_err(|error| self.unreachable(error))
    }

    /// The body of a good answer.
    fn judge(&self, answer: HttpAnswer) -> Result<String, MarketClientError> {
        let HttpAnswer { status, body } = answer;
        if status.is_success() {
            return Ok(body);
        }
        if status.is_server_error() && body.contains(DENIED) {
            return Err(MarketClientError::Denied { reason: reason(&body) });
        }
        let in_xml = MarketAnswer::parse(&body).ok().and_then(|answer| answer.error);
        let in_json = || serde_json::from_str::<ErrorInJson>(&body).ok().map(|told| told.error);
        let error = in_xml.or_else(in_json);
        let text = error.unwrap_or_else(|| format!("{status}: {}", body.lines().next().unwrap_or_default()));
        if status.is_client_error() { Err(MarketClientError::Refused(text)) } else { Err(self.unreachable(text)) }
    }

    fn parse(&self, text: &str) -> Result<MarketAnswer, MarketClientError> {
        MarketAnswer::parse(text).map_err(|error| self.unreachable(error))
    }

    fn unreachable(&self, reason: impl ToString) -> MarketClientError {
        MarketClientError::Unreachable { server: self.server.clone(), reason: reason.to_string() }
    }
}

/// A refusal of an address that speaks JSON.
#[derive(serde::Deserialize)]
struct ErrorInJson {
    error: String,
}

/// The second line of a denial, as ours writes it. The original's whole pages of HTML tell no reason.
fn reason(body: &str) -> Option<String> {
    let rest = body.strip_prefix(DENIED)?;
    let line = rest.lines().nth(1)?;
    Some(line.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")).filter(|line| !line.is_empty())
}

/// The user's last accepted timestamp, when that is why a request was denied.
fn last_accepted_ms(answer: &HttpAnswer) -> Option<i64> {
    let reason = reason(&answer.body).filter(|_| answer.status.is_server_error())?;
    let (_, rest) = reason.strip_prefix("the last accepted timestamp ").map(|rest| ("", rest)).or_else(|| {
        let (before, rest) = reason.split_once("is not after the last accepted one, ")?;
        before.starts_with("timestamp ").then_some((before, rest))
    })?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
#[path = "market/tests.rs"]
mod tests;
