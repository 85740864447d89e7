//! `org.jobtracker.ContainerProtocol` 1: beats of a built-in worker about its containers. Ours; no Java JobTracker has it.

use crate::wire::Text;

use super::table::protocol;

protocol! {
    /// Calls of a built-in worker about its containers.
    ContainerBeatCall {
        /// What its containers do; the answer may be held back until there is something to say. `Text`, since Java's strings end
        /// at 65,535 bytes.
        Beat = "beat" {
            /// JSON of a worker's beat; the answer's is that of a beat's answer.
            beat: Text,
        } -> Text;
    }
}
