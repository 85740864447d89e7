//! The attempts of a job, a page at a time.

use crate::api::TaskAttempt;
use crate::engine::{Caller, EngineConfig, QueueConfig, Refusal, SLICE_BYTES, SLICE_ITEMS, TaskCursor, TaskPage};
use crate::fake_tracker::Role;
use crate::mapreduce::{Attempt, JobSpec};
use crate::model::JobId;

use super::cluster::{Cluster, FakeTask, Fate, advance, config, fifo, spec};

fn hang(task: &FakeTask) -> Fate {
    if task.role == Role::Work { Fate::Hang } else { Fate::Succeed }
}

fn page(cluster: &Cluster, job: JobId, is_running_only: bool, from: TaskCursor) -> TaskPage {
    cluster.engine.task_page(job, is_running_only, None, from).unwrap().value.unwrap()
}

/// All attempts, and the number of pages.
fn attempts(cluster: &Cluster, job: JobId, is_running_only: bool) -> (Vec<(TaskAttempt, Option<i64>)>, usize) {
    let (mut all, mut pages, mut from) = (Vec::new(), 0, TaskCursor::default());
    loop {
        let mut page = page(cluster, job, is_running_only, from);
        assert!(page.attempts.len() <= SLICE_ITEMS as usize);
        all.append(&mut page.attempts);
        pages += 1;
        match page.next {
            Some(next) => from = next,
            None => return (all, pages),
        }
    }
}

#[test]
fn each_attempt_is_listed_once_with_its_worker() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 1);
    let job = cluster.submit(spec("u", "default", 3, 1)).unwrap();
    assert_eq!(attempts(&cluster, job, false), (Vec::new(), 1), "it has not begun");
    (0..4).for_each(|_| drop(cluster.beat(0, hang)));
    let (all, _) = attempts(&cluster, job, false);
    let shown: Vec<_> =
        all.iter().map(|(attempt, offset)| (attempt.task.as_str(), attempt.state.as_str(), *offset)).collect();
    assert_eq!(
        shown,
        [("setup", "SUCCEEDED", None), ("map", "RUNNING", Some(7)), ("map", "RUNNING", Some(9))],
        "maps with the place of their split, near ones first"
    );
    let (running, _) = attempts(&cluster, job, true);
    assert_eq!(running, all[1..]);
    let (map, _) = &running[0];
    assert_eq!(map.worker.as_deref(), Some(&*cluster.trackers[0].name));
    assert!(map.http.as_deref().is_some_and(|http| http.starts_with("http://h0:")), "{map:?}");
    assert_eq!((map.since_ms > 0, map.finish_ms), (true, None));
    cluster.run(job, |_| Fate::Succeed);
    let ended = page(&cluster, job, false, TaskCursor::default());
    assert_eq!((ended.state, ended.is_over, ended.attempts.len()), ("SUCCEEDED", true, 6));
    assert!(ended.attempts.iter().all(|(attempt, _)| attempt.finish_ms.is_some() || attempt.state == "KILLED"));
    assert_eq!(attempts(&cluster, job, true).0, []);
    assert!(
        cluster
            .engine
            .task_page("job_1_0001".parse().unwrap(), false, None, TaskCursor::default())
            .unwrap()
            .value
            .is_none()
    );
}

#[test]
fn many_tasks_come_in_pages() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 150, 1);
    let job = cluster.submit(spec("u", "default", 6_000, 0)).unwrap();
    (0..4).for_each(|_| drop(cluster.beat(0, hang)));
    let (running, pages) = attempts(&cluster, job, true);
    let mut ids: Vec<_> = running.iter().map(|(attempt, _)| attempt.attempt).collect();
    ids.dedup();
    assert_eq!(ids.len(), 150);
    assert_eq!(pages, 4, "64, 64, 22 and what remains of 6000 tasks, 4096 at a time");
}

/// Attempts of one task too, however often it was tried and whatever its worker said.
#[test]
fn a_page_has_a_bound_in_bytes() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    let wanted = JobSpec { map_max_attempts: 1_000, ..spec("u", "default", 1, 0) };
    let job = cluster.submit(wanted).unwrap();
    let long = "x".repeat(Attempt::MAX_STATE_TEXT_BYTES);
    for _ in 0..400 {
        for task in &mut cluster.trackers[0].attempts {
            advance(task, if task.role == Role::Work { Fate::Fail } else { Fate::Succeed });
        }
        let mut request = cluster.request(0);
        request.status.tasks.iter_mut().for_each(|report| report.state_text = long.as_str().into());
        cluster.send(0, request);
    }
    let (mut pages, mut next, mut ids) = (0, Some(TaskCursor::default()), Vec::new());
    while let Some(from) = next {
        let page = page(&cluster, job, false, from);
        let bytes: usize = page.attempts.iter().map(|(attempt, _)| attempt.shown_bytes()).sum();
        assert!(bytes < SLICE_BYTES + 8 * 1024, "{bytes} bytes");
        assert!(page.next.is_none_or(|next| next.0 > from.0), "clients ask for what comes later");
        ids.extend(page.attempts.iter().map(|(attempt, _)| attempt.attempt));
        (pages, next) = (pages + 1, page.next);
    }
    let count = ids.len();
    ids.dedup();
    assert!(pages > 2 && count > 100 && ids.len() == count, "{pages} pages of {count} attempts");
}

#[test]
fn the_view_list_decides_who_sees_them() {
    let queue = QueueConfig { administer_acl: " ".into(), ..QueueConfig::open("default") };
    let mut cluster = Cluster::of(EngineConfig { acls_enabled: true, queues: vec![queue], ..config(fifo()) });
    let mut wanted = spec("u", "default", 1, 0);
    wanted.view_acl = Some("carol".to_owned());
    let job = cluster.submit(wanted).unwrap();
    let sees = |viewer: &str| cluster.engine.task_page(job, false, Some(&Caller::named(viewer)), TaskCursor::default());
    assert!(sees("u").is_ok() && sees("carol").is_ok());
    for other in ["bob", ""] {
        assert!(matches!(sees(other), Err(Refusal::AccessDenied(_))), "{other}");
    }
}
