//! The pages of administrators: the plan of a switch, and what if. Who may ask, from where, with which fields; and that asking is not
//! for others.

use std::sync::Arc;

use jobtracker::api::{ComparedGroup, ComparedJob, PlayComparison, PlayFigures, PlaySettings, PlayedEnd};
use jobtracker::web::{MarketPresence, PlayForm, PlayState, WebLimits};

use super::sessions::{cookie_of, link};
use super::stage::{Answered, NOW_MS, Stage, plan};

const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

async fn session(stage: &Stage, user: &str) -> String {
    let link = link(stage, user, "/policy");
    format!("Cookie: {}\r\n", cookie_of(&stage.get(&link).await))
}

async fn post(stage: &Stage, path: &str, headers: &str, body: &str) -> Answered {
    let headers = format!("{headers}Content-Length: {}\r\n", body.len());
    let request = format!("POST {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{headers}\r\n{body}");
    Answered::parse(&stage.exchange(request).await)
}

fn status(answered: &Answered) -> u16 {
    answered.status_line.split(' ').nth(1).unwrap().parse().unwrap()
}

/// The figures of a queue at this cost.
fn figures(cost: &str) -> PlayFigures {
    PlayFigures { succeeded: 1, cost: cost.parse().unwrap(), deadlines: 1, ..PlayFigures::default() }
}

fn comparison() -> PlayComparison {
    let settings = |scheduler: &str| PlaySettings {
        scheduler: scheduler.to_owned(),
        nodes: 2,
        set: vec!["k=<i>".to_owned()],
        orders: true,
        moved_jobs: 0,
        end_ms: NOW_MS,
        first_refusal: None,
    };
    let end = |cost: &str| PlayedEnd {
        end_ms: Some(NOW_MS + 2_500),
        state: "SUCCEEDED".to_owned(),
        met: Some(true),
        cost: Some(cost.parse().unwrap()),
        refusal: None,
    };
    let group = |name: Option<&str>| ComparedGroup {
        group: name.map(str::to_owned),
        jobs: 1,
        configured: figures("7319.625"),
        asked: figures("3.3719"),
    };
    PlayComparison {
        assumed: &["nothing"],
        from_ms: NOW_MS,
        jobs_played: 1,
        jobs_not_finished: 4,
        configured: settings("Fifo"),
        asked: settings("Fair"),
        groups: vec![group(Some("<alice>")), group(None)],
        jobs: Some(vec![ComparedJob {
            job: "job_202611211200_0001".parse().unwrap(),
            user: "alice".to_owned(),
            submitted_ms: NOW_MS,
            recorded: end("0"),
            configured: end("41.7319"),
            asked: end("88.7319"),
            deadline_ms: Some(NOW_MS + 9_000),
        }]),
    }
}

/// Begins a play and says what has become of it; its address.
async fn played(stage: &Stage, headers: &str, state: PlayState) -> String {
    let begun = post(stage, "/what-if", &format!("{headers}{FORM}"), "policy=fair&set=&nodes=&orders=with").await;
    assert_eq!(status(&begun), 303, "{begun:?}");
    stage.cluster.plays.0.lock().unwrap()[0].state = state;
    begun.header("location").unwrap().to_owned()
}

#[tokio::test]
async fn an_administrator_reads_the_sentences_of_the_command() {
    let stage = Stage::new().await;
    let root = session(&stage, "root").await;
    let page = stage.request("GET", "/policy/plan?to=fair&move_to=default", &root).await;
    assert_eq!(status(&page), 200, "{page:?}");
    for sentence in plan().sentences(|_| "2023-11-14 22:14:20 UTC".to_owned()) {
        let escaped = sentence.replace('<', "&#60;").replace('>', "&#62;").replace('\'', "&#39;");
        assert!(page.body.contains(&escaped), "{sentence}: {}", page.body);
    }
    assert!(page.body.contains("A switch would be refused now") && !page.body.contains("<b>7319"), "{}", page.body);
    let asked = stage.cluster.plan_questions.lock().unwrap().pop().unwrap();
    assert_eq!(
        (&*asked.to, asked.move_to.as_deref(), &*asked.by, asked.sees_money),
        ("fair", Some("default"), "root", true)
    );
    // It is refused, so no command that switches is shown, and the one that plans moves the same jobs.
    assert!(page.body.contains("<code>jobtracker scheduler plan fair --move-to default</code>"), "{}", page.body);
    assert!(!page.body.contains("jobtracker scheduler use"), "{}", page.body);
    assert!(page.body.contains("<input name=\"move_to\" value=\"default\">"), "{}", page.body);
    let quoted = stage.request("GET", "/policy/plan?to=fair&move_to=%24(reboot)", &root).await;
    assert!(quoted.body.contains("--move-to &#39;$(reboot)&#39;</code>"), "{}", quoted.body);
    let form = stage.request("GET", "/policy", &root).await;
    assert!(form.body.contains("action=\"/policy/plan\"") && form.body.contains("name=\"move_to\""), "{}", form.body);
    let alice = session(&stage, "alice").await;
    for others in ["", &*alice] {
        let page = stage.request("GET", "/policy", others).await;
        let command = page.body.matches("<code>jobtracker scheduler plan POLICY</code>").count();
        assert!(!page.body.contains("action=\"/policy/plan") && command == 2, "{}", page.body);
    }
}

#[tokio::test]
async fn others_get_neither_a_plan_nor_a_play() {
    let stage = Stage::new().await;
    let (root, alice) = (session(&stage, "root").await, session(&stage, "alice").await);
    let outcome = played(&stage, &root, PlayState::Done(Arc::new(comparison()))).await;
    let forged = root.replace("v1.root", "v1.toor");
    for headers in ["", &*alice, &*forged, "Authorization: Bearer nonsense\r\n"] {
        // A name is believed nowhere while the market rules.
        for user in ["", "user.name=hdfs"] {
            let asked = format!("{headers} {user}");
            let page = stage.request("GET", &format!("/policy/plan?to=fair&{user}"), headers).await;
            assert_eq!(status(&page), 403, "{asked}");
            assert!(!page.body.contains("careful"), "{asked}: {}", page.body);
            let page = stage.request("GET", &format!("{outcome}?{user}"), headers).await;
            assert_eq!(status(&page), 403, "{asked}");
            for private in ["7319.625", "3.3719", "41.7319", "88.7319", "alice"] {
                assert!(!page.body.contains(private) || private == "alice", "{asked} shows {private}");
            }
            let begun = post(&stage, &format!("/what-if?{user}"), &format!("{headers}{FORM}"), "policy=fair").await;
            assert_eq!(status(&begun), 403, "{asked}");
            let page = stage.request("GET", &format!("/what-if?{user}"), headers).await;
            assert_eq!(status(&page), 200, "{asked}");
            let has_form = page.body.contains("method=\"post\" action=\"/what-if");
            assert!(!has_form && page.body.contains("jobtracker what-if --policy fair"), "{asked}");
        }
    }
    assert!(stage.cluster.plan_questions.lock().unwrap().is_empty());
    assert_eq!(stage.cluster.plays.0.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_name_that_is_believed_asks_where_there_is_no_money_to_see() {
    for (presence, may_play) in
        [(MarketPresence::Absent, true), (MarketPresence::Idle, false), (MarketPresence::Signing, false)]
    {
        let stage = Stage::of(presence).await;
        let page = stage.get("/policy/plan?to=fair&user.name=hdfs").await;
        let is_believed = presence != MarketPresence::Signing;
        assert_eq!(status(&page) == 200, is_believed, "{presence:?}");
        if let Some(asked) = stage.cluster.plan_questions.lock().unwrap().pop() {
            assert!(!asked.sees_money, "{presence:?}: {asked:?}");
        }
        let page = stage.get("/policy?user.name=hdfs").await;
        let keeps_name = page.body.contains("<input type=\"hidden\" name=\"user.name\" value=\"hdfs\">");
        assert_eq!(keeps_name, is_believed, "{presence:?}: {}", page.body);
        let page = stage.get("/policy/plan?to=dynamic&user.name=hdfs").await;
        if presence == MarketPresence::Absent {
            assert!(page.body.contains("<code>jobtracker scheduler plan dynamic</code>"), "{}", page.body);
            assert!(!page.body.contains("<code>jobtracker open"), "there is no key to sign in with: {}", page.body);
        }
        let page = stage.get("/policy/plan?to=fair&user.name=eve").await;
        assert_eq!(status(&page), 403, "{presence:?}");
        let begun = post(&stage, "/what-if?user.name=hdfs", FORM, "nodes=4").await;
        assert_eq!(status(&begun) == 303, may_play, "{presence:?}: {begun:?}");
        if may_play {
            let address = begun.header("location").unwrap();
            assert_eq!(address, "/what-if/a-1?user.name=hdfs");
            stage.cluster.plays.0.lock().unwrap()[0].state = PlayState::Done(Arc::new(comparison()));
            let page = stage.get(address).await;
            assert!(status(&page) == 200 && page.body.contains("Fair"), "{page:?}");
            assert!(!page.body.contains("7319.625") && !page.body.contains("41.7319"), "a name shows no money");
        }
    }
}

#[tokio::test]
async fn what_cannot_be_planned_is_refused_with_its_value_and_what_was_expected() {
    let stage = Stage::new().await;
    let root = session(&stage, "root").await;
    for (query, expected, words) in [
        ("", 400, "fifo, capacity, fair"),
        ("?to=", 400, "fifo, capacity, fair"),
        ("?to=lottery", 400, "lottery"),
        ("?to=fair&to=fifo", 400, "fair and fifo"),
        ("?to=%ff%fe", 400, "fifo, capacity"),
        ("?to=%3Cscript%3Ealert(1)%3C/script%3E", 400, "script"),
        ("?to=fifo", 429, "another plan is being made"),
    ] {
        let page = stage.request("GET", &format!("/policy/plan{query}"), &root).await;
        assert_eq!(status(&page), expected, "{query}: {page:?}");
        assert_eq!(page.header("retry-after"), (expected == 429).then_some("1"), "{query}");
        assert!(page.body.to_lowercase().contains(words), "{query}: {}", page.body);
        assert!(!page.body.contains("<script>alert"), "{query}");
    }
    let posted = post(&stage, "/policy/plan?to=fair", &root, "").await;
    assert_eq!(status(&posted), 405);
}

#[tokio::test]
async fn a_play_is_begun_from_an_own_page_alone() {
    let stage = Stage::new().await;
    let root = session(&stage, "root").await;
    for header in [
        "Origin: http://evil.example",
        "Origin: null",
        "Referer: http://evil.example/h",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
    ] {
        let begun = post(&stage, "/what-if", &format!("{root}{FORM}{header}\r\n"), "policy=fair").await;
        assert_eq!(status(&begun), 403, "{header}");
        assert!(begun.body.contains("another site"), "{header}");
    }
    assert!(stage.cluster.plays.0.lock().unwrap().is_empty());
    let own = "Origin: http://h\r\nReferer: http://h/what-if\r\nSec-Fetch-Site: same-origin\r\n";
    let begun = post(&stage, "/what-if", &format!("{root}{FORM}{own}"), "policy=fair").await;
    assert_eq!((status(&begun), begun.header("location")), (303, Some("/what-if/a-1")));
    // A browser says where a form is from only where the page lets it.
    let page = stage.request("GET", "/what-if", &root).await;
    assert_eq!(page.header("referrer-policy"), Some("same-origin"));
}

#[tokio::test]
async fn every_field_is_read_and_a_wrong_one_is_named() {
    let stage = Stage::new().await;
    let root = session(&stage, "root").await;
    let body = "policy=fair&set=a.b%3D1%0D%0A%0D%0A+c%3Dd+&nodes=+40&orders=without&since=2026-11-21&until=2026-11-22T18%3A00%2B01%3A00";
    assert_eq!(status(&post(&stage, "/what-if", &format!("{root}{FORM}"), body).await), 303);
    let form = stage.cluster.plays.0.lock().unwrap()[0].form.clone();
    assert_eq!(
        form,
        PlayForm {
            policy: "fair".to_owned(),
            set: vec!["a.b=1".to_owned(), "c=d".to_owned()],
            nodes: "40".to_owned(),
            without_orders: true,
            since_ms: Some(1_795_219_200_000),
            until_ms: Some(1_795_366_800_000),
        }
    );
    let busy = post(&stage, "/what-if", &format!("{root}{FORM}"), "policy=fair").await;
    assert_eq!((status(&busy), busy.header("retry-after")), (429, Some("17")));
    assert!(busy.body.contains("One runs; try again in 17 s."), "{}", busy.body);
    stage.cluster.plays.0.lock().unwrap().clear();
    let long = format!("set={}", "a".repeat(64 << 10));
    for (kind, body, expected, words) in [
        (FORM, "nodes=0", 400, "nodes: "),
        (FORM, "since=yesterday", 400, "since: "),
        (FORM, "until=2026-13-01", 400, "until: "),
        (FORM, "orders=some", 400, "orders: "),
        (FORM, "colour=red", 400, "is no field of this form"),
        (FORM, "", 400, "expected policy, set, nodes, orders, since, until"),
        (FORM, "since=2026-11-22&until=2026-11-21", 400, "until: &#34;2026-11-21&#34; is not a time after since"),
        (FORM, "since=2026-11-21T01:00&until=2026-11-21T02:00%2B01:00", 400, "is not a time after since"),
        (FORM, "policy=fair&policy=fifo", 400, "The field policy is there twice"),
        (FORM, &*long, 413, "at most 8192 bytes"),
        ("Content-Type: application/json\r\n", "{}", 415, "x-www-form-urlencoded"),
        ("", "policy=fair", 415, "x-www-form-urlencoded"),
        (FORM, "since=%3Cscript%3Ealert(1)%3C/script%3E", 400, "since: "),
    ] {
        let begun = post(&stage, "/what-if", &format!("{root}{kind}"), body).await;
        assert_eq!(status(&begun), expected, "{words}: {begun:?}");
        assert!(begun.body.contains(words), "{words}: {}", begun.body);
        assert!(!begun.body.contains("<script>alert"), "{words}");
    }
    assert!(stage.cluster.plays.0.lock().unwrap().is_empty());
    assert_eq!(status(&stage.request("PUT", "/what-if", &root).await), 405);
}

#[tokio::test]
async fn a_browser_that_asks_about_a_deadline_gets_a_page_and_a_program_json() {
    let stage = Stage::with(WebLimits::default(), false).await;
    let browser = format!("{FORM}Accept: text/html,*/*;q=0.8\r\n");
    for (headers, body, expected, words) in [
        (&*browser, "volumeMb=10&deadlineMs=%3Cb%3E", 400, "&#60;b&#62;"),
        (&*browser, "volumeMb=10&deadlineMs=1000", 404, "<h1><bdi>There is no answer"),
        (FORM, "volumeMb=10&deadlineMs=1000", 404, "{\"error\":"),
        (FORM, "volumeMb=10", 400, "{\"error\":\"deadlineMs is missing"),
    ] {
        let answered = post(&stage, "/scheduler?whatif", headers, body).await;
        assert_eq!(status(&answered), expected, "{answered:?}");
        assert!(answered.body.contains(words), "{words}: {}", answered.body);
    }
}

#[tokio::test]
async fn what_jobs_of_a_user_have_cost_is_believed_for_those_alone_who_may_see_them() {
    let question = "volumeMb=10&deadlineMs=1000&user=alice&jobName=payroll";
    for (stage, expected) in [
        (Stage::with(WebLimits::default(), false).await, [true, true, true]),
        (Stage::with_access_lists().await, [false, false, true]),
    ] {
        for target in ["/scheduler?whatif", "/scheduler?whatif&user.name=bob", "/scheduler?whatif&user.name=alice"] {
            assert_eq!(status(&post(&stage, target, FORM, question).await), 404);
        }
        assert_eq!(*stage.cluster.knew_class.lock().unwrap(), expected);
    }
}

#[tokio::test]
async fn an_outcome_has_an_address_as_long_as_it_is_kept() {
    let stage = Stage::new().await;
    let root = session(&stage, "root").await;
    let address = played(&stage, &root, PlayState::Running).await;
    let page = stage.request("GET", &address, &root).await;
    assert!(status(&page) == 200 && page.body.contains("data-refresh=\"1\""), "{page:?}");
    let of = async |state| {
        stage.cluster.plays.0.lock().unwrap()[0].state = state;
        stage.request("GET", &address, &root).await.body
    };
    let failed = of(PlayState::Failed("the plays took more than 20 s <of> processor time".to_owned())).await;
    assert!(failed.contains("The plays took more than 20 s &#60;of&#62; processor time."), "{failed}");
    let done = of(PlayState::Done(Arc::new(comparison()))).await;
    for part in
        ["7319.625", "3.3719", "41.7319", "&#60;alice&#62;", "k=&#60;i&#62;", "2.5 s", "9.0 s", "0 of 1", "nothing"]
    {
        assert!(done.contains(part), "{part}: {done}");
    }
    assert!(done.contains("jobtracker what-if --conf &#39;/etc/the conf&#39; --policy fair --jobs"), "{done}");
    assert!(done.contains("<h1>What if: 1 of 1 job ends well as asked, 1 of 1 as configured</h1>"), "{done}");
    assert!(done.contains(">0.0 s<"), "{done}");
    let refused = || PlayFigures { refused: 8, ..PlayFigures::default() };
    let none = ComparedGroup { group: None, jobs: 8, configured: refused(), asked: refused() };
    let nothing =
        of(PlayState::Done(Arc::new(PlayComparison { groups: vec![none], jobs: None, ..comparison() }))).await;
    assert!(nothing.contains("<h1>What if: 0 of 8 jobs end well as asked, 0 of 8 as configured</h1>"), "{nothing}");
    assert!(nothing.contains(">–<") && !nothing.contains(">0.0 s<"), "{nothing}");
    for unknown in ["/what-if/a-9", "/what-if/%3Cscript%3E", "/what-if/..%2F..%2Fetc"] {
        let page = stage.request("GET", unknown, &root).await;
        assert_eq!(status(&page), 404, "{unknown}");
        assert!(page.body.contains("kept for ten minutes"), "{unknown}: {}", page.body);
    }
}
