//! The protocols: their methods, parameters and results. A method is identified by its name, the number of its parameters and their
//! declared classes, all exact, as by Java's reflection. Every protocol has `getProtocolVersion` besides its own methods.

mod admin_operations;
mod call;
pub(super) mod call_value;
mod inter_tracker;
mod job_submission;
mod response;
mod table;
mod task_umbilical;
mod value;

pub use admin_operations::{
    AdminOperationsCall, RefreshAuthorizationPolicyCall, RefreshUserMappingsCall, SafeModeAction,
};
pub(crate) use call::CallFrame;
pub use call::{Call, CallError, decode_call, encode_call};
pub use inter_tracker::{ContainerBeatCall, InterTrackerCall};
pub use job_submission::JobSubmissionCall;
pub(in crate::wire) use response::decode_whole;
pub use response::{CallOutcome, FATAL_CALL_ID, RemoteException, decode_response, encode_response, response_id};
pub(crate) use response::{
    Response, encode_array_start, encode_element, encode_error, encode_fatal, encode_response_start, encode_value,
};
pub(crate) use table::Method;
pub(crate) use task_umbilical::TaskUmbilicalCall;
pub(super) use value::values;
pub use value::{ReturnType, Value};

/// A protocol, as the header of a connection names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Job clients.
    JobSubmission,
    /// TaskTrackers.
    InterTracker,
    /// `hadoop mradmin`.
    AdminOperations,
    /// `hadoop mradmin`, about users and groups.
    RefreshUserMappings,
    /// `hadoop mradmin`, about access to protocols.
    RefreshAuthorizationPolicy,
    /// Task processes; served by a TaskTracker.
    TaskUmbilical,
    /// Containers of built-in workers; ours.
    ContainerBeats,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Self; 7] = [
        Self::JobSubmission,
        Self::InterTracker,
        Self::AdminOperations,
        Self::RefreshUserMappings,
        Self::RefreshAuthorizationPolicy,
        Self::TaskUmbilical,
        Self::ContainerBeats,
    ];

    /// The Java interface; of ours, its name alone.
    pub const fn class_name(self) -> &'static str {
        match self {
            Self::JobSubmission => "org.apache.hadoop.mapred.JobSubmissionProtocol",
            Self::InterTracker => "org.apache.hadoop.mapred.InterTrackerProtocol",
            Self::AdminOperations => "org.apache.hadoop.mapred.AdminOperationsProtocol",
            Self::RefreshUserMappings => "org.apache.hadoop.security.RefreshUserMappingsProtocol",
            Self::RefreshAuthorizationPolicy => {
                "org.apache.hadoop.security.authorize.RefreshAuthorizationPolicyProtocol"
            }
            Self::TaskUmbilical => "org.apache.hadoop.mapred.TaskUmbilicalProtocol",
            Self::ContainerBeats => "org.jobtracker.ContainerProtocol",
        }
    }

    /// The version, that of 1.2.1 where it has the protocol, which a client compares with its own.
    pub const fn version(self) -> i64 {
        match self {
            Self::JobSubmission => 28,
            Self::InterTracker => 31,
            Self::AdminOperations => 3,
            Self::RefreshUserMappings | Self::RefreshAuthorizationPolicy | Self::ContainerBeats => 1,
            Self::TaskUmbilical => 19,
        }
    }

    /// The protocol of that Java interface.
    pub fn from_class_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.class_name() == name)
    }

    /// Its methods, but for `getProtocolVersion`.
    pub const fn methods(self) -> &'static [Method] {
        match self {
            Self::JobSubmission => JobSubmissionCall::METHODS,
            Self::InterTracker => InterTrackerCall::METHODS,
            Self::AdminOperations => AdminOperationsCall::METHODS,
            Self::RefreshUserMappings => RefreshUserMappingsCall::METHODS,
            Self::RefreshAuthorizationPolicy => RefreshAuthorizationPolicyCall::METHODS,
            Self::TaskUmbilical => TaskUmbilicalCall::METHODS,
            Self::ContainerBeats => ContainerBeatCall::METHODS,
        }
    }
}
