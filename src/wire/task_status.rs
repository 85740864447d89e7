//! A tracker's report on one attempt.

use crate::model::{AttemptId, AttemptState, Kind, names};

use super::class::encoded_by_name;
use super::fields::fields;
use super::limits::{DIAGNOSTICS_BYTES, FAILED_FETCHES, STATE_TEXT_BYTES};
use super::{Decode, Encode, Reader, ReportedCounters, Text, WireError, Writer};

/// The phase of an attempt (1.2.1 `TaskStatus.Phase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Phase {
    /// Before the first phase.
    Starting,
    /// A map running.
    Map,
    /// A reduce copying map output.
    Shuffle,
    /// A reduce merging.
    Sort,
    /// A reduce running.
    Reduce,
    /// A task-cleanup attempt running.
    Cleanup,
}

/// A range of input records (1.2.1 `SortedRanges.Range`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordRange {
    /// First record, counted from 0.
    pub(crate) start: i64,
    /// Number of records.
    pub(crate) length: i64,
}

/// The part of a report that only reduces have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReduceProgress {
    /// When copying ended, epoch ms by the tracker's clock; 0 = not yet.
    pub shuffle_finish_ms: i64,
    /// When merging ended, epoch ms by the tracker's clock; 0 = not yet.
    pub sort_finish_ms: i64,
    /// Maps whose output could not be fetched since the last answered heartbeat.
    pub failed_fetches: Vec<AttemptId>,
}

/// A report on one attempt (1.2.1 `TaskStatus`, `MapTaskStatus`, `ReduceTaskStatus`).
#[derive(Clone, Debug, PartialEq)]
pub struct TaskStatus {
    /// The attempt.
    pub attempt: AttemptId,
    /// 0 to 1, but a tracker may send more, less or NaN.
    pub progress: f32,
    /// Slots it takes.
    pub num_slots: i32,
    /// Its state.
    pub state: AttemptState,
    /// New diagnostics since the last answered heartbeat; a delta.
    pub diagnostics: Text,
    /// Free text of the task.
    pub state_text: Text,
    /// Its phase.
    pub phase: Phase,
    /// Epoch ms by the tracker's clock; 0 = not started.
    pub start_ms: i64,
    /// Epoch ms by the tracker's clock; 0 = not ended.
    pub finish_ms: i64,
    /// Bytes of a finished map's output; -1 for all else.
    pub output_bytes: i64,
    /// Present about once a minute and with every state but RUNNING.
    pub counters: Option<ReportedCounters>,
    /// The records it reads next, for skipping bad records.
    pub next_record_range: RecordRange,
    /// `Some` exactly for reduce kinds.
    pub reduce: Option<ReduceProgress>,
}

encoded_by_name!(AttemptState, "state of an attempt");

names!(Phase {
    Starting = "STARTING",
    Map = "MAP",
    Shuffle = "SHUFFLE",
    Sort = "SORT",
    Reduce = "REDUCE",
    Cleanup = "CLEANUP",
});
encoded_by_name!(Phase, "phase of an attempt");

fields! {
    RecordRange, 16;
    start: i64 "first record of a range",
    length: i64 "number of records of a range",
}

impl Decode for ReduceProgress {
    const MIN_BYTES: usize = 20;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let shuffle_finish_ms = reader.i64("end of the shuffle")?;
        let sort_finish_ms = reader.i64("end of the sort")?;
        let count = reader.i32("number of failed fetches")?;
        let count = reader.count(count, AttemptId::MIN_BYTES, "number of failed fetches")?;
        let mut failed_fetches = Vec::with_capacity(count.min(FAILED_FETCHES));
        for number in 0..count {
            let attempt = AttemptId::decode_known(reader)?;
            failed_fetches.extend(attempt.filter(|_| number < FAILED_FETCHES));
        }
        Ok(Self { shuffle_finish_ms, sort_finish_ms, failed_fetches })
    }
}

impl Encode for ReduceProgress {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.i64(self.shuffle_finish_ms);
        writer.i64(self.sort_finish_ms);
        writer.list(&self.failed_fetches);
    }
}

impl TaskStatus {
    /// Fewest bytes of a status of either kind.
    pub(crate) const MIN_BYTES: usize = AttemptId::MIN_BYTES + 55;

    /// Its kind, one of Hadoop's two classes.
    pub(crate) const fn kind(&self) -> Kind {
        Kind::from_is_map(self.reduce.is_none())
    }

    /// Reads a status of a kind, which the caller knows; `None` when its attempt is foreign.
    pub(crate) fn decode_known(kind: Kind, reader: &mut Reader<'_>) -> Result<Option<Self>, WireError> {
        let attempt = AttemptId::decode_known(reader)?;
        let progress = reader.f32("progress of an attempt")?;
        let num_slots = reader.i32("slots of an attempt")?;
        let state = AttemptState::decode(reader)?;
        let diagnostics = reader.text_cut(DIAGNOSTICS_BYTES, "diagnostics of an attempt")?;
        let state_text = reader.text_cut(STATE_TEXT_BYTES, "state text of an attempt")?;
        let phase = Phase::decode(reader)?;
        let start_ms = reader.i64("start of an attempt")?;
        let finish_ms = reader.i64("end of an attempt")?;
        let includes_counters = reader.bool("counters flag of an attempt")?;
        let output_bytes = reader.i64("output size of an attempt")?;
        let counters = if includes_counters { ReportedCounters::decode_within_limit(reader)? } else { None };
        let next_record_range = RecordRange::decode(reader)?;
        let reduce = match kind {
            Kind::Map => None,
            Kind::Reduce => Some(ReduceProgress::decode(reader)?),
        };
        Ok(attempt.map(|attempt| Self {
            attempt,
            progress,
            num_slots,
            state,
            diagnostics,
            state_text,
            phase,
            start_ms,
            finish_ms,
            output_bytes,
            counters,
            next_record_range,
            reduce,
        }))
    }

    /// Writes the fields of a status of a kind; a reduce status without progress is written as not begun.
    pub(crate) fn encode_as(&self, kind: Kind, writer: &mut Writer<'_>) {
        self.attempt.encode(writer);
        writer.f32(self.progress);
        writer.i32(self.num_slots);
        self.state.encode(writer);
        writer.text(&self.diagnostics);
        writer.text(&self.state_text);
        self.phase.encode(writer);
        writer.i64(self.start_ms);
        writer.i64(self.finish_ms);
        writer.bool(self.counters.is_some());
        writer.i64(self.output_bytes);
        if let Some(counters) = &self.counters {
            counters.encode(writer);
        }
        self.next_record_range.encode(writer);
        match (kind, &self.reduce) {
            (Kind::Map, _) => {}
            (Kind::Reduce, Some(reduce)) => reduce.encode(writer),
            (Kind::Reduce, None) => ReduceProgress::default().encode(writer),
        }
    }
}
