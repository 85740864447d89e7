//! What is printed: one row a measurement.

use std::io::BufRead;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::latencies::Latencies;

/// A measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Which JobTracker.
    pub server: String,
    /// Which load.
    pub load: String,
    /// Its size, in words.
    pub size: String,
    /// What is counted.
    pub of: String,
    /// How many there were.
    pub count: u64,
    /// How long it took, s.
    pub seconds: f64,
    /// CPU time of the JobTracker for one, µs.
    pub cpu_us: Option<f64>,
    /// Half of the calls took no longer, µs.
    pub p50_us: Option<u32>,
    /// 99 of 100 calls took no longer, µs.
    pub p99_us: Option<u32>,
    /// 999 of 1,000 calls took no longer, µs.
    pub p999_us: Option<u32>,
    /// Growth of its resident memory for one, bytes.
    pub resident_bytes: Option<f64>,
}

// === impl Row ===

impl Row {
    /// A row about `count` of `of`.
    pub fn new(server: &str, load: &str, size: String, of: &str, count: u64) -> Self {
        Self {
            server: server.to_owned(),
            load: load.to_owned(),
            size,
            of: of.to_owned(),
            count,
            seconds: 0.0,
            cpu_us: None,
            p50_us: None,
            p99_us: None,
            p999_us: None,
            resident_bytes: None,
        }
    }

    /// With the CPU time and the time that all of them took.
    pub fn cost(mut self, cpu_us: u64, took: Duration) -> Self {
        self.cpu_us = Some(self.one_of(cpu_us as f64));
        self.seconds = took.as_secs_f64();
        self
    }

    /// With the latencies of the calls.
    pub fn latencies(mut self, latencies: &mut Latencies) -> Self {
        [self.p50_us, self.p99_us, self.p999_us] = latencies.quantiles_us([500, 990, 999]);
        self
    }

    /// With the growth of resident memory that all of them brought.
    pub fn memory(mut self, before_bytes: u64, after_bytes: u64) -> Self {
        self.resident_bytes = Some(self.one_of(after_bytes as f64 - before_bytes as f64));
        self
    }

    fn one_of(&self, all: f64) -> f64 {
        all / self.count.max(1) as f64
    }
}

/// Reads rows, a JSON object a line.
pub fn read_rows(input: impl BufRead) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for line in input.lines() {
        let line = line?;
        if !line.trim().is_empty() {
            rows.push(serde_json::from_str(&line)?);
        }
    }
    Ok(rows)
}

/// The rows as a Markdown table that also reads well as it is.
pub fn table(rows: &[Row]) -> String {
    const HEAD: [&str; 11] =
        ["server", "load", "size", "of", "count", "per second", "CPU µs", "p50 µs", "p99 µs", "p99.9 µs", "RSS bytes"];
    let mut cells = vec![HEAD.map(str::to_owned)];
    cells.extend(rows.iter().map(|row| {
        let number = |value: Option<f64>| value.map_or(String::new(), short);
        let whole = |value: Option<u32>| value.map_or(String::new(), |value| value.to_string());
        [
            row.server.clone(),
            row.load.clone(),
            row.size.clone(),
            row.of.clone(),
            row.count.to_string(),
            number((row.seconds > 0.0).then(|| row.count as f64 / row.seconds)),
            number(row.cpu_us),
            whole(row.p50_us),
            whole(row.p99_us),
            whole(row.p999_us),
            number(row.resident_bytes),
        ]
    }));
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; HEAD.len()] = std::array::from_fn(width);
    let mut text = String::new();
    for (index, row) in cells.iter().enumerate() {
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            let cell = if column < 4 { format!("| {cell:<width$} ") } else { format!("| {cell:>width$} ") };
            text.push_str(&cell);
        }
        text.push_str("|\n");
        if index == 0 {
            for (column, width) in widths.into_iter().enumerate() {
                let ruler = "-".repeat(width);
                text.push_str(&if column < 4 { format!("| {ruler} ") } else { format!("| {ruler}:") });
            }
            text.push_str("|\n");
        }
    }
    text
}

/// Three figures at least.
fn short(value: f64) -> String {
    if value.abs() < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}
