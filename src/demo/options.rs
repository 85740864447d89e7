//! Options of a demo.

/// What a demo runs, and how.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// Size of the text, MB.
    pub corpus_mb: u32,
    /// Maps of each job, about.
    pub maps: u32,
    /// Shortest run time of a map, ms.
    pub map_ms: u64,
    /// Whether the cluster keeps running after the scenario.
    pub keep: bool,
    /// Whether reduces write wrong counts.
    pub miscount: bool,
    /// How the user calls this program.
    pub program: String,
}
