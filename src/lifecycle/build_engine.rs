//! Builds the engine of a session from the loaded state, with an edited budget file imported.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::clock::Clock;
use crate::config::Settings;
use crate::config::settings::{MarketSettings, SchedulerKind};
use crate::engine::{Engine, ForeignState};
use crate::server::{SystemDirAtStart, engine_config, no_minute};
use crate::store::{BudgetAtStart, BudgetPublisher, LoadedState, Precedence, Store};

use super::budget_image::{log_imported, log_rounded, open_budget_image};
use super::ports::as_others_name;
use super::ruling_scheduler::RulingScheduler;
use super::serve_error::ServeError;

/// What a start has loaded.
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
