//! The audit log: each change with its author, each refusal by a list, a role or a signature, and nothing that changed nothing.

use crate::engine::{Caller, Effect, Event};
use crate::fake_tracker::Role;
use crate::market::{ParsedQuery, ServletRequest};
use crate::model::RunState;

use super::cluster::{Cluster, Fate, dynamic, fifo, spec};
use super::market::market_under;

/// The entries since the last call.
fn entries(cluster: &mut Cluster) -> Vec<String> {
    let effects = std::mem::take(&mut cluster.effects);
    let entry = |effect: &Effect| match effect {
        Effect::Audit(entry) => Some(entry.to_string()),
        _ => None,
    };
    effects.iter().filter_map(entry).collect()
}

#[test]
fn the_life_of_a_job_has_its_authors() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 1);
    let job = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    assert_eq!(entries(&mut cluster), [format!("submit user=alice job={job} queue=default name=job")]);
    let (alice, bob) = (Caller::named("alice"), Caller::named("bob"));
    cluster.step(Event::SetJobPriority { id: job, priority: "HIGH".into(), caller: alice.clone() });
    assert_eq!(entries(&mut cluster), [format!("priority user=alice job={job} priority=HIGH")]);
    (0..5).for_each(|_| drop(cluster.beat(0, |task| if task.role == Role::Work { Fate::Hang } else { Fate::Succeed })));
    let attempt = cluster.trackers[0].attempts[0].id;
    for expected in [&format!("kill-task user=bob job={job} owner=alice attempt={attempt}")[..], ""] {
        cluster.step(Event::KillTask { id: attempt, fail: false, caller: bob.clone() });
        assert_eq!(entries(&mut cluster).join(""), expected, "the second one changes nothing");
    }
    cluster.step(Event::KillJob { id: job, caller: bob.clone() });
    cluster.step(Event::KillJob { id: job, caller: alice.clone() });
    assert_eq!(entries(&mut cluster), [format!("kill user=bob job={job} owner=alice")]);
    cluster.run(job, |_| Fate::Succeed);
    assert_eq!(entries(&mut cluster), [format!("end user=alice job={job} queue=default state=KILLED")]);
    let unknown = "job_202611210913_4711".parse().unwrap();
    cluster.step(Event::KillJob { id: unknown, caller: bob.clone() });
    cluster.step(Event::SetJobPriority { id: job, priority: "URGENT".into(), caller: bob.clone() });
    cluster.step(Event::SetSafeMode { on: true, caller: bob });
    assert_eq!(
        entries(&mut cluster),
        ["denied safe-mode user=bob on=true"],
        "what is unknown or not understood is not denied"
    );
}

#[test]
fn refusals_by_access_lists_are_entered() {
    let mut cluster = Cluster::new(fifo());
    cluster.engine.config.acls_enabled = true;
    cluster.engine.config.queues[0].administer_acl = "chief".into();
    let job = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    entries(&mut cluster);
    cluster.step(Event::KillJob { id: job, caller: Caller::named("mallory") });
    assert_eq!(entries(&mut cluster), [format!("denied kill user=mallory job={job} owner=alice")]);
    assert_eq!(cluster.state(job), RunState::Prep);
}

#[test]
fn money_has_its_authors() {
    let mut cluster = market_under(dynamic(), &[("alice", "100", "1"), ("root", "0", "0")]);
    cluster.pass_ms(1);
    cluster.admin_asks("addBudget=10.5&queue=alice").unwrap();
    cluster.pass_ms(1);
    cluster.admin_asks("addQueue=bob").unwrap();
    cluster.pass_ms(1);
    cluster.admin_asks("infos").unwrap();
    cluster.pass_ms(1);
    cluster.admin_asks("addBudget=1&queue=carol").unwrap_err();
    assert_eq!(
        entries(&mut cluster),
        ["add-budget user=root queue=alice amount=10.5", "add-queue user=root queue=bob"],
        "neither reads nor mistakes"
    );
    cluster.pass_ms(1);
    let query = format!("addBudget=10&queue=alice&user=alice&timestamp={}", cluster.now.wall_ms);
    cluster.ask(ParsedQuery::parse(&query).unwrap(), false).unwrap_err();
    let query = ParsedQuery::parse("removeQueue=alice&user=m%0Aallory&timestamp=1").unwrap();
    cluster.step(Event::Market(Box::new(ServletRequest { verified: None, query })));
    assert_eq!(
        entries(&mut cluster),
        [
            r#"denied add-budget user=alice queue=alice amount=10 why="addBudget needs the role admin, which alice has not""#,
            r#"denied remove-queue user="m\nallory" queue=alice why="no valid signature""#,
        ]
    );
    // A job without a signature.
    let signature = crate::market::JobSignature::Missing;
    let job = cluster.submit_signed(spec("alice", "alice", 1, 0), signature).unwrap_err();
    assert!(entries(&mut cluster)[0].starts_with("denied submit user=alice job="), "{job}");
}
