//! Generates an enum of calls and its codec from a table of methods.

use super::ReturnType;

/// A method of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its Java name; unique within a protocol.
    pub name: &'static str,
    /// The declared classes of its parameters, one group for each field of the call.
    pub(super) classes: &'static [&'static [&'static str]],
    /// The type of its result.
    pub returns: ReturnType,
}

impl Method {
    pub(crate) const fn parameter_count(&self) -> usize {
        let mut count = 0;
        let mut group = 0;
        while group < self.classes.len() {
            count += self.classes[group].len();
            group += 1;
        }
        count
    }
}

/// Generates the enum of a protocol's calls: a variant for each method, with its Java name, its parameters in order and its result.
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

            /// Reads the parameters of the method at `index` of [`Self::METHODS`], whose number has been checked.
            pub(super) fn decode(
                index: usize,
                reader: &mut $crate::wire::Reader<'_>,
            ) -> Result<Self, $crate::wire::protocol::call_value::CallValueError> {
                type Decode = fn(
                    &mut $crate::wire::Reader<'_>,
                ) -> Result<$calls, $crate::wire::protocol::call_value::CallValueError>;
                const DECODERS: &[Decode] = &[
                    $( |reader| {
                        let _ = &reader; // Not used by methods without parameters.
                        Ok($calls::$variant $({
                            $( $field: $crate::wire::protocol::call_value::CallValue::decode(reader)? ),+
                        })?)
                    } ),+
                ];
                DECODERS[index](reader)
            }

            /// Writes the parameters.
            pub(super) fn encode(&self, writer: &mut $crate::wire::Writer<'_>) {
                let _ = &writer; // Not used where no method of the protocol has parameters.
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
