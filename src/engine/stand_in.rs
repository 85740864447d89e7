//! Stand-in for the engine until it compiles: its entrance and its reads, with nothing behind them.
#![allow(missing_docs)]

use super::*;
use crate::market::{BudgetLine, Market, MarketFact};
use crate::scheduler::Kind;
use crate::wire::*;

#[derive(Clone, Debug, Default)]
pub struct Restored {
    pub last_fact: FactNumber,
    pub last_order: u64,
    pub market: Vec<MarketFact>,
}

#[derive(Debug)]
pub struct Engine;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    Work(Kind),
    Setup,
    Cleanup,
}

fn nothing<T>(value: T) -> Read<T> {
    Read { value, wait_for: FactNumber(0) }
}

impl Engine {
    pub fn step(&mut self, _event: Event, _now: Now) -> Step {
        let reply = Reply::Done;
        Step { reply, wait_for: FactNumber(0), effects: vec![], facts: vec![], first_fact: FactNumber(1) }
    }
    pub fn next_timer_ms(&self) -> Option<u64> {
        None
    }
    pub fn take_start_facts(&mut self) -> (FactNumber, Vec<Fact>) {
        (FactNumber(1), vec![])
    }
    pub fn endow(&mut self, _lines: Vec<BudgetLine>, _now: Now) {}
    pub fn market(&self) -> Option<&Market> {
        None
    }
    pub fn job_status(&self, _id: JobId) -> Read<Option<JobStatus>> {
        nothing(None)
    }
    pub fn job_profile(&self, _id: JobId) -> Read<Option<JobProfile>> {
        nothing(None)
    }
    pub fn job_counters(&self, _id: JobId) -> Read<Option<Counters>> {
        nothing(None)
    }
    pub fn task_reports(&self, _id: JobId, _kind: ReportKind) -> Read<Vec<TaskReport>> {
        nothing(vec![])
    }
    pub fn completion_events(&self, _id: JobId, _from: usize, _max: usize) -> Read<Vec<TaskCompletionEvent>> {
        nothing(vec![])
    }
    pub fn task_diagnostics(&self, _id: AttemptId) -> Read<Vec<String>> {
        nothing(vec![])
    }
    pub fn all_jobs(&self) -> Read<Vec<JobStatus>> {
        nothing(vec![])
    }
    pub fn jobs_to_complete(&self) -> Read<Vec<JobStatus>> {
        nothing(vec![])
    }
    pub fn jobs_of_queue(&self, _queue: &str) -> Read<Vec<JobStatus>> {
        nothing(vec![])
    }
    pub fn queues(&self) -> Read<Vec<JobQueueInfo>> {
        nothing(vec![])
    }
    pub fn queue(&self, _queue: &str) -> Read<Option<JobQueueInfo>> {
        nothing(None)
    }
    pub fn queue_acls(&self, _user: &str) -> Read<Vec<QueueAclsInfo>> {
        nothing(vec![])
    }
    pub fn queue_admins(&self, _queue: &str) -> Read<AccessControlList> {
        nothing(AccessControlList("*".into()))
    }
    pub fn cluster_status(&self, _detailed: bool) -> Read<ClusterStatus> {
        nothing(ClusterStatus {
            active: Default::default(),
            blacklisted: Default::default(),
            graylisted: Default::default(),
            excluded_nodes: 0,
            tracker_expiry_interval_ms: 600_000,
            running_maps: 0,
            running_reduces: 0,
            max_map_slots: 0,
            max_reduce_slots: 0,
            used_memory_bytes: 0,
            max_memory_bytes: 0,
            state: TrackerState::Running,
        })
    }
    pub fn overview(&self) -> Read<Overview> {
        nothing(Overview::default())
    }
}
