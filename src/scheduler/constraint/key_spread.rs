//! Where the keys of a job go.

/// How the keys of a job spread over its reduces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum KeySpread {
    #[default]
    Uniform,
    /// All go to one reduce, the worst case.
    Single,
}
