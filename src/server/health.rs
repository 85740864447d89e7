//! Health of the daemon for other threads, with the one line that `/healthz` and `/readyz` give: the gravest of what is wrong.

use std::sync::Arc;

use tokio::sync::watch;

use crate::clock::wall_ms;
use crate::store::{BudgetStatus, Durable, Health as StoreHealth};
use crate::web::{HEALTHY, Health};

use super::acl_file::AclFile;
use super::application_requests::ApplicationUsers;
use super::application_waits::WaitingCalls;
use super::broken_invariants::BrokenInvariants;
use super::fair_pool::StuckThreads;
use super::history::HistoryCounts;
use super::owner::complaint_of;
use super::quarantine::RefusedSenders;
use super::serving_flag::ServingFlag;
use super::submission::AwaitedFiles;

/// Where health is read. Cheap to clone, for any thread.
#[derive(Clone, Debug)]
pub(super) struct HealthSources {
    pub(super) store: watch::Receiver<Durable>,
    pub(super) serving: ServingFlag,
    pub(super) acl: Option<Arc<AclFile>>,
    pub(super) application_users: ApplicationUsers,
    pub(super) budget: Option<BudgetStatus>,
    pub(super) stuck_threads: StuckThreads,
    pub(super) awaited_files: AwaitedFiles,
    pub(super) broken_invariants: BrokenInvariants,
    pub(super) histories: HistoryCounts,
    pub(super) refused_senders: Option<RefusedSenders>,
    pub(super) waiting_calls: WaitingCalls,
}

impl HealthSources {
    /// `is_alive`: the owner's thread runs.
    pub(super) fn read(&self, is_alive: bool) -> Health {
        let is_serving = self.serving.is_set();
        let Durable { health: store, missed_updates, .. } = self.store.borrow().clone();
        let awaited = self.awaited_files.reason();
        let can_stage = awaited.is_none() && !self.stuck_threads.are_all();
        let mut health = Health {
            is_alive,
            is_ready: is_alive && is_serving && store.is_good() && can_stage,
            text: String::new(),
            acl_error: self.acl.as_ref().and_then(|acl| acl.error()).or_else(|| self.application_users.error()),
            unwritable: complaint_of(&store),
            at_ms: wall_ms(),
            budgets: self.budget.as_ref().map(BudgetStatus::read),
            budget_error: self.budget.as_ref().and_then(BudgetStatus::last_error),
            store_error: missed_updates.complaint(),
            rowless_updates: missed_updates.updates,
            waiting_calls: self.waiting_calls.count(),
            refused_senders: self.refused_senders.as_ref().and_then(RefusedSenders::complaint),
            defect: self.broken_invariants.complaint(),
            invariant_violations: self.broken_invariants.violations(),
            histories: self.histories.read(),
        };
        health.text = match store {
            _ if !is_alive => "the owner of all state has stopped".to_owned(),
            _ if !is_serving => "not serving: starting or stopping".to_owned(),
            StoreHealth::Failing { text, tries, .. } => {
                format!("the state store cannot write ({tries} tries so far): {text}")
            }
            StoreHealth::Broken { text } => format!("the state store is broken: {text}"),
            StoreHealth::Good => self.text_of_good_store(awaited, &health),
        };
        health
    }

    fn text_of_good_store(&self, awaited: Option<String>, health: &Health) -> String {
        if self.stuck_threads.are_all() {
            return "no job can be submitted: all threads for files of jobs are stuck on files that do not answer"
                .to_owned();
        }
        // With a complaint jobs run, though new users wait or a file is behind the ledger: the daemon is still ready.
        match (awaited, health.complaints().next(), self.stuck_threads.stuck()) {
            (Some(awaited), ..) => {
                format!("no job can be submitted: the files of jobs cannot be reached: {awaited}")
            }
            (None, Some(error), _) => format!("ok, but {error}"),
            (None, None, Some((stuck, most))) => {
                format!("ok, but {stuck} of {most} threads for files of jobs are stuck on files that do not answer")
            }
            (None, None, None) => HEALTHY.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FactNumber;

    #[test]
    fn health_reports_stuck_threads() {
        let durable = Durable { number: FactNumber(0), health: StoreHealth::Good, missed_updates: Default::default() };
        let (_store, store) = watch::channel(durable);
        let serving = ServingFlag::default();
        serving.set(true);
        let health = |stuck| {
            let sources = HealthSources {
                store: store.clone(),
                serving: serving.clone(),
                acl: None,
                application_users: ApplicationUsers::Off,
                budget: None,
                stuck_threads: StuckThreads::of(stuck, 16),
                awaited_files: AwaitedFiles::default(),
                broken_invariants: BrokenInvariants::default(),
                histories: HistoryCounts::default(),
                refused_senders: None,
                waiting_calls: WaitingCalls::default(),
            };
            sources.read(true)
        };
        assert!(health(0).is_ready && health(0).text == "ok");
        let some = health(3);
        assert!(some.is_ready && some.text.contains("3 of 16 threads"), "{some:?}");
        let all = health(16);
        assert!(
            !all.is_ready && all.is_alive && all.text.contains("all threads for files of jobs are stuck"),
            "{all:?}"
        );
    }
}
