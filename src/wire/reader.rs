//! Reading: a bounds-checked cursor over bytes.

use super::error::{WireError, WireErrorKind};

/// Most memory that decoding takes for each byte decoded, in all allocations together, bytes. Lists cost most: an empty string of one byte
/// on the wire is 24 bytes of `String`, and a counter or counter group with empty names (3 bytes) is 56 or 72. Malformed UTF-8 grows
/// threefold, and up to twice that in a growing buffer.
pub const MEMORY_PER_BYTE: usize = 32;

/// Memory of decoding independent of the length, bytes: the text of an error.
pub const MEMORY_BASE_BYTES: usize = 4096;

/// A value with one encoding of its own.
pub trait Decode: Sized {
    /// Fewest bytes of a value; counts of values are checked against it.
    const MIN_BYTES: usize;

    /// Reads one value. Fails at the first malformed field.
    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError>;
}

/// One behind the other.
impl<A: Decode, B: Decode> Decode for (A, B) {
    const MIN_BYTES: usize = A::MIN_BYTES + B::MIN_BYTES;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok((A::decode(reader)?, B::decode(reader)?))
    }
}

/// A cursor over bytes. Every read is checked against the bytes left and names the field it reads.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
}

/// What the beginning of `bytes` says, and its size; `None` while bytes are missing.
pub(in crate::wire) fn decode_start<T>(
    bytes: &[u8],
    decode: impl FnOnce(&mut Reader<'_>) -> Result<T, WireError>,
) -> Result<Option<(T, usize)>, WireError> {
    let mut reader = Reader::new(bytes);
    match decode(&mut reader) {
        Ok(value) => Ok(Some((value, reader.position()))),
        Err(WireError { kind: WireErrorKind::Truncated { .. }, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

impl<'a> Reader<'a> {
    /// A cursor at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// Bytes read so far.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Bytes not read yet.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// The bytes from here to `later`, a clone of this reader that has read further.
    #[inline]
    pub(crate) fn bytes_until(&self, later: &Reader<'a>) -> &'a [u8] {
        self.bytes.get(self.position..later.position).unwrap_or(&[])
    }

    /// An error about the field that begins here.
    #[cold]
    pub(crate) fn error(&self, kind: WireErrorKind, what: &'static str) -> WireError {
        WireError { kind, offset: self.position, what }
    }

    /// The next `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], WireError> {
        match self.bytes[self.position..].split_at_checked(count) {
            Some((taken, _)) => {
                self.position += count;
                Ok(taken)
            }
            None => Err(self.error(WireErrorKind::Truncated { needed: count, left: self.left() }, what)),
        }
    }

    #[inline]
    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], WireError> {
        match self.bytes[self.position..].first_chunk() {
            Some(chunk) => {
                self.position += N;
                Ok(*chunk)
            }
            None => Err(self.error(WireErrorKind::Truncated { needed: N, left: self.left() }, what)),
        }
    }

    /// One byte; 0 is false, all else true, as Java reads it.
    #[inline]
    pub(crate) fn bool(&mut self, what: &'static str) -> Result<bool, WireError> {
        Ok(self.i8(what)? != 0)
    }

    /// One signed byte.
    #[inline]
    pub(crate) fn i8(&mut self, what: &'static str) -> Result<i8, WireError> {
        self.array(what).map(i8::from_be_bytes)
    }

    /// Two bytes, unsigned.
    #[inline]
    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, WireError> {
        self.array(what).map(u16::from_be_bytes)
    }

    /// Two bytes.
    #[inline]
    pub(crate) fn i16(&mut self, what: &'static str) -> Result<i16, WireError> {
        self.array(what).map(i16::from_be_bytes)
    }

    /// Four bytes.
    #[inline]
    pub fn i32(&mut self, what: &'static str) -> Result<i32, WireError> {
        self.array(what).map(i32::from_be_bytes)
    }

    /// Eight bytes.
    #[inline]
    pub(crate) fn i64(&mut self, what: &'static str) -> Result<i64, WireError> {
        self.array(what).map(i64::from_be_bytes)
    }

    /// Four bytes, IEEE 754; any bit pattern.
    #[inline]
    pub(crate) fn f32(&mut self, what: &'static str) -> Result<f32, WireError> {
        self.array(what).map(f32::from_be_bytes)
    }

    /// A number of 1 to 9 bytes (1.2.1 `WritableUtils.readVLong`); longer forms than needed are accepted, as there.
    #[inline]
    pub(crate) fn vlong(&mut self, what: &'static str) -> Result<i64, WireError> {
        let first = self.i8(what)?;
        if first >= -112 {
            return Ok(i64::from(first));
        }
        let negative = first < -120;
        let count = if negative { -120 - i16::from(first) } else { -112 - i16::from(first) };
        let magnitude = self.take(usize::from(count.unsigned_abs()), what)?;
        let value = magnitude.iter().fold(0_i64, |value, byte| (value << 8) | i64::from(*byte));
        Ok(if negative { !value } else { value })
    }

    /// The same code, cut to 32 bits as Java cuts it.
    #[inline]
    pub(crate) fn vint(&mut self, what: &'static str) -> Result<i32, WireError> {
        Ok(self.vlong(what)? as i32)
    }

    /// A length or count as a size, refused when below zero.
    #[inline]
    pub(crate) fn length(&self, length: i32, what: &'static str) -> Result<usize, WireError> {
        usize::try_from(length).map_err(|_| self.error(WireErrorKind::NegativeLength(i64::from(length)), what))
    }

    /// A count of values of at least `min_bytes` each, refused when the bytes left cannot hold them.
    #[inline]
    pub(crate) fn count(&self, count: i32, min_bytes: usize, what: &'static str) -> Result<usize, WireError> {
        let count = self.length(count, what)?;
        let needed = count.saturating_mul(min_bytes);
        if needed > self.left() {
            return Err(self.error(WireErrorKind::Truncated { needed, left: self.left() }, what));
        }
        Ok(count)
    }

    /// Refuses an announced length or count above `max`.
    #[inline]
    pub(crate) fn check_limit(&self, length: usize, max: usize, what: &'static str) -> Result<(), WireError> {
        if length > max {
            let kind = WireErrorKind::TooLong { length: length as u64, limit: max as u64 };
            return Err(self.error(kind, what));
        }
        Ok(())
    }

    /// A list behind its count, an `int`.
    pub(crate) fn list<T: Decode>(&mut self, what: &'static str) -> Result<Vec<T>, WireError> {
        let count = self.i32(what)?;
        self.elements(count, what)
    }

    /// A list behind its count, a `vint`.
    pub(crate) fn vint_list<T: Decode>(&mut self, what: &'static str) -> Result<Vec<T>, WireError> {
        let count = self.vint(what)?;
        self.elements(count, what)
    }

    /// `count` values in a row. Memory is reserved only for a count that the bytes left can hold.
    pub(crate) fn elements<T: Decode>(&mut self, count: i32, what: &'static str) -> Result<Vec<T>, WireError> {
        let count = self.count(count, T::MIN_BYTES, what)?;
        let mut list = Vec::with_capacity(count);
        for _ in 0..count {
            list.push(T::decode(self)?);
        }
        Ok(list)
    }

    /// A flag, and a value if it is set.
    pub(crate) fn option<T: Decode>(&mut self, what: &'static str) -> Result<Option<T>, WireError> {
        if self.bool(what)? { T::decode(self).map(Some) } else { Ok(None) }
    }

    /// Raw bytes behind a `vint` length (tokens, keys, `Text`).
    #[inline]
    pub(crate) fn vint_bytes(&mut self, what: &'static str) -> Result<&'a [u8], WireError> {
        let length = self.vint(what)?;
        let length = self.length(length, what)?;
        self.take(length, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_checked_against_the_bytes_left() {
        let reader = Reader::new(&[0; 10]);
        assert_eq!(reader.count(5, 2, "things").unwrap(), 5);
        let error = reader.count(6, 2, "things").unwrap_err();
        assert_eq!(error.kind, WireErrorKind::Truncated { needed: 12, left: 10 });
        assert_eq!(error.to_string(), "things at byte 0: 12 bytes are needed, 10 are left");
        let error = reader.count(-1, 0, "things").unwrap_err();
        assert_eq!(error.kind, WireErrorKind::NegativeLength(-1));
        assert!(reader.count(i32::MAX, usize::MAX, "things").is_err());
    }

    #[test]
    fn nothing_is_read_beyond_the_end() {
        let mut reader = Reader::new(&[1, 2, 3]);
        assert!(reader.i32("number").is_err());
        assert_eq!((reader.position(), reader.left()), (0, 3));
        assert_eq!(reader.i16("number").unwrap(), 0x0102);
        assert!(reader.i64("number").is_err());
        assert!(reader.take(2, "bytes").is_err());
        assert_eq!(reader.take(1, "bytes").unwrap(), [3]);
    }
}
