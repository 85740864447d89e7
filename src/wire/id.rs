//! Ids on the wire: outermost number first. An id that this JobTracker cannot have assigned (a negative number, an identifier that is not
//! digits) is well formed to Hadoop, so it must not fail a heartbeat: `decode_known` reads it whole and returns `None`.

use crate::model::{AttemptId, Identifier, JobId, Kind, TaskId};
use crate::wire::error::WireErrorKind;
use crate::wire::{Decode, Encode, Reader, WireError, Writer};

impl Identifier {
    fn from_digits(digits: &[u8]) -> Option<Self> {
        std::str::from_utf8(digits).ok()?.parse().ok()
    }
}

impl Encode for Identifier {
    fn encode(&self, writer: &mut Writer<'_>) {
        let mut digits = [b'0'; Self::MAX_DIGITS];
        let mut rest = self.number();
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        writer.vint_bytes(&digits[Self::MAX_DIGITS - usize::from(self.digits())..]);
    }
}

impl Kind {
    /// The kind behind Hadoop's `isMap`.
    pub(crate) const fn from_is_map(is_map: bool) -> Self {
        if is_map { Self::Map } else { Self::Reduce }
    }

    /// Hadoop's `isMap`.
    pub const fn is_map(self) -> bool {
        matches!(self, Self::Map)
    }
}

impl Reader<'_> {
    pub(crate) fn kind(&mut self, what: &'static str) -> Result<Kind, WireError> {
        self.bool(what).map(Kind::from_is_map)
    }
}

impl Writer<'_> {
    pub(crate) fn kind(&mut self, kind: Kind) {
        self.bool(kind.is_map());
    }
}

impl JobId {
    /// Reads a job id; `None` for a foreign one.
    #[inline]
    pub(crate) fn decode_known(reader: &mut Reader<'_>) -> Result<Option<Self>, WireError> {
        let number = reader.i32("job number")?;
        let identifier = reader.vint_bytes("job identifier")?;
        Ok(Identifier::from_digits(identifier).filter(|_| number >= 0).map(|identifier| Self::new(identifier, number)))
    }
}

impl Encode for JobId {
    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.i32(self.number);
        self.identifier.encode(writer);
    }
}

impl TaskId {
    /// Reads a task id; `None` for a foreign one.
    #[inline]
    pub(crate) fn decode_known(reader: &mut Reader<'_>) -> Result<Option<Self>, WireError> {
        let number = reader.i32("task number")?;
        let job = JobId::decode_known(reader)?;
        let kind = reader.kind("kind of the task")?;
        Ok(job.filter(|_| number >= 0).map(|job| job.task(kind, number)))
    }
}

impl Encode for TaskId {
    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.i32(self.number);
        self.job.encode(writer);
        writer.kind(self.kind);
    }
}

impl AttemptId {
    /// Reads an attempt id; `None` for a foreign one.
    #[inline]
    pub(crate) fn decode_known(reader: &mut Reader<'_>) -> Result<Option<Self>, WireError> {
        let number = reader.i32("attempt number")?;
        let task = TaskId::decode_known(reader)?;
        Ok(task.filter(|_| number >= 0).map(|task| task.attempt(number)))
    }
}

impl Encode for AttemptId {
    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.i32(self.number);
        self.task.encode(writer);
    }
}

macro_rules! decode {
    ($($id:ident = $what:literal, $min_bytes:literal;)*) => {$(
        impl Decode for $id {
            const MIN_BYTES: usize = $min_bytes;

            fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
                let start = reader.clone();
                Self::decode_known(reader)?.ok_or_else(|| start.error(WireErrorKind::ForeignId, $what))
            }
        }
    )*};
}

// An empty identifier is read too (as foreign), hence one byte for it.
decode! {
    JobId = "job id", 5;
    TaskId = "task id", 10;
    AttemptId = "attempt id", 14;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(value: &impl Encode) -> Vec<u8> {
        let mut out = Vec::new();
        value.encode(&mut Writer::new(&mut out));
        out
    }

    #[test]
    fn the_outermost_number_comes_first() {
        let attempt: AttemptId = "attempt_0012_0007_r_000012_3".parse().unwrap();
        let bytes = encoded(&attempt);
        assert_eq!(bytes, b"\0\0\0\x03\0\0\0\x0c\0\0\0\x07\x040012\0");
        assert_eq!(AttemptId::decode(&mut Reader::new(&bytes)).unwrap(), attempt);
    }

    #[test]
    fn foreign_ids_are_read_whole_and_reported() {
        for bytes in [&b"\0\0\0\x07\x03new"[..], b"\xff\xff\xff\xff\x0242", b"\0\0\0\x07\0", b"\0\0\0\x07\x02\xff1"] {
            let mut reader = Reader::new(bytes);
            assert_eq!(JobId::decode_known(&mut reader).unwrap(), None);
            assert_eq!(reader.left(), 0);
            assert_eq!(JobId::decode(&mut Reader::new(bytes)).unwrap_err().kind, WireErrorKind::ForeignId);
        }
    }
}
