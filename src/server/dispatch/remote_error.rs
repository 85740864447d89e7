//! Refusals as Hadoop's clients know them.

use crate::engine::Refusal;
use crate::ipc::RemoteError;

impl From<Refusal> for RemoteError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::AccessDenied(text) => Self::new("org.apache.hadoop.security.AccessControlException", text),
            Refusal::Invalid(text) => Self::io(text),
            Refusal::InvalidJob(text) => Self::io(format_args!("java.io.IOException: {text}")),
            // What is no IOException travels inside one (1.2.1 `RPC.Server.call`).
            Refusal::IllegalArgument(text) => Self::io(format_args!("java.lang.IllegalArgumentException: {text}")),
            Refusal::SafeMode(text) => Self::new("org.apache.hadoop.mapred.SafeModeException", text),
            Refusal::DisallowedTracker(text) => {
                Self::new("org.apache.hadoop.mapred.DisallowedTaskTrackerException", text)
            }
        }
    }
}
