//! What of all that is wanted could be placed on empty nodes.

use proptest::prelude::*;

use super::stage::{GB, Stage, at_a_time, fixed, request, row, rows};
use crate::model::Capability;
use crate::scheduler::container::{AskedRow, ContainerReason};
use crate::scheduler::{AppId, Misfit, Scheduler};

const SMALL: Capability = Capability::new(4_096, 4);
const LARGE: Capability = Capability::new(16_384, 16);

/// Two small nodes and a large one, in two racks.
fn stage() -> Stage {
    let nodes = [("a", "/r1", SMALL), ("b", "/r1", SMALL), ("c", "/r2", LARGE)];
    Stage::under(Scheduler::dynamic(), &nodes)
}

/// Slots that queue `q` wants of containers, worked out at once and kept.
fn want(stage: &mut Stage) -> u32 {
    let group = stage.scheduler.group("q").unwrap();
    let worked_out = stage.scheduler.wants().of(group).container;
    stage.scheduler.refresh_wants();
    let kept = stage.scheduler.wants().of(group).container;
    assert_eq!(worked_out, kept);
    kept
}

/// What an application wants that asks for these rows alone, and why nothing of it could be placed.
fn asked(rows: &[AskedRow]) -> (u32, Option<Misfit>) {
    let mut stage = stage();
    let app = stage.add_app(1);
    stage.set(app, rows);
    (want(&mut stage), stage.scheduler.misfit(app))
}

#[test]
fn what_fits_no_node_is_no_want() {
    let gigabytes = request(1, 900 * 1_024);
    let too_large = Some(Misfit::NoNodeFits(gigabytes.capability));
    assert_eq!(asked(&rows(gigabytes, &[("*", 1)])), (0, too_large.clone()));
    assert_eq!(asked(&[row(request(1, 8_192), "*", 9)]), (16, None), "two on the large node, eight slots each");
    // What could run counts beside it.
    assert_eq!(asked(&[row(gigabytes, "*", 5), row(request(2, 1_024), "*", 3)]), (3, None));
}

#[test]
fn what_rows_exclude_is_no_want() {
    let gb = request(1, 1_024);
    let nowhere = Some(Misfit::Gates(GB));
    let only = |name, count| [row(gb, name, count), fixed(row(gb, "*", 50))];
    assert_eq!(asked(&only("elsewhere", 50)), (0, nowhere.clone()));
    assert_eq!(asked(&only("a", 50)), (4, None));
    assert_eq!(asked(&only("a", 2)), (2, None), "the row says how many");
    assert_eq!(asked(&only("/r1", 50)), (8, None));
    assert_eq!(asked(&only("/r1", 3)), (3, None));
    // Without relax-locality on a rack nothing there but on hosts with rows of their own.
    assert_eq!(asked(&[fixed(row(gb, "/r2", 50)), row(gb, "*", 50)]), (8, None));
    assert_eq!(asked(&[row(gb, "/r2", 0), row(gb, "*", 50)]), (24, None), "a closed gate only counts as far");
}

#[test]
fn strict_gates_and_the_blacklist_exclude() {
    let mut stage = stage();
    let app = stage.add_app(1);
    let gb = request(1, 1_024);
    stage.set(app, &[row(gb, "/r2", 0), row(gb, "*", 50)]);
    assert_eq!(want(&mut stage), 24);
    stage.scheduler.set_strict_gates(app, true);
    assert_eq!(want(&mut stage), 8);
    stage.scheduler.blacklist(app, &["a".into()], &[]);
    assert_eq!(want(&mut stage), 4);
    stage.scheduler.blacklist(app, &["/r1".into()], &[]);
    assert_eq!((want(&mut stage), stage.scheduler.misfit(app)), (0, Some(Misfit::Gates(GB))));
    assert_eq!(stage.scheduler.waiting_containers(app)[0].reason, ContainerReason::Gates);
    stage.scheduler.blacklist(app, &[], &["/r1".into(), "a".into()]);
    assert_eq!((want(&mut stage), stage.scheduler.misfit(app)), (8, None));
}

/// Two applications of one queue, each with a strict gate that its first container closes: what the second one may still have
/// follows from where the first one is.
#[test]
fn strict_gates_that_close_are_no_want_beyond_them() {
    let mut stage = stage();
    let apps: Vec<AppId> = [("a", 1), ("/r2", 2)]
        .into_iter()
        .map(|(name, number)| {
            let app = stage.add_app(number);
            stage.scheduler.set_strict_gates(app, true);
            stage.set(app, &rows(request(1, 1_024), &[(name, 1), ("*", 7)]));
            app
        })
        .collect();
    assert_eq!(want(&mut stage), 11, "one on a, four on b, two on c; one on c, three on a");
    assert_eq!(stage.grant().len(), 11);
    let held = apps.iter().map(|app| stage.scheduler.app_containers(*app).running).collect::<Vec<_>>();
    assert_eq!((held, want(&mut stage)), (vec![7, 4], 11));
}

#[test]
fn no_more_is_wanted_than_may_run_at_a_time() {
    assert_eq!(asked(&[at_a_time(row(request(1, 1_024), "*", 50), 5)]), (5, None));
}

/// Many requests that all want the same place want it once.
#[test]
fn a_splitter_wants_a_node_once() {
    let mut stage = stage();
    let whole = |priority: u32| request(priority, 4_096);
    for number in 1..=20 {
        let app = stage.add_app(number);
        stage.set(app, &[row(whole(number), "a", 1), fixed(row(whole(number), "*", 1))]);
    }
    assert_eq!(want(&mut stage), 4);
    let app = stage.add_app(30);
    stage.set(app, &rows(request(1, 1_024), &[("*", 100)]));
    assert_eq!(want(&mut stage), 24);
}

#[test]
fn what_is_held_is_wanted_and_is_counted_once() {
    let mut stage = stage();
    let app = stage.add_app(1);
    stage.set(app, &rows(request(1, 1_024), &[("*", 30)]));
    assert_eq!(stage.grant().len(), 24);
    assert_eq!(want(&mut stage), 24, "all nodes are full of its own");
    stage.set(app, &rows(request(1, 1_024), &[("*", 0)]));
    assert_eq!((want(&mut stage), stage.scheduler.misfit(app)), (24, None));
    let last = stage.last();
    stage.end(&last);
    assert_eq!(want(&mut stage), 23);
}

#[test]
fn wants_follow_the_nodes() {
    let mut stage = stage();
    let app = stage.add_app(1);
    let large = request(1, 16_384);
    stage.set(app, &rows(large, &[("*", 3)]));
    assert_eq!((want(&mut stage), stage.scheduler.misfit(app)), (16, None));
    stage.scheduler.set_bag(stage.nodes["c"], Some(SMALL));
    assert_eq!((want(&mut stage), stage.scheduler.misfit(app)), (0, Some(Misfit::NoNodeFits(large.capability))));
    stage.add_node("d", "/r2", LARGE);
    assert_eq!((want(&mut stage), stage.scheduler.misfit(app)), (16, None));
    for host in ["a", "b", "c", "d"] {
        stage.scheduler.set_takes_containers(stage.nodes[host], false);
    }
    assert_eq!((want(&mut stage), stage.scheduler.misfit(app)), (0, Some(Misfit::NoContainerNodes)));
    stage.scheduler.set_takes_containers(stage.nodes["d"], true);
    assert_eq!(want(&mut stage), 16);
    stage.scheduler.remove_node(stage.nodes["d"]);
    assert_eq!(want(&mut stage), 0);
}

#[test]
fn applications_take_their_wants_with_them() {
    let mut stage = stage();
    let app = stage.add_app(1);
    stage.set(app, &rows(request(1, 1_024), &[("*", 5)]));
    assert_eq!(want(&mut stage), 5);
    let other = stage.scheduler.open_group("other");
    stage.scheduler.move_app(app, other).unwrap();
    assert_eq!((want(&mut stage), stage.scheduler.wants().of(other).container), (0, 5));
    stage.scheduler.remove_app(app);
    assert_eq!(stage.scheduler.wants().of(other).container, 0);
}

proptest! {
    /// What is granted on empty nodes, to one queue and with all the time in the world, is no more than it wanted; and what
    /// it wanted without rows it is granted, where containers are as large as slots.
    #[test]
    fn a_want_is_what_is_granted(
        asks in prop::collection::vec((0..3_u32, 1..5_u32, 0..5_usize, 0..9_u32, any::<bool>()), 1..6), strict in any::<bool>(),
    ) {
        let mut stage = stage();
        let apps: Vec<AppId> = (1..=3).map(|number| stage.add_app(number)).collect();
        for app in &apps {
            stage.scheduler.set_strict_gates(*app, strict);
        }
        let mut is_plain = true;
        for (priority, (app, gb, name, count, is_fixed)) in (1..).zip(asks) {
            let request = request(priority, gb * 1_024);
            let name = ["a", "b", "/r1", "/r2", "elsewhere"][name];
            let any = row(request, "*", 7);
            let any = if is_fixed { fixed(any) } else { any };
            stage.set(apps[app as usize], &[row(request, name, count), any]);
            is_plain &= gb == 1 && !is_fixed;
        }
        let wanted = want(&mut stage);
        for _ in 0..200 {
            stage.grant();
            ["a", "b", "c"].iter().for_each(|host| drop(stage.beat(host)));
        }
        let group = stage.scheduler.group("q").unwrap();
        let held = stage.scheduler.group_containers(group).held;
        // Which nodes strict gates of one type would best leave to another is not searched for: the next look wants the rest.
        let is_right = held == wanted || strict && held > wanted;
        prop_assert!(!is_plain || is_right, "{} held of {}", held, wanted);
        prop_assert!(want(&mut stage) >= held);
        prop_assert_eq!(stage.scheduler.wants().of(group).container, want(&mut stage));
    }
}
