//! What queries are read as.

use proptest::prelude::*;

use super::*;

fn operation(query: &str) -> Result<Operation, QueryError> {
    ParsedQuery::parse(query)?.operation()
}

fn queue(name: &str) -> QueueName {
    QueueName::new(name).unwrap()
}

#[test]
fn the_documents_operations_are_read() {
    let signed = |query| operation(&format!("{query}&user=u&timestamp=1")).unwrap();
    let credits = |text| Credits::parse_exact(text).unwrap();
    assert_eq!(signed("price"), Operation::Price);
    assert_eq!(signed("time=whatever"), Operation::Time);
    assert_eq!(signed("info=q1"), Operation::Info(Some(queue("q1"))));
    assert_eq!(signed("info"), Operation::Info(None));
    assert_eq!(signed("infos"), Operation::Infos);
    let set = Operation::SetSpending { queue: queue("q"), rate: credits("0.01") };
    assert_eq!(signed("setSpending=0.01&queue=q"), set);
    let add = Operation::AddBudget { queue: queue("q"), amount: credits("-5") };
    assert_eq!(signed("queue=q&addBudget=-5"), add);
    assert_eq!(signed("addQueue=a%40b"), Operation::AddQueue(queue("a@b")));
    assert_eq!(signed("removeQueue=q"), Operation::RemoveQueue(queue("q")));
    let quote = Operation::Quote { queue: queue("q"), rate: credits("0.5") };
    assert_eq!(signed("quote=0.5&queue=q"), quote);
    assert_eq!(operation(""), Ok(Operation::Nothing));
}

#[test]
fn the_parsed_query_keeps_what_was_signed() {
    let parsed = ParsedQuery::parse("info=q&&user=a%20b&timestamp=%31&other=%7e").unwrap();
    assert_eq!(parsed.raw, "info=q&&user=a%20b&timestamp=%31&other=%7e");
    assert_eq!((parsed.user.as_deref(), parsed.timestamp.as_deref()), (Some("a b"), Some("1")));
    assert_eq!(ParsedQuery::parse("price&user=a+b").unwrap().user.as_deref(), Some("a b"));
}

#[test]
fn defect_09_numbers_that_mint_or_poison_money_are_refused() {
    for number in ["NaN", "Infinity", "-Infinity", "1e9", "0.5f", "0x1p3", "+5", "%205", "", "1,5", "1000000000001"] {
        for operation_name in ["setSpending", "addBudget", "quote"] {
            let query = format!("{operation_name}={number}&queue=q");
            assert!(matches!(operation(&query), Err(QueryError::Amount { .. })), "{query}");
        }
    }
    assert!(matches!(operation("setSpending=-1&queue=q"), Err(QueryError::NegativeRate { .. })));
    assert!(matches!(operation("quote=-1&queue=q"), Err(QueryError::NegativeRate { .. })));
    assert!(matches!(operation("setSpending=0.0000000000001&queue=q"), Err(QueryError::Amount { .. })));
}

#[test]
fn defect_12_a_missing_queue_is_an_error() {
    assert_eq!(operation("setSpending=1"), Err(QueryError::MissingQueue("setSpending")));
    assert_eq!(operation("addBudget=1"), Err(QueryError::MissingQueue("addBudget")));
    assert!(matches!(operation("addQueue"), Err(QueryError::QueueName(_))));
    assert!(matches!(operation("removeQueue="), Err(QueryError::QueueName(_))));
}

#[test]
fn defect_13_an_unknown_operation_is_answered_with_the_list() {
    for query in ["prize", "user=a&timestamp=1", "&", "=", "PRICE"] {
        let error = operation(query).unwrap_err();
        assert_eq!(error, QueryError::NoOperation, "{query}");
        assert!(error.to_string().contains("price, time, info, infos, setSpending"));
    }
}

#[test]
fn defect_22_repeated_parameters_and_several_operations_are_refused() {
    assert_eq!(operation("price&time"), Err(QueryError::SeveralOperations("price", "time")));
    assert_eq!(operation("price&price"), Err(QueryError::Repeated("price")));
    assert_eq!(operation("setSpending=1&set%53pending=2&queue=q"), Err(QueryError::Repeated("setSpending")));
    for name in ["queue", "user", "timestamp"] {
        assert_eq!(operation(&format!("price&{name}=a&{name}=a")), Err(QueryError::Repeated(name)));
    }
}

#[test]
fn defect_23_bad_names_and_escapes_are_refused() {
    for query in ["addQueue=a%20b", "addQueue=a%0Ab", "addQueue=a,b", "addQueue=a%26b", "info=%3Cx%3E"] {
        assert!(matches!(operation(query), Err(QueryError::QueueName(_))), "{query}");
    }
    for query in ["info=%", "info=%2", "info=%zz", "info=%ff", "price&user=%+1"] {
        assert!(matches!(operation(query), Err(QueryError::Encoding(_))), "{query}");
    }
}

proptest! {
    #[test]
    fn no_query_panics(query in "\\PC*") {
        let _ = operation(&query);
    }
}
