//! Apps that wait to begin: added, without demand, until the policy lets them.

use crate::model::Now;

use super::change::Reaction;
use super::view::View;
use super::{AppId, Scheduler};

impl Scheduler {
    /// The apps that begin now, in that order: each is returned once. Called while none waits too: the policy may count
    /// apps that had begun before it took over.
    pub fn begin_apps(&mut self, now: Now) -> Vec<AppId> {
        if !self.to_begin.is_empty() {
            self.refresh_fits_when_due(now);
        }
        let Self { policy, groups, apps, nodes, totals, moves, violations, .. } = self;
        let (view, mut reaction) = (View { groups, totals, apps, nodes }, Reaction { moves, violations });
        let mut beginners = policy.choose_beginners(&self.to_begin, now, &view, &mut reaction);
        self.carry_out_moves();
        beginners.retain(|id| self.to_begin.remove(id));
        beginners
    }

    /// An app had begun before a restart.
    pub fn resume_app(&mut self, id: AppId) {
        self.to_begin.remove(&id);
        if let Some(app) = self.apps.get_mut(&id) {
            app.begins_once_resumed = false;
        }
    }

    pub(crate) fn is_to_begin(&self, id: AppId) -> bool {
        self.to_begin.contains(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::{AppSpec, FifoOptions};

    const NOW: Now = Now { mono_ms: 0, wall_ms: 0 };

    fn with_apps(scheduler: &mut Scheduler, numbers: [u32; 3]) -> [AppId; 3] {
        let group = scheduler.open_group("q");
        numbers.map(|number| {
            let id = AppId::new(number);
            scheduler.add_app(AppSpec::plain(id, group)).unwrap();
            id
        })
    }

    #[test]
    fn first_in_first_out_and_the_market_let_all_begin_at_once_and_each_once() {
        let fifo = |compatible| Scheduler::fifo(FifoOptions { compatible, ..FifoOptions::default() });
        for mut scheduler in [fifo(false), fifo(true), Scheduler::dynamic()] {
            let [first, resumed, removed] = with_apps(&mut scheduler, [1, 2, 3]);
            assert!(scheduler.is_to_begin(first));
            scheduler.resume_app(resumed);
            scheduler.remove_app(removed);
            assert_eq!(scheduler.begin_apps(NOW), [first]);
            assert!(!scheduler.is_to_begin(first));
            assert_eq!(scheduler.begin_apps(NOW), []);
        }
    }

    #[test]
    fn an_app_that_the_policy_holds_back_waits() {
        let mut scheduler = Scheduler::fifo(FifoOptions::default());
        let gate = scheduler.set_gate();
        let [first, second, third] = with_apps(&mut scheduler, [1, 2, 3]);
        assert_eq!(scheduler.begin_apps(NOW), []);
        gate.admit(2);
        assert_eq!(scheduler.begin_apps(NOW), [first, second]);
        assert_eq!(scheduler.begin_apps(NOW), []);
        assert!(scheduler.is_to_begin(third));
    }
}
