//! Tests of the plays of pages: what is asked for, what is refused, and what bounds a play.

use super::*;

fn form(change: impl FnOnce(&mut PlayForm)) -> PlayForm {
    let mut form = PlayForm::default();
    change(&mut form);
    form
}

/// A desk over a folder without a database.
fn desk() -> (tempfile::TempDir, PlayDesk) {
    let folder = tempfile::tempdir().unwrap();
    let sources = LoadOptions { overrides: vec!["hadoop.tmp.dir=/tmp/none".into()], ..LoadOptions::default() };
    let database = folder.path().join("state.db");
    (folder, PlayDesk::new(sources, database))
}

#[test]
fn a_form_is_read_as_the_options_of_the_command_are() {
    let asked = question(&form(|form| {
        form.policy = "fair".to_owned();
        form.set = vec!["mapred.fairscheduler.preemption=true".to_owned()];
        form.nodes = "40".to_owned();
        form.without_orders = true;
        form.since_ms = Some(5);
    }));
    let asked = asked.unwrap();
    assert_eq!(asked.scheduler.map(|scheduler| scheduler.name), Some("fair"));
    assert_eq!((asked.nodes, asked.with_orders, asked.span.since_ms), (Some(40), false, 5));
    assert_eq!(asked.set, ["mapred.fairscheduler.preemption=true"]);
    let nothing = question(&PlayForm::default()).unwrap();
    assert_eq!((nothing.scheduler, nothing.nodes, nothing.with_orders), (None, None, true));
}

#[test]
fn what_would_have_the_daemon_read_a_file_run_a_program_or_show_another_value_is_refused() {
    let refused = |change: &dyn Fn(&mut PlayForm)| question(&form(change)).unwrap_err().to_string();
    for set in [
        "mapred.fairscheduler.allocation.file=/etc/shadow",
        "mapred.dynamic-scheduler.store.command=/bin/sh",
        "topology.script.file.name=/bin/sh",
        "mapred.queue.names=${fs.s3.awsSecretAccessKey}",
        "mapred.fairscheduler.preemption=${fs.s3.awsSecretAccessKey}",
        "mapred.jobtracker.taskScheduler=com.example.Evil",
        "no.such.key=1",
        "mapred.fairscheduler.preemption",
        "=",
        "",
    ] {
        let why = refused(&|form| form.set = vec![set.to_owned()]);
        assert!(why.starts_with(&format!("set: {set:?} is not ")), "{why}");
    }
    let long = refused(&|form| form.set = vec!["x".repeat(60_000)]);
    assert!(long.len() < 400, "{long}");
    let many = refused(&|form| form.set = vec!["mapred.fairscheduler.preemption=true".to_owned(); 33]);
    assert_eq!(many, "set: \"33 lines\" is not at most 32 lines");
    for nodes in ["0", "-1", "10001", "99999999999999999999", "1e3", "4 0", "\u{202e}1"] {
        let why = refused(&|form| form.nodes = nodes.to_owned());
        assert_eq!(why, format!("nodes: {nodes:?} is not a whole number from 1 to 10000"));
    }
    let policy = refused(&|form| form.policy = "lottery".to_owned());
    assert!(policy.starts_with("policy: \"lottery\" is not fifo, capacity"), "{policy}");
}

#[test]
fn a_play_that_has_no_answer_says_why_and_is_kept() {
    let (folder, desk) = desk();
    let (id, thread) = desk.begin_within(PlayForm::default(), "root", 20_000).unwrap();
    thread.join().unwrap();
    let runs = desk.all();
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    assert_eq!((&run.id, &*run.by), (&id, "root"));
    let PlayState::Failed(why) = &run.state else { panic!("{run:?}") };
    assert!(why.contains(&folder.path().display().to_string()), "{why}");
    assert!(run.kept_until_ms.is_some());
    lock(&desk.runs).forget(wall_ms() + KEPT_MS + 1);
    assert!(desk.all().is_empty());
}

#[test]
fn one_runs_at_a_time() {
    let (_folder, desk) = desk();
    let now_ms = wall_ms();
    let id = lock(&desk.runs).begin(PlayForm::default(), "root", now_ms);
    let Err(refusal) = desk.begin(PlayForm::default(), "eve") else { panic!("two run") };
    let text = refusal.to_string();
    assert!(text.starts_with("one runs; try again in ") && text.ends_with(" s"), "{text}");
    lock(&desk.runs).end(&id, PlayState::Failed("over".to_owned()));
    assert!(desk.begin(PlayForm::default(), "eve").is_ok());
}

#[test]
fn only_the_newest_are_kept() {
    let (_folder, desk) = desk();
    for _ in 0..40 {
        let mut runs = lock(&desk.runs);
        let id = runs.begin(PlayForm::default(), "root", 7);
        runs.end(&id, PlayState::Failed(String::new()));
    }
    let kept = desk.all();
    assert_eq!(kept.len(), MOST_KEPT_PLAYS);
    assert!(kept[0].id.ends_with("-40"), "{kept:?}");
}

#[test]
fn a_play_ends_when_its_time_is_over_or_the_daemon_closes() {
    let bounds = |begun_ms, most_cpu_ms, is_closed| Bounds {
        is_closed: Arc::new(AtomicBool::new(is_closed)),
        begun_ms,
        most_cpu_ms,
        ended: None,
    };
    let why = |mut bounds: Bounds| {
        assert!(!bounds.may_continue());
        bounds.ended.unwrap()
    };
    assert!(bounds(wall_ms(), u64::MAX, false).may_continue());
    assert_eq!(why(bounds(wall_ms(), u64::MAX, true)), "the daemon is stopping");
    let late = why(bounds(wall_ms() - 601_000, u64::MAX, false));
    assert!(late.starts_with("the plays took more than 600 s"), "{late}");
    // The processor time of this thread, and of no other.
    let busy = std::thread::spawn(move || {
        let mut bounds = bounds(wall_ms(), 20, false);
        let mut questions: u64 = 0;
        while bounds.may_continue() {
            questions += 1;
        }
        (questions, bounds.ended.unwrap())
    });
    let (questions, why) = busy.join().unwrap();
    assert!(questions > 0 && why.contains("s of processor time"), "{questions}: {why}");
}

#[test]
fn the_end_of_the_desk_ends_its_play() {
    let (_folder, desk) = desk();
    let is_closed = Arc::clone(&desk.is_closed);
    drop(desk);
    assert!(is_closed.load(Ordering::Relaxed));
}
