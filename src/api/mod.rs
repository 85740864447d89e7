//! JSON types that the server sends and clients read. Names only `model`.
//!
//! The members are what programs read: a change of a name here is a change of the interface.

#![warn(missing_docs)]

mod allowance_status;
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
mod job_parts;
mod job_row;
mod job_tasks;
mod kind_word;
mod log_ticket;
mod order_quote;
mod order_status;
mod pending_reason;
mod play_comparison;
mod queue_status;
mod report;
mod scheduler_report;
mod scheduler_switch;
mod statement;
mod switch_sentences;
mod upload_rules;
mod worker_beat;
mod workers;

pub use allowance_status::AllowanceStatus;
pub use csv::{csv_cell, quoted_csv_cell};
pub use daemon_status::{BudgetImageStatus, ContainerCounts, DaemonStatus, WorkerCounts};
pub use deadline::{CostSource, CostUnit, JobDeadline, Sourced, TaskCost, WhatIfAnswer};
pub use decision::{Decision, PreemptionNumbers, ShortOfSlots};
pub use due_text::{DueText, InvalidDue, InvalidDuration, largest_units, parse_duration_ms, passed_text, span_text};
pub use exact_decimal::{ExactDecimal, ExactDecimalError};
pub use explanation::{
    Buyer, Explanation, Holders, LastRound, Preempted, PreemptedFor, QueueHolds, SufficientRate, TaskCounts,
};
pub use history::{PriceHistory, PricePoint, SpendingHistory, SpendingPoint};
pub use job_detail::{AttemptDetail, JobDetail, LiveAttempt, TaskState};
pub use job_parts::{CounterSpread, JobCounter, JobEvent};
pub use job_row::{JobDue, JobRow, JobState, TaskTally, WhyLine, failed_tasks, killed_by};
pub use job_tasks::{JobTasks, JobTimes, JobTimesList, TaskAttempt, TaskInput};
pub use log_ticket::LogTicket;
pub use order_quote::OrderQuote;
pub use order_status::{OrderState, OrderStatus};
pub use pending_reason::{
    LimitCount, LimitHolder, NOT_BOUGHT_YET, NearLevel, PendingReason, may_not_begin, no_worker_can_run,
    says_may_not_begin, says_no_worker_can_run, says_paused,
};
pub use play_comparison::{
    ComparedGroup, ComparedJob, PlayComparison, PlayFigures, PlaySettings, PlayedEnd, Spread, tenths_text,
};
pub use queue_status::{QueueStatus, QueueStatuses};
pub use report::{Report, ReportRow, ReportSubject, WorkRow};
pub use scheduler_report::{
    BoughtSlots, PlaceInLine, PolicyName, PoolMode, PoolShares, PooledJob, QueueCapacity, QueueJobLimits, QueueUser,
    QueuedJob, QueuedJobStage, ReportedGroup, ReportedJob, SchedulerReport,
};
pub use scheduler_switch::{GroupStatus, MovedJob, SchedulerStatus, SetKey, SwitchPlan, SwitchRefusal, WaitingSwitch};
pub use statement::{MovementReason, Statement, StatementRow};
pub use switch_sentences::{group_sentences, room_sentence};
pub use upload_rules::UploadRules;
pub use worker_beat::{
    BEAT_ANSWER_BYTES, BeatAnswer, BeatContainer, BeatContainerState, ContainerEnd, ContainerKill, ContainerLaunch,
    ContextId, DeclaredBag, LaunchedItem, MOST_HELD_BEAT_MS, ReportedUse, SentContext, WorkerBeat,
};
pub use workers::{WorkerState, WorkerStatus, Workers};
