//! The worked example of the next-generation scheduler post: two maps of 1 GB with three places each, one reduce of 2 GB.

use std::collections::BTreeMap;

use crate::api::applications::{AllocateCall, AskRow, Locality, Placement};
use crate::engine::tests::cluster::{Cluster, fifo};
use crate::engine::{ApplicationAnswer, ApplicationQuestion, Event};
use crate::model::Capability;

use super::bench::{Bench, ONE, Program, asking, ids, launching, row};

const REDUCE: Capability = Capability::new(2_048, 1);

/// Adds a node, and lets it be offered.
fn join(bench: &mut Bench, host: &str, rack: &str, capability: Capability) {
    let index = bench.add_worker(host, capability);
    bench.heartbeat(index);
    bench.cluster.step(Event::RackResolved { host: host.into(), rack: rack.to_owned() });
    bench.connect(index);
    bench.heartbeat(index);
}

fn map_rows(rows: &[(&str, u32)]) -> Vec<AskRow> {
    let of = |(name, count): &(&str, u32)| {
        let resource_name = Placement::from((*name).to_owned());
        AskRow { resource_name, ..row(1, *count) }
    };
    rows.iter().map(of).collect()
}

/// The numbers of the maps' rows, by name.
fn table(bench: &mut Bench, program: &Program) -> BTreeMap<String, u32> {
    let question = ApplicationQuestion::Show { application: program.application, known_version: None };
    let ApplicationAnswer::Application(report) = bench.ask(question).unwrap() else { panic!("a report") };
    let rows = report.resource_requests.iter().filter(|row| row.priority == 1);
    rows.map(|row| (row.resource_name.clone().into(), row.num_containers)).collect()
}

fn numbers(rows: &[(&str, u32)]) -> BTreeMap<String, u32> {
    rows.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

#[test]
fn the_tables_are_those_of_the_post_after_each_step() {
    let mut bench = Bench { cluster: Cluster::new(fifo()), workers: Vec::new() };
    join(&mut bench, "h2121", "/r22", ONE);
    let mut program = bench.register();
    let mut initial = map_rows(&[
        ("h1001", 1),
        ("h1010", 1),
        ("h2121", 2),
        ("h3118", 1),
        ("h4123", 1),
        ("/r11", 2),
        ("/r22", 2),
        ("/r31", 1),
        ("/r45", 1),
        ("*", 2),
    ]);
    initial.push(AskRow { priority: 2, capability: REDUCE, ..row(2, 1) });
    let answer = program.call(&mut bench, asking(initial));
    let map0 = &answer.allocated_containers[0];
    assert_eq!((map0.locality, &map0.resource_name), (Locality::NodeLocal, &Placement::Host("h2121".to_owned())));
    let mut rows = numbers(&[
        ("h1001", 1),
        ("h1010", 1),
        ("h2121", 1),
        ("h3118", 1),
        ("h4123", 1),
        ("/r11", 2),
        ("/r22", 1),
        ("/r31", 1),
        ("/r45", 1),
        ("*", 1),
    ]);
    assert_eq!(table(&mut bench, &program), rows);
    // The application keeps map0 and lowers its other places; sent twice it changes nothing.
    let lowered = [("h1001", 0), ("h3118", 0), ("/r11", 1), ("/r31", 0)];
    for _ in 0..2 {
        let call = AllocateCall { ask: map_rows(&lowered), ..launching(&ids(&answer), "map0") };
        assert!(ids(&program.call(&mut bench, call)).is_empty());
        rows.extend(numbers(&lowered));
        assert_eq!(table(&mut bench, &program), rows);
    }
    join(&mut bench, "h1010", "/r11", ONE);
    rows.extend(numbers(&[("h1010", 0), ("/r11", 0), ("*", 0)]));
    assert_eq!(table(&mut bench, &program), rows, "granted on h1010");
    // Nothing more of the type anywhere, even where rows are left; the reduce is served now.
    join(&mut bench, "h4123", "/r45", REDUCE);
    let answer = program.call(&mut bench, AllocateCall::default());
    let granted: Vec<(u32, &str)> =
        answer.allocated_containers.iter().map(|one| (one.priority, one.node_id.as_str())).collect();
    assert_eq!(granted, [(1, "h1010:50060"), (2, "h4123:50060")]);
    let last = [("h2121", 0), ("h4123", 0), ("/r22", 0), ("/r45", 0)];
    program.call(&mut bench, asking(map_rows(&last)));
    assert_eq!(table(&mut bench, &program), BTreeMap::new(), "all rows of the type are gone");
}
