//! Promised slots: sums equal a recount.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::scheduler::AppId;
use crate::scheduler::constraint::{MapClaim, Promise, PromiseLedger};

/// Maps from now on, or in a time of their own before those of the reduces.
fn promise(maps: u32, reduces: u32, from_us: i64, until_us: i64) -> Promise {
    let maps = [MapClaim { slots: maps, from_us: from_us / 2, until_us: from_us }, MapClaim::default()];
    Promise { maps, reduces, reduces_from_us: from_us, until_us }
}

#[test]
fn reduces_are_promised_from_their_start_to_the_deadline() {
    let mut ledger = PromiseLedger::default();
    ledger.set(AppId::new(1), Some(promise(4, 3, 100, 200)));
    ledger.set(AppId::new(2), Some(promise(2, 2, 200, 300)));
    let at = [99, 100, 199, 200, 201, 300, 301].map(|at_us| ledger.reduces_at(at_us));
    assert_eq!(at, [0, 3, 3, 5, 2, 2, 0]);
    let maps = [49, 50, 99, 100, 199, 200].map(|at_us| ledger.maps_at(at_us));
    assert_eq!(maps, [0, 4, 4, 2, 2, 0], "a slot is free when a promise ends");
    assert_eq!([ledger.most_maps(0, 49), ledger.most_maps(0, 300), ledger.most_maps(100, 300)], [0, 4, 2]);
    let earliest = |most, during_us| ledger.earliest_reduces(most, 0, during_us);
    assert_eq!([earliest(0, 99), earliest(0, 100), earliest(2, 100), earliest(4, 300)], [0, 301, 201, 201]);
}

#[test]
fn another_promise_takes_the_place_of_the_first() {
    let (mut ledger, app) = (PromiseLedger::default(), AppId::new(1));
    ledger.set(app, Some(promise(4, 3, 100, 200)));
    ledger.set(app, Some(promise(1, 2, 150, 200)));
    assert_eq!((ledger.maps_at(75), ledger.reduces_at(100), ledger.reduces_at(150)), (1, 0, 2));
    ledger.set(app, None);
    assert_eq!(ledger, PromiseLedger::default());
}

proptest! {
    #[test]
    fn sums_equal_a_recount(
        steps in prop::collection::vec((0..600_u32, prop::option::of((0..9_u32, 0..9_u32, 0..900_i64, 0..900_i64))), 0..2_000),
        asked in prop::collection::vec(-10..1_900_i64, 1..4),
        (most, during_us) in (0..60_u64, 0..20_i64),
    ) {
        let (mut ledger, mut promises) = (PromiseLedger::default(), BTreeMap::new());
        for (app, step) in steps {
            let app = AppId::new(app);
            let promised = step.map(|(maps, reduces, from, length)| promise(maps, reduces, from, from + length));
            ledger.set(app, promised);
            match promised {
                Some(promise) => promises.insert(app, promise),
                None => promises.remove(&app),
            };
            prop_assert_eq!(ledger.get(app), promised);
        }
        for at_us in asked {
            let covers = |promise: &&Promise| (promise.reduces_from_us..=promise.until_us).contains(&at_us);
            let reduces: u64 = promises.values().filter(covers).map(|promise| u64::from(promise.reduces)).sum();
            prop_assert_eq!(ledger.reduces_at(at_us), reduces, "at {}", at_us);
            let maps_beside = |except: Option<AppId>, at_us: i64| -> u64 {
                let others = promises.iter().filter(|(app, _)| Some(**app) != except);
                let claims = others.flat_map(|(_, promise)| promise.maps);
                claims.filter(|claim| (claim.from_us..claim.until_us).contains(&at_us)).map(|claim| u64::from(claim.slots)).sum()
            };
            prop_assert_eq!(ledger.maps_at(at_us), maps_beside(None, at_us), "at {}", at_us);
            if let Some(app) = promises.keys().next().copied() {
                let until_us = at_us + 20 * during_us;
                let most = (at_us..=until_us).map(|at| maps_beside(Some(app), at)).max();
                prop_assert_eq!(Some(ledger.most_maps_beside(app, at_us, until_us)), most, "{} from {}", app, at_us);
            }
            for until_us in [at_us, at_us + during_us, at_us + 40 * during_us, i64::MAX] {
                let most = (at_us..=until_us.min(2_000)).map(|at| ledger.reduces_at(at)).max();
                prop_assert_eq!(Some(ledger.most_reduces(at_us, until_us)), most, "from {} to {}", at_us, until_us);
            }
            let earliest_us = ledger.earliest_reduces(most, at_us, during_us as u64);
            let is_free = |from_us: i64| (from_us..=from_us + during_us).all(|at| ledger.reduces_at(at) <= most);
            prop_assert!(is_free(earliest_us));
            prop_assert!(!(at_us..earliest_us).any(is_free), "sooner than {}", earliest_us);
        }
        promises.keys().for_each(|&app| ledger.set(app, None));
        prop_assert_eq!(ledger, PromiseLedger::default());
    }
}
