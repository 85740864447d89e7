//! From a table of methods to an enum of calls with its codec.

use super::ReturnType;

/// A method of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its Java name; no protocol here has two methods of one name.
    pub name: &'static str,
    /// The declared classes of its parameters, one group for each field of the call.
    pub(super) classes: &'static [&'static [&'static str]],
    /// What it returns.
    pub returns: ReturnType,
}

// === impl Method ===

impl Method {
    /// The declared classes of its parameters, in order.
    pub fn parameter_classes(&self) -> impl Iterator<Item = &'static str> {
        self.classes.iter().copied().flatten().copied()
    }

    /// How many parameters it has.
    pub const fn parameter_count(&self) -> usize {
        let mut count = 0;
        let mut group = 0;
        while group < self.classes.len() {
            count += self.classes[group].len();
            group += 1;
        }
        count
    }
}

/// Makes the enum of a protocol's calls: a variant for each method, with its Java name, its parameters in order and
/// what it returns.
macro_rules! protocol {
    (
        $(#[$calls_doc:meta])*
        $calls:ident {
            $(
                $(#[$doc:meta])*
                $variant:ident = $name:literal $({ $( $(#[$field_doc:meta])* $field:ident: $type:ty ),+ $(,)? })?
                    -> $returns:ident;
            )+
        }
    ) => {
        $(#[$calls_doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $calls {
            $( $(#[$doc])* $variant $({ $( $(#[$field_doc])* $field: $type ),+ })?, )+
        }

        impl $calls {
            /// All methods, but for the `getProtocolVersion` that every protocol has.
            pub const METHODS: &'static [$crate::wire::protocol::Method] = &[
                $( $crate::wire::protocol::Method {
                    name: $name,
                    classes: &[$($( <$type as $crate::wire::protocol::call_value::CallValue>::CLASSES ),+)?],
                    returns: $crate::wire::protocol::ReturnType::$returns,
                } ),+
            ];

            /// The method that is called.
            pub fn method(&self) -> &'static $crate::wire::protocol::Method {
                enum Index { $($variant),+ }
                &Self::METHODS[match self {
                    $( Self::$variant { .. } => Index::$variant, )+
                } as usize]
            }

            /// Reads the parameters of the method of that name, whose number has been checked.
            pub(super) fn decode(
                name: &str,
                reader: &mut $crate::wire::Reader<'_>,
            ) -> Option<Result<Self, $crate::wire::protocol::call_value::CallValueError>> {
                let _ = &reader; // Not used where no method of the protocol has parameters.
                Some(match name {
                    $( $name => Ok(Self::$variant $({
                        $( $field: match $crate::wire::protocol::call_value::CallValue::decode(reader) {
                            Ok(value) => value,
                            Err(error) => return Some(Err(error)),
                        } ),+
                    })?), )+
                    _ => return None,
                })
            }

            /// Writes the parameters.
            pub(super) fn encode(&self, writer: &mut $crate::wire::Writer<'_>) {
                let _ = &writer; // As above.
                match self {
                    $( Self::$variant $({ $($field),+ })? => {
                        $($( $crate::wire::protocol::call_value::CallValue::encode($field, writer); )+)?
                    } )+
                }
            }
        }
    };
}

pub(super) use protocol;
