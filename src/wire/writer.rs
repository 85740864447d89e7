//! Writing: the same encodings as in [`reader`](super::reader), appended to a buffer.

/// A value with one encoding of its own.
pub trait Encode {
    /// Appends the value.
    fn encode(&self, writer: &mut Writer<'_>);
}

impl<A: Encode, B: Encode> Encode for (A, B) {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.0.encode(writer);
        self.1.encode(writer);
    }
}

/// Appends to a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    /// A writer that appends to `out`.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Raw bytes.
    #[inline]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// One byte, 0 or 1.
    #[inline]
    pub(crate) fn bool(&mut self, value: bool) {
        self.out.push(u8::from(value));
    }

    /// One signed byte.
    #[inline]
    pub(crate) fn i8(&mut self, value: i8) {
        self.bytes(&value.to_be_bytes());
    }

    /// Two bytes, unsigned.
    #[inline]
    pub(crate) fn u16(&mut self, value: u16) {
        self.bytes(&value.to_be_bytes());
    }

    /// Two bytes.
    #[inline]
    pub(crate) fn i16(&mut self, value: i16) {
        self.bytes(&value.to_be_bytes());
    }

    /// Four bytes.
    #[inline]
    pub(crate) fn i32(&mut self, value: i32) {
        self.bytes(&value.to_be_bytes());
    }

    /// Eight bytes.
    #[inline]
    pub(crate) fn i64(&mut self, value: i64) {
        self.bytes(&value.to_be_bytes());
    }

    /// Four bytes, IEEE 754.
    #[inline]
    pub(crate) fn f32(&mut self, value: f32) {
        self.bytes(&value.to_be_bytes());
    }

    /// A number of 1 to 9 bytes (1.2.1 `WritableUtils.writeVLong`), the shortest form.
    #[inline]
    pub(crate) fn vlong(&mut self, value: i64) {
        if (-112..=127).contains(&value) {
            self.out.push(value as u8);
            return;
        }
        let (magnitude, none) = if value < 0 { (!value, -120_i8) } else { (value, -112) };
        let count = 8 - magnitude.leading_zeros() as usize / 8;
        self.i8(none - count as i8);
        self.bytes(&magnitude.to_be_bytes()[8 - count..]);
    }

    /// The same code for 32 bits.
    #[inline]
    pub(crate) fn vint(&mut self, value: i32) {
        self.vlong(i64::from(value));
    }

    /// A count in four bytes. No list of values in memory comes near 2^31.
    #[inline]
    pub(crate) fn count(&mut self, count: usize) {
        self.i32(count as i32);
    }

    /// A count as `vint`.
    #[inline]
    pub(crate) fn vint_count(&mut self, count: usize) {
        self.vlong(count as i64);
    }

    /// Raw bytes behind a `vint` length.
    #[inline]
    pub(crate) fn vint_bytes(&mut self, bytes: &[u8]) {
        self.vint_count(bytes.len());
        self.bytes(bytes);
    }

    /// A list behind its count, an `int`.
    pub(crate) fn list<T: Encode>(&mut self, values: &[T]) {
        self.count(values.len());
        self.elements(values);
    }

    /// A list behind its count, a `vint`.
    pub(crate) fn vint_list<T: Encode>(&mut self, values: &[T]) {
        self.vint_count(values.len());
        self.elements(values);
    }

    /// Values in a row, without their count.
    pub(crate) fn elements<T: Encode>(&mut self, values: &[T]) {
        for value in values {
            value.encode(self);
        }
    }

    /// A flag, and a value if there is one.
    pub(crate) fn option<T: Encode>(&mut self, value: &Option<T>) {
        self.bool(value.is_some());
        if let Some(value) = value {
            value.encode(self);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Reader;
    use super::*;

    fn vlong(value: i64) -> Vec<u8> {
        let mut out = Vec::new();
        Writer::new(&mut out).vlong(value);
        out
    }

    #[test]
    fn variable_lengths_are_those_of_hadoop() {
        assert_eq!(vlong(127), [0x7f]);
        assert_eq!(vlong(-112), [0x90]);
        assert_eq!(vlong(128), [0x8f, 0x80]);
        assert_eq!(vlong(300), [0x8e, 0x01, 0x2c]);
        assert_eq!(vlong(-1), [0xff]);
        assert_eq!(vlong(-113), [0x87, 0x70]);
        assert_eq!(vlong(i64::MAX), [0x88, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(vlong(i64::MIN), [0x80, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
    }

    proptest! {
        #[test]
        fn variable_lengths_come_back(value: i64, shift in 0..63_u32) {
            for value in [value, value >> shift] {
                let bytes = vlong(value);
                let mut reader = Reader::new(&bytes);
                prop_assert_eq!(reader.vlong("number").unwrap(), value);
                prop_assert_eq!(reader.left(), 0);
            }
        }
    }
}
