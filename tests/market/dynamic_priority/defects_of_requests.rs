//! Section 11, what the original gets wrong with requests: each row, and what happens here.

use std::rc::Rc;

use crate::dynamic_priority::market::{Market, key_of, with_budgets};

use jobtracker::market::signature::sign;

const BUDGETS: &str = "alice 100 0.5\nbob 10 1\n";

/// The status of an administrator's request and the text of its refusal.
async fn refused(market: &Market, operation: &str) -> (u16, String) {
    let answer = market.ask("root", operation).await;
    assert!(answer.status >= 400, "{operation}: {}", answer.body);
    (answer.status, answer.element("error"))
}

/// A queue that came or went during a tick ended the market for good, or left a cut-off file.
#[test]
fn defect_06_queues_come_and_go_under_ticks() {
    with_budgets(BUDGETS, async |market| {
        let market = Rc::new(market);
        for round in 0..10 {
            let changes = (0..8).map(|number| {
                let market = Rc::clone(&market);
                tokio::task::spawn_local(async move {
                    assert_eq!(market.status("root", &format!("addQueue=q{round}-{number}")).await, 200);
                    if number % 2 == 0 {
                        assert_eq!(market.status("root", &format!("removeQueue=q{round}-{number}")).await, 200);
                    }
                })
            });
            let changes: Vec<_> = changes.collect();
            market.tick().await;
            for change in changes {
                change.await.unwrap();
            }
        }
        let body = market.ask("root", "infos").await.body;
        assert_eq!(body.matches("<queue name=\"q").count(), 40, "{body}");
        assert_eq!(market.rig.owner.with_engine(|engine| engine.market().unwrap().tick_number()), 10);
    });
}

/// 2^24 + 1 was 2^24, a million less a thousand times a hundredth was a million, and ten times a tenth was more than one.
#[test]
fn defect_07_single_precision_money() {
    with_budgets("alice 16777216 0.1\nbob 1000000 0.01\ncarol 0 0.2\n", async |market| {
        assert_eq!(market.ask("root", "addBudget=1&queue=alice").await.element("budget"), "16777217.0");
        for _ in 0..20 {
            assert_eq!(market.status("root", "addBudget=-0.01&queue=bob").await, 200);
        }
        assert_eq!(market.ask("root", "addBudget=0&queue=bob").await.element("budget"), "999999.8");
        for _ in 0..10 {
            assert_eq!(market.status("root", "addBudget=0.1&queue=carol").await, 200);
        }
        assert_eq!(market.ask("root", "addBudget=0&queue=carol").await.element("budget"), "1.0");
        // In whatever order rates are added up.
        for user in ["bob", "carol", "alice"] {
            market.submit(user, 1, 0).await;
        }
        market.tick().await;
        assert_eq!(market.price().await, "0.31");
        assert_eq!(market.info("alice").await[2], "0.322580645");
    });
}

/// A negative bid earned money for each slot in use, an endless one poisoned the budget.
#[test]
fn defect_09_no_number_mints_or_poisons_money() {
    with_budgets(BUDGETS, async |market| {
        let bad = [
            "NaN",
            "Infinity",
            "-Infinity",
            "1e3",
            "1e40",
            "0.5f",
            "0.5d",
            "0x1p3",
            "%2B5",
            "%205",
            "5%20",
            "1,5",
            "1.2.3",
            "",
            "1000000000001",
            "0.0000000000001",
        ];
        for number in bad {
            for operation in ["setSpending", "addBudget"] {
                let (status, text) = refused(&market, &format!("{operation}={number}&queue=alice")).await;
                assert_eq!(status, 400, "{operation}={number}");
                assert!(text.starts_with(&format!("{operation}: ")), "{text}");
            }
        }
        assert_eq!(refused(&market, "setSpending=-0.000000000001&queue=alice").await.0, 400);
        let (status, text) = refused(&market, "addBudget=-100.000000000001&queue=alice").await;
        assert_eq!((status, &*text), (400, "queue alice has 100.0, less than the 100.000000000001 to be taken out"));
        assert_eq!(market.ask("root", "addBudget=-100&queue=alice").await.queue()[..2], ["0.0", "0.5"]);
    });
}

#[test]
fn defect_11_an_existing_queue_is_not_added_again() {
    with_budgets(BUDGETS, async |market| {
        assert_eq!(refused(&market, "addQueue=alice").await, (409, "queue alice exists already".to_owned()));
        assert_eq!(market.ask("root", "addBudget=0&queue=alice").await.queue()[..2], ["100.0", "0.5"]);
    });
}

#[test]
fn defect_12_unknown_and_missing_queues_are_errors_with_a_text() {
    with_budgets(BUDGETS, async |market| {
        for operation in ["info=zed", "setSpending=1&queue=zed", "addBudget=1&queue=zed", "removeQueue=zed"] {
            assert_eq!(refused(&market, operation).await, (404, "there is no queue zed".to_owned()));
        }
        for operation in ["setSpending", "addBudget"] {
            let text = format!("{operation} needs a parameter queue");
            assert_eq!(refused(&market, &format!("{operation}=1")).await, (400, text));
        }
        for operation in ["addQueue", "removeQueue", "addBudget=1&queue="] {
            let (status, text) = refused(&market, operation).await;
            assert!(status == 400 && text.contains("is not a queue name"), "{text}");
        }
    });
}

#[test]
fn defect_13_an_unknown_operation_is_answered_with_the_list_of_operations() {
    with_budgets(BUDGETS, async |market| {
        for query in ["prize", "Price", "user=alice&timestamp=1", "&", "statement=alice"] {
            let answer = market.get(query).await;
            assert_eq!(answer.status, 400, "{query}");
            let expected = "expected one of price, time, info, infos, setSpending, addBudget, addQueue, removeQueue";
            assert!(answer.element("error").contains(expected), "{}", answer.body);
        }
    });
}

/// A removed queue stayed readable for ever and its jobs hung.
#[test]
fn defect_14_a_queue_with_jobs_stays_and_a_removed_one_is_gone_everywhere() {
    with_budgets(BUDGETS, async |market| {
        let job = market.submit("alice", 2, 0).await;
        assert_eq!(
            refused(&market, "removeQueue=alice").await,
            (409, "queue alice has unfinished jobs or applications".to_owned())
        );
        market.kill("alice", job).await;
        assert_eq!(market.run_state(job).await, Some(jobtracker::model::RunState::Killed));
        assert_eq!(market.status("root", "removeQueue=alice").await, 200);
        assert_eq!(refused(&market, "info=alice").await.0, 404);
        assert!(!market.ask("root", "infos").await.body.contains("alice"));
        let (_, text) = market.submit_with("alice", &market.job_signature("alice"), 2).await.unwrap_err();
        assert!(text.contains("Queue \"alice\" does not exist") || text.contains("2 splits"), "{text}");
        market.tick().await;
        assert_eq!(market.price().await, "0.0");
    });
}

#[test]
fn defect_15_who_is_no_longer_in_the_acl_may_nothing_from_the_next_request_on() {
    with_budgets(BUDGETS, async |market| {
        assert_eq!(market.status("alice", "info").await, 200);
        std::fs::write(market.rig.folder.path().join("hadoop.acl"), "root admin rootkey\n").unwrap();
        assert!(market.ask("alice", "info").await.is_denied());
    });
}

/// Form fields changed what no signature covered, and so did HEAD.
#[test]
fn defect_21_only_the_signed_query_counts_and_only_get_and_post_change() {
    with_budgets(BUDGETS, async |market| {
        let send = async |method: &str, operation: &str, form: &str| {
            let query = format!("{operation}&user=root&timestamp={}", market.next_ms());
            let signature = sign(&query, &key_of("root"));
            let request = format!(
                "{method} /scheduler?{query} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAuthorization: {signature}\r\n\
                 Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
                form.len()
            );
            market.exchange(request).await.status
        };
        assert_eq!(send("POST", "info=alice", "setSpending=77&queue=alice").await, 200);
        assert_eq!(send("POST", "addBudget=1&queue=alice", "addBudget=1000&queue=bob").await, 200);
        assert_eq!(send("HEAD", "addBudget=1000&queue=alice", "").await, 405);
        assert_eq!(market.ask("root", "addBudget=0&queue=alice").await.queue()[..2], ["101.0", "0.5"]);
        assert_eq!(market.ask("root", "addBudget=0&queue=bob").await.element("budget"), "10.0");
    });
}

#[test]
fn defect_22_repeated_parameters_and_several_operations_are_refused_by_name() {
    with_budgets(BUDGETS, async |market| {
        for (operation, text) in [
            ("price&time", "price and time are two operations; a request carries one"),
            ("addBudget=1&queue=alice&infos", "addBudget and infos are two operations; a request carries one"),
            ("info=alice&info=bob", "the parameter info is given more than once"),
            ("addBudget=1&queue=alice&queue=bob", "the parameter queue is given more than once"),
            ("info=alice&user=alice", "the parameter user is given more than once"),
            ("info=alice&timestamp=1", "the parameter timestamp is given more than once"),
        ] {
            assert_eq!(refused(&market, operation).await, (400, text.to_owned()));
        }
        assert_eq!(market.ask("root", "addBudget=0&queue=alice").await.element("budget"), "100.0");
    });
}

/// Blanks, newlines and commas broke the files and lists in which names stand; markup was stored escaped.
#[test]
fn defect_23_names_are_restricted_and_everything_shown_is_escaped() {
    with_budgets(BUDGETS, async |market| {
        for name in [
            "a%20b",
            "a%0Ab",
            "a+b",
            "a%2Cb",
            "a%26b",
            "a%3Cb",
            "a%22b",
            "a%00b",
            "%C3%A4",
            "%23a",
            "a%2Fb",
            &"x".repeat(256),
        ] {
            let (status, text) = refused(&market, &format!("addQueue={name}")).await;
            assert!(status == 400 && text.contains("is not a queue name"), "{text}");
            assert!(!text.contains(['<', '"']) && !text.contains("a&b"), "{text}");
        }
        let longest = "x".repeat(255);
        for name in ["a.b_c-d%40example.com", "0", &longest] {
            assert_eq!(market.status("root", &format!("addQueue={name}")).await, 200, "{name}");
        }
        let escaped = market.ask("root", "info=%3Cb%3E%26%22%27").await;
        assert!(escaped.body.contains("&lt;b&gt;&amp;"), "{}", escaped.body);
        let denied = market.get("info=<b>&user=u").await;
        assert!(
            denied.status == 400 || denied.body.starts_with("ACCESS DENIED: info=&lt;b&gt;&amp;user=u"),
            "{}",
            denied.body
        );
    });
}

#[test]
fn defect_25_no_answer_carries_a_stack_trace() {
    with_budgets(BUDGETS, async |market| {
        for operation in
            ["info=zed", "setSpending=abc&queue=alice", "prize", "addQueue=a%20b", "addQueue=alice", "removeQueue=zed"]
        {
            let answer = market.ask("root", operation).await;
            assert!(answer.body.lines().count() <= 4, "{}", answer.body);
            assert!(
                !answer.body.contains("java") && !answer.body.contains(".rs:") && !answer.body.contains("panicked")
            );
        }
        let denied = market.get("infos&user=alice&timestamp=1").await;
        assert_eq!(denied.body, "ACCESS DENIED: infos&amp;user=alice&amp;timestamp=1\n");
    });
}

#[test]
fn defect_34_a_bare_info_is_of_the_signers_own_queue() {
    with_budgets(BUDGETS, async |market| {
        let answer = market.ask("bob", "info").await;
        assert!(answer.status == 200 && answer.body.contains("<queue name=\"bob\">"), "{}", answer.body);
    });
}

/// Bidding high for slots and low for the bill.
#[test]
fn defect_37_an_interval_costs_the_rate_that_opened_it() {
    with_budgets("alice 100 9\nbob 100 1\n", async |market| {
        let mut worker = market.worker(10, 0).await;
        market.submit("alice", 10, 0).await;
        market.submit("bob", 10, 0).await;
        market.tick().await;
        worker.fill().await;
        assert_eq!(market.status("alice", "setSpending=0.000000000001&queue=alice").await, 200);
        market.tick().await;
        assert_eq!(market.budget_but_for_the_wait("alice").await, "19.0", "nine slots at nine each");
        assert_eq!(market.ask("alice", "info").await.element("spending"), "0.000000000001");
    });
}
