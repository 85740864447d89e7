//! The cluster at a glance, and what is wrong with it.

use serde::Serialize;
use serde_json::{Value, json};

use super::super::applications::{Problem, QueryParameters};
use super::super::cluster_view::{ClusterView, views_complaint};
use super::super::daemon_status::status_of;
use super::super::owner::{HEALTHY, MarketPresence, Owner};
use super::super::worker_health::WorkerHealth;
use super::answer::{Content, lasting};
use super::ask::Ask;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Complaint {
    kind: &'static str,
    text: String,
    r#try: &'static str,
}

/// Answers `/cluster`: the members of `jobtracker status`, who sees money, and the price.
pub(super) fn cluster<O: Owner>(ask: &Ask<'_, O>, parameters: QueryParameters) -> Result<Content, Problem> {
    parameters.end()?;
    Ok(Content::One(cluster_of(ask)))
}

pub(super) fn cluster_of<O: Owner>(ask: &Ask<'_, O>) -> Value {
    let view = ClusterView { overview: ask.shown.overview.clone(), old: None };
    let mut found = lasting(&status_of(&view, ask.web.owner.health(), ask.web.ports));
    let presence = ask.web.owner.market_presence();
    if presence != MarketPresence::Absent {
        found["visibility"] = if ask.web.shows_money { "public".into() } else { "private".into() };
        let mut market = json!({ "is_ruling": presence == MarketPresence::Ruling });
        if let Some(tick) = ask.shown.views.market().tick() {
            market["tick"] = tick.number.into();
            market["tick_ms"] = tick.at_ms.into();
            market["next_tick_ms"] = tick.at_ms.saturating_add_unsigned(tick.interval_ms).into();
            market["price"] = json!(tick.price);
        }
        found["market"] = market;
    }
    found
}

/// Answers `/health`: whether jobs can be submitted and run, and every complaint.
pub(super) fn health<O: Owner>(ask: &Ask<'_, O>, parameters: QueryParameters) -> Result<Content, Problem> {
    parameters.end()?;
    let health = ask.web.owner.health();
    let daemon = (health.text != HEALTHY).then(|| health.text.clone());
    let all = [
        ("daemon", daemon, "jobtracker status"),
        ("store", health.unwritable.clone(), "make room where state.db is"),
        ("state", health.store_error.clone(), "jobtracker backup, then look at the log"),
        ("acl_file", health.acl_error.clone(), "jobtracker check-config"),
        ("budget_file", health.budget_error.clone(), "jobtracker check-config"),
        ("refused_senders", health.refused_senders.clone(), "look at the log, and report the defect"),
        ("defect", health.defect.clone(), "look at the log, and report the defect"),
        ("workers", WorkerHealth::complaint_of(&ask.shown.overview), "jobtracker workers list"),
        ("views", views_complaint(&health, &ask.shown.overview), "look at the load of the daemon's machine"),
    ];
    let mut complaints: Vec<Complaint> = Vec::new();
    for (kind, text, attempt) in all {
        let Some(text) = text else { continue };
        // The line of the daemon is one of the others where there is one.
        complaints.retain(|known| !(known.kind == "daemon" && known.text.contains(&text)));
        complaints.push(Complaint { kind, text, r#try: attempt });
    }
    Ok(Content::one(&json!({
        "is_alive": health.is_alive,
        "is_ready": health.is_alive && health.is_ready,
        "complaints": complaints,
    })))
}
