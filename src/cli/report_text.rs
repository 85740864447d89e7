//! Renders reports as a table and as comma-separated values.

use crate::api::{Report, ReportRow, ReportSubject};
use crate::market::ReportKind;

use super::market_text::{columns, format_utc, lines};

/// The columns after the first one, with the names of the members in JSON.
const COLUMNS: [&str; 6] = ["jobs", "map_slot_seconds", "reduce_slot_seconds", "waited_s", "failed", "charged"];

/// A table, and notes on what is missing in it.
pub(super) fn render_table(report: &Report, kind: ReportKind) -> (String, Vec<String>) {
    let heads: Vec<&str> = [first_column(kind)].into_iter().chain(COLUMNS).collect();
    let mut table = columns(&heads, 1);
    for row in &report.rows {
        table.add_row(cells(row));
    }
    (lines(&table), notes(report))
}

/// Comma-separated values as RFC 4180 has them, but for ends of lines, and notes on what is missing.
pub(super) fn render_csv(report: &Report, kind: ReportKind) -> (String, Vec<String>) {
    let mut text = format!("{},{}\n", first_column(kind), COLUMNS.join(","));
    for row in &report.rows {
        text += &(cells(row).map(|cell| quoted(&cell)).join(",") + "\n");
    }
    (text, notes(report))
}

const fn first_column(kind: ReportKind) -> &'static str {
    match kind {
        ReportKind::Users => "user",
        ReportKind::Queues => "queue",
        ReportKind::Jobs => "job",
    }
}

fn cells(row: &ReportRow) -> [String; 7] {
    let ReportRow { subject, jobs, map_slot_seconds, reduce_slot_seconds, waited_s, failed, charged } = row;
    let [jobs, maps, reduces] = [jobs, map_slot_seconds, reduce_slot_seconds].map(ToString::to_string);
    [subject.name().to_owned(), jobs, maps, reduces, waited_s.to_string(), failed.to_string(), charged.to_string()]
}

fn quoted(cell: &str) -> String {
    match cell.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

fn notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(since_ms) = report.complete_since_ms {
        notes.push(format!(
            "jobs that ended before {} UTC are not complete: old ones were removed",
            format_utc(since_ms)
        ));
    }
    if let Some(until_ms) = report.daily_until_ms {
        let at = format_utc(until_ms);
        notes.push(format!("charges up to {at} UTC are known by the day: each day counts where its last charge does"));
    }
    if let Some(left_out) = report.left_out {
        let other = ReportSubject::OTHER;
        notes.push(format!(
            "{left_out} more jobs are not shown, what they cost is in the row {other}: ask for a shorter range"
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let row = |name: &str, charged: &str| ReportRow {
            subject: ReportSubject::User(name.to_owned()),
            jobs: 12,
            map_slot_seconds: 3_600,
            reduce_slot_seconds: 0,
            waited_s: 42,
            failed: 1,
            charged: charged.parse().unwrap(),
        };
        Report {
            report: "users".to_owned(),
            since_ms: None,
            until_ms: None,
            rows: vec![row("alice", "12.000000000001"), row("b,\"b\"", "0")],
            complete_since_ms: Some(1_238_600_160_788),
            daily_until_ms: None,
            left_out: None,
        }
    }

    #[test]
    fn people_get_a_table_and_programs_commas() {
        let (table, notes) = render_table(&report(), ReportKind::Users);
        insta::assert_snapshot!(table, @r#"
        USER   JOBS  MAP_SLOT_SECONDS  REDUCE_SLOT_SECONDS  WAITED_S  FAILED          CHARGED
        alice    12              3600                    0        42       1  12.000000000001
        b,"b"    12              3600                    0        42       1              0.0
        "#);
        let expected = ["jobs that ended before 2009-04-01 15:36:00 UTC are not complete: old ones were removed"];
        assert_eq!(notes, expected);
        insta::assert_snapshot!(render_csv(&report(), ReportKind::Users).0, @r#"
        user,jobs,map_slot_seconds,reduce_slot_seconds,waited_s,failed,charged
        alice,12,3600,0,42,1,12.000000000001
        "b,""b""",12,3600,0,42,1,0.0
        "#);
    }

    #[test]
    fn a_report_of_nothing_is_an_empty_table() {
        let report = Report { rows: Vec::new(), complete_since_ms: None, ..report() };
        let (table, notes) = render_table(&report, ReportKind::Jobs);
        insta::assert_snapshot!(table, @"JOB  JOBS  MAP_SLOT_SECONDS  REDUCE_SLOT_SECONDS  WAITED_S  FAILED  CHARGED");
        assert_eq!(notes, [""; 0]);
    }
}
