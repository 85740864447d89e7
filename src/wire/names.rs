//! Enums are encoded by the names of their constants, never by number (1.2.1 `WritableUtils.writeEnum`).

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
