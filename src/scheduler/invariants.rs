//! What must hold of the scheduler's counts. Each change checks what it changes; [`Scheduler::check_sums`] compares all
//! of it with a recount.

use std::collections::BTreeMap;

use crate::model::{Kind, PerKind, Pool, TrackerId, Violations};

use super::app::App;
use super::group::{Group, GroupSums};
use super::state::KeyedGroups;
use super::{GroupId, Scheduler};

impl Scheduler {
    /// Moves the invariants found broken since the last call to `violations`.
    pub(crate) fn report_violations(&mut self, violations: &mut Violations) {
        violations.append(&mut self.violations);
        violations.append(&mut self.topology.violations);
    }

    /// Compares each kept sum with a recount over all apps and nodes: slow, for builds with debug assertions.
    pub(crate) fn check_sums(&self, violations: &mut Violations) {
        self.policy.check_counts(&self.view(), violations);
        let recount = self.recount();
        violations.check(self.totals == recount, || format!("sums {:?}, by a recount {recount:?}", self.totals));
        let sums = self.recount_groups();
        for (id, group) in self.groups.all() {
            let name = &group.name;
            let recount = sums.get(&id).copied().unwrap_or_default();
            violations.check(group.sums() == recount, || {
                format!("queue {name} has {:?}, by a recount {recount:?}", group.sums())
            });
            self.check_releasing(name, group, violations);
        }
        Pool::ALL.into_iter().for_each(|pool| self.check_order(pool, violations));
        self.check_containers(violations);
        for kind in Kind::ALL {
            let on_nodes: u64 = self.nodes.values().map(|node| u64::from(node.held[kind])).sum();
            violations.check(on_nodes <= self.totals.held[kind], || {
                format!("apps hold {on_nodes} {kind:?} slots of nodes, but {} in all", self.totals.held[kind])
            });
        }
        for (id, node) in &self.nodes {
            for kind in Kind::ALL {
                violations.check(node.releasing[kind] <= node.in_use(kind), || {
                    format!("{id} releases more than it uses: {node:?}")
                });
            }
        }
    }

    fn check_order(&self, pool: Pool, violations: &mut Violations) {
        let asks_idle_apps = self.policy.asks_idle_apps() && pool != Pool::Container;
        let is_asked = |app: &&App| app.waiting(pool) > 0 || asks_idle_apps && app.is_running() && !app.is_paused;
        let waiting = self.apps.values().filter(is_asked).count();
        let ordered = self.orders[pool].apps();
        let parked = self.apps.values().filter(|app| app.is_parked[pool]).count();
        let listed = self.parked_apps[pool].len();
        violations.check(parked == listed, || format!("{parked} apps are parked for {pool:?} slots, listed {listed}"));
        violations.check(waiting == ordered + parked, || {
            format!("{waiting} apps wait for {pool:?} slots, the order has {ordered}, parked are {parked}")
        });
        if pool == Pool::Container {
            // Its keys follow the slots of the other pools too.
            let keys = KeyedGroups { policy: &*self.policy, groups: &self.groups, pool };
            let misplaced = self.orders[pool].misplaced(&keys);
            violations.check(misplaced.is_none(), || format!("{misplaced:?} is misplaced in the order of containers"));
        }
    }

    pub(crate) fn held_by_node(&self) -> impl Iterator<Item = (TrackerId, PerKind<u32>)> {
        self.nodes.iter().map(|(id, node)| (*id, node.held))
    }

    fn check_releasing(&self, name: &str, group: &Group, violations: &mut Violations) {
        for pool in Pool::ALL {
            let (releasing, held) = (group.releasing[pool], group.held[pool]);
            violations
                .check(releasing <= held, || format!("queue {name} releases {releasing} of {held} {pool:?} slots"));
        }
    }

    fn recount_groups(&self) -> BTreeMap<GroupId, GroupSums> {
        let mut sums: BTreeMap<GroupId, GroupSums> = BTreeMap::new();
        // Any order gives the same sums.
        for app in self.apps.values() {
            for group in self.groups.path(app.home) {
                let sum = sums.entry(group).or_default();
                sum.apps += 1;
                for pool in Pool::ALL {
                    sum.running[pool] += app.running[pool];
                    sum.held[pool] += app.held[pool];
                    sum.releasing[pool] += app.releasing[pool];
                    sum.waiting[pool] += app.waiting(pool);
                }
                Kind::ALL.into_iter().for_each(|kind| sum.pending[kind] += u64::from(app.wanted_later(kind)));
                sum.preparing += u32::from(app.is_preparing());
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::{AppId, AppSpec, HostId};

    fn scheduler() -> (Scheduler, AppId, HostId, TrackerId) {
        let mut scheduler = Scheduler::dynamic();
        scheduler.violations = Violations::counting();
        scheduler.topology.violations = Violations::counting();
        let group = scheduler.open_group("q");
        let host = scheduler.topology_mut().intern_host("h", "/r");
        let node = scheduler.add_node(host, PerKind::new(4, 1));
        let app = AppId::new(1);
        scheduler.add_app(AppSpec::plain(app, group)).unwrap();
        (scheduler, app, host, node)
    }

    fn texts(scheduler: &mut Scheduler) -> Vec<String> {
        let mut violations = Violations::counting();
        scheduler.report_violations(&mut violations);
        scheduler.check_sums(&mut violations);
        violations.take().into_iter().map(|broken| broken.text).collect()
    }

    #[test]
    fn right_calls_break_nothing() {
        let (mut scheduler, app, host, node) = scheduler();
        scheduler.request_slots(app, Kind::Map, &[host], 3);
        scheduler.withdraw_request(app, Kind::Map, &[host], 1);
        scheduler.add_running(app, Kind::Map, node, 1);
        scheduler.mark_releasing(app, Kind::Map, node, 1);
        assert_eq!(texts(&mut scheduler), [""; 0]);
    }

    #[test]
    fn each_wrong_call_is_found() {
        type WrongCall = fn(&mut Scheduler, AppId, HostId, TrackerId);
        let wrong: [(WrongCall, &str); 6] = [
            (
                |scheduler, app, _, node| scheduler.remove_running(app, Kind::Map, node, 1),
                "app 1 has no Map attempt to remove",
            ),
            (|scheduler, _, _, node| scheduler.release_slots(node, Kind::Map, 1), "a count of 0 cannot drop by 1"),
            (|scheduler, _, host, _| scheduler.topology_mut().release(host), "a count of 0 cannot drop by 1"),
            (
                |scheduler, app, host, _| {
                    scheduler.request_slots(app, Kind::Map, &[host], 1);
                    scheduler.withdraw_request(app, Kind::Map, &[host], 2);
                },
                "2 of 1 tasks of app 1 stop waiting",
            ),
            (
                |scheduler, app, host, _| {
                    scheduler.request_slots(app, Kind::Map, &[], 1);
                    scheduler.withdraw_request(app, Kind::Map, &[host], 1);
                },
                "no row to take 1 waiting tasks from",
            ),
            (
                |scheduler, app, _, node| scheduler.unmark_releasing(app, Kind::Map, node, 1),
                "a count of 0 cannot drop by 1",
            ),
        ];
        for (call, text) in wrong {
            let (mut scheduler, app, host, node) = scheduler();
            call(&mut scheduler, app, host, node);
            let found = texts(&mut scheduler);
            assert_eq!(found.first().map(String::as_str), Some(text), "{found:?}");
        }
    }

    #[test]
    fn each_wrong_sum_is_found() {
        type Damage = fn(&mut Scheduler, AppId, TrackerId);
        let damages: [(Damage, &str); 6] = [
            (|scheduler, _, _| scheduler.totals.slots.map += 1, "sums "),
            (|scheduler, app, _| scheduler.apps.get_mut(&app).unwrap().running.map += 1, "sums "),
            (|scheduler, app, _| scheduler.apps.get_mut(&app).unwrap().pending.map += 1, "queue q has "),
            (
                |scheduler, app, node| scheduler.mark_releasing(app, Kind::Map, node, 1),
                "queue q releases 1 of 0 Map slots",
            ),
            (
                |scheduler, _, node| scheduler.nodes.get_mut(&node).unwrap().held.map += 1,
                "apps hold 1 Map slots of nodes",
            ),
            (
                |scheduler, app, _| scheduler.enqueue(app, Pool::Map),
                "0 apps wait for Map slots, the order has 1, parked are 0",
            ),
        ];
        for (damage, text) in damages {
            let (mut scheduler, app, _, node) = scheduler();
            damage(&mut scheduler, app, node);
            let found = texts(&mut scheduler);
            assert!(found.iter().any(|found| found.starts_with(text)), "{text}: {found:?}");
        }
    }
}
