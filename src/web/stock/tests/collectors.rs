//! Public programs that read these pages, each by its own pattern.

use crate::engine::ClusterSnapshot;
use crate::model::{PerKind, RunState};

use super::stage::{Recorded, job, queue, row, tally, tracker};
use crate::web::stock::StockJob;

fn cluster() -> Recorded {
    let of = |number, state| StockJob {
        progress: PerKind::new(0.5, 0.0),
        work: PerKind::new(tally(6, 0, 2, 4, 0), tally(1, 0, 1, 0, 0)),
        ..job(number, "a job", state)
    };
    let jobs = vec![
        of(1, RunState::Succeeded),
        of(2, RunState::Running),
        of(3, RunState::Failed),
        of(4, RunState::Running),
        of(5, RunState::Killed),
        of(6, RunState::Prep),
    ];
    Recorded {
        overview: ClusterSnapshot {
            attempts: PerKind::new(17, 4),
            running: PerKind::new(18, 5),
            slots: PerKind::new(40, 20),
            jobs_accepted: 6,
            queues: vec![queue("default"), queue("a&b")],
            jobs: jobs.iter().map(row).collect(),
            trackers: vec![tracker("node1", 50060, 3, 0, [0, 0]), tracker("node2", 50060, 1, 0, [0, 0])],
            ..ClusterSnapshot::default()
        },
        jobs,
        ..Recorded::default()
    }
}

async fn lines(target: &str) -> Vec<String> {
    cluster().get(target).await.body.lines().map(str::to_owned).collect()
}

/// The texts of all cells of a kind, in order.
fn cells(page: &str, name: &str) -> Vec<String> {
    let start = format!("<{name}");
    let starts = page.split(&start).skip(1);
    let texts = starts.filter_map(|cell| Some(cell.split("</").next()?.to_owned()));
    texts.map(|text| text.rsplit('>').next().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn a_scanner_finds_state_version_and_trackers() {
    let page = lines("/jobtracker.jsp").await;
    for start in ["<b>State:</b> RUNNING", "<b>Started:</b> ", "<b>Compiled:</b> ", "<b>Identifier:</b> "] {
        assert!(page.iter().any(|line| line.starts_with(start)), "{start}");
    }
    let version = page.iter().position(|line| line == "<b>Version:</b> 1.2.1,").unwrap();
    assert!(page[version + 1].trim_start().starts_with("r1503152"), "{}", page[version + 1]);
    assert!(page.iter().any(|line| line.contains("\">Log<")));
    let machines = lines("/machines.jsp?type=active").await;
    let trackers = machines.iter().filter(|line| line.contains("href=\"http://node") && line.contains("/\">tracker"));
    assert_eq!(trackers.count(), 2);
}

#[tokio::test]
async fn a_monitor_finds_the_numbers_on_the_line_after_their_heads() {
    let page = lines("/jobtracker.jsp").await;
    let heads = page.iter().position(|line| line.contains("<th>Running Map Tasks")).unwrap();
    assert!(page[heads + 1].starts_with("<tr><td>17</td><td>4</td><td>6</td>"), "{}", page[heads + 1]);
    let count_until = |from: &str, to: &str| {
        let lines = page.iter().skip_while(|line| !line.contains(from)).skip(1).take_while(|line| !line.contains(to));
        lines.filter(|line| line.contains("id=\"job_")).count()
    };
    assert_eq!(count_until("Running Jobs</h2>", "Completed Jobs</h2>"), 2);
    assert_eq!(count_until("Completed Jobs</h2>", "Failed Jobs</h2>"), 1);
    assert_eq!(count_until("Failed Jobs</h2>", "Retired Jobs</h2>"), 2);
}

#[tokio::test]
async fn a_sender_of_numbers_pairs_the_first_heads_with_the_first_cells() {
    let page = cluster().get("/jobtracker.jsp").await.body;
    let (heads, cells) = (cells(&page, "th>"), cells(&page, "td>"));
    let pairs: Vec<(&str, &str)> =
        heads.iter().zip(&cells).take(14).map(|(head, cell)| (head.as_str(), cell.as_str())).collect();
    for pair in [("Running Map Tasks", "17"), ("Nodes", "2"), ("Map Task Capacity", "40"), ("Avg. Tasks/Node", "30.00")]
    {
        assert!(pairs.contains(&pair), "{pair:?} in {pairs:?}");
    }
}

#[tokio::test]
async fn a_check_finds_memory_hosts_and_how_many_are_active() {
    let page = cluster().get("/jobtracker.jsp").await.body;
    let (_, sizes) = page.split_once("Cluster Summary (Heap Size is ").unwrap();
    let (used, all) = sizes.split_once(')').unwrap().0.split_once('/').unwrap();
    assert!(used.ends_with("B") && all.ends_with("B"), "{used}/{all}");
    assert!(page.contains("machines.jsp?type=active\">2<"));
    let machines = cluster().get("/machines.jsp?type=active").await.body;
    assert!(machines.contains("<td>node1</td>") && machines.contains("<td>node2</td>"));
    let row = |line: &&str| line.starts_with("<tr><td><a href=") || line.starts_with("<tr><td><b>Name");
    assert_eq!(machines.lines().filter(row).count(), 3);
}

#[tokio::test]
async fn the_first_id_on_the_page_is_that_of_a_running_job() {
    let page = cluster().get("/jobtracker.jsp").await.body;
    let (_, first) = page.split_once("job_2").unwrap();
    assert!(first.starts_with("02611220350_0002"), "{}", &first[..40]);
}

#[tokio::test]
async fn queues_are_found_by_the_only_quoted_text_of_their_line() {
    let page = lines("/jobtracker.jsp").await;
    let quoted: Vec<&str> = page
        .iter()
        .filter(|line| line.contains("jobqueue_details.jsp?queueName="))
        .map(|line| line.split('"').nth(1).unwrap_or_default())
        .collect();
    assert_eq!(quoted, ["jobqueue_details.jsp?queueName=default", "jobqueue_details.jsp?queueName=a%26b"]);
    let line = page.iter().find(|line| line.contains("queueName=default")).unwrap();
    assert_eq!(line.matches('"').count(), 2, "{line}");
}

#[tokio::test]
async fn a_job_is_read_by_its_bold_words() {
    let page = cluster().get("/jobdetails.jsp?jobid=job_202611220350_0002").await.body;
    for words in ["<b>User:</b> root<br>", "<b>Status:</b> Running<br>", "<b>Submit Host:</b> client<br>"] {
        assert!(page.lines().any(|line| line == words), "{words} in {page}");
    }
}
