//! Names of Java classes, as sent before values and in connection headers; enums that are sent by the names of their constants (1.2.1
//! `WritableUtils.writeEnum`).

/// The declared class of every null.
pub(crate) const WRITABLE: &str = "org.apache.hadoop.io.Writable";
/// The instance class of a null.
pub(crate) const NULL_INSTANCE: &str = "org.apache.hadoop.io.ObjectWritable$NullInstance";
/// The declared class of a result of methods that return nothing.
pub(crate) const VOID: &str = "void";
/// The exception that represents most others in an ERROR response.
pub(crate) const IO_EXCEPTION: &str = "java.io.IOException";
/// What a map reports, declared as `mapred.TaskStatus`.
pub(crate) const MAP_TASK_STATUS: &str = "org.apache.hadoop.mapred.MapTaskStatus";
/// What a reduce reports, declared as `mapred.TaskStatus`.
pub(crate) const REDUCE_TASK_STATUS: &str = "org.apache.hadoop.mapred.ReduceTaskStatus";
/// The answer to a heartbeat.
pub(crate) const HEARTBEAT_RESPONSE: &str = "org.apache.hadoop.mapred.HeartbeatResponse";

/// Classes that a Hadoop 1.2.1 server can load although no parameter here has them, or only inside others.
const OTHERS: [&str; 24] = [
    WRITABLE,
    NULL_INSTANCE,
    VOID,
    "byte",
    "char",
    "float",
    "double",
    MAP_TASK_STATUS,
    REDUCE_TASK_STATUS,
    HEARTBEAT_RESPONSE,
    "org.apache.hadoop.mapred.ClusterStatus",
    "org.apache.hadoop.mapred.Counters",
    "org.apache.hadoop.mapred.JobProfile",
    "org.apache.hadoop.mapred.JobQueueInfo",
    "org.apache.hadoop.mapred.JobStatus",
    "org.apache.hadoop.mapred.JvmTask",
    "org.apache.hadoop.mapred.MapTaskCompletionEventsUpdate",
    "org.apache.hadoop.mapred.QueueAclsInfo",
    "org.apache.hadoop.mapred.TaskCompletionEvent",
    "org.apache.hadoop.mapred.TaskID",
    "org.apache.hadoop.mapred.TaskReport",
    "org.apache.hadoop.mapreduce.TaskAttemptID",
    "org.apache.hadoop.mapreduce.TaskID",
    "org.apache.hadoop.security.authorize.AccessControlList",
];

/// Classes of the parameters of all protocols here.
const PARAMETERS: [&str; 17] = [
    "boolean",
    "short",
    "int",
    "long",
    "[J",
    "java.lang.String",
    "org.apache.hadoop.io.Text",
    "org.apache.hadoop.mapred.JobID",
    "org.apache.hadoop.mapred.JobTracker$SafeModeAction",
    "org.apache.hadoop.mapred.JvmContext",
    "org.apache.hadoop.mapred.SortedRanges$Range",
    "org.apache.hadoop.mapred.TaskAttemptID",
    "org.apache.hadoop.mapred.TaskStatus",
    "org.apache.hadoop.mapred.TaskTrackerStatus",
    "org.apache.hadoop.mapreduce.JobID",
    "org.apache.hadoop.security.Credentials",
    "org.apache.hadoop.security.token.Token",
];

/// Whether Hadoop could load a class: a wrong one among these fails the call, any other closes the connection, as with a 1.2.1 server.
pub(crate) fn is_known(name: &[u8]) -> bool {
    PARAMETERS.iter().chain(&OTHERS).any(|known| known.as_bytes() == name)
}

/// Encodes an enum that has names as `Text`.
macro_rules! encoded_by_name {
    ($type:ident, $what:literal) => {
        impl $crate::wire::Decode for $type {
            // A length and at least one letter.
            const MIN_BYTES: usize = 2;

            fn decode(reader: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::wire::WireError> {
                let start = reader.clone();
                let name = reader.vint_bytes($what)?;
                std::str::from_utf8(name).ok().and_then(Self::from_name).ok_or_else(|| {
                    start.error($crate::wire::WireErrorKind::UnknownName($crate::wire::error::excerpt(name)), $what)
                })
            }
        }

        impl $crate::wire::Encode for $type {
            fn encode(&self, writer: &mut $crate::wire::Writer<'_>) {
                writer.text(self.name());
            }
        }
    };
}
pub(crate) use encoded_by_name;
