//! Client of the market: signed requests to `/scheduler` for a user. Signatures carry the server's time, which is public, so the clock of
//! this machine does not matter. If the user has signed the same request in the same millisecond, the server has changed nothing: the
//! request is signed again and resent. No other request is ever sent twice.

mod answer;
mod read;
mod upload;
mod workers;

use hyper::StatusCode;
use serde::de::DeserializeOwned;

use crate::api::{
    Explanation, LogTicket, OrderQuote, PriceHistory, QueueStatus, QueueStatuses, Report, Statement, WhatIfAnswer,
};
use crate::client::http_request::{HttpAnswer, HttpError, get, post, post_form};
use crate::client::signed_query::{QueryCharacterError, SignedQuery, escaped};
use crate::market::{Key, ReportRequest};
use crate::model::{AttemptId, Credits};

pub use answer::MarketAnswer;
pub(crate) use answer::{QueueLine, QuoteLine};
pub(in crate::client) use read::SignedReadError;
pub(crate) use upload::UploadedFile;
pub(crate) use workers::PauseOf;

const SCHEDULER: &str = "/scheduler";
const STATEMENT: &str = "/scheduler/statement";
/// Path of live queue status.
const QUEUES: &str = "/scheduler/queues";
const EXPLAIN: &str = "/scheduler/explain";
/// Path of reports.
const REPORT: &str = "/scheduler/report";
const DEADLINE: &str = "/scheduler/deadline";
const LOG_TICKET: &str = "/scheduler/logticket";
/// Path of quotes of orders.
const ORDER_QUOTE: &str = "/scheduler/quote";
/// Path of questions about deadlines.
const WHAT_IF: &str = "/scheduler?whatif";
const HISTORY: &str = "/scheduler/history";
/// Maximum number of signatures for one request: other requests of the user may use its timestamps.
const MOST_SIGNATURES: usize = 20;
/// Maximum distance of a timestamp ahead of the server's time, ms: a signature must not stay valid for long.
const MOST_AHEAD_MS: i64 = 300_000;
/// Prefix of denials, from the document.
const DENIED: &str = "ACCESS DENIED: ";

/// A user and the key for its signatures.
#[derive(Clone, Debug)]
pub struct Signer {
    /// The user.
    pub user: String,
    /// The user's key.
    pub key: Key,
}

/// How a request has its signature.
#[derive(Clone, Copy, Debug)]
enum Carried {
    InHeader,
    InLink,
}

/// The times that a query is signed with: that of the server, then later ones.
struct TriedTimes {
    server_ms: i64,
    next_ms: i64,
    signatures: usize,
}

/// A client of one server.
#[derive(Clone, Debug)]
pub struct MarketClient {
    server: String,
    /// How the server was found; ends the text of an error where it does not answer.
    origin: String,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum MarketClientError {
    /// The server cannot be reached, does not answer, or its answer is invalid.
    #[error("{server} cannot be reached: {reason}")]
    Unreachable {
        /// `host:port`.
        server: String,
        /// What went wrong.
        reason: String,
    },
    /// The server was reached, and cannot do it now or has not in time.
    #[error("{server} gave no result: {reason}")]
    NoResult {
        /// `host:port`.
        server: String,
        /// What it says, or how long it was waited for.
        reason: String,
    },
    /// Access denied.
    #[error("access denied{}", .reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default())]
    Denied {
        /// The reason, if the signature was valid.
        reason: Option<String>,
    },
    /// The server refused the request.
    #[error("{0}")]
    Refused(String),
    /// The query must be escaped.
    #[error("{0}")]
    Query(#[from] QueryCharacterError),
}

impl MarketClientError {
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::NoResult { .. })
    }
}

impl MarketClient {
    /// A client of `server`, `host:port`.
    pub fn new(server: impl Into<String>) -> Self {
        Self { server: server.into(), origin: String::new() }
    }

    /// With a text on how the server was found, which ends that of an error where it does not answer.
    #[must_use]
    pub(crate) fn found(self, origin: impl Into<String>) -> Self {
        Self { origin: origin.into(), ..self }
    }

    /// Its server, `host:port`.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// Sends a request that needs no signature: `price` or `time`.
    ///
    /// # Errors
    /// [`MarketClientError`]
    pub async fn request(&self, query: &str) -> Result<MarketAnswer, MarketClientError> {
        let answer = self.get(&format!("{SCHEDULER}?{query}"), None).await?;
        self.parse(&self.body_or_error(answer)?)
    }

    /// Sends any operation of `/scheduler`, signed.
    ///
    /// # Errors
    /// [`MarketClientError`]. Where it [`is passing`](MarketClientError::is_passing), a change may have been applied.
    pub async fn request_signed(&self, query: &str, signer: &Signer) -> Result<MarketAnswer, MarketClientError> {
        self.parse(&self.send_signed(SCHEDULER, query, signer).await?)
    }

    /// The statement of a queue, by default the signer's own, since a time, epoch ms; sends as many requests as needed.
    pub(crate) async fn statement(
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
            // An empty page ends the loop: rows may have become daily sums meanwhile.
            statement.has_earlier = earlier.has_earlier && !earlier.rows.is_empty();
            statement.rows.splice(0..0, earlier.rows);
        }
        Ok(statement)
    }

    /// The live status of one queue, or of all that the signer may see.
    ///
    /// # Errors
    /// [`MarketClientError`]; other servers refuse it.
    pub async fn queue_statuses(
        &self,
        queue: Option<&str>,
        signer: &Signer,
    ) -> Result<Vec<QueueStatus>, MarketClientError> {
        let query = queue.map_or_else(|| "queues".to_owned(), |queue| format!("queues={}", escaped(queue)));
        let QueueStatuses { queues } = self.signed_json(QUEUES, &query, signer).await?;
        Ok(queues)
    }

    /// The price since a time, epoch ms, or of the last day.
    ///
    /// # Errors
    /// [`MarketClientError`]
    pub async fn price_history(&self, since_ms: Option<i64>, points: u32) -> Result<PriceHistory, MarketClientError> {
        let since = since_ms.map(|since_ms| format!("&since={since_ms}")).unwrap_or_default();
        let answer = self.get(&format!("{HISTORY}?history&points={points}{since}"), None).await?;
        self.read_json(&self.body_or_error(answer)?)
    }

    /// What was used in a range, from its first to before its last moment; one part of it. A server without a market needs no signature.
    pub(crate) async fn report(
        &self,
        request: &ReportRequest,
        signer: Option<&Signer>,
    ) -> Result<Report, MarketClientError> {
        let query = report_query(request);
        self.json_signed_if_market(REPORT, &query, signer).await
    }

    /// The explanation of a job's slots. A server without a market needs no signature.
    ///
    /// # Errors
    /// [`MarketClientError`]
    pub async fn explain(&self, job: &str, signer: Option<&Signer>) -> Result<Explanation, MarketClientError> {
        let query = format!("job={}", escaped(job));
        self.json_signed_if_market(EXPLAIN, &query, signer).await
    }

    /// Changes the deadline of a job in the name of a user, who is believed; `query`: the change, escaped.
    pub(crate) async fn change_deadline(&self, job: &str, change: &str, user: &str) -> Result<(), MarketClientError> {
        let path = format!("{DEADLINE}?job={}&{change}&user.name={}", escaped(job), escaped(user));
        self.send_believed(&path).await.map(drop)
    }

    /// A ticket for the logs of an attempt: signed where the server has keys, else in the name of a user, who is believed.
    pub(crate) async fn log_ticket(
        &self,
        attempt: AttemptId,
        signer: Option<&Signer>,
        user: &str,
    ) -> Result<LogTicket, MarketClientError> {
        let query = format!("attempt={attempt}");
        if let Some(signer) = signer
            && self.request("time").await.is_ok()
        {
            return self.signed_json(LOG_TICKET, &query, signer).await;
        }
        let text = self.send_believed(&format!("{LOG_TICKET}?{query}&user.name={}", escaped(user))).await?;
        self.read_json(&text)
    }

    /// Sends a request in the name of a user, who is believed; returns the body.
    async fn send_believed(&self, path: &str) -> Result<String, MarketClientError> {
        let answer = post(&self.server, path).await.map_err(|error| self.unanswered(error))?;
        self.body_or_error(answer)
    }

    /// Whether a job would be accepted with its deadline; `fields`: names and values of the question. Its user asks, who may know what jobs
    /// of that class have cost. Errors: [`MarketClientError`]; [`MarketClientError::Refused`] unless the constraint scheduler rules.
    pub(crate) async fn what_if(&self, fields: &[(&str, String)]) -> Result<WhatIfAnswer, MarketClientError> {
        let named = fields.iter().find(|(name, _)| *name == "user");
        let path = named.map_or(WHAT_IF.to_owned(), |(_, user)| format!("{WHAT_IF}&user.name={}", escaped(user)));
        let answer = post_form(&self.server, &path, joined(fields)).await;
        self.read_json(&self.body_or_error(answer.map_err(|error| self.unanswered(error))?)?)
    }

    /// What an order would buy for such a job in the signer's queue.
    /// Errors: [`MarketClientError`]; [`MarketClientError::Refused`] unless the market rules.
    pub(crate) async fn order_quote(
        &self,
        max_rate: Credits,
        fields: &[(&str, String)],
        signer: &Signer,
    ) -> Result<OrderQuote, MarketClientError> {
        let query = format!("order={max_rate}&queue={}&{}", escaped(&signer.user), joined(fields));
        self.signed_json(ORDER_QUOTE, &query, signer).await
    }

    /// Asks with a signature if there is a signer, and without one where the JobTracker has no market.
    async fn json_signed_if_market<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &str,
        signer: Option<&Signer>,
    ) -> Result<T, MarketClientError> {
        if let Some(signer) = signer {
            match self.signed_json(path, query, signer).await {
                // A server without a market refuses both.
                Err(MarketClientError::Refused(_)) if self.request("time").await.is_err() => {}
                answer => return answer,
            }
        }
        let text = self.body_or_error(self.get(&format!("{path}?{query}"), None).await?)?;
        self.read_json(&text)
    }

    async fn signed_json<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &str,
        signer: &Signer,
    ) -> Result<T, MarketClientError> {
        self.read_json(&self.send_signed(path, query, signer).await?)
    }

    fn read_json<T: DeserializeOwned>(&self, text: &str) -> Result<T, MarketClientError> {
        serde_json::from_str(text).map_err(|error| self.unreachable(format!("invalid answer: {error}")))
    }

    async fn statement_page(&self, query: &str, signer: &Signer) -> Result<Statement, MarketClientError> {
        self.signed_json(STATEMENT, query, signer).await
    }

    async fn send_signed(&self, path: &str, query: &str, signer: &Signer) -> Result<String, MarketClientError> {
        self.body_or_error(self.answer_signed((path, Carried::InHeader), query, signer).await?)
    }

    /// The server's time, epoch ms.
    async fn time_ms(&self) -> Result<i64, MarketClientError> {
        let time = self.request("time").await?.time_ms;
        time.ok_or_else(|| self.unreachable("its answer has no time"))
    }

    /// The answer to a query that is signed at the server's time, and again where that signature was used.
    async fn answer_signed(
        &self,
        (path, carried): (&str, Carried),
        query: &str,
        signer: &Signer,
    ) -> Result<HttpAnswer, MarketClientError> {
        let time_ms = self.time_ms().await?;
        let mut times = TriedTimes::from(time_ms);
        loop {
            let signed = SignedQuery::new(query, &signer.user, times.next_ms, &signer.key)?;
            let answer = match carried {
                Carried::InHeader => self.get(&format!("{path}?{}", signed.query), Some(&signed.authorization)).await?,
                Carried::InLink => self.get(&signed.link(path), None).await?,
            };
            if !times.has_later(&answer) {
                return Ok(answer);
            }
        }
    }

    async fn get(&self, path: &str, authorization: Option<&str>) -> Result<HttpAnswer, MarketClientError> {
        get(&self.server, path, authorization).await.map_err(|error| self.unanswered(error))
    }

    fn body_or_error(&self, answer: HttpAnswer) -> Result<String, MarketClientError> {
        let HttpAnswer { status, body, .. } = answer;
        if status.is_success() {
            return Ok(body);
        }
        if status.is_server_error() && body.contains(DENIED) {
            return Err(MarketClientError::Denied { reason: denial_reason(&body).map(without_clock) });
        }
        let in_xml = MarketAnswer::parse(&body).ok().and_then(|answer| answer.error);
        let in_json = || serde_json::from_str::<ErrorInJson>(&body).ok().map(|refusal| refusal.error);
        let error = in_xml.or_else(in_json);
        let text = error.unwrap_or_else(|| format!("{status}: {}", body.lines().next().unwrap_or_default()));
        Err(match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => MarketClientError::Denied { reason: Some(text) },
            _ if status.is_client_error() => MarketClientError::Refused(text),
            _ => self.without_result(text),
        })
    }

    fn parse(&self, text: &str) -> Result<MarketAnswer, MarketClientError> {
        MarketAnswer::parse(text).map_err(|error| self.unreachable(error))
    }

    fn without_result(&self, reason: String) -> MarketClientError {
        MarketClientError::NoResult { server: self.server.clone(), reason }
    }

    fn unanswered(&self, error: HttpError) -> MarketClientError {
        match error {
            HttpError::TooSlow => self.without_result(error.to_string()),
            error => self.unreachable(error),
        }
    }

    fn unreachable(&self, reason: impl ToString) -> MarketClientError {
        let reason = format!("{}{}", reason.to_string(), self.origin);
        MarketClientError::Unreachable { server: self.server.clone(), reason }
    }
}

impl TriedTimes {
    fn from(server_ms: i64) -> Self {
        Self { server_ms, next_ms: server_ms, signatures: 1 }
    }

    /// Whether the answer says that the time was used, so that a later one is to be tried.
    fn has_later(&mut self, answer: &HttpAnswer) -> bool {
        let is_near = |last_ms: &i64| last_ms.saturating_sub(self.server_ms) < MOST_AHEAD_MS;
        let Some(last_ms) = used_ms(answer).filter(is_near) else { return false };
        self.next_ms = last_ms.saturating_add(1).max(self.next_ms);
        self.signatures += 1;
        self.signatures <= MOST_SIGNATURES
    }
}

/// Fields as a query has them.
fn joined(fields: &[(&str, String)]) -> String {
    let field = |(name, value): &(&str, String)| format!("{name}={}", escaped(value));
    fields.iter().map(field).collect::<Vec<_>>().join("&")
}

#[derive(serde::Deserialize)]
struct ErrorInJson {
    error: String,
}

/// The second line of a denial, which has the reason. The original's pages of HTML have none.
fn denial_reason(body: &str) -> Option<String> {
    let rest = body.strip_prefix(DENIED)?;
    let line = rest.lines().nth(1)?;
    Some(line.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")).filter(|line| !line.is_empty())
}

/// Without the server's time at the end: this client signs with it, so it explains nothing.
fn without_clock(mut reason: String) -> String {
    let is_clock = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let clock = reason.rsplit_once("; the server's time is ").filter(|(_, rest)| is_clock(rest));
    if let Some(length) = clock.map(|(before, _)| before.len()) {
        reason.truncate(length);
    }
    reason
}

/// The timestamp that another signature must be later than, if it is the reason of a denial.
fn used_ms(answer: &HttpAnswer) -> Option<i64> {
    used_timestamp_in(&denial_reason(&answer.body).filter(|_| answer.status.is_server_error())?)
}

/// The timestamp that another signature must be later than, epoch ms, if a refusal names it: the same was signed at it,
/// or what was signed up to it is forgotten.
pub(super) fn used_timestamp_in(reason: &str) -> Option<i64> {
    let after = |before: &str| reason.strip_prefix(before);
    let rest = after("the signature of timestamp ")
        .filter(|rest| rest.contains(" was used before"))
        .or_else(|| after("used signatures up to timestamp "))
        .or_else(|| {
            Some(after("timestamp ")?.split_once(" is not after ")?.1).filter(|rest| rest.contains("no longer kept"))
        })?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The query that asks for a report, but for whose it may be.
fn report_query(request: &ReportRequest) -> String {
    let ReportRequest { kind, since_ms, until_ms, user: _, filter, by_month, after, most: _ } = request;
    let number = |name: &str, number: Option<String>| number.map(|number| format!("&{name}={number}"));
    let text = |name: &str, text: &Option<String>| text.as_ref().map(|text| format!("&{name}={}", escaped(text)));
    let parameters = [
        number("since", since_ms.map(|at_ms| at_ms.to_string())),
        number("until", until_ms.map(|at_ms| at_ms.to_string())),
        text("owner", &filter.user),
        text("queue", &filter.queue),
        text("state", &filter.state),
        by_month.then(|| "&by=month".to_owned()),
        number("after", after.map(|after| after.to_string())),
    ];
    parameters.into_iter().flatten().fold(format!("report={}", kind.name()), |query, parameter| query + &parameter)
}

#[cfg(test)]
#[path = "market/tests.rs"]
mod tests;
