//! Messages between a task's process and its tracker (1.2.1 `TaskUmbilicalProtocol`).

use crate::model::{JobId, Kind};

use super::{Decode, Encode, Reader, Task, TaskCompletionEvent, Text, WireError, Writer};

/// A process that runs tasks of one job and kind (1.2.1 `JVMId`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JvmId {
    /// Random, may be negative.
    pub(crate) number: i32,
    pub(crate) job: JobId,
    pub(crate) kind: Kind,
}

/// The calling process (1.2.1 `JvmContext`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JvmContext {
    pub(crate) jvm: JvmId,
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

impl Decode for JvmId {
    const MIN_BYTES: usize = 10;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            number: reader.i32("number of a process")?,
            job: JobId::decode(reader)?,
            kind: Kind::from_is_map(reader.bool("kind of a process")?),
        })
    }
}

impl Encode for JvmId {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.i32(self.number);
        self.job.encode(writer);
        writer.bool(self.kind.is_map());
    }
}

impl Decode for JvmContext {
    const MIN_BYTES: usize = JvmId::MIN_BYTES + 1;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self { jvm: JvmId::decode(reader)?, process_id: reader.text("process id")? })
    }
}

impl Encode for JvmContext {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.jvm.encode(writer);
        writer.text(&self.process_id);
    }
}

impl Decode for JvmTask {
    const MIN_BYTES: usize = 2;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let should_die = reader.bool("order to exit")?;
        let has_task = reader.bool("task flag")?;
        Ok(Self { should_die, task: if has_task { Some(Box::new(Task::decode(reader)?)) } else { None } })
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

impl Decode for MapEventsUpdate {
    const MIN_BYTES: usize = 5;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let reset = reader.bool("reset of events")?;
        let count = reader.i32("number of events")?;
        Ok(Self { reset, events: reader.list(count, "number of events")? })
    }
}

impl Encode for MapEventsUpdate {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.bool(self.reset);
        writer.count(self.events.len());
        writer.list(&self.events);
    }
}
