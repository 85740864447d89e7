//! The query string of `/scheduler/report`, and who may ask for which rows.

use crate::market::money::Market;

use super::acl::Role;
use super::answer::Answer;
use super::error::MarketError;
use super::operation_kind::OperationKind;
use super::query::{Operation, ParsedQuery, QueryError, number};
use super::report_request::{ReportFilter, ReportKind, ReportRequest};
use super::signature::VerifiedUser;

impl ParsedQuery {
    /// Parses a request for a report.
    pub(crate) fn parse_report(query: &str) -> Result<ParsedQuery, QueryError> {
        let parsed = ParsedQuery::parse_of(&[OperationKind::Report], query)?;
        parsed.ok_or(QueryError::NothingAsked("report=users, report=queues or report=jobs"))
    }

    /// The report that is asked for, of all users.
    pub(crate) fn report(&self) -> Result<ReportRequest, QueryError> {
        let kind = ReportKind::ALL.into_iter().find(|kind| kind.name() == self.value);
        let kind = kind.ok_or_else(|| QueryError::ReportName(self.value.chars().take(32).collect()))?;
        let since_ms: Option<i64> = number("since", self.own_parameter("since")?)?;
        let until_ms: Option<i64> = number("until", self.own_parameter("until")?)?;
        if let (Some(since_ms), Some(until_ms)) = (since_ms, until_ms)
            && until_ms < since_ms
        {
            return Err(QueryError::UntilBeforeSince { until_ms, since_ms });
        }
        let filter = ReportFilter {
            user: self.own_parameter("owner")?,
            queue: self.own_parameter("queue")?,
            state: self.own_parameter("state")?.map(|state| state.to_uppercase()),
        };
        if kind != ReportKind::Jobs && (filter.queue.is_some() || filter.state.is_some()) {
            return Err(QueryError::ReportFilter(kind.name()));
        }
        let by_month = match self.own_parameter("by")?.as_deref() {
            None => false,
            Some("month") => true,
            Some(other) => return Err(QueryError::ReportPeriod(other.chars().take(32).collect())),
        };
        let after: Option<u64> = number("after", self.own_parameter("after")?)?;
        Ok(ReportRequest { kind, since_ms, until_ms, user: None, filter, by_month, after, most: None })
    }
}

impl Market {
    /// Administrators see all rows, others what is theirs.
    pub(super) fn permit_report(
        &self,
        signer: Option<&VerifiedUser>,
        report: ReportRequest,
    ) -> Result<Answer, MarketError> {
        let own = signer.filter(|signer| signer.role != Role::Admin).map(|signer| signer.user.clone());
        // Without a signer it would be all; the guard lets none of these pass.
        Ok(Answer::Permitted(Operation::Report(ReportRequest { user: own, ..report })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(query: &str) -> Result<ReportRequest, String> {
        ParsedQuery::parse_report(query).and_then(|parsed| parsed.report()).map_err(|error| error.to_string())
    }

    #[test]
    fn reports_have_a_kind_and_perhaps_times() {
        let times =
            ReportRequest { kind: ReportKind::Jobs, since_ms: Some(-5), until_ms: Some(7), ..ReportRequest::default() };
        assert_eq!(report("report=jobs&since=-5&until=7&user=u&timestamp=1"), Ok(times));
        let filter = ReportFilter {
            user: Some("a b".to_owned()),
            queue: Some("q".to_owned()),
            state: Some("FAILED".to_owned()),
        };
        let filtered = ReportRequest {
            kind: ReportKind::Jobs,
            filter,
            by_month: true,
            after: Some(7),
            ..ReportRequest::default()
        };
        let query = "report=jobs&owner=a%20b&queue=q&state=failed&by=month&after=7&user=u&timestamp=1";
        assert_eq!(report(query), Ok(filtered));
        assert!(report("report=users&since=5&until=5").is_ok(), "an empty range");
        for (query, text) in [
            ("report=users&since=5&until=4", "until: 4 is before since, 5"),
            ("report=users&since=x", "since: \"x\" is not a whole number"),
            ("report=nodes", "report: \"nodes\" is no report, expected users, queues or jobs"),
            ("report", "report: \"\" is no report, expected users, queues or jobs"),
            ("report=users&state=FAILED", "queue, state: expected only of report=jobs, not of report=users"),
            ("report=jobs&by=week", "by: \"week\" is no period, expected month"),
            ("statement=q", "expected report=users, report=queues or report=jobs"),
        ] {
            assert_eq!(report(query), Err(text.to_owned()), "{query}");
        }
    }
}
