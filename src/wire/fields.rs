//! Structs that are written field by field: one list makes both the decoder and the encoder.

/// Implements `Decode` and `Encode` of a struct with its fields in the order in which they are written, and its least bytes.
///
/// `field` is encoded by its own type; `field: i32 "what"` by the methods `i32` of reader and writer, of which the writer's takes
/// the value; `field: &text "what"` the same, of which the writer's takes a reference.
macro_rules! fields {
    ($type:ident, $min_bytes:expr; $($field:tt $(: $(&$by_reference:ident)? $($by_value:ident)? $what:literal)?,)+) => {
        impl $crate::wire::Decode for $type {
            const MIN_BYTES: usize = $min_bytes;

            fn decode(reader: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::wire::WireError> {
                Ok(Self { $( $field: $crate::wire::fields::fields!(
                    @decode reader $($($by_reference)? $($by_value)? $what)?
                ), )+ })
            }
        }

        impl $crate::wire::Encode for $type {
            fn encode(&self, writer: &mut $crate::wire::Writer<'_>) {
                $( $crate::wire::fields::fields!(
                    @encode writer, self.$field $(, $(&$by_reference)? $($by_value)?)?
                ); )+
            }
        }
    };
    (@decode $reader:ident) => { $crate::wire::Decode::decode($reader)? };
    (@decode $reader:ident $method:ident $what:literal) => { $reader.$method($what)? };
    (@encode $writer:ident, $value:expr) => { $crate::wire::Encode::encode(&$value, $writer) };
    (@encode $writer:ident, $value:expr, &$method:ident) => { $writer.$method(&$value) };
    (@encode $writer:ident, $value:expr, $method:ident) => { $writer.$method($value) };
}

pub(in crate::wire) use fields;
