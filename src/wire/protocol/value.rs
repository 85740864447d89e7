//! Results of methods.

use std::sync::Arc;

use crate::model::JobId;
use crate::wire::object::{encode_class, encode_null};
use crate::wire::{
    AccessControlList, ClusterStatus, Counters, HeartbeatResponse, JobProfile, JobQueueInfo, JobStatus, JvmTask,
    MapEventsUpdate, QueueAclsInfo, Reader, TaskCompletionEvent, TaskReport, Text, Token, WireError, Writer, class,
};

use super::call_value::{CallValue, Nothing};

/// Generates the enum of the values that methods return, `None` being null, and that of their types.
macro_rules! values {
    (
        $value:ident of $kind:ident, $what:literal { $( $(#[$doc:meta])* $variant:ident($type:ty); )+ }
        $( $(#[$own_doc:meta])* $own:ident($own_type:ty) by $encode_own:expr; )?
    ) => {
        /// A value that a method returns. `None` is null.
        #[derive(Clone, Debug, PartialEq)]
        pub enum $value {
            /// The method returns nothing.
            Void,
            $( $(#[$doc])* $variant($type), )+
            $( $(#[$own_doc])* $own($own_type), )?
        }

        /// The type of the value that a method returns.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind {
            /// Nothing.
            Void,
            $( $(#[$doc])* $variant, )+
        }

        impl $kind {
            /// All types.
            pub const ALL: &'static [Self] = &[Self::Void, $( Self::$variant, )+];
        }

        impl $value {
            /// Reads a value of that type, with its class names.
            pub(in crate::wire) fn decode(returns: $kind, reader: &mut Reader<'_>) -> Result<Self, WireError> {
                let start = reader.clone();
                let value = match returns {
                    $kind::Void => <Option<Nothing> as CallValue>::decode(reader).map(|_| Self::Void),
                    $( $kind::$variant => <$type as CallValue>::decode(reader).map(Self::$variant), )+
                };
                value.map_err(|error| error.into_wire_error(&start, $what))
            }

            /// Writes the value with its class names.
            pub(in crate::wire) fn encode(&self, writer: &mut Writer<'_>) {
                match self {
                    Self::Void => encode_null(class::VOID, writer),
                    $( Self::$variant(value) => CallValue::encode(value, writer), )+
                    $( Self::$own(value) => $encode_own(value, writer), )?
                }
            }
        }
    };
}

pub(in crate::wire) use values;

values! {
    Value of ReturnType, "value of a response" {
        /// A number.
        Long(i64);
        /// A boolean.
        Boolean(bool);
        /// A string.
        String(Option<String>);
        /// A text of any length.
        Text(Text);
        /// Strings.
        Strings(Vec<String>);
        /// The id of a job.
        JobId(JobId);
        /// The status of a job.
        JobStatus(Option<JobStatus>);
        /// Statuses of jobs.
        JobStatuses(Vec<JobStatus>);
        /// The profile of a job.
        JobProfile(Option<JobProfile>);
        /// Counters.
        Counters(Option<Counters>);
        /// Reports on tasks.
        TaskReports(Vec<TaskReport>);
        /// Completion events.
        CompletionEvents(Vec<TaskCompletionEvent>);
        /// The status of the cluster.
        ClusterStatus(ClusterStatus);
        /// An access list.
        AccessControlList(AccessControlList);
        /// Queues.
        Queues(Vec<JobQueueInfo>);
        /// A queue.
        QueueInfo(Option<JobQueueInfo>);
        /// The caller's permitted operations in queues.
        QueueAcls(Vec<QueueAclsInfo>);
        /// A token.
        Token(Option<Token>);
        /// A heartbeat response.
        Heartbeat(HeartbeatResponse);
        /// The order to a task process.
        JvmTask(JvmTask);
        /// Completion events of maps.
        MapEventsUpdate(MapEventsUpdate);
    }
    /// A heartbeat response as its [`HeartbeatResponse::encode_body`], for responses that may be repeated.
    EncodedHeartbeat(Arc<[u8]>) by encode_heartbeat;
}

fn encode_heartbeat(body: &[u8], writer: &mut Writer<'_>) {
    encode_class(class::HEARTBEAT_RESPONSE, writer);
    encode_class(class::HEARTBEAT_RESPONSE, writer);
    writer.bytes(body);
}
