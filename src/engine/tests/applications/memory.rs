//! Memory that users take with applications: one sum with their jobs, and refused beyond the limit.

use crate::api::applications::{AllocateCall, AskRow, Blacklist, Placement};
use crate::engine::tests::cluster::spec;
use crate::engine::{ApplicationQuestion, ApplicationRefusal};
use crate::mapreduce::JobSpec;
use crate::model::{Capability, LaunchContext};

use super::bench::{Bench, Program, asking, context, ids, row, submission, submit_as, submit_question};

fn large(bytes: usize) -> LaunchContext {
    LaunchContext { command: vec!["x".repeat(bytes)], ..context("sim") }
}

/// Submits an application of a user's with a context of so many bytes.
fn submit(bench: &mut Bench, user: &str, bytes: usize) -> Result<(), ApplicationRefusal> {
    let mut submission = submission(bench.new_id(user));
    submission.specs.insert("s".to_owned(), large(bytes));
    bench.ask_as(user, submit_question(submission)).map(drop)
}

fn is_refused_for(refused: &Result<(), ApplicationRefusal>, whose: &str) -> bool {
    matches!(refused, Err(ApplicationRefusal::TooMany(text))
        if text.contains(whose) && text.contains("jobtracker.max-job-bytes is 204800"))
}

#[test]
fn applications_and_jobs_share_one_limit_for_each_user_and_in_all() {
    let mut bench = Bench::new(&[]);
    bench.cluster.engine.config.limits.max_live_bytes = Some(200 << 10);
    submit(&mut bench, "alice", 50 << 10).unwrap();
    let refused = submit(&mut bench, "alice", 50 << 10);
    assert!(is_refused_for(&refused, "of its user"), "{refused:?}");
    let job = |user: &str| JobSpec { view_acl: Some("x".repeat(16 << 10)), ..spec(user, "default", 1, 0) };
    bench.cluster.submit(job("alice")).unwrap();
    bench.cluster.submit(job("alice")).unwrap();
    let refused = bench.cluster.submit(job("alice")).unwrap_err().to_string();
    assert!(refused.contains("jobs and applications of its user"), "{refused}");
    submit(&mut bench, "bob", 60 << 10).unwrap();
    let refused = submit(&mut bench, "carol", 60 << 10);
    assert!(is_refused_for(&refused, "of all users"), "{refused:?}");
    // What is over is given back.
    let all: Vec<_> = bench.cluster.engine.applications.iter().map(|one| one.id()).collect();
    for id in all {
        let owner = bench.application(id).submitted.user.to_string();
        bench.ask_as(&owner, ApplicationQuestion::Kill(id)).unwrap();
    }
    submit(&mut bench, "carol", 60 << 10).unwrap();
}

/// Each part of a call that is kept is refused beyond the limit; a call that gives back never is.
#[test]
fn calls_are_refused_where_there_is_no_memory_left_and_releases_are_not() {
    let mut bench = Bench::new(&[Capability::new(4_096, 4)]);
    let mut program = bench.register();
    let granted = ids(&program.call(&mut bench, asking(vec![row(1, 4)])));
    let taken = bench.cluster.engine.applications.live_bytes().of("alice");
    bench.cluster.engine.config.limits.max_live_bytes = Some(2 * taken + 2_000);
    let names: Vec<String> = (0..40).map(|number| format!("host-{number}")).collect();
    let host_row = |name: &String| AskRow { resource_name: Placement::Host(name.clone()), ..row(1, 1) };
    let calls = [
        asking(names.iter().map(host_row).collect()),
        asking(names.iter().map(|name| AskRow { num_containers: 0, ..host_row(name) }).collect()),
        AllocateCall { release: vec![granted[0]; 40], ..AllocateCall::default() },
        AllocateCall { specs: [("s".to_owned(), large(2_000))].into(), ..AllocateCall::default() },
        AllocateCall { blacklist: Blacklist { additions: names, removals: Vec::new() }, ..AllocateCall::default() },
    ];
    for call in calls {
        let refused = bench.ask(program.question(call)).map(drop);
        assert!(matches!(&refused, Err(ApplicationRefusal::TooMany(_))), "{refused:?}");
    }
    let answer = program.call(&mut bench, AllocateCall { release: granted, ..AllocateCall::default() });
    assert_eq!(answer.completed_container_statuses.len(), 4);
}

#[test]
fn a_blacklist_has_a_limit_and_ends_with_its_application() {
    let mut bench = Bench::new(&[]);
    let application = submit_as(&mut bench, "alice", |_| {});
    let mut program = Program { application, attempt: 0, response_id: 0 };
    program.register(&mut bench);
    let mut list = |bench: &mut Bench, numbers: std::ops::Range<u32>| {
        let additions = numbers.map(|number| format!("h{number}")).collect();
        let blacklist = Blacklist { additions, removals: vec!["h0".to_owned()] };
        bench.ask(program.question(AllocateCall { blacklist, ..AllocateCall::default() })).map(|_| {
            let ended = crate::engine::ApplicationRequest::Waited { wait: program.wait(), is_over: true };
            bench.request(ended).map(|_| program.response_id += 1).unwrap();
        })
    };
    list(&mut bench, 1..20_001).unwrap();
    let refused = list(&mut bench, 20_001..20_002);
    let text = "the blacklist of an application has at most 20000 hosts and racks";
    assert_eq!(refused, Err(ApplicationRefusal::TooMany(text.to_owned())));
    list(&mut bench, 5..6).unwrap();
    bench.ask(ApplicationQuestion::Kill(application)).unwrap();
    assert_eq!(bench.application(application).blacklist.len(), 0);
    assert_eq!(bench.cluster.engine.applications.live_bytes().all(), 0);
}
