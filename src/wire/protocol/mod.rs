//! The protocols: which methods there are, what they take and what they return.
//!
//! A method is found by its name, the number of its parameters and their declared classes, all exact, as Java's
//! reflection finds it. Every protocol has `getProtocolVersion` besides its own methods.

mod admin_operations;
mod call;
mod call_value;
mod inter_tracker;
mod job_submission;
mod refresh_authorization_policy;
mod refresh_user_mappings;
mod response;
mod table;
mod task_umbilical;
mod value;

pub use admin_operations::{AdminOperationsCall, SafeModeAction};
pub use call::{Call, CallError, CallFrame, decode_call, encode_call};
pub use inter_tracker::InterTrackerCall;
pub use job_submission::JobSubmissionCall;
pub use refresh_authorization_policy::RefreshAuthorizationPolicyCall;
pub use refresh_user_mappings::RefreshUserMappingsCall;
pub use response::{
    FATAL_CALL_ID, Outcome, RemoteException, Response, decode_response, encode_array_start, encode_element,
    encode_error, encode_fatal, encode_response, encode_response_start, encode_value, response_id,
};
pub use table::Method;
pub use task_umbilical::{NewApiJobId, TaskUmbilicalCall};
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
}

// === impl Protocol ===

impl Protocol {
    /// All protocols.
    pub const ALL: [Self; 6] = [
        Self::JobSubmission,
        Self::InterTracker,
        Self::AdminOperations,
        Self::RefreshUserMappings,
        Self::RefreshAuthorizationPolicy,
        Self::TaskUmbilical,
    ];

    /// The Java interface.
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
        }
    }

    /// The version of 1.2.1, which a client compares with its own.
    pub const fn version(self) -> i64 {
        match self {
            Self::JobSubmission => 28,
            Self::InterTracker => 31,
            Self::AdminOperations => 3,
            Self::RefreshUserMappings | Self::RefreshAuthorizationPolicy => 1,
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
        }
    }
}
