//! JSON types that the server sends and clients read. Names only `model`.
//!
//! The members are what programs read: a change of a name here is a change of the interface.

#![warn(missing_docs)]

pub mod applications;
mod csv;
mod daemon_status;
mod deadline;
mod decision;
mod due_text;
mod exact_decimal;
mod explanation;
mod history;
mod job_detail;
mod job_row;
mod job_tasks;
mod kind_word;
mod order_status;
mod pending_reason;
mod play_comparison;
mod queue_status;
mod report;
mod scheduler_report;
mod scheduler_switch;
mod statement;
mod upload_rules;
mod worker_beat;
mod workers;

pub(crate) use csv::{csv_cell, quoted_csv_cell};
pub(crate) use daemon_status::{BudgetImageStatus, ContainerCounts, DaemonStatus, WorkerCounts};
pub use deadline::WhatIfAnswer;
pub(crate) use deadline::{CostSource, CostUnit, JobDeadline, Sourced, TaskCost};
pub(crate) use decision::{Claimant, Decision, PreemptionNumbers};
pub(crate) use due_text::{
    DueText, largest_units, parse_duration_ms, parse_time_in, parse_utc_ms, passed_text, span_text,
};
pub(crate) use exact_decimal::ExactDecimal;
pub use explanation::Explanation;
pub(crate) use explanation::{
    Buyer, Holders, LastRound, Preempted, PreemptedFor, QueueHolds, SufficientRate, TaskCounts,
};
pub(crate) use history::SpendingPoint;
pub use history::{PriceHistory, PricePoint, SpendingHistory};
pub(crate) use job_detail::{AttemptDetail, CounterSpread, JobCounter, JobDetail, JobEvent, LiveAttempt, TaskState};
pub(crate) use job_row::{JobDue, JobRow, JobState, TaskTally, WhyLine, failed_tasks, killed_by};
pub use job_tasks::{JobTasks, LogTicket};
pub(crate) use job_tasks::{JobTimes, JobTimesList, TaskAttempt, TaskInput};
pub use order_status::OrderQuote;
pub(crate) use order_status::{OrderState, OrderStatus};
pub use pending_reason::PendingReason;
pub(crate) use pending_reason::{
    LimitCount, LimitHolder, NOT_BOUGHT_YET, NearLevel, may_not_begin, no_worker_can_run, says_may_not_begin,
    says_no_worker_can_run, says_paused,
};
pub use play_comparison::{ComparedGroup, ComparedJob, PlayComparison, PlayFigures, PlaySettings, PlayedEnd};
pub(crate) use play_comparison::{Spread, tenths_text};
pub(crate) use queue_status::{AllowanceStatus, QueueStatus, QueueStatuses};
pub use report::Report;
pub(crate) use report::{ReportRow, ReportSubject, WorkRow};
pub(crate) use scheduler_report::{
    BoughtSlots, PlaceInLine, PoolMode, PoolShares, PooledJob, QueueCapacity, QueueJobLimits, QueueUser, QueuedJob,
    QueuedJobStage, ReportedGroup, ReportedJob,
};
pub use scheduler_report::{PolicyName, SchedulerReport};
pub(crate) use scheduler_switch::{
    GroupStatus, MovedJob, SchedulerStatus, WaitingSwitch, group_sentences, room_sentence,
};
pub use scheduler_switch::{SetKey, SwitchPlan, SwitchRefusal};
pub use statement::{MovementReason, Statement, StatementRow};
pub(crate) use upload_rules::UploadRules;
pub(crate) use worker_beat::{BEAT_ANSWER_BYTES, ContextId, LaunchedItem, MOST_HELD_BEAT_MS, ReportedUse, SentContext};
pub use worker_beat::{
    BeatAnswer, BeatContainer, BeatContainerState, ContainerEnd, ContainerKill, ContainerLaunch, DeclaredBag,
    WorkerBeat,
};
pub use workers::Workers;
pub(crate) use workers::{WorkerState, WorkerStatus};
