//! Builds the engine of a session from the loaded state, with an edited budget file imported: the image of the budgets is opened, and what
//! it has brought in logged.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::clock::Clock;
use crate::config::Settings;
use crate::config::settings::{BudgetStoreKind, MarketSettings, SchedulerKind};
use crate::engine::{AuditEntry, Engine, ForeignState, UNKNOWN_USER};
use crate::market::BudgetLine;
use crate::server::{SystemDirAtStart, engine_config, no_minute, write_audit_line};
use crate::store::{
    BudgetAtStart, BudgetBackEndError, BudgetPublisher, CommandBackEnd, LoadedState, PostgresBackEnd, Precedence, Store,
};

use super::ports::as_others_name;
use super::ruling_scheduler::RulingScheduler;
use super::serve_error::ServeError;

pub(super) struct StartState {
    pub(super) opened: LoadedState,
    pub(super) predecessors: ForeignState,
    pub(super) system_dir: SystemDirAtStart,
    /// The trackers that a predecessor has handed over.
    pub(super) handed_over: Option<BTreeSet<Arc<str>>>,
}

/// Builds the engine from the loaded state, and the writer of the budget file if there is a market with one.
pub(super) fn build_engine(
    ruling: &RulingScheduler<'_>,
    precedence: Precedence,
    store: &Store,
    found: StartState,
    http: SocketAddr,
) -> Result<(Option<BudgetPublisher>, Engine, Clock), ServeError> {
    let settings = &*ruling.settings;
    let StartState { opened, predecessors, system_dir, handed_over } = found;
    let clock = Clock::start();
    let now = clock.now();
    let budget = match settings.market.as_ref().filter(|market| has_budgets(settings, market, &opened)) {
        None => None,
        Some(market) => Some(open_budget_image(market, precedence, store, &opened)?),
    };
    let used = opened.identifiers.iter().copied().chain(system_dir.identifiers()).collect();
    let mut config = engine_config(settings, &used, now.wall_ms, job_page_prefix(settings, http))?;
    config.containers.server = as_others_name(&settings.http_address, http).to_string();
    if let Some(choice) = &ruling.choice {
        config.choice = choice.clone();
    }
    if system_dir.was_another_here() {
        config.identifier = no_minute(config.identifier, &used);
    }
    let mut restored = opened.restored();
    restored.foreign_state = predecessors;
    restored.jobs.handed_over = handed_over;
    let mut engine = Engine::new(config, restored, now);
    let image = budget.map(|(image, found)| {
        let place = image.watch().place().to_owned();
        match found {
            // Unchanged; it becomes an image at the next change.
            BudgetAtStart::Initial(lines) => {
                log_rounded(&place, &lines);
                engine.seed_budgets(lines, now);
                return image;
            }
            // Written at the first tick, when the ledger includes it.
            BudgetAtStart::Edited(lines) => {
                log_rounded(&place, &lines);
                log_imported(&place, &engine.apply_budget_file(lines, now));
                return image;
            }
            BudgetAtStart::Unchanged => {}
            BudgetAtStart::Overridden(line) => tracing::warn!("{line}"),
        }
        if let Some(market) = engine.market() {
            image.publish(market.budget_lines(), market.tick_number());
        }
        image
    });
    Ok((image, engine, clock))
}

/// Whether the market has its budgets, or must have them. One that does not rule waits for them without accounts.
fn has_budgets(settings: &Settings, market: &MarketSettings, opened: &LoadedState) -> bool {
    let is_ruling = matches!(settings.scheduler, SchedulerKind::Dynamic(_));
    match market.image_file().filter(|path| !path.exists()) {
        Some(path) if !is_ruling && opened.first_start => {
            let path = path.display();
            tracing::info!("the market has no accounts: there is no budget file {path}; the next start reads it");
            false
        }
        _ => true,
    }
}

/// URL of a job's page, without the id. A server on all addresses is named by the host of `mapred.job.tracker`, as in 1.2.1
/// `JobInProgress`: clients can resolve it, which the machine's own name need not be.
pub(super) fn job_page_prefix(settings: &Settings, http: SocketAddr) -> String {
    let mut address = as_others_name(&settings.http_address, http);
    let rpc_host = &settings.rpc_address.host;
    let is_on_all = |host: &str| host.parse::<IpAddr>().is_ok_and(|ip| ip.is_unspecified());
    if http.ip().is_unspecified() && !is_on_all(rpc_host) {
        address.host.clone_from(rpc_host);
    }
    format!("http://{address}/jobdetails.jsp?jobid=")
}

/// Changes of an edited budget file that are logged one by one.
const LOGGED_QUEUES: usize = 50;

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

fn log_queues(path: &str, changes: &[String]) {
    for line in changes.iter().take(LOGGED_QUEUES) {
        tracing::warn!("{path}: {line}");
    }
    if let Some(more) = changes.len().checked_sub(LOGGED_QUEUES).filter(|more| *more > 0) {
        tracing::warn!("{path}: and {more} more");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::LoadOptions;

    #[test]
    fn a_jobs_page_on_all_addresses_has_the_host_that_clients_call() {
        let prefix = |rpc: &str, http: &str| {
            let overrides = vec![
                "hadoop.tmp.dir=/tmp/none".to_owned(),
                format!("mapred.job.tracker={rpc}"),
                format!("mapred.job.tracker.http.address={http}"),
            ];
            let settings = Settings::load(&LoadOptions { overrides, ..LoadOptions::default() }).unwrap().0;
            job_page_prefix(&settings, http.parse().unwrap())
        };
        assert_eq!(prefix("jt.example:9001", "0.0.0.0:50030"), "http://jt.example:50030/jobdetails.jsp?jobid=");
        assert_eq!(prefix("jt.example:9001", "10.0.0.7:50030"), "http://10.0.0.7:50030/jobdetails.jsp?jobid=");
        let of_machine = crate::config::host_name();
        assert_eq!(prefix("0.0.0.0:9001", "0.0.0.0:50030"), format!("http://{of_machine}:50030/jobdetails.jsp?jobid="));
    }
}
