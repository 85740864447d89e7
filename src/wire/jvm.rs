//! What a task's process and its tracker tell each other (1.2.1 `TaskUmbilicalProtocol`).

use crate::model::{JobId, Kind};

use super::{Decode, Encode, Reader, Task, TaskCompletionEvent, Text, WireError, Writer};

/// A process that runs tasks of one job and kind (1.2.1 `JVMId`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JvmId {
    /// Random, may be negative.
    pub number: i32,
    /// The job it runs tasks of.
    pub job: JobId,
    /// The kind of tasks it runs.
    pub kind: Kind,
}

/// Who calls (1.2.1 `JvmContext`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JvmContext {
    /// The process as the tracker names it.
    pub jvm: JvmId,
    /// The process as the operating system names it.
    pub process_id: Text,
}

/// What a process shall do next (1.2.1 `JvmTask`).
#[derive(Clone, Debug, PartialEq)]
pub struct JvmTask {
    /// Exit.
    pub should_die: bool,
    /// Run this; without it, ask again.
    pub task: Option<Box<Task>>,
}

/// News of map outputs for a reduce (1.2.1 `MapTaskCompletionEventsUpdate`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapEventsUpdate {
    /// Forget all events so far.
    pub reset: bool,
    /// What happened since.
    pub events: Vec<TaskCompletionEvent>,
}

// === impl JvmId ===

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

// === impl JvmContext ===

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

// === impl JvmTask ===

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

// === impl MapEventsUpdate ===

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
