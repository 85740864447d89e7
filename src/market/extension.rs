//! The query strings of what we add to the document at addresses of its own.
//!
//! A signature covers the query and not the path, so each address has a parameter that no other takes: what was signed for
//! one is nothing at another.

use super::query::{OperationKind, QueryError, Shape};

/// Reads the query string of a request to one address.
pub type ParseShape = fn(&str) -> Result<Shape, QueryError>;

// === impl Shape: our addresses ===

impl Shape {
    /// A request for a queue's statement.
    ///
    /// # Errors
    /// As [`Shape::parse`], and where no statement is asked for.
    pub fn parse_statement(query: &str) -> Result<Shape, QueryError> {
        parse_one(OperationKind::Statement, query, "statement=QUEUE, or statement for the signer's own queue")
    }

    /// A request for how queues stand.
    ///
    /// # Errors
    /// As [`Shape::parse`], and where that is not asked for.
    pub fn parse_standings(query: &str) -> Result<Shape, QueryError> {
        parse_one(OperationKind::Standings, query, "queues=QUEUE, or queues for all that the signer may see")
    }

    /// A request for the history of the price, or of a queue's spending where one is named.
    ///
    /// # Errors
    /// As [`Shape::parse`], and where that is not asked for.
    pub fn parse_history(query: &str) -> Result<Shape, QueryError> {
        if query.is_empty() {
            return Ok(Shape::empty(OperationKind::PriceHistory));
        }
        let shape = parse_one(OperationKind::PriceHistory, query, "history, or history&queue=QUEUE")?;
        let kind = if shape.queue.is_some() { OperationKind::QueueHistory } else { OperationKind::PriceHistory };
        Ok(Shape { kind, ..shape })
    }

    /// A request for why a job has what it has.
    ///
    /// # Errors
    /// As [`Shape::parse`], and where no job is named.
    pub fn parse_explain(query: &str) -> Result<Shape, QueryError> {
        parse_one(OperationKind::Explain, query, "job=JOB")
    }
}

fn parse_one(kind: OperationKind, query: &str, expected: &'static str) -> Result<Shape, QueryError> {
    Shape::parse_of(&[kind], query)?.ok_or(QueryError::NothingAsked(expected))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::{Operation, QueueName};

    fn queue(name: &str) -> QueueName {
        QueueName::new(name).unwrap()
    }

    #[test]
    fn what_each_address_is_asked_for_is_read() {
        let statement = |query| Shape::parse_statement(query).unwrap().operation();
        assert_eq!(statement("statement=q&since=5&user=u&timestamp=1"), Ok(Operation::Statement(Some(queue("q")))));
        assert_eq!(statement("statement"), Ok(Operation::Statement(None)));
        let twice = Shape::parse_statement("statement=a&statement=b");
        assert_eq!(twice, Err(QueryError::Repeated("statement")));
        let standings = |query| Shape::parse_standings(query).unwrap().operation();
        assert_eq!(standings("queues&user=u"), Ok(Operation::Standings(None)));
        assert_eq!(standings("queues=q"), Ok(Operation::Standings(Some(queue("q")))));
        let history = |query| Shape::parse_history(query).unwrap().operation();
        assert_eq!(
            [history(""), history("history&since=5")],
            [Ok(Operation::PriceHistory), Ok(Operation::PriceHistory)]
        );
        assert_eq!(history("history&queue=q"), Ok(Operation::QueueHistory(queue("q"))));
        let explain = Shape::parse_explain("job=job_1_0001&user=u").unwrap();
        assert_eq!(explain.operation(), Ok(Operation::Explain { job: "job_1_0001".to_owned(), sees_names: false }));
    }

    #[test]
    fn what_was_signed_for_one_address_is_nothing_at_another() {
        let ours: [(&str, ParseShape); 4] = [
            ("statement=q", Shape::parse_statement),
            ("queues=q", Shape::parse_standings),
            ("history&queue=q", Shape::parse_history),
            ("job=q", Shape::parse_explain),
        ];
        for (query, own) in ours {
            assert!(own(query).is_ok(), "{query}");
            assert_eq!(Shape::parse(query), Err(QueryError::NoOperation), "{query}");
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
}
