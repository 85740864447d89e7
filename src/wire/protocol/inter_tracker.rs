//! `InterTrackerProtocol` 31: calls of a TaskTracker to the JobTracker; and `org.jobtracker.ContainerProtocol` 1, beats of a built-in
//! worker about its containers, which no Java JobTracker has.

use crate::model::JobId;
use crate::wire::{HeartbeatRequest, Text};

use super::table::protocol;

protocol! {
    /// Calls of TaskTrackers.
    InterTrackerCall {
        /// The heartbeat. It must never fail.
        Heartbeat = "heartbeat" {
            /// Its five parameters.
            request: Box<HeartbeatRequest>,
        } -> Heartbeat;
        /// URI of the default file system; 1.2.1 trackers do not call it.
        GetFilesystemName = "getFilesystemName" -> String;
        /// Reports why a tracker cannot continue.
        ReportTaskTrackerError = "reportTaskTrackerError" {
            /// Name of the tracker.
            tracker: Option<String>,
            /// Class of the exception; often null.
            error_class: Option<String>,
            /// What happened.
            message: Option<String>,
        } -> Void;
        /// A part of a job's list of completion events.
        GetTaskCompletionEvents = "getTaskCompletionEvents" {
            /// The job; `None` for a foreign one.
            job: Option<JobId>,
            /// The first event wanted.
            from: i32,
            /// Most events.
            max: i32,
        } -> CompletionEvents;
        /// URI of the system directory; null makes the tracker ask again.
        GetSystemDir = "getSystemDir" -> String;
        /// The build, which a tracker compares byte for byte with its own.
        GetBuildVersion = "getBuildVersion" -> String;
        /// The release, which a tracker with the relaxed check compares.
        GetReleaseVersion = "getVIVersion" -> String;
    }
}

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
