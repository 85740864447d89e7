//! Which jobs that are over are listed.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PastSearch {
    pub(crate) user: Option<String>,
    /// With each of these in its name.
    pub(crate) words: Vec<String>,
    /// Submitted from the first moment on and before the second one, epoch ms.
    pub(crate) submitted_ms: Option<(i64, i64)>,
}
