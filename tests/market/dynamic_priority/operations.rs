//! Section 3.4: who may do what, and in which shape it must be asked for.

use crate::dynamic_priority::market::{Market, with_budgets};

const BUDGETS: &str = "alice 100 0.5\nbob 10 1\n";

/// Asks and tells whether it was denied; anything else must be a good answer.
async fn may(market: &Market, user: &str, operation: &str) -> bool {
    let answer = market.ask(user, operation).await;
    assert!(answer.status == 200 || answer.is_denied(), "{user} {operation}: {} {}", answer.status, answer.body);
    answer.status == 200
}

#[test]
fn section_3_4_price_and_time_need_nobodys_signature() {
    with_budgets(BUDGETS, async |market| {
        for query in ["price", "time", "price=x", "time=%20", "price&user=zed&timestamp=1"] {
            assert_eq!(market.get(query).await.status, 200, "{query}");
            assert_eq!(
                market.get_with(query, "nonsense").await.status,
                200,
                "{query}: a bad signature takes nothing away"
            );
        }
    });
}

#[test]
fn section_3_4_add_queue_needs_an_administrator() {
    with_budgets(BUDGETS, async |market| {
        assert!(!may(&market, "alice", "addQueue=new").await && !may(&market, "alice", "addQueue=alice").await);
        assert!(may(&market, "root", "addQueue=new").await);
    });
}

#[test]
fn section_3_4_remove_queue_needs_an_administrator() {
    with_budgets(BUDGETS, async |market| {
        assert!(!may(&market, "alice", "removeQueue=alice").await && !may(&market, "alice", "removeQueue=bob").await);
        assert!(may(&market, "root", "removeQueue=alice").await);
    });
}

#[test]
fn section_3_4_add_budget_needs_an_administrator() {
    with_budgets(BUDGETS, async |market| {
        assert!(!may(&market, "alice", "addBudget=1&queue=alice").await);
        assert!(may(&market, "root", "addBudget=1&queue=alice").await);
    });
}

#[test]
fn section_3_4_set_spending_is_for_administrators_and_the_user_of_that_name() {
    with_budgets(BUDGETS, async |market| {
        assert!(may(&market, "alice", "setSpending=1&queue=alice").await);
        assert!(!may(&market, "alice", "setSpending=1&queue=bob").await);
        assert!(!may(&market, "alice", "setSpending=1&queue=Alice").await);
        assert!(may(&market, "root", "setSpending=1&queue=bob").await);
    });
}

#[test]
fn section_3_4_info_is_for_administrators_and_the_user_of_that_name() {
    with_budgets(BUDGETS, async |market| {
        assert!(may(&market, "alice", "info=alice").await && may(&market, "root", "info=alice").await);
        assert!(!may(&market, "alice", "info=bob").await);
    });
}

#[test]
fn section_3_4_infos_needs_an_administrator() {
    with_budgets(BUDGETS, async |market| {
        assert!(!may(&market, "alice", "infos").await);
        assert!(may(&market, "root", "infos").await && may(&market, "root", "infos=whatever").await);
    });
}

/// Who may not look at a queue cannot tell one that is there from one that is not, by no operation.
#[test]
fn section_3_4_names_of_other_queues_never_leak_to_a_user() {
    with_budgets(BUDGETS, async |market| {
        for operation in [
            "info=NAME",
            "setSpending=1&queue=NAME",
            "setSpending=x&queue=NAME",
            "addBudget=1&queue=NAME",
            "addQueue=NAME",
            "removeQueue=NAME",
            "quote=1&queue=NAME",
            "quote=x&queue=NAME",
        ] {
            let told = async |queue: &str| {
                let answer = market.ask("alice", &operation.replace("NAME", queue)).await;
                let why = answer.why().split(';').next().unwrap().to_owned();
                assert!(!why.contains(queue), "{why}");
                (answer.status, why)
            };
            let (there, nowhere, no_name) = (told("bob").await, told("zed").await, told("%2C").await);
            assert_eq!((&there, &there), (&nowhere, &no_name), "{operation}");
            assert_eq!(there.0, 500, "{operation}");
        }
        for (path, parameter) in [("statement", "statement"), ("queues", "queues")] {
            let told = async |queue: &str| {
                let query = format!("{parameter}={queue}&user=alice&timestamp={}", market.next_ms());
                let signature =
                    jobtracker::market::signature::sign(&query, &crate::dynamic_priority::market::key_of("alice"));
                let target = format!("/scheduler/{path}?{query}");
                let answer = market.request("GET", &target, &format!("Authorization: {signature}\r\n")).await;
                (answer.status, answer.why().split(';').next().unwrap().to_owned())
            };
            let there = told("bob").await;
            assert_eq!((there.0, &there), (500, &told("zed").await), "{path}");
        }
    });
}

#[test]
fn section_3_4_more_than_one_operation_or_a_repeated_parameter_does_nothing_at_all() {
    with_budgets(BUDGETS, async |market| {
        for operation in [
            "price&time",
            "addBudget=1&setSpending=2&queue=alice",
            "addBudget=1&queue=alice&addBudget=2",
            "addBudget=1&queue=alice&queue=bob",
            "addQueue=x&removeQueue=alice",
            "addBudget=1&queue=alice&user=root",
            "addBudget=1&queue=alice&timestamp=1",
        ] {
            assert_eq!(market.status("root", operation).await, 400, "{operation}");
        }
        market.tick().await;
        assert_eq!(market.info("alice").await[..1], ["100.0"]);
        assert_eq!(market.status("root", "info=x").await, 404);
    });
}

#[test]
fn section_3_4_get_and_post_do_the_same_and_head_changes_nothing() {
    with_budgets(BUDGETS, async |market| {
        let asked = async |method: &str, operation: &str| {
            let query = format!("{operation}&user=root&timestamp={}", market.next_ms());
            let signature =
                jobtracker::market::signature::sign(&query, &crate::dynamic_priority::market::key_of("root"));
            market.request(method, &format!("/scheduler?{query}"), &format!("Authorization: {signature}\r\n")).await
        };
        assert_eq!(asked("POST", "addBudget=1&queue=alice").await.element("budget"), "101.0");
        assert_eq!(asked("GET", "addBudget=1&queue=alice").await.element("budget"), "102.0");
        for operation in ["addBudget=1&queue=alice", "setSpending=9&queue=alice", "addQueue=new", "removeQueue=bob"] {
            let answer = asked("HEAD", operation).await;
            assert_eq!((answer.status, &*answer.body), (405, ""), "{operation}");
        }
        let looked = asked("HEAD", "infos").await;
        assert_eq!((looked.status, &*looked.body), (200, ""));
        assert_eq!(asked("GET", "addBudget=0&queue=alice").await.queue()[..2], ["102.0", "0.5"]);
        for method in ["PUT", "DELETE"] {
            assert_eq!(asked(method, "addBudget=1&queue=alice").await.status, 405, "{method}");
        }
        assert_eq!(market.request("OPTIONS", "/scheduler", "").await.status, 200);
    });
}

#[test]
fn section_3_4_the_path_is_exactly_scheduler() {
    with_budgets(BUDGETS, async |market| {
        for target in ["/scheduler/?price", "/scheduler//?price", "/SCHEDULER?price", "/scheduler.jsp?price"] {
            assert_eq!(market.request("GET", target, "").await.status, 404, "{target}");
        }
        assert_eq!(market.request("GET", "/scheduler?price", "").await.status, 200);
    });
}

#[test]
fn section_3_4_parameters_come_from_the_query_string_only() {
    with_budgets(BUDGETS, async |market| {
        let query = format!("info=alice&user=alice&timestamp={}", market.next_ms());
        let signature = jobtracker::market::signature::sign(&query, &crate::dynamic_priority::market::key_of("alice"));
        let form = "setSpending=77&queue=alice";
        let answer = market
            .exchange(format!(
                "POST /scheduler?{query} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAuthorization: {signature}\r\n\
                 Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
                form.len()
            ))
            .await;
        assert_eq!(answer.status, 200);
        assert_eq!(market.ask("root", "addBudget=0&queue=alice").await.element("spending"), "0.5");
    });
}
