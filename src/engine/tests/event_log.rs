//! The event log of the Fair scheduler: the lines that a step wants written.

use std::path::Path;
use std::sync::Arc;

use crate::engine::{Effect, FairConfig, PolicyConfig};
use crate::model::RunState;
use crate::scheduler::fair::options::EventLogConfig;

use super::cluster::{Cluster, Fate, fifo, spec};
use super::pools::{fair_config, starving};
use super::preemption::{hang, live};
use super::scheduler_switch::{done, wish};

/// A log that dumps every two seconds.
pub(crate) fn event_log() -> Option<EventLogConfig> {
    Some(EventLogConfig { directory: Path::new("/logs/fairscheduler").into(), dump_interval_ms: 2_000 })
}

fn logged(config: FairConfig) -> PolicyConfig {
    PolicyConfig::Fair(FairConfig { event_log: event_log(), ..config })
}

pub(crate) fn events(cluster: &Cluster) -> Vec<String> {
    let lines = cluster.effects.iter().filter_map(|effect| match effect {
        Effect::AppendToEventLog { directory, lines, .. } => {
            assert_eq!(directory, &Arc::from(Path::new("/logs/fairscheduler")));
            Some(lines.clone())
        }
        _ => None,
    });
    lines.flatten().collect()
}

fn of_types(events: &[String], types: &[&str]) -> Vec<String> {
    events.iter().filter(|line| types.contains(&line.split('\t').next().unwrap_or_default())).cloned().collect()
}

#[test]
fn the_life_of_a_job_is_logged() {
    let mut cluster = Cluster::new(logged(fair_config("")));
    cluster.add_tracker("h0", 2, 1);
    let job = cluster.submit(spec("ann", "default", 1, 0)).unwrap();
    assert_eq!(cluster.run(job, |_| Fate::Succeed), RunState::Succeeded);
    let events = events(&cluster);
    let tracker = cluster.trackers[0].name.clone();
    let attempt = job.task(crate::model::Kind::Map, 0).attempt(0);
    let life =
        ["INITIALIZED", "JOB_ADDED", "JOB_UPDATED", "ALLOWED_LOC_LEVEL", "ASSIGN", "ASSIGNED_LOC_LEVEL", "JOB_REMOVED"];
    let expected = [
        "INITIALIZED".to_owned(),
        format!("JOB_ADDED\t{job}"),
        format!("JOB_UPDATED\t{job}"),
        format!("ALLOWED_LOC_LEVEL\t{job}\tNODE"),
        format!("ASSIGN\t{tracker}\tMAP\t{job}\t{attempt}"),
        format!("ASSIGNED_LOC_LEVEL\t{job}\tNODE"),
        format!("JOB_REMOVED\t{job}"),
    ];
    assert_eq!(of_types(&events, &life), expected, "{events:#?}");
    let heartbeat = events.iter().position(|line| *line == format!("HEARTBEAT\t{tracker}")).unwrap();
    assert!(events[heartbeat + 1].starts_with("RUNNABLE_TASKS\t"), "{events:#?}");
}

#[test]
fn all_jobs_and_pools_are_dumped_once_an_interval() {
    let mut cluster =
        Cluster::new(logged(fair_config("<pool name='ads'><minMaps>3</minMaps><weight>2.5</weight></pool>")));
    cluster.add_tracker("h0", 2, 1);
    let job = cluster.submit(spec("ann", "default", 4, 1)).unwrap();
    live(&mut cluster, 7_000, hang);
    let events = events(&cluster);
    let dumps = events.iter().filter(|line| *line == "BEGIN_DUMP").count();
    assert_eq!(dumps, 4, "one with the first update, one each two seconds: {events:#?}");
    let last = events.iter().rposition(|line| line == "BEGIN_DUMP").unwrap();
    let expected = [
        "BEGIN_DUMP".to_owned(),
        format!("JOB\t{job}\tjob\tann\tNORMAL\tdefault\t4\t2\t4\t2.0\t1.0\t1\t0\t0\t0.0\t1.0"),
        "POOL\tads\t2.5\t0\t3\t0\t0\t0".to_owned(),
        "POOL\tdefault\t1.0\t1\t0\t2\t0\t0".to_owned(),
        "END_DUMP".to_owned(),
    ];
    assert_eq!(events[last..last + 5], expected);
}

#[test]
fn a_round_of_preemption_is_logged() {
    let (mut cluster, _) = starving(false, event_log());
    live(&mut cluster, 66_000, hang);
    let rounds = of_types(&events(&cluster), &["INFO", "SHOULD_PREEMPT", "PREEMPT"]);
    let text = "tasks for pool poolA: tasksDueToMinShare";
    assert_eq!(rounds[0], format!("INFO\tShould preempt 2 MAP {text} = 2, tasksDueToFairShare = 0"));
    assert_eq!(rounds[1], "SHOULD_PREEMPT\tMAP\t2");
    assert_eq!(rounds[3], "SHOULD_PREEMPT\tREDUCE\t1");
    let victim = rounds[4].split('\t').collect::<Vec<_>>();
    assert_eq!((victim[0], victim[2]), ("PREEMPT", cluster.trackers[1].name.as_ref()), "{rounds:#?}");
    let clocks = of_types(&events(&cluster), &["PREEMPT_VARS"]);
    assert!(clocks.iter().any(|line| line.starts_with("PREEMPT_VARS\tpoolA\tMAP\t60")), "{clocks:#?}");
}

#[test]
fn the_log_begins_and_ends_with_the_rule_of_the_scheduler() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 1);
    let job = cluster.submit(spec("ann", "default", 4, 0)).unwrap();
    live(&mut cluster, 1_000, hang);
    assert_eq!(events(&cluster), [""; 0]);
    done(&mut cluster, wish(logged(fair_config(""))));
    assert_eq!(events(&cluster), ["INITIALIZED".to_owned(), format!("JOB_ADDED\t{job}")]);
    done(&mut cluster, wish(fifo()));
    live(&mut cluster, 1_000, hang);
    assert_eq!(events(&cluster).last().unwrap(), "SHUTDOWN");
}

#[test]
fn without_the_log_nothing_is_written() {
    let mut cluster = Cluster::new(PolicyConfig::Fair(fair_config("")));
    cluster.add_tracker("h0", 2, 1);
    cluster.submit(spec("ann", "default", 4, 0)).unwrap();
    live(&mut cluster, 3_000, hang);
    assert_eq!(events(&cluster), [""; 0]);
}
