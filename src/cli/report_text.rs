//! Renders reports by columns: as a table, as comma-separated values and as JSON, part by part.

use comfy_table::CellAlignment;
use serde_json::{Map, Value};

use crate::api::{Report, ReportRow, WorkRow, csv_cell};
use crate::market::ReportKind;
use crate::model::Credits;

use super::market_text::{columns, json, lines, one_line};
use super::time_text::format_time;

/// A column, under the name that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReportColumn {
    name: String,
    value: ColumnValue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnValue {
    Month,
    Job,
    User,
    Queue,
    Name,
    State,
    Submit,
    Start,
    End,
    Elapsed,
    Waited,
    Jobs,
    Failed,
    MapSlots,
    ReduceSlots,
    ContainerSlots,
    Slots,
    Cost,
}

/// All names; the first one of a value is its own.
const NAMES: [(&str, ColumnValue); 26] = [
    ("month", ColumnValue::Month),
    ("job", ColumnValue::Job),
    ("id", ColumnValue::Job),
    ("user", ColumnValue::User),
    ("queue", ColumnValue::Queue),
    ("name", ColumnValue::Name),
    ("state", ColumnValue::State),
    ("submit", ColumnValue::Submit),
    ("start", ColumnValue::Start),
    ("end", ColumnValue::End),
    ("elapsed_s", ColumnValue::Elapsed),
    ("waited_s", ColumnValue::Waited),
    ("jobs", ColumnValue::Jobs),
    ("failed", ColumnValue::Failed),
    ("map_slots_s", ColumnValue::MapSlots),
    ("map_slot_seconds", ColumnValue::MapSlots),
    ("reduce_slots_s", ColumnValue::ReduceSlots),
    ("reduce_slot_seconds", ColumnValue::ReduceSlots),
    ("container_slots_s", ColumnValue::ContainerSlots),
    ("container_slot_seconds", ColumnValue::ContainerSlots),
    ("slots_s", ColumnValue::Slots),
    ("slot_seconds", ColumnValue::Slots),
    ("cost", ColumnValue::Cost),
    ("charged", ColumnValue::Cost),
    ("submitted", ColumnValue::Submit),
    ("ended", ColumnValue::End),
];

enum ReportCell {
    Text(String),
    Number(Option<u64>),
    Time(Option<i64>),
    Money(Credits),
}

/// How a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportForm {
    Table,
    Csv,
    Json,
}

impl ReportColumn {
    /// The columns of a list of names such as `user,cost`.
    pub(super) fn parse_list(list: &str) -> Result<Vec<ReportColumn>, String> {
        list.split(',').map(|name| Self::parse(name.trim())).collect()
    }

    fn parse(name: &str) -> Result<ReportColumn, String> {
        let found = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        match found {
            Some((known, value)) => Ok(ReportColumn { name: (*known).to_owned(), value: *value }),
            None => {
                let known: Vec<&str> = NAMES.iter().map(|(known, _)| *known).collect();
                Err(format!("{name:?} is no column, expected some of {}", known.join(",")))
            }
        }
    }

    /// Those that a report has where none are chosen.
    pub(super) fn usual(kind: ReportKind, by_month: bool) -> Vec<ReportColumn> {
        let names = match (kind, by_month) {
            (ReportKind::Users, _) => {
                "user,jobs,map_slot_seconds,reduce_slot_seconds,container_slot_seconds,waited_s,failed,charged"
            }
            (ReportKind::Queues, _) => {
                "queue,jobs,map_slot_seconds,reduce_slot_seconds,container_slot_seconds,waited_s,failed,charged"
            }
            (ReportKind::Jobs, false) => "job,user,name,queue,state,submit,start,end,slots_s,cost",
            (ReportKind::Jobs, true) => "user,queue,jobs,failed,slots_s,cost",
        };
        let month = if by_month { "month," } else { "" };
        // All of these are known.
        Self::parse_list(&format!("{month}{names}")).unwrap_or_default()
    }

    fn is_text(&self) -> bool {
        use ColumnValue::{End, Job, Month, Name, Queue, Start, State, Submit, User};
        matches!(self.value, Month | Job | User | Queue | Name | State | Submit | Start | End)
    }

    fn cell(&self, row: &ReportRow) -> ReportCell {
        let nothing = WorkRow::default();
        let is_single = row.work.as_ref().is_some_and(|work| work.submit_ms.is_some());
        let work = row.work.as_ref().unwrap_or(&nothing);
        let of_subject = |kind: &str| if row.subject.kind() == kind { row.subject.name() } else { "" };
        let either =
            |mine: &str, kind: &str| if mine.is_empty() { of_subject(kind).to_owned() } else { mine.to_owned() };
        let slots_s = row.map_slot_seconds + row.reduce_slot_seconds + row.container_slot_seconds;
        let elapsed_s = || {
            let (start_ms, end_ms) = (work.start_ms?, work.end_ms?);
            u64::try_from(end_ms.saturating_sub(start_ms) / 1_000).ok()
        };
        match self.value {
            ColumnValue::Month => ReportCell::Text(row.month.clone().unwrap_or_default()),
            ColumnValue::Job => ReportCell::Text(of_subject("job").to_owned()),
            ColumnValue::User => ReportCell::Text(either(&work.user, "user")),
            ColumnValue::Queue => ReportCell::Text(either(&work.queue, "queue")),
            ColumnValue::Name => ReportCell::Text(work.name.clone()),
            ColumnValue::State => ReportCell::Text(work.state.clone()),
            ColumnValue::Submit => ReportCell::Time(work.submit_ms),
            ColumnValue::Start => ReportCell::Time(work.start_ms),
            ColumnValue::End => ReportCell::Time(work.end_ms),
            ColumnValue::Elapsed => ReportCell::Number(if is_single { elapsed_s() } else { None }),
            ColumnValue::Waited => ReportCell::Number(Some(row.waited_s)),
            ColumnValue::Jobs => ReportCell::Number(Some(row.jobs)),
            ColumnValue::Failed => ReportCell::Number(Some(row.failed)),
            ColumnValue::MapSlots => ReportCell::Number(Some(row.map_slot_seconds)),
            ColumnValue::ReduceSlots => ReportCell::Number(Some(row.reduce_slot_seconds)),
            ColumnValue::ContainerSlots => ReportCell::Number(Some(row.container_slot_seconds)),
            ColumnValue::Slots => ReportCell::Number(Some(slots_s)),
            ColumnValue::Cost => ReportCell::Money(row.charged),
        }
    }
}

impl ReportCell {
    fn for_people(self) -> String {
        match self {
            ReportCell::Text(text) => one_line(&text),
            ReportCell::Number(number) => number.map_or_else(|| "-".to_owned(), |number| number.to_string()),
            ReportCell::Time(at_ms) => at_ms.map_or_else(|| "-".to_owned(), format_time),
            ReportCell::Money(amount) => amount.to_string(),
        }
    }

    fn for_programs(self) -> Value {
        match self {
            ReportCell::Text(text) if text.is_empty() => Value::Null,
            ReportCell::Text(text) => text.into(),
            ReportCell::Number(number) => number.into(),
            ReportCell::Time(at_ms) => at_ms.and_then(format_rfc_3339).into(),
            ReportCell::Money(amount) => amount.to_string().into(),
        }
    }
}

/// Such as 2026-11-21T09:30:00Z.
pub(super) fn format_rfc_3339(at_ms: i64) -> Option<String> {
    let at = jiff::Timestamp::from_millisecond(at_ms).ok()?;
    Some(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// The text of one part of a report; the first one has the heads, and in JSON the last one ends the list.
pub(super) fn render_part(report: &Report, shown: &[ReportColumn], form: ReportForm, is_first: bool) -> String {
    match form {
        ReportForm::Table => render_table(report, shown, is_first),
        ReportForm::Csv => render_csv(report, shown, is_first),
        ReportForm::Json => render_json(report, shown, is_first),
    }
}

fn render_table(report: &Report, shown: &[ReportColumn], is_first: bool) -> String {
    let heads: Vec<&str> = shown.iter().map(|column| column.name.as_str()).collect();
    let mut table = columns(&heads, 0);
    for (column, shown) in table.column_iter_mut().zip(shown) {
        column.set_cell_alignment(if shown.is_text() { CellAlignment::Left } else { CellAlignment::Right });
    }
    for row in &report.rows {
        table.add_row(shown.iter().map(|column| column.cell(row).for_people()));
    }
    let text = lines(&table);
    match is_first {
        true => text,
        false => text.split_once('\n').map_or_else(String::new, |(_, rows)| rows.to_owned()),
    }
}

/// Comma-separated values as RFC 4180 has them, but for ends of lines.
fn render_csv(report: &Report, shown: &[ReportColumn], is_first: bool) -> String {
    let mut text = String::new();
    if is_first {
        text += &comma_separated(shown.iter().map(|column| column.name.clone()));
    }
    for row in &report.rows {
        text += &comma_separated(shown.iter().map(|column| match column.cell(row).for_programs() {
            Value::Null => String::new(),
            Value::String(text) => text,
            other => other.to_string(),
        }));
    }
    text
}

pub(super) fn comma_separated(cells: impl Iterator<Item = String>) -> String {
    cells.map(|cell| csv_cell(&cell)).collect::<Vec<_>>().join(",") + "\n"
}

/// A list of objects, one a line.
fn render_json(report: &Report, shown: &[ReportColumn], is_first: bool) -> String {
    let mut text = String::new();
    for (number, row) in report.rows.iter().enumerate() {
        let cells = shown.iter().map(|column| (column.name.clone(), column.cell(row).for_programs()));
        let row = Value::Object(cells.collect::<Map<_, _>>());
        text += if is_first && number == 0 { "[\n" } else { ",\n" };
        text += &row.to_string();
    }
    if is_first && report.rows.is_empty() {
        text += "[";
    }
    if report.next.is_none() {
        text += "\n]\n";
    }
    text
}

pub(super) fn render_answer(report: &Report) -> String {
    json(report)
}

pub(super) fn notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(since_ms) = report.complete_since_ms {
        notes.push(format!("jobs that ended before {} are not complete: old ones were removed", format_time(since_ms)));
    }
    if let Some(until_ms) = report.daily_until_ms {
        let at = format_time(until_ms);
        notes.push(format!("charges up to {at} are known by the day: each day counts where its last charge does"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ReportSubject;

    fn row(subject: ReportSubject, charged: &str) -> ReportRow {
        ReportRow {
            month: None,
            subject,
            work: None,
            jobs: 12,
            map_slot_seconds: 3_600,
            reduce_slot_seconds: 0,
            container_slot_seconds: 7,
            waited_s: 42,
            failed: 1,
            charged: charged.parse().unwrap(),
        }
    }

    fn report(rows: Vec<ReportRow>) -> Report {
        let complete_since_ms = Some(1_238_600_160_788);
        let report = "users".to_owned();
        Report { report, since_ms: None, until_ms: None, rows, complete_since_ms, daily_until_ms: None, next: None }
    }

    fn jobs() -> Report {
        let work = WorkRow {
            user: "alice".to_owned(),
            queue: "alice".to_owned(),
            name: "a, \"b\"".to_owned(),
            state: "SUCCEEDED".to_owned(),
            submit_ms: Some(1_795_000_000_000),
            start_ms: Some(1_795_000_004_000),
            end_ms: Some(1_795_000_064_000),
        };
        let job = ReportSubject::Job("job_202611211200_0001".to_owned());
        let other = ReportSubject::Job(ReportSubject::OTHER.to_owned());
        report(vec![ReportRow { work: Some(work), ..row(job, "2.5") }, row(other, "-0.5")])
    }

    #[test]
    fn people_get_a_table_and_programs_commas() {
        let user = |name: &str, charged: &str| row(ReportSubject::User(name.to_owned()), charged);
        let report = report(vec![user("alice", "12.000000000001"), user("b,\"b\"", "0")]);
        let shown = ReportColumn::usual(ReportKind::Users, false);
        insta::assert_snapshot!(render_part(&report, &shown, ReportForm::Table, true), @r#"
        USER   JOBS  MAP_SLOT_SECONDS  REDUCE_SLOT_SECONDS  CONTAINER_SLOT_SECONDS  WAITED_S  FAILED          CHARGED
        alice    12              3600                    0                       7        42       1  12.000000000001
        b,"b"    12              3600                    0                       7        42       1              0.0
        "#);
        let expected = ["jobs that ended before 2009-04-01T15:36:00Z are not complete: old ones were removed"];
        assert_eq!(notes(&report), expected);
        insta::assert_snapshot!(render_part(&report, &shown, ReportForm::Csv, true), @r#"
        user,jobs,map_slot_seconds,reduce_slot_seconds,container_slot_seconds,waited_s,failed,charged
        alice,12,3600,0,7,42,1,12.000000000001
        "b,""b""",12,3600,0,7,42,1,0.0
        "#);
    }

    #[test]
    fn chosen_columns_are_the_same_in_every_form() {
        let shown = ReportColumn::parse_list("user,name,state,submit,elapsed_s,SLOTS_S,cost").unwrap();
        insta::assert_snapshot!(render_part(&jobs(), &shown, ReportForm::Table, true), @r#"
        USER   NAME    STATE      SUBMIT                ELAPSED_S  SLOTS_S  COST
        alice  a, "b"  SUCCEEDED  2026-11-18T11:06:40Z         60     3607   2.5
                                  -                             -     3607  -0.5
        "#);
        insta::assert_snapshot!(render_part(&jobs(), &shown, ReportForm::Csv, true), @r#"
        user,name,state,submit,elapsed_s,slots_s,cost
        alice,"a, ""b""",SUCCEEDED,2026-11-18T11:06:40Z,60,3607,2.5
        ,,,,,3607,-0.5
        "#);
        let json: Value = serde_json::from_str(&render_part(&jobs(), &shown, ReportForm::Json, true)).unwrap();
        assert_eq!(json[0]["cost"], "2.5");
        assert_eq!((&json[0]["submit"], &json[1]["user"]), (&"2026-11-18T11:06:40Z".into(), &Value::Null));
        let error = ReportColumn::parse_list("user,price").unwrap_err();
        assert!(error.starts_with("\"price\" is no column, expected some of month,job,"), "{error}");
    }

    #[test]
    fn parts_make_one_whole() {
        let shown = ReportColumn::parse_list("job,cost").unwrap();
        let first = Report { next: Some(1), rows: vec![jobs().rows.remove(0)], ..jobs() };
        let second = Report { rows: vec![jobs().rows.remove(1)], ..jobs() };
        for form in [ReportForm::Csv, ReportForm::Json] {
            let parts = render_part(&first, &shown, form, true) + &render_part(&second, &shown, form, false);
            assert_eq!(parts, render_part(&jobs(), &shown, form, true));
        }
        let nothing = Report { rows: Vec::new(), ..jobs() };
        assert_eq!(render_part(&nothing, &shown, ReportForm::Table, true), "JOB  COST\n");
        assert_eq!(
            serde_json::from_str::<Value>(&render_part(&nothing, &shown, ReportForm::Json, true)).unwrap(),
            Value::Array(vec![])
        );
    }
}
