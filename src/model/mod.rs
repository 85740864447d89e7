//! Types shared by several rooms: kinds of slots, time as a value, fact numbers, ids, exact ratios, life-cycle states,
//! broken invariants. Depends on no other room.

mod application_id;
mod application_secret;
mod capability;
mod container_exit;
mod count;
mod counted;
mod counter_limits;
mod credits;
mod decimal;
mod delegation_settings;
mod edit_distance;
mod end_notification;
mod fact_number;
mod hex;
mod http_url;
mod id;
mod kind;
mod launch_context;
mod log_ticket;
mod names;
mod now;
mod order_class;
mod order_terms;
mod parts_per_million;
mod pool;
mod queue_name;
mod rack;
mod start_failure;
mod states;
mod tracker_id;
mod violations;

pub use application_id::{ApplicationId, ContainerId};
pub use application_secret::ApplicationSecret;
pub use capability::Capability;
pub use container_exit::ContainerExit;
pub use count::{Count, lower, raise};
pub use counted::counted;
pub use counter_limits::CounterLimits;
pub use credits::{Credits, CreditsError};
pub use decimal::Decimal;
pub use delegation_settings::DelegationSettings;
pub use edit_distance::{edit_distance, nearest};
pub use end_notification::EndNotification;
pub use fact_number::FactNumber;
pub use hex::{from_hex, hex};
pub use http_url::{Authority, HttpUrl, HttpUrlError, parse_port, split_port};
pub use id::{AttemptId, IdError, Identifier, JobId, TaskId};
pub use kind::{Kind, PerKind};
pub use launch_context::{
    BroughtResource, ContentResource, LaunchContext, LocalResource, LogOverflow, OutputPlace, ResourceKind,
};
pub use log_ticket::{LOG_TICKET_MS, LogKey, LogTicketError};
pub(crate) use names::names;
pub use now::Now;
pub use order_class::OrderClass;
pub use order_terms::OrderTerms;
pub use parts_per_million::PartsPerMillion;
pub use pool::{PerPool, Pool};
pub use queue_name::{QueueName, QueueNameError};
pub use rack::DEFAULT_RACK;
pub use start_failure::{START_FAILURE, is_start_failure};
pub use states::{AttemptState, Priority, RunState};
pub use tracker_id::TrackerId;
pub use violations::{BrokenInvariant, Violations};
