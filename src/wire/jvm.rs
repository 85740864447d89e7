//! Messages between a task's process and its tracker (1.2.1 `TaskUmbilicalProtocol`).

use crate::model::{JobId, Kind};

use super::fields::fields;
use super::{Decode, Encode, Reader, Task, TaskCompletionEvent, Text, WireError, Writer};

/// The calling process, which runs tasks of one job and kind (1.2.1 `JvmContext` with its `JVMId`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JvmContext {
    /// Random, may be negative.
    pub(crate) number: i32,
    pub(crate) job: JobId,
    pub(crate) kind: Kind,
    /// Its process id at the operating system.
    pub(crate) process_id: Text,
}

/// The next order to a process (1.2.1 `JvmTask`).
#[derive(Clone, Debug, PartialEq)]
pub struct JvmTask {
    pub(crate) should_die: bool,
    /// The task to run; without one, the process asks again.
    pub(crate) task: Option<Box<Task>>,
}

/// New completion events for a reduce (1.2.1 `MapTaskCompletionEventsUpdate`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapEventsUpdate {
    /// Whether the reduce must drop all earlier events.
    pub(crate) reset: bool,
    /// The new events.
    pub(crate) events: Vec<TaskCompletionEvent>,
}

fields! {
    JvmContext, 11;
    number: i32 "number of a process",
    job,
    kind: kind "kind of a process",
    process_id: &text "process id",
}

impl Decode for JvmTask {
    const MIN_BYTES: usize = 2;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let should_die = reader.bool("order to exit")?;
        Ok(Self { should_die, task: reader.option("task flag")?.map(Box::new) })
    }
}

impl Encode for JvmTask {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.bool(self.should_die);
        writer.bool(self.task.is_some());
        if let Some(task) = &self.task {
            task.encode(writer);
        }
    }
}

fields! {
    MapEventsUpdate, 5;
    reset: bool "reset of events",
    events: &list "number of events",
}
