//! Lookups give the order that a scan of all hosts gives.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

/// The same rules by scans of all hosts and orders.
#[derive(Default)]
struct Scanned {
    hosts: BTreeMap<String, (VecDeque<FetchOrder>, bool, u64)>,
    last_host: Option<String>,
}

impl Scanned {
    fn push_back(&mut self, order: FetchOrder) {
        let (orders, ..) = self.hosts.entry(host_of(&order.tracker).to_owned()).or_default();
        if !orders.contains(&order) {
            orders.push_back(order);
        }
    }

    fn push_front(&mut self, order: FetchOrder, not_before_ms: u64) {
        let (orders, _, host_not_before_ms) = self.hosts.entry(host_of(&order.tracker).to_owned()).or_default();
        orders.retain(|other| *other != order);
        orders.push_front(order);
        *host_not_before_ms = not_before_ms;
    }

    fn remove(&mut self, is_removed: impl Fn(&FetchOrder) -> bool) {
        self.hosts.values_mut().for_each(|(orders, ..)| orders.retain(|order| !is_removed(order)));
    }

    fn open(&self) -> impl Iterator<Item = (&String, u64)> {
        let open = self.hosts.iter().filter(|(_, (orders, is_busy, _))| !is_busy && !orders.is_empty());
        open.map(|(name, (.., not_before_ms))| (name, *not_before_ms))
    }

    fn pop(&mut self, now_ms: u64, seed: u32) -> Result<FetchOrder, Option<u64>> {
        let ready: Vec<&String> = self.open().filter(|(_, time_ms)| *time_ms <= now_ms).map(|(name, _)| name).collect();
        let name = match &self.last_host {
            None => ready.get(seed as usize % ready.len().max(1)),
            Some(last) => ready.iter().find(|name| **name > last).or_else(|| ready.first()),
        };
        let Some(name) = name.map(|name| (*name).clone()) else {
            return Err(self.open().map(|(_, time_ms)| time_ms).min());
        };
        self.last_host = Some(name.clone());
        let (orders, is_busy, _) = self.hosts.get_mut(&name).unwrap();
        *is_busy = true;
        Ok(orders.pop_front().unwrap())
    }
}

fn order(map: i32, number: i32, host: u8) -> FetchOrder {
    let attempt = format!("attempt_202611211027_0016_m_{map:06}_{number}").parse().unwrap();
    FetchOrder { attempt, tracker: format!("http://h{host}:50060") }
}

#[derive(Clone, Debug)]
enum Step {
    Add(i32, i32, u8),
    RemoveAttempt(i32, i32),
    RemoveMap(i32),
    Pop,
    /// Ends a fetch; with a wait in ms: it failed.
    End(usize, Option<u64>),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let (map, number, host) = (0..6_i32, 0..2_i32, 0..5_u8);
    prop_oneof![
        4 => (map.clone(), number.clone(), host).prop_map(|(map, number, host)| Step::Add(map, number, host)),
        1 => (map.clone(), number).prop_map(|(map, number)| Step::RemoveAttempt(map, number)),
        1 => map.prop_map(Step::RemoveMap),
        5 => Just(Step::Pop),
        3 => (0..4_usize, proptest::option::of(1..50_u64)).prop_map(|(at, wait)| Step::End(at, wait)),
        2 => (1..40_u64).prop_map(Step::Wait),
    ]
}

proptest! {
    #[test]
    fn lookups_choose_what_a_scan_chooses(steps in proptest::collection::vec(step(), 0..120), seed in 0..7_u32) {
        let (mut queues, mut scanned) = (HostQueues::default(), Scanned::default());
        let (mut running, mut now_ms) = (Vec::<FetchOrder>::new(), 0);
        for step in steps {
            match step {
                Step::Add(map, number, host) => {
                    queues.push_back(order(map, number, host));
                    scanned.push_back(order(map, number, host));
                }
                Step::RemoveAttempt(map, number) => {
                    let attempt = order(map, number, 0).attempt;
                    queues.remove_attempt(attempt);
                    scanned.remove(|order| order.attempt == attempt);
                }
                Step::RemoveMap(map) => {
                    queues.remove_map(map);
                    scanned.remove(|order| order.attempt.task.number == map);
                }
                Step::Pop => {
                    let found = queues.pop(now_ms, seed).ok_or_else(|| queues.next_ready_ms());
                    prop_assert_eq!(&found, &scanned.pop(now_ms, seed));
                    running.extend(found);
                }
                Step::End(at, wait_ms) if at < running.len() => {
                    let order = running.remove(at);
                    queues.release(&order.tracker);
                    scanned.hosts.get_mut(host_of(&order.tracker)).unwrap().1 = false;
                    if let Some(wait_ms) = wait_ms {
                        queues.push_front(order.clone(), now_ms + wait_ms);
                        scanned.push_front(order, now_ms + wait_ms);
                    }
                }
                Step::End(..) => {}
                Step::Wait(time_ms) => now_ms += time_ms,
            }
        }
        // Nothing is left over of orders that went.
        let queued: usize = queues.hosts.values().map(|host| host.orders.len()).sum();
        prop_assert_eq!(queues.places.values().map(Vec::len).sum::<usize>(), queued);
        prop_assert_eq!(scanned.hosts.values().map(|(orders, ..)| orders.len()).sum::<usize>(), queued);
    }
}

#[test]
fn hosts_are_read_off_urls() {
    assert_eq!(host_of("http://a.b:50060"), "a.b");
    assert_eq!(host_of("http://a.b:50060/x"), "a.b");
    assert_eq!(host_of("a"), "a");
}
