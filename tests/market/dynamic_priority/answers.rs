//! Section 4: what is answered, element by element.

use crate::dynamic_priority::market::with_budgets;

const BUDGETS: &str = "alice 100 0.5\nbob 10 1\n";
const FRAME: &str = "<QueueInfo>\n  <host>myhost</host>\n</QueueInfo>\n";

#[test]
fn section_4_every_answer_is_utf_8_xml_in_one_frame_with_the_host_cut_at_its_first_dot() {
    with_budgets(BUDGETS, async |market| {
        for operation in
            ["price", "time", "info=alice", "infos", "setSpending=1&queue=alice", "addQueue=x", "removeQueue=x"]
        {
            let answer = market.ask("root", operation).await;
            assert_eq!(answer.status, 200, "{operation}");
            assert_eq!(answer.header("content-type"), Some("text/xml; charset=utf-8"), "{operation}");
            let body = &answer.body;
            assert!(
                body.starts_with("<QueueInfo>\n  <host>myhost</host>\n") && body.ends_with("</QueueInfo>\n"),
                "{body}"
            );
        }
    });
}

#[test]
fn section_4_time_is_the_start_of_the_server_and_now() {
    with_budgets(BUDGETS, async |market| {
        let answer = market.get("time").await;
        let (start, now): (i64, i64) =
            (answer.element("start").parse().unwrap(), answer.element("time").parse().unwrap());
        assert!(start > 1_700_000_000_000 && now >= start, "{}", answer.body);
        assert!(answer.body.find("<start>") < answer.body.find("<time>"));
    });
}

/// The document's sample wraps and indents; the original did not. A client that looks for names reads both.
#[test]
fn section_4_decided_1_single_queues_are_wrapped_with_all_five_elements() {
    with_budgets(BUDGETS, async |market| {
        market.submit("alice", 3, 0).await;
        market.tick().await;
        let wrapped = |budget: &str, spending: &str| {
            format!(
                "<QueueInfo>\n  <host>myhost</host>\n  <queue name=\"alice\">\n    <budget>{budget}</budget>\n    \
                 <spending>{spending}</spending>\n    <share>1.000000000</share>\n    <used>0</used>\n    \
                 <pending>3</pending>\n  </queue>\n</QueueInfo>\n"
            )
        };
        assert_eq!(market.ask("alice", "info=alice").await.body, wrapped("100.0", "0.5"));
        assert_eq!(market.ask("alice", "setSpending=0.25&queue=alice").await.body, wrapped("100.0", "0.25"));
        assert_eq!(market.ask("root", "addBudget=0.5&queue=alice").await.body, wrapped("100.5", "0.25"));
        let added = market.ask("root", "addQueue=new").await;
        assert!(added.body.contains("<queue name=\"new\">"), "{}", added.body);
        assert_eq!(added.queue(), ["0.0", "0.0", "0.000000000", "0", "0"]);
        assert_eq!(market.ask("root", "removeQueue=new").await.body, FRAME);
    });
}

#[test]
fn section_4_decided_2_a_bare_info_is_of_the_signers_own_queue() {
    with_budgets(BUDGETS, async |market| {
        for operation in ["info", "info="] {
            assert!(market.ask("alice", operation).await.body.contains("<queue name=\"alice\">"), "{operation}");
        }
        let answer = market.ask("root", "info").await;
        assert_eq!((answer.status, answer.element("error")), (404, "there is no queue root".to_owned()));
    });
}

#[test]
fn section_4_decided_7_info_infos_and_price_show_the_last_tick_and_changes_show_now() {
    with_budgets(BUDGETS, async |market| {
        market.submit("alice", 2, 0).await;
        market.tick().await;
        assert_eq!(
            market.ask("alice", "setSpending=2&queue=alice").await.queue()[..3],
            ["100.0", "2.0", "1.000000000"]
        );
        assert_eq!(market.ask("root", "addBudget=11&queue=alice").await.queue()[..2], ["111.0", "2.0"]);
        assert_eq!(market.ask("alice", "info").await.queue()[..2], ["100.0", "0.5"]);
        assert_eq!(market.price().await, "0.5");
        let infos = market.ask("root", "infos").await;
        assert!(
            infos.body.contains("<price>0.5</price>\n  <queue name=\"alice\">\n    <budget>100.0</budget>"),
            "{}",
            infos.body
        );
        market.tick().await;
        assert_eq!(market.ask("alice", "info").await.queue()[..2], ["111.0", "2.0"]);
        assert_eq!(market.price().await, "2.0");
        // An idle queue is shown with the rate that it pays: none.
        assert_eq!(market.ask("bob", "info").await.queue()[1], "0.0");
    });
}

#[test]
fn section_4_decided_7_errors_are_in_the_frame_and_authorization_is_judged_before_parameters() {
    with_budgets(BUDGETS, async |market| {
        let missing = market.ask("root", "setSpending=1").await;
        assert_eq!(
            (missing.status, &*missing.body),
            (
                400,
                "<QueueInfo>\n  <host>myhost</host>\n  <error>setSpending needs a parameter queue</error>\n</QueueInfo>\n"
            )
        );
        assert!(market.ask("alice", "setSpending=1").await.is_denied(), "a user is denied before that is seen");
        assert!(market.ask("alice", "setSpending=abc&queue=bob").await.is_denied());
        assert_eq!(market.status("alice", "setSpending=abc&queue=alice").await, 400);
    });
}

/// The reason comes with the server's time, so that a client whose clock is wrong can set it.
#[test]
fn section_4_decided_7_a_denial_tells_reason_and_time_after_a_good_signature_only() {
    with_budgets(BUDGETS, async |market| {
        let answer = market.ask("alice", "infos").await;
        let (why, time) = answer.why().rsplit_once("; the server's time is ").unwrap();
        assert_eq!(why, "infos needs the role admin, which alice has not");
        assert!(time.parse::<i64>().unwrap() > 1_700_000_000_000);
        let unsigned = market.get("infos&user=alice&timestamp=1").await;
        assert_eq!((unsigned.is_denied(), unsigned.why()), (true, ""));
    });
}

#[test]
fn section_4_infos_lists_the_price_and_then_every_queue_a_new_one_too() {
    with_budgets(BUDGETS, async |market| {
        market.ask("root", "addQueue=new").await;
        let body = market.ask("root", "infos").await.body;
        let names: Vec<_> =
            body.lines().filter_map(|line| line.trim().strip_prefix("<queue name=\"")?.strip_suffix("\">")).collect();
        assert_eq!(names, ["alice", "bob", "new"]);
        assert!(body.find("<price>") < body.find("<queue "), "{body}");
        assert_eq!(body.matches("<pending>").count(), 3);
        assert!(!body.contains("null"));
    });
}

#[test]
fn section_4_the_bare_frame_is_for_an_empty_query_only() {
    with_budgets(BUDGETS, async |market| {
        for target in ["/scheduler", "/scheduler?"] {
            let answer = market.request("GET", target, "").await;
            assert_eq!((answer.status, &*answer.body), (200, FRAME));
        }
        // What the original answered with it tells what is wrong.
        assert_eq!(market.get("prize").await.status, 400);
        assert_eq!(market.status("root", "info=zed").await, 404);
        market.ask("root", "removeQueue=bob").await;
        assert_eq!(market.status("root", "info=bob").await, 404);
    });
}

#[test]
fn section_4_numbers_are_plain_decimals_with_a_digit_after_the_point() {
    with_budgets("alice 16777217 0.0001\nbob 0 0\n", async |market| {
        assert_eq!(market.info("alice").await[..1], ["16777217.0"]);
        assert_eq!(market.ask("root", "addBudget=0&queue=alice").await.queue()[1], "0.0001");
        assert_eq!(market.info("bob").await, ["0.0", "0.0", "0.000000000", "0", "0"]);
        assert_eq!(
            market.ask("root", "addBudget=999999999999.999999999999&queue=bob").await.element("budget"),
            "999999999999.999999999999"
        );
    });
}
