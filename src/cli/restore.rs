//! `jobtracker restore`: puts a backup in the place of state.db while the daemon is stopped.

use std::path::PathBuf;

use crate::model::counted;
use crate::store::{
    BackupSummary, ComesAgain, LostMovement, LostSetting, LostState, RestoreSummary, StoreError, restore,
};

use super::exit_code::Failure;
use super::market_text::json;
use super::serve::ConfigurationArguments;
use super::time_text::format_time;

/// Most lines about each kind of what is lost.
const MOST_LINES: usize = 50;

/// Options of `restore`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RestoreArguments {
    /// Backup to restore
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The daemon's configuration, which sets the state directory.
    #[command(flatten)]
    pub(crate) configuration: ConfigurationArguments,
}

/// With code 2 for what a person must mend, 1 for a file that cannot be written.
fn failure(error: StoreError) -> Failure {
    match error {
        StoreError::Locked { .. }
        | StoreError::OtherSchema { .. }
        | StoreError::Damaged { .. }
        | StoreError::File { action: "restore", .. } => Failure::usage(error),
        _ => Failure::other(error),
    }
}

pub(crate) fn run(arguments: &RestoreArguments) -> Result<String, Failure> {
    let state_dir = arguments.configuration.load_options().state_dir()?;
    let restored = restore(&state_dir, &arguments.file).map_err(failure)?;
    if arguments.json {
        return Ok(as_json(arguments, &restored));
    }
    let RestoreSummary { database, copy, kept, lost } = &restored;
    let BackupSummary { last_fact, jobs, unfinished_jobs, queues, .. } = copy;
    let mut text = format!(
        "{} is {} now\nlast fact {}; {}, {unfinished_jobs} of them unfinished; {} with money\n",
        database.display(),
        arguments.file.display(),
        last_fact.0,
        counted(*jobs, "job"),
        counted(*queues, "queue")
    );
    if let Some(kept) = kept {
        text += &format!("the state of before is kept as {}\n", kept.display());
    }
    text += &match lost {
        Ok(lost) => lost_text(lost),
        Err(error) => format!("what is lost cannot be said, since the state of before cannot be read: {error}\n"),
    };
    Ok(text)
}

fn lost_text(lost: &LostState) -> String {
    if *lost == LostState::default() {
        return "nothing is lost\n".to_owned();
    }
    let work = |rows: &[[String; 3]]| rows.iter().map(|[id, user, state]| format!("{id} of {user}, {state}")).collect();
    let movement = |movement: &LostMovement| {
        let LostMovement { time_ms, reason, queue, amount, transfer, made_by, note, comes_again: _ } = movement;
        let queues = match transfer {
            Some([from, to]) => format!("from queue {from} to queue {to}"),
            None => format!("queue {queue}"),
        };
        let by = if made_by.is_empty() { String::new() } else { format!(", by {made_by}") };
        let note = if note.is_empty() { String::new() } else { format!(": {note}") };
        format!("{} {reason} of {amount}, {queues}{by}{note}", format_time(*time_ms))
    };
    let money = |comes_again: Option<ComesAgain>| {
        lost.money.iter().filter(|lost| lost.comes_again == comes_again).map(movement).collect::<Vec<_>>()
    };
    let setting = |LostSetting { subject, lost, copy }: &LostSetting| {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        format!("{subject}: {}; in the copy {}", shown(lost), shown(copy))
    };
    let parts: [(&str, Vec<String>); 6] = [
        (
            "jobs and applications submitted since; jobs whose files are in mapred.system.dir run from the start, the daemon does \
             not know the rest:",
            work(&lost.submitted),
        ),
        (
            "jobs that have ended since; one whose files are gone is over at the start, another one runs again:",
            work(&lost.ended),
        ),
        ("movements of money since, charges left out; repeat them:", money(None)),
        (
            "top-ups by SQL since; DO NOT repeat them: they come again by themselves from the database, as long as their rows are \
             there; into an older one insert rows again, with the same references:",
            money(Some(ComesAgain::FromSql)),
        ),
        (
            "payments of allowances since; do not repeat them: the next start pays the periods that the copy has not paid, the last \
             100 of each queue:",
            money(Some(ComesAgain::AsAllowance)),
        ),
        ("settings changed since; set them again:", lost.settings.iter().map(setting).collect()),
    ];
    let mut text = String::new();
    for (head, lines) in parts.iter().filter(|(_, lines)| !lines.is_empty()) {
        text += &format!("lost: {} {head}\n", lines.len());
        lines.iter().take(MOST_LINES).for_each(|line| text += &format!("  {line}\n"));
        if let Some(more) = lines.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
            text += &format!("  and {more} more\n");
        }
    }
    text
}

fn as_json(arguments: &RestoreArguments, restored: &RestoreSummary) -> String {
    let RestoreSummary { database, copy, kept, lost } = restored;
    let BackupSummary { last_fact, schema_version, jobs, unfinished_jobs, queues, .. } = copy;
    let work = |rows: &[[String; 3]]| -> Vec<serde_json::Value> {
        rows.iter().map(|[id, user, state]| serde_json::json!({"id": id, "user": user, "state": state})).collect()
    };
    let movement = |movement: &LostMovement| {
        let LostMovement { time_ms, reason, queue, amount, transfer, made_by, note, comes_again } = movement;
        let side = |side: usize| transfer.as_ref().and_then(|queues| queues.get(side));
        serde_json::json!({
            "time_ms": time_ms, "reason": reason, "queue": queue, "amount": amount, "from": side(0), "to": side(1),
            "by": made_by, "note": note, "comes_again": comes_again.is_some(),
        })
    };
    let setting = |LostSetting { subject, lost, copy }: &LostSetting| serde_json::json!({"subject": subject, "lost": lost, "backup": copy});
    let known = lost.as_ref().ok();
    json(&serde_json::json!({
        "database": database, "file": arguments.file, "kept": kept, "last_fact": last_fact.0,
        "schema_version": schema_version, "jobs": jobs, "unfinished_jobs": unfinished_jobs, "queues": queues,
        "submitted_since": known.map(|lost| work(&lost.submitted)),
        "ended_since": known.map(|lost| work(&lost.ended)),
        "money_since": known.map(|lost| lost.money.iter().map(movement).collect::<Vec<_>>()),
        "settings_since": known.map(|lost| lost.settings.iter().map(setting).collect::<Vec<_>>()),
        "lost_error": lost.as_ref().err(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_listed_by_kind() {
        let row = |row: [&str; 3]| row.map(str::to_owned);
        let movement = |reason: &str, made_by: &str, note: &str| LostMovement {
            time_ms: 1_795_000_000_000,
            reason: reason.to_owned(),
            queue: "alice".to_owned(),
            amount: "5.0".to_owned(),
            transfer: (reason == "transfer").then(|| ["bob", "alice"].map(str::to_owned)),
            made_by: made_by.to_owned(),
            note: note.to_owned(),
            comes_again: match reason {
                "adjustment" => Some(ComesAgain::FromSql),
                "allowance" => Some(ComesAgain::AsAllowance),
                _ => None,
            },
        };
        let lost = LostState {
            submitted: vec![row(["job_7_0002", "alice", "RUNNING"]); 51],
            ended: Vec::new(),
            money: vec![
                movement("top_up", "root", "grant 7"),
                movement("adjustment", "sql:accounting", "inv-1: grant 8"),
                movement("transfer", "bob", ""),
                movement("allowance", "", ""),
            ],
            settings: vec![LostSetting {
                subject: "queue dave".to_owned(),
                lost: Some("there".to_owned()),
                copy: None,
            }],
        };
        let text = lost_text(&lost);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("lost: 51 jobs and applications submitted since"), "{text}");
        assert_eq!(lines[1..=2], ["  job_7_0002 of alice, RUNNING"; 2]);
        assert_eq!(lines[51], "  and 1 more");
        assert_eq!(
            lines[52..],
            [
                "lost: 2 movements of money since, charges left out; repeat them:",
                "  2026-11-18T11:06:40Z top_up of 5.0, queue alice, by root: grant 7",
                "  2026-11-18T11:06:40Z transfer of 5.0, from queue bob to queue alice, by bob",
                "lost: 1 top-ups by SQL since; DO NOT repeat them: they come again by themselves from the database, as long as \
                 their rows are there; into an older one insert rows again, with the same references:",
                "  2026-11-18T11:06:40Z adjustment of 5.0, queue alice, by sql:accounting: inv-1: grant 8",
                "lost: 1 payments of allowances since; do not repeat them: the next start pays the periods that the copy has \
                 not paid, the last 100 of each queue:",
                "  2026-11-18T11:06:40Z allowance of 5.0, queue alice",
                "lost: 1 settings changed since; set them again:",
                "  queue dave: there; in the copy none",
            ]
        );
        assert_eq!(lost_text(&LostState::default()), "nothing is lost\n");
    }
}
