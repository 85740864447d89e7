//! What live containers and attempts use, and reports that cannot be.

use serde_json::Number;

use crate::api::ReportedUse;
use crate::api::applications::{ApplicationReport, ContainerReport, NodeReport};
use crate::engine::{ApplicationAnswer, ApplicationQuestion, Effect, LogLevel};
use crate::model::{ApplicationId, Capability, ContainerId};

use super::bench::{Bench, items_row};

fn used(id: &str, memory_mb: impl Into<Number>, cpu_ms: impl Into<Number>) -> ReportedUse {
    ReportedUse { id: id.to_owned(), memory_mb: memory_mb.into(), cpu_ms: cpu_ms.into() }
}

fn stage() -> (Bench, ApplicationId, ContainerId) {
    let mut bench = Bench::new(&[Capability::new(4_096, 4)]);
    let application = bench.unattended(vec![items_row("1-2", |_| {})]);
    bench.settle();
    for id in bench.on_workers() {
        bench.start(id);
    }
    bench.settle();
    (bench, application, application.container(0, 1))
}

fn report(bench: &mut Bench, application: ApplicationId) -> ApplicationReport {
    match bench.ask(ApplicationQuestion::Show { application, known_version: None }).unwrap() {
        ApplicationAnswer::Application(report) => ApplicationReport::clone(&report),
        other => panic!("{other:?}"),
    }
}

fn container(bench: &mut Bench, id: ContainerId) -> ContainerReport {
    match bench.ask(ApplicationQuestion::Container(id)).unwrap() {
        ApplicationAnswer::Container(report) => *report,
        other => panic!("{other:?}"),
    }
}

fn node(bench: &mut Bench) -> NodeReport {
    match bench.ask(ApplicationQuestion::Nodes).unwrap() {
        ApplicationAnswer::Nodes(nodes) => nodes[0].clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn live_use_is_shown_of_container_application_and_node() {
    let (mut bench, application, first) = stage();
    bench.workers[0].usage = vec![used(&first.to_string(), 208, 850)];
    bench.workers[0].attempt_usage = Some(vec![used("attempt_202601010000_0001_m_000000_0", 100, 50)]);
    bench.beat(0);
    let shown = container(&mut bench, first);
    assert_eq!((shown.memory_mb, shown.peak_memory_mb, shown.cpu_ms), (208, 208, 850));
    let shown = report(&mut bench, application);
    assert_eq!((shown.live_memory_mb, shown.live_cpu_ms), (208, 850));
    let shown = node(&mut bench);
    assert_eq!((shown.live_memory_mb, shown.live_cpu_ms), (308, 900));
    let (containers, attempts) = bench.cluster.engine.applications.use_of_all();
    assert_eq!((containers.memory_mb, attempts.memory_mb), (208, 100));
    // Less memory, and a clock of the CPU that went back.
    bench.workers[0].usage = vec![used(&first.to_string(), 8, 700)];
    bench.workers[0].attempt_usage = Some(Vec::new());
    bench.beat(0);
    let shown = container(&mut bench, first);
    assert_eq!((shown.memory_mb, shown.peak_memory_mb, shown.cpu_ms), (8, 208, 850));
    assert_eq!(node(&mut bench).live_memory_mb, 8, "the attempt has ended");
    bench.end(first, 0);
    assert_eq!(report(&mut bench, application).live_memory_mb, 0);
    let shown = container(&mut bench, first);
    assert_eq!((shown.memory_mb, shown.peak_memory_mb, shown.cpu_ms), (0, 3, 4), "what its end says");
}

fn warnings(bench: &Bench) -> Vec<String> {
    let logged = bench.cluster.effects.iter().filter_map(|effect| match effect {
        Effect::Log { level: LogLevel::Warning, text } => Some(text.clone()),
        _ => None,
    });
    logged.collect()
}

#[test]
fn reports_that_cannot_be_are_refused_by_name_and_change_no_sum() {
    let wild: [(Number, Number); 7] = [
        ((1_u64 << 63).into(), 1.into()),
        (1.into(), (1_u64 << 63).into()),
        (u64::MAX.into(), u64::MAX.into()),
        ((-1).into(), 1.into()),
        (1.into(), i64::MIN.into()),
        (Number::from_f64(1e300).unwrap(), 1.into()),
        (1.into(), Number::from_f64(0.5).unwrap()),
    ];
    for (memory_mb, cpu_ms) in wild {
        let (mut bench, application, first) = stage();
        bench.workers[0].usage = vec![used(&first.to_string(), 20, 10)];
        bench.beat(0);
        bench.workers[0].usage = vec![used(&first.to_string(), memory_mb.clone(), cpu_ms.clone())];
        bench.beat(0);
        let shown = report(&mut bench, application);
        assert_eq!((shown.live_memory_mb, shown.live_cpu_ms), (20, 10), "{memory_mb} {cpu_ms}");
        let warned = warnings(&bench);
        let name = bench.cluster.trackers[0].name.to_string();
        assert_eq!(warned.len(), 1, "{warned:?}");
        assert!(warned[0].contains(&name) && warned[0].contains(&first.to_string()), "{warned:?}");
        bench.workers[0].attempt_usage = Some(vec![used("attempt_202601010000_0001_m_000000_0", memory_mb, cpu_ms)]);
        bench.beat(0);
        assert_eq!(node(&mut bench).live_memory_mb, 20);
        assert_eq!(warnings(&bench).len(), 1, "once for each process of a worker");
    }
}

#[test]
fn what_does_not_run_there_is_not_believed() {
    let (mut bench, application, _) = stage();
    let foreign = ApplicationId::new(9, 9).container(1, 1);
    bench.workers[0].usage = vec![used(&foreign.to_string(), 5, 5), used("no id", 5, 5)];
    bench.beat(0);
    assert_eq!(report(&mut bench, application).live_memory_mb, 0);
    let warned = warnings(&bench);
    assert!(warned[0].contains(&foreign.to_string()) && warned[0].contains("1 more"), "{warned:?}");
}
