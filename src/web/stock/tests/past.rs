//! The pages of a job that is over, beside the recorded ones; and that no path of a request is opened.

use crate::model::{AttemptState, JobId, Kind};
use crate::web::stock::{PastAttempt, PastKind, StockAttempt, StockPast};

use super::recorded::{assert_same, middle, word_count_2};
use super::stage::{Recorded, at, attempt};

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/web/", $name))
    };
}

const LOG_FILE: &str = "file:/var/log/hadoop/history/done/version-1/localhost_1795319408172_/2026/11/22/000000/\
                        job_202611220350_0004_1795319573186_root_word%2Bcount%2B%253C2%253E";

/// The name of its history file, decoded once, as a request for a link of a page has it.
const ASKED: &str = "logFile=file:/var/log/hadoop/history/done/version-1/localhost_1795319408172_/2026/11/22/000000/\
                     job_202611220350_0004_1795319573186_root_word%2Bcount%2B%253C2%253E";

fn ended(kind: PastKind, id: &str) -> PastAttempt {
    let begun = attempt(id, AttemptState::Succeeded, ("localhost", 50060), at(52, 53));
    let (shuffle_ms, sort_ms) = match kind {
        PastKind::Reduce => (at(52, 53), at(52, 53)),
        _ => (0, 0),
    };
    PastAttempt { kind, attempt: StockAttempt { shuffle_ms, sort_ms, counters: 13, ..begun } }
}

fn past_word_count() -> StockPast {
    let task = |kind: PastKind, task: &str| ended(kind, &format!("attempt_202611220350_0004_{task}_0"));
    let mut attempts = vec![task(PastKind::Setup, "m_000007")];
    attempts.extend((0..6).map(|number| task(PastKind::Map, &format!("m_00000{number}"))));
    attempts.extend([task(PastKind::Reduce, "r_000000"), task(PastKind::Cleanup, "m_000006")]);
    let mut job = word_count_2();
    // Their pages show the counters in the order and with the sums of the history file.
    job.counters = counters_of_page(recorded!("jobdetailshistory.html"));
    StockPast { job, launch_ms: at(52, 53), log_file: LOG_FILE.to_owned(), attempts }
}

/// The counters that a recorded page shows.
fn counters_of_page(page: &str) -> Vec<crate::web::stock::StockCounterGroup> {
    let mut groups = Vec::<crate::web::stock::StockCounterGroup>::new();
    let text = |cell: &str| cell.split('<').next().unwrap().trim().to_owned();
    let number = |cell: &str| text(cell).replace(',', "").parse::<i64>().unwrap();
    let table = page.split("<th>Total</th>").nth(1).unwrap().split("</table>").next().unwrap();
    for row in table.split("<tr>").skip(1) {
        let mut cells: Vec<&str> = row.split("<td").skip(1).map(|cell| cell.split_once('>').unwrap().1).collect();
        if cells.len() == 5 {
            groups.push(crate::web::stock::StockCounterGroup { name: text(cells.remove(0)), counters: Vec::new() });
        }
        let counter = crate::web::stock::StockCounter {
            name: text(cells[0]),
            map_value: number(cells[1]),
            reduce_value: number(cells[2]),
            total_value: number(cells[3]),
        };
        groups.last_mut().unwrap().counters.push(counter);
    }
    groups
}

fn state() -> Recorded {
    Recorded { past_job: Some(past_word_count()), history: Some(b"Meta VERSION=\"1\" .\n".to_vec()), ..middle() }
}

#[tokio::test]
async fn pages_of_a_past_job_are_as_recorded() {
    let state = state();
    // Theirs breaks lines within addresses.
    let on_one_line = |page: &str| page.replace("%253E\n&tipid", "%253E&tipid").replace("logFile=\n", "logFile=");
    for (theirs, target) in [
        (recorded!("jobdetailshistory.html"), "jobdetailshistory.jsp"),
        (recorded!("analysejobhistory.html"), "analysejobhistory.jsp"),
        (recorded!("jobtaskshistory.html"), "jobtaskshistory.jsp?taskType=MAP&status=SUCCESS"),
        (recorded!("taskdetailshistory.html"), "taskdetailshistory.jsp?tipid=task_202611220350_0004_r_000000"),
    ] {
        let sign = if target.contains('?') { '&' } else { '?' };
        let ours = state.get(&format!("/{target}{sign}{ASKED}")).await;
        assert_eq!((ours.status.as_u16(), &*ours.kind), (200, "text/html; charset=utf-8"), "{target}");
        assert_same(&on_one_line(theirs), &without_title(&ours.body, theirs));
    }
}

/// Pages of theirs that have no title are compared without ours.
fn without_title(ours: &str, theirs: &str) -> String {
    match (theirs.contains("<title>"), ours.split_once("<title>")) {
        (false, Some((before, rest))) => format!("{before}{}", rest.split_once("</title>").unwrap().1),
        _ => ours.to_owned(),
    }
}

#[tokio::test]
async fn histories_are_found_by_the_id_of_their_job() {
    let state = state();
    let to_file = state.get("/gethistory.jsp?jobid=job_202611220350_0004").await;
    let place = format!("/historyfile?logFile={LOG_FILE}");
    assert_eq!((to_file.status.as_u16(), to_file.location.as_deref()), (302, Some(&*place)));
    let file = state.get(&place).await;
    assert_eq!((file.status.as_u16(), &*file.kind), (200, "application/octet-stream; charset=UTF-8"));
    assert_eq!(file.body, "Meta VERSION=\"1\" .\n");
    // A collector follows this link with its sign as it is.
    let details = state.get(&format!("/jobdetailshistory.jsp?{ASKED}")).await.body;
    assert!(details.contains("&taskType=MAP&status=SUCCESS\""));
    let running = state.get("/gethistory.jsp?jobid=job_202611220350_0001").await;
    assert_eq!((running.status.as_u16(), running.body.contains("is still in running")), (400, true));
    assert_eq!(state.get("/gethistory.jsp").await.status.as_u16(), 400);
    assert_eq!(state.get("/historyfile").await.status.as_u16(), 400);
    let unknown = state.get("/gethistory.jsp?jobid=job_202611220350_0077").await;
    assert_eq!((unknown.status.as_u16(), unknown.body.contains("_0077 not known")), (400, true), "as 1.2.1 answers");
}

#[tokio::test]
async fn attempts_of_a_past_job_show_what_history_files_have() {
    let mut past = past_word_count();
    let map = past.attempts.iter_mut().find(|attempt| attempt.kind == PastKind::Map).unwrap();
    map.attempt.state = AttemptState::Killed;
    map.attempt.diagnostics = ["Request received to kill", "killed on request"].map(str::to_owned).to_vec();
    let task = map.attempt.id.task;
    let state = Recorded {
        attempts: vec![map.attempt.clone()],
        jobs: vec![past.job.clone()],
        split_nodes: vec!["/r/h1".to_owned()],
        past_job: Some(past),
        ..state()
    };
    let page = state.get(&format!("/taskdetailshistory.jsp?tipid={task}&{ASKED}")).await.body;
    for part in
        ["<h3>Input Split Locations</h3>", "<tr><td>/r/h1</td></tr>", "Request received to kill,killed on request"]
    {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(!page.contains("/default-rack/"), "only what succeeded has its rack: {page}");
    let stats = state.get(&format!("/taskstatshistory.jsp?attemptid={}&{ASKED}", task.attempt(0))).await.body;
    assert!(stats.contains("<a href=\"jobhistoryhome.jsp\">Go back to Job History Viewer</a>"), "{stats}");
}

const PAGES: [&str; 8] = [
    "jobdetailshistory.jsp",
    "analysejobhistory.jsp",
    "jobtaskshistory.jsp",
    "taskdetailshistory.jsp",
    "jobconf_history.jsp",
    "loadhistory.jsp",
    "historyfile",
    "taskstatshistory.jsp",
];

#[tokio::test]
async fn a_path_of_a_request_opens_nothing() {
    let state = state();
    for page in PAGES {
        for path in [
            "/etc/passwd",
            "file:/done/job_202611220350_0004_x/../../etc/passwd",
            "..%2F..%2Fetc%2Fpasswd",
            "%252e%252e%252fetc%252fpasswd",
            "%25252e%25252e%25252fjob_1",
            "hdfs://elsewhere/job_x_0004_1_root_n",
            "http://elsewhere/",
            "",
        ] {
            let answered = state.get(&format!("/{page}?logFile={path}")).await;
            assert!((400..405).contains(&answered.status.as_u16()), "{page} {path}: {}", answered.status);
            assert!(!answered.body.contains("root:"), "{page} {path}");
        }
        // A job that is nowhere any more is said so, whatever folder a request names.
        let lost = state.get(&format!("/{page}?logFile=/x/../job_202611220350_0099_1_root_n")).await;
        assert!(matches!(lost.status.as_u16(), 400 | 404), "{page}: {}", lost.status);
    }
    let found = state.get("/jobdetailshistory.jsp?logFile=/../../x/job_202611220350_0004_1_root_n").await;
    assert!(found.status.is_success() && found.body.contains(LOG_FILE) && !found.body.contains("/../../x"));
}

#[tokio::test]
async fn a_past_job_is_kept_from_those_whom_its_lists_keep_out_and_its_names_become_no_markup() {
    let refusing = Recorded { refuses: true, ..state() };
    for page in ["jobdetailshistory.jsp", "analysejobhistory.jsp", "historyfile"] {
        assert_eq!(refusing.get(&format!("/{page}?{ASKED}")).await.status.as_u16(), 401, "{page}");
    }
    let mut past = past_word_count();
    past.job.name = "</td><script>alert(1)</script>".to_owned();
    past.job.user = "\"><b>".to_owned();
    let failed = past.attempts.iter_mut().filter(|attempt| attempt.attempt.id.task.kind == Kind::Map);
    for PastAttempt { attempt, .. } in failed {
        attempt.state = AttemptState::Failed;
        attempt.diagnostics = vec!["<i>why</i>".to_owned()];
    }
    let state = Recorded { past_job: Some(past), ..state() };
    for target in [
        "jobdetailshistory.jsp?",
        "analysejobhistory.jsp?",
        "jobtaskshistory.jsp?taskType=MAP&status=FAILED&",
        "taskdetailshistory.jsp?tipid=task_202611220350_0004_m_000000&",
    ] {
        let body = state.get(&format!("/{target}{ASKED}")).await.body;
        assert!(!body.contains("<script>alert") && !body.contains("\"><b>") && !body.contains("<i>why"), "{target}");
    }
    let details = state.get(&format!("/jobdetailshistory.jsp?{ASKED}")).await.body;
    assert!(details.contains("Failed tasks attempts by nodes"));
    let failed = state.get(&format!("/jobtaskshistory.jsp?taskType=MAP&status=FAILED&{ASKED}")).await.body;
    assert_eq!(failed.matches("<tr><td><a ").count(), 6);
    let none = state.get(&format!("/jobtaskshistory.jsp?taskType=REDUCE&status=FAILED&{ASKED}")).await.body;
    assert_eq!(none.matches("<tr><td><a ").count(), 0);
    let id: JobId = "job_202611220350_0004".parse().unwrap();
    assert_eq!(state.past_job.unwrap().job.id, id);
}
