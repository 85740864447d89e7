//! Section 3.1 to 3.3: what is signed, in which order a request is judged, and how it is denied.

use crate::dynamic_priority::market::{Market, key_of, with_budgets};

use jobtracker::market::Key;
use jobtracker::market::signature::{job_message, sign};

const BUDGETS: &str = "alice 100 0.5\nbob 10 1\n";

/// A query of alice, signed by her, whose signature has a character.
async fn signed_with(market: &Market, character: char) -> (String, String) {
    loop {
        let query = format!("info=alice&user=alice&timestamp={}", market.next_ms());
        let signature = sign(&query, &key_of("alice"));
        if signature.contains(character) {
            return (query, signature);
        }
    }
}

fn unescaped(signature: &str) -> String {
    signature.replace("%2B", "+").replace("%3D", "=")
}

// 3.1 What is signed.

#[test]
fn section_3_1_the_test_vectors_hold() {
    let key = Key::new("alicekey-abc");
    assert_eq!(sign("info=alice&user=alice&timestamp=1700000000000", &key), "JVa0yXYFKIhmBKTdmYzPdNt4IaE%3D");
    assert_eq!(job_message("alice", "1700000000000"), "&user=alice&timestamp=1700000000000");
    assert_eq!(sign("&user=alice&timestamp=1700000000000", &key), "JD3O%2Brpv43yYZ9IQpkDsySnG1pI%3D");
}

/// The clients' own way to it: the program prints what a user would send.
#[test]
fn section_3_1_the_command_line_signs_as_the_document_says() {
    let program = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_jobtracker"));
        let output = command.arg("sign").args(arguments).env("HADOOP_KEY", "alicekey-abc").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let printed = program(&["--user", "alice", "info=alice"]);
    let (query, signature) = printed.trim_end().split_once('\n').unwrap();
    assert!(query.starts_with("info=alice&user=alice&timestamp="), "{printed}");
    assert!(signature.ends_with(&sign(query, &Key::new("alicekey-abc"))), "{printed}");
}

#[test]
fn section_3_1_the_raw_query_is_signed_with_user_and_timestamp_anywhere_in_it() {
    with_budgets(BUDGETS, async |market| {
        let queries: [fn(i64) -> String; 4] = [
            |now| format!("info=alice&user=alice&timestamp={now}"),
            |now| format!("timestamp={now}&user=alice&info=alice"),
            |now| format!("user=alice&info=%61lice&timestamp={now}&unknown=%7e"),
            |now| format!("&info=alice&&user=alice&timestamp={now}&"),
        ];
        for query in queries {
            let query = query(market.next_ms());
            let answer = market.get_signed("alice", &query).await;
            assert_eq!(answer.status, 200, "{query}: {}", answer.body);
        }
        // Neither decoded nor put in order before it is signed.
        let now = market.next_ms();
        let signature = sign(&format!("info=alice&user=alice&timestamp={now}"), &key_of("alice"));
        for other in [
            format!("info=%61lice&user=alice&timestamp={now}"),
            format!("user=alice&info=alice&timestamp={now}"),
            format!("info=alice&user=alice&timestamp={now}&"),
        ] {
            assert!(market.get_with(&other, &signature).await.is_denial_of(&other));
        }
    });
}

#[test]
fn section_3_1_the_header_is_the_encoded_signature_decoded_once() {
    with_budgets(BUDGETS, async |market| {
        for (character, written) in [
            ('/', (|signature: &str| signature.to_owned()) as fn(&str) -> String),
            ('/', |signature| signature.replace('/', "%2F")),
            ('/', |signature| signature.replace('/', "%2f")),
            ('%', |signature| signature.replace("%3D", "%3d").replace("%2B", "%2b")),
            ('/', unescaped),
        ] {
            let (query, signature) = signed_with(&market, character).await;
            let header = written(&signature);
            assert_eq!(market.get_with(&query, &header).await.status, 200, "{header}");
        }
        // A plus as it is counts as a plus, where the original took it for a blank.
        let (query, signature) = loop {
            let (query, signature) = signed_with(&market, '%').await;
            if signature.contains("%2B") {
                break (query, signature);
            }
        };
        assert_eq!(market.get_with(&query, &unescaped(&signature)).await.status, 200);
        for spoil in [
            (|signature: &str| signature.replace('%', "%25")) as fn(&str) -> String,
            |signature| signature.replace("%3D", "%3"),
            |signature| signature.replace("%3D", "%"),
            |signature| signature.replace("%3D", "%3G"),
            |signature| signature.replace("%3D", ""),
            |signature| format!("HMAC {signature}"),
        ] {
            let (query, signature) = signed_with(&market, '%').await;
            let header = spoil(&signature);
            assert!(market.get_with(&query, &header).await.is_denial_of(&query), "{header}");
        }
    });
}

// 3.2 The order of checks.

#[test]
fn section_3_2_order_of_checks_without_a_good_signature_nothing_moves_and_nothing_is_told() {
    with_budgets(BUDGETS, async |market| {
        let query = format!("info=alice&user=alice&timestamp={}", market.next_ms());
        let good = sign(&query, &key_of("alice"));
        let unknown = query.replace("user=alice", "user=zed");
        let nobody = query.replace("&user=alice", "");
        let missing = market.get(&query).await;
        assert!(missing.is_denial_of(&query));
        let mut denied = vec![missing];
        for (query, header) in [
            (&query, "%"),
            (&unknown, &*sign(&unknown, &key_of("alice"))),
            (&nobody, &*sign(&nobody, &key_of("alice"))),
            (&query, &*sign(&query, &key_of("bob"))),
            (&query, &*good.to_lowercase()),
        ] {
            let answer = market.get_with(query, header).await;
            assert!(answer.is_denial_of(query), "{header}");
            denied.push(answer);
        }
        assert!(denied.iter().all(|answer| answer.why().is_empty() && answer.body.lines().count() == 1));
        // The guard has not moved: the same moment is good for the one it belongs to.
        assert_eq!(market.get_with(&query, &good).await.status, 200);
    });
}

#[test]
fn section_3_2_order_of_checks_the_timestamp_is_a_signed_64_bit_decimal() {
    with_budgets(BUDGETS, async |market| {
        for timestamp in
            ["", "&timestamp=", "&timestamp=abc", "&timestamp=1.5", "&timestamp=9223372036854775808", "&timestamp=%201"]
        {
            let query = format!("info=alice&user=alice{timestamp}");
            let answer = market.get_signed("alice", &query).await;
            assert!(answer.is_denial_of(&query), "{query}");
            assert!(answer.why().contains("is not a number of milliseconds"), "{}", answer.why());
        }
    });
}

#[test]
fn section_3_2_order_of_checks_signatures_are_good_once_in_any_order_from_the_start_of_the_server() {
    with_budgets(BUDGETS, async |market| {
        let start: i64 = market.get("time").await.element("start").parse().unwrap();
        let ask = async |timestamp_ms: i64| {
            let query = format!("info=alice&user=alice&timestamp={timestamp_ms}");
            market.get_signed("alice", &query).await
        };
        let before = ask(start).await;
        assert!(before.is_denied() && before.why().contains("is not after the server's start"), "{}", before.why());
        assert_eq!(ask(start + 1).await.status, 200);
        let same = ask(start + 1).await;
        assert!(same.is_denied() && same.why().contains("was used before"), "{}", same.why());
        assert_eq!(ask(start + 3).await.status, 200);
        assert_eq!(ask(start + 2).await.status, 200);
        for used in [start + 1, start + 2, start + 3] {
            assert!(ask(used).await.is_denied());
        }
        // Everybody has a guard of his own.
        let query = format!("info=bob&user=bob&timestamp={}", start + 1);
        assert_eq!(market.get_signed("bob", &query).await.status, 200);
    });
}

#[test]
fn section_3_2_order_of_checks_what_is_not_allowed_has_used_up_its_signature() {
    with_budgets(BUDGETS, async |market| {
        let now = market.next_ms();
        let denied = format!("infos&user=alice&timestamp={now}");
        let answer = market.get_signed("alice", &denied).await;
        assert!(answer.is_denial_of(&denied) && answer.why().contains("needs the role admin"), "{}", answer.why());
        assert!(market.get_signed("alice", &denied).await.why().contains("was used before"));
        let other = format!("info&user=alice&timestamp={now}");
        assert_eq!(market.get_signed("alice", &other).await.status, 200, "another text of the same millisecond");
        // What makes no sense has used it up as well.
        let now = market.next_ms();
        let unknown = format!("info=zed&user=root&timestamp={now}");
        assert_eq!(market.get_signed("root", &unknown).await.status, 404);
        assert!(market.get_signed("root", &unknown).await.is_denied());
    });
}

/// Guard, use of the timestamp and operation are one step: nothing comes between.
#[test]
fn section_3_2_of_many_requests_with_one_timestamp_at_once_one_is_done() {
    with_budgets(BUDGETS, async |market| {
        let market = std::rc::Rc::new(market);
        for round in 1..=5 {
            let query = format!("addBudget=1&queue=alice&user=root&timestamp={}", market.next_ms());
            let at_once = (0..8).map(|_| {
                let (market, query) = (std::rc::Rc::clone(&market), query.clone());
                tokio::task::spawn_local(async move { market.get_signed("root", &query).await.status })
            });
            let mut statuses = Vec::new();
            for asked in at_once.collect::<Vec<_>>() {
                statuses.push(asked.await.unwrap());
            }
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 500, 500, 500, 500, 500, 500, 500]);
            let budget = market.ask("root", "addBudget=0&queue=alice").await.element("budget");
            assert_eq!(budget, format!("{}.0", 100 + round));
        }
    });
}

#[test]
fn section_3_2_order_of_checks_only_the_word_admin_is_an_administrator() {
    with_budgets(BUDGETS, async |market| {
        assert_eq!(market.status("root", "infos").await, 200);
        let answer = market.ask("mallory", "infos").await;
        assert!(answer.is_denied() && answer.why().contains("needs the role admin, which mallory has not"));
    });
}

#[test]
fn section_3_2_the_list_of_users_is_read_anew_when_it_has_changed() {
    with_budgets(BUDGETS, async |market| {
        assert_eq!(market.status("alice", "infos").await, 500);
        let path = market.rig.folder.path().join("hadoop.acl");
        let edit = |text: &str| std::fs::write(&path, text).unwrap();
        edit("alice admin alicekey-abc\nroot admin rootkey\n");
        assert_eq!(market.status("alice", "infos").await, 200, "a changed role works at the next request");
        edit("alice admin another\nroot admin rootkey\n");
        assert_eq!(market.status("alice", "infos").await, 500, "and so does a changed key");
        edit("alice user alicekey-abc\nbob user bobkey\n");
        assert_eq!(market.status("bob", "info").await, 200, "and a new user");
    });
}

/// The same moment serves once in each place, and the signature of one place in no other.
#[test]
fn section_3_2_servlet_and_jobs_have_guards_of_their_own() {
    with_budgets(BUDGETS, async |market| {
        let properties = market.job_signature("alice");
        let timestamp = &properties[0].1;
        let mut all = properties.clone();
        all.push(("mapred.map.tasks".to_owned(), "1".to_owned()));
        market.submit_with("alice", &all, 1).await.unwrap();
        let query = format!("info&user=alice&timestamp={timestamp}");
        assert_eq!(market.get_signed("alice", &query).await.status, 200);
    });
}

#[test]
fn section_3_2_a_servlet_signature_is_no_job_signature_and_the_reverse() {
    with_budgets(BUDGETS, async |market| {
        // A job's signature over the same user and moment.
        let properties = market.job_signature("alice");
        let (timestamp, signature) = (&properties[0].1, &properties[1].1);
        for query in
            [format!("info&user=alice&timestamp={timestamp}"), format!("&user=alice&timestamp={timestamp}&info")]
        {
            assert!(market.get_with(&query, signature).await.is_denial_of(&query));
        }
        // What it does sign names no operation.
        let message = format!("&user=alice&timestamp={timestamp}");
        assert_eq!(market.get_with(&message, signature).await.status, 400);
        // A request's signature for a job.
        let query = format!("info&user=alice&timestamp={timestamp}");
        let mut properties = properties.clone();
        properties[1].1 = sign(&query, &key_of("alice"));
        properties.push(("mapred.map.tasks".to_owned(), "1".to_owned()));
        let (class, text) = market.submit_with("alice", &properties, 1).await.unwrap_err();
        assert!(class.ends_with("AccessControlException") && text.contains("does not match"), "{text}");
    });
}

// 3.3 The denial.

#[test]
fn section_3_3_a_denial_is_500_with_the_query_in_the_status_line_and_the_page() {
    with_budgets(BUDGETS, async |market| {
        let answer = market.get("info=a&x='%3Cb%3E&user=u").await;
        assert!(answer.is_denial_of("info=a&x='%3Cb%3E&user=u"), "{answer:?}");
        assert_eq!(answer.body, "ACCESS DENIED: info=a&amp;x='%3Cb%3E&amp;user=u\n");
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    });
}

#[test]
fn section_3_3_a_reason_phrase_has_one_kibibyte_at_most_and_no_control_characters() {
    with_budgets(BUDGETS, async |market| {
        let query = format!("info={}", "q".repeat(5000));
        let answer = market.get(&query).await;
        assert_eq!((answer.status, answer.reason.len()), (500, 1024));
        assert!(answer.reason.starts_with("ACCESS DENIED: info=qqq"));
        assert_eq!(answer.body, format!("ACCESS DENIED: {query}\n"), "the page has all of it");
        // Escaped they stay escaped; as they are they make no request at all.
        let escaped = "info=a%0D%0ASet-Cookie:%20b&user=u";
        assert!(market.get(escaped).await.is_denial_of(escaped));
        for raw in ["info=a\rSet-Cookie: b", "info=a\u{1}b", "info=a\u{7f}b"] {
            let answer =
                market.exchange(format!("GET /scheduler?{raw} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")).await;
            assert_eq!(answer.status, 400, "{raw:?}");
            assert!(answer.header("set-cookie").is_none() && !answer.reason.contains("DENIED"), "{answer:?}");
        }
    });
}

#[test]
fn section_3_3_without_a_query_there_is_nothing_to_deny() {
    with_budgets(BUDGETS, async |market| {
        let form = "addBudget=5&queue=alice";
        let answer = market
            .exchange(format!(
                "POST /scheduler HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                 Content-Length: {}\r\n\r\n{form}",
                form.len()
            ))
            .await;
        assert_eq!((answer.status, &*answer.body), (200, "<QueueInfo>\n  <host>myhost</host>\n</QueueInfo>\n"));
        market.tick().await;
        assert_eq!(market.budget("alice").await, "100.0");
    });
}
