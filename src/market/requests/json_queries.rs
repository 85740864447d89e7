//! Query strings of the JSON addresses, which are not in the source document.
//!
//! A signature covers the query and not the path, so each address has a parameter that no other accepts: a query signed
//! for one address is refused at another.

use super::job_request::JobRequestKind;
use super::operation_kind::OperationKind;
use super::query::{ParsedQuery, QueryError, number, parameters};

/// The part of a statement that a request selects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatementPage {
    /// Only rows at or after this time, epoch ms.
    pub since_ms: Option<i64>,
    pub before: Option<u64>,
}

/// The part of a history that a request selects, and its resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryPage {
    /// Start, epoch ms; absent: one day before the end, or the start of the history.
    pub since_ms: Option<i64>,
    /// Largest number of spans; 1 to [`Self::MOST_POINTS`].
    pub points: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spans {
    pub(crate) since_ms: i64,
    pub(crate) step_ms: u64,
    last: u32,
}

impl ParsedQuery {
    /// Parses a request for a queue's statement.
    pub(crate) fn parse_statement(query: &str) -> Result<ParsedQuery, QueryError> {
        parse_one(OperationKind::Statement, query, "statement=QUEUE, or statement for the signer's own queue")
    }

    /// Parses a request for the live status of queues.
    pub(crate) fn parse_queue_status(query: &str) -> Result<ParsedQuery, QueryError> {
        parse_one(OperationKind::QueueStatus, query, "queues=QUEUE, or queues for all that the signer may see")
    }

    /// Parses a request for the history of the price, or of the spending of the queue that it names.
    pub(crate) fn parse_history(query: &str) -> Result<ParsedQuery, QueryError> {
        if query.is_empty() {
            return Ok(ParsedQuery::empty(OperationKind::PriceHistory));
        }
        let parsed = parse_one(OperationKind::PriceHistory, query, "history, or history&queue=QUEUE")?;
        let kind = if parsed.queue.is_some() { OperationKind::QueueHistory } else { OperationKind::PriceHistory };
        Ok(ParsedQuery { kind, ..parsed })
    }

    /// Parses a request for the attempts of a job.
    pub(crate) fn parse_tasks(query: &str) -> Result<ParsedQuery, QueryError> {
        parse_one(OperationKind::Tasks, query, "tasks=JOB, or tasks=JOB&running")
    }

    /// Parses a request for what a call of job clients reads.
    pub(crate) fn parse_read(query: &str) -> Result<ParsedQuery, QueryError> {
        parse_one(OperationKind::Read, query, "read=CALL, a call of the JobSubmissionProtocol in hexadecimal digits")
    }

    /// Parses a request for the times of jobs.
    pub(crate) fn parse_job_times(query: &str) -> Result<ParsedQuery, QueryError> {
        parse_one(OperationKind::JobTimes, query, "jobs")
    }

    /// Parses a request for the explanation of a job.
    pub(crate) fn parse_explain(query: &str) -> Result<ParsedQuery, QueryError> {
        // A query that was signed for an upload names a job, too.
        let parsed = ParsedQuery::parse_of(&[OperationKind::Explain, OperationKind::Upload], query)?;
        let parsed = parsed.filter(|parsed| parsed.kind == OperationKind::Explain);
        parsed.ok_or(QueryError::NothingAsked("job=JOB"))
    }

    /// Parses a request to store a file of a job.
    pub(crate) fn parse_upload(query: &str) -> Result<ParsedQuery, QueryError> {
        parse_one(OperationKind::Upload, query, "job=JOB&name=NAME&sha256=HEX")
    }

    /// Parses a request for a ticket that opens the logs of an attempt.
    pub(crate) fn parse_log_ticket(query: &str) -> Result<ParsedQuery, QueryError> {
        parse_one(OperationKind::OfJob(JobRequestKind::LogTicket), query, "attempt=ATTEMPT")
    }

    /// Parses a request for a read-only session that begins at a page., which must be one of this server.
    pub(crate) fn parse_session(query: &str) -> Result<ParsedQuery, QueryError> {
        let parsed = parse_one(OperationKind::Session, query, "session=PAGE")?;
        if is_local_path(&parsed.value) { Ok(parsed) } else { Err(QueryError::SessionPage) }
    }

    /// Parses a request for what an order would buy.
    pub(crate) fn parse_order_quote(query: &str) -> Result<ParsedQuery, QueryError> {
        parse_one(OperationKind::OrderQuote, query, "order=MAXRATE&queue=QUEUE")
    }
}

fn parse_one(kind: OperationKind, query: &str, expected: &'static str) -> Result<ParsedQuery, QueryError> {
    ParsedQuery::parse_of(&[kind], query)?.ok_or(QueryError::NothingAsked(expected))
}

/// Whether a browser takes a text for a path of the same server, and a header can carry it.
fn is_local_path(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    text.starts_with('/') && !text.starts_with("//") && text.bytes().all(is_plain)
}

impl StatementPage {
    /// Largest number of rows in one answer.
    pub(crate) const MOST_ROWS: usize = 5_000;

    /// Parses `since` and `before` out of a raw query string.
    pub(crate) fn parse(query: &str) -> Result<StatementPage, QueryError> {
        let [since, before] = parameters(query, ["since", "before"])?;
        Ok(StatementPage { since_ms: number("since", since)?, before: number("before", before)? })
    }
}

impl HistoryPage {
    pub(crate) const MOST_POINTS: u32 = 1_000;
    const POINTS: u32 = 100;
    const DAY_MS: i64 = 86_400_000;

    /// Parses `since` and `points` out of a raw query string.
    pub(crate) fn parse(query: &str) -> Result<HistoryPage, QueryError> {
        let [since, points] = parameters(query, ["since", "points"])?;
        let points = number("points", points)?.unwrap_or(Self::POINTS);
        if !(1..=Self::MOST_POINTS).contains(&points) {
            return Err(QueryError::OutOfRange { parameter: "points", least: 1, most: Self::MOST_POINTS });
        }
        Ok(HistoryPage { since_ms: number("since", since)?, points })
    }

    /// The spans up to `until_ms`, the end of the history. Without a start in the request they begin one day before it,
    /// or at `first_ms`, the start of the history.
    pub(crate) fn spans(self, first_ms: i64, until_ms: i64) -> Spans {
        let since_ms = self.since_ms.unwrap_or(until_ms.saturating_sub(Self::DAY_MS).max(first_ms));
        let length_ms = u64::try_from(until_ms.saturating_sub(since_ms)).unwrap_or(0).saturating_add(1);
        Spans { since_ms, step_ms: length_ms.div_ceil(u64::from(self.points.max(1))), last: self.points.max(1) - 1 }
    }
}

impl Spans {
    /// The span that contains a time; none before the first span. Times after the end, as a clock set back leaves them,
    /// count for the last span.
    pub(crate) fn of(&self, time_ms: i64) -> Option<u32> {
        let after_ms = u64::try_from(time_ms.checked_sub(self.since_ms)?).ok()?;
        Some(u32::try_from(after_ms / self.step_ms.max(1)).unwrap_or(u32::MAX).min(self.last))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::market::Operation;
    use crate::model::QueueName;

    use super::*;

    fn queue(name: &str) -> QueueName {
        QueueName::new(name).unwrap()
    }

    #[test]
    fn what_each_address_is_asked_for_is_read() {
        let statement = |query| ParsedQuery::parse_statement(query).unwrap().operation();
        assert_eq!(statement("statement=q&since=5&user=u&timestamp=1"), Ok(Operation::Statement(Some(queue("q")))));
        assert_eq!(statement("statement"), Ok(Operation::Statement(None)));
        let twice = ParsedQuery::parse_statement("statement=a&statement=b");
        assert_eq!(twice, Err(QueryError::Repeated("statement")));
        let standings = |query| ParsedQuery::parse_queue_status(query).unwrap().operation();
        assert_eq!(standings("queues&user=u"), Ok(Operation::QueueStatus(None)));
        assert_eq!(standings("queues=q"), Ok(Operation::QueueStatus(Some(queue("q")))));
        let history = |query| ParsedQuery::parse_history(query).unwrap().operation();
        assert_eq!(
            [history(""), history("history&since=5")],
            [Ok(Operation::PriceHistory), Ok(Operation::PriceHistory)]
        );
        assert_eq!(history("history&queue=q"), Ok(Operation::QueueHistory(queue("q"))));
        let explain = ParsedQuery::parse_explain("job=job_1_0001&user=u").unwrap();
        assert_eq!(explain.operation(), Ok(Operation::Explain { job: "job_1_0001".to_owned(), sees_names: false }));
    }

    #[test]
    fn what_was_signed_for_one_address_is_nothing_at_another() {
        type ParseQuery = fn(&str) -> Result<ParsedQuery, QueryError>;
        let ours: [(&str, ParseQuery); 9] = [
            ("session=/", ParsedQuery::parse_session),
            ("statement=q", ParsedQuery::parse_statement),
            ("queues=q", ParsedQuery::parse_queue_status),
            ("history&queue=q", ParsedQuery::parse_history),
            ("job=q", ParsedQuery::parse_explain),
            ("order=1&queue=q", ParsedQuery::parse_order_quote),
            ("tasks=q", ParsedQuery::parse_tasks),
            ("jobs", ParsedQuery::parse_job_times),
            ("report=jobs", ParsedQuery::parse_report),
        ];
        for (query, own) in ours {
            assert!(own(query).is_ok(), "{query}");
            assert_eq!(ParsedQuery::parse(query), Err(QueryError::NoOperation), "{query}");
            for (_, other) in ours.iter().filter(|(of_other, _)| *of_other != query) {
                assert!(matches!(other(query), Err(QueryError::NothingAsked(_))), "{query}");
            }
        }
        for kind in OperationKind::NAMED {
            let query = format!("{}=q&queue=q&user=u&timestamp=1", kind.parameter());
            for (_, parse) in ours {
                assert!(matches!(parse(&query), Err(QueryError::NothingAsked(_))), "{query}");
            }
        }
    }

    #[test]
    fn a_session_begins_at_a_page_of_this_server() {
        let page = |value: &str| ParsedQuery::parse_session(&format!("session={value}&user=u&timestamp=1"));
        for good in ["/", "/market", "/queues/a%2520b?format=csv", "%2Fmarket"] {
            assert!(page(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "market",
            "//evil.example",
            "/%2Fevil.example",
            "%5Cevil",
            "/%5Cevil.example",
            "/a%0D%0AX:y",
            "/%09/e",
            "/a%20b",
            "/%C3%A4",
        ] {
            assert_eq!(page(bad), Err(QueryError::SessionPage), "{bad}");
        }
        assert_eq!(page("http://evil.example/"), Err(QueryError::SessionPage));
        let asked = Operation::Session { page: "/market".to_owned(), by: "u".to_owned() };
        assert_eq!(page("/market").unwrap().operation(), Ok(asked));
    }

    #[test]
    fn statement_pages_are_read() {
        let page = StatementPage::parse("statement=q&since=-5&before=7&user=u&timestamp=1").unwrap();
        assert_eq!(page, StatementPage { since_ms: Some(-5), before: Some(7) });
        assert_eq!(StatementPage::parse("statement"), Ok(StatementPage::default()));
        for (query, text) in [
            ("since=x", "since: \"x\" is not a whole number"),
            ("before=-1", "before: \"-1\" is not a whole number"),
            ("since=", "since: \"\" is not a whole number"),
            ("since=1&since=1", "the parameter since is given more than once"),
        ] {
            assert_eq!(StatementPage::parse(query).unwrap_err().to_string(), text);
        }
    }

    #[test]
    fn history_pages_are_read() {
        let page = |query| HistoryPage::parse(query).map_err(|error| error.to_string());
        assert_eq!(page(""), Ok(HistoryPage { since_ms: None, points: 100 }));
        assert_eq!(page("history&since=-5&points=7&user=u"), Ok(HistoryPage { since_ms: Some(-5), points: 7 }));
        for (query, text) in [
            ("since=x", "since: \"x\" is not a whole number"),
            ("points=0", "points: expected a whole number from 1 to 1000"),
            ("points=1001", "points: expected a whole number from 1 to 1000"),
            ("points=-1", "points: \"-1\" is not a whole number"),
            ("since=1&since=1", "the parameter since is given more than once"),
        ] {
            assert_eq!(page(query), Err(text.to_owned()));
        }
    }

    #[test]
    fn a_day_is_cut_into_equal_spans() {
        let spans = HistoryPage { since_ms: None, points: 24 }.spans(0, 86_400_000);
        assert_eq!((spans.since_ms, spans.step_ms), (0, 3_600_001));
        assert_eq!(
            [-1, 0, 3_600_000, 3_600_001, 86_400_000].map(|at_ms| spans.of(at_ms)),
            [None, Some(0), Some(0), Some(1), Some(23)]
        );
        assert_eq!(spans.of(i64::MAX), Some(23), "a clock was set back");
        let young = HistoryPage { since_ms: None, points: 10 }.spans(86_400_000 - 99, 86_400_000);
        assert_eq!((young.since_ms, young.step_ms), (86_400_000 - 99, 10));
        let nothing = HistoryPage { since_ms: Some(10), points: 5 }.spans(0, 3);
        assert_eq!((nothing.of(3), nothing.of(10)), (None, Some(0)));
    }

    proptest! {
        #[test]
        fn no_moment_panics(since in any::<i64>(), until in any::<i64>(), at in any::<i64>(), points in 1..1_001_u32) {
            let spans = HistoryPage { since_ms: Some(since), points }.spans(since, until);
            prop_assert!(spans.of(at).is_none_or(|span| span < points));
            prop_assert_eq!(spans.of(at).is_none(), at < since || at.checked_sub(since).is_none());
        }
    }
}
