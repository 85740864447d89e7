//! Enums travel by the names of their constants, never by number (1.2.1 `WritableUtils.writeEnum`).

/// Gives an enum the names Hadoop has for its constants, and the encoding of them as `Text`.
macro_rules! names {
    ($type:ident, $what:literal { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $type {
            /// The name of the constant.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The constant of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

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

pub(crate) use names;
