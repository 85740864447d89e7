//! The image of the budgets at a start: opened, and what it has brought in logged.

use crate::config::settings::{BudgetStoreKind, MarketSettings};
use crate::engine::{AuditEntry, UNKNOWN_USER};
use crate::market::BudgetLine;
use crate::server::write_audit_line;
use crate::store::{
    BudgetAtStart, BudgetBackEndError, BudgetPublisher, CommandBackEnd, LoadedState, PostgresBackEnd, Precedence, Store,
};

/// Changes of an edited budget file that are logged one by one.
const LOGGED_QUEUES: usize = 50;

/// Opens the back-end that the settings name.
pub(super) fn open_budget_image(
    market: &MarketSettings,
    precedence: Precedence,
    store: &Store,
    opened: &LoadedState,
) -> Result<(BudgetPublisher, BudgetAtStart), BudgetBackEndError> {
    if precedence == Precedence::File && market.image_file().is_none() {
        tracing::warn!(
            "--take-budget-file has no effect: the budgets are not in a file (mapred.dynamic-scheduler.store)"
        );
    }
    let image = match &market.budget_store {
        BudgetStoreKind::File(path) => return BudgetPublisher::open(store, opened, path, precedence),
        BudgetStoreKind::Command(words) => BudgetPublisher::with_back_end(CommandBackEnd::new(words.clone()), opened),
        BudgetStoreKind::Postgres(postgres) => {
            BudgetPublisher::with_back_end(PostgresBackEnd::of_state(postgres.clone(), store, opened)?, opened)
        }
    }?;
    let status = image.0.watch();
    if opened.budget_file.kept_in.as_deref() != Some(status.place())
        && let Err(error) = store.note_budgets_in(status.place())
    {
        tracing::warn!("a later start from the budget file will not know that it was in {}: {error}", status.place());
    }
    Ok(image)
}

/// Logs what an edited budget file has changed; all of it is in the ledger.
pub(super) fn log_imported(path: &str, changes: &[String]) {
    tracing::warn!(
        "{path}: the budget file was edited; {} queues differ and are updated, recorded as adjustments",
        changes.len()
    );
    for change in changes {
        let entry = AuditEntry::new("edit-budget-file", UNKNOWN_USER).with("file", path).with("change", change);
        write_audit_line(&entry.to_string());
    }
    log_queues(path, changes);
}

/// Logs which amounts have more decimals than are stored, such as those of the original.
pub(super) fn log_rounded(path: &str, lines: &[BudgetLine]) {
    let changes = lines.iter().filter(|line| line.is_budget_rounded || line.is_rate_rounded).map(|line| {
        let BudgetLine { queue, budget, rate, .. } = line;
        match (line.is_budget_rounded, line.is_rate_rounded) {
            (true, true) => {
                format!("queue {queue}: rounded to budget {budget}, recorded as an adjustment, and rate {rate}")
            }
            (true, false) => format!("queue {queue}: rounded to budget {budget}, recorded as an adjustment"),
            (false, _) => format!("queue {queue}: rounded to rate {rate}"),
        }
    });
    let changes: Vec<String> = changes.collect();
    if changes.is_empty() {
        return;
    }
    tracing::warn!("{path}: rounded the amounts of {} queues to 12 decimals", changes.len());
    log_queues(path, &changes);
}

/// Logs one line per queue, up to a limit.
fn log_queues(path: &str, changes: &[String]) {
    for line in changes.iter().take(LOGGED_QUEUES) {
        tracing::warn!("{path}: {line}");
    }
    if let Some(more) = changes.len().checked_sub(LOGGED_QUEUES).filter(|more| *more > 0) {
        tracing::warn!("{path}: and {more} more");
    }
}
