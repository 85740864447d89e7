//! Options of a demo.

/// What a demo runs, and how.
#[derive(Clone, Debug)]
pub(crate) struct DemoOptions {
    /// Size of the text, MB.
    pub(crate) corpus_mb: u32,
    /// Maps of each job, about.
    pub(crate) maps: u32,
    /// Shortest run time of a map, ms.
    pub(crate) map_ms: u64,
    /// Whether the cluster keeps running after the scenario.
    pub(crate) keep: bool,
    /// Whether reduces write wrong counts.
    pub(crate) miscount: bool,
    /// How the user calls this program.
    pub(crate) program: String,
}
