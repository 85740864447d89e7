//! The engine's replies and refusals as Hadoop's clients know them.

use crate::engine::{HeartbeatAnswer, Refusal, Reply, SubmissionReply};
use crate::ipc::{CallAnswer, RemoteError};
use crate::wire::protocol::Value;

/// The answer to a call for an engine's reply.
pub(super) fn answer_of(reply: Reply) -> CallAnswer {
    CallAnswer::Value(match reply {
        Reply::Done => Value::Void,
        Reply::Heartbeat(HeartbeatAnswer::Fresh(response)) => Value::Heartbeat(response),
        Reply::Heartbeat(HeartbeatAnswer::Encoded(body)) => Value::EncodedHeartbeat(body),
        Reply::JobId(id) => Value::JobId(id),
        Reply::Boolean(truth) => Value::Boolean(truth),
        Reply::Token(token) => Value::Token(Some(token)),
        Reply::Time(time_ms) => Value::Long(time_ms),
        Reply::Submission(SubmissionReply::Accepted(status)) => Value::JobStatus(Some(status)),
        Reply::Refused(refusal) => return CallAnswer::Error(refusal.into()),
        // Never the reply to a call: replies within a submission, the market's, those about applications, and those to an
        // operator.
        Reply::Submission(SubmissionReply::ReadFiles | SubmissionReply::WriteSystemDir { .. })
        | Reply::Market(_)
        | Reply::Application(_)
        | Reply::Beat(_)
        | Reply::TopUps(_)
        | Reply::Switch(_) => {
            return CallAnswer::Error(RemoteError::io("the JobTracker produced a reply of the wrong kind"));
        }
    })
}

impl From<Refusal> for RemoteError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::AccessDenied(text) => Self::new("org.apache.hadoop.security.AccessControlException", text),
            Refusal::InvalidToken(text) => {
                Self::new("org.apache.hadoop.security.token.SecretManager$InvalidToken", text)
            }
            Refusal::Invalid(text) => Self::io(text),
            Refusal::InvalidJob(text) => Self::io(format_args!("java.io.IOException: {text}")),
            // What is no IOException travels inside one (1.2.1 `RPC.Server.call`).
            Refusal::IllegalArgument(text) => Self::io(format_args!("java.lang.IllegalArgumentException: {text}")),
            Refusal::UndeclaredPool(text) => Self::new("org.apache.hadoop.mapred.UndeclaredPoolException", text),
            Refusal::SafeMode(text) => Self::new("org.apache.hadoop.mapred.SafeModeException", text),
            Refusal::DisallowedTracker(text) => {
                Self::new("org.apache.hadoop.mapred.DisallowedTaskTrackerException", text)
            }
        }
    }
}
