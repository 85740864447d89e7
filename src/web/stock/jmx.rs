//! `/jmx`: the beans of a JobTracker as JSON, one attribute a line, as scripts search for them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};

use super::super::cluster_view::ClusterView;
use super::super::owner::{MarketPresence, Owner};
use super::super::response::{fresh, text};
use super::super::state::WebState;
use super::access::check_instrumentation;
use super::jmx_beans::{Bean, beans};
use super::jmx_pattern::Pattern;
use super::request::{Asked, Refused};
use super::rows::simple_host;

/// The content type, as 1.2.1 spells it.
const JSON: &str = "application/json; charset=utf8";

/// Answers `/jmx?qry=PATTERN`.
pub(super) async fn jmx<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> Response<Body> {
    match answered(&state, request).await {
        Ok(response) | Err(response) => *response,
    }
}

async fn answered<O: Owner>(state: &WebState<O>, request: Request) -> Result<Refused, Refused> {
    let asked = Asked::of(request).await?;
    check_instrumentation(state, asked.user()).await?;
    let Some(pattern) = Pattern::parse(asked.get("qry").unwrap_or("*:*")) else {
        return Ok(Box::new(fresh(StatusCode::BAD_REQUEST, JSON, "")));
    };
    let view = ClusterView::of(state).await;
    let view = view.map_err(|why| Box::new(text(StatusCode::SERVICE_UNAVAILABLE, why)))?;
    let shows_money = state.shows_money || state.owner.market_presence() != MarketPresence::Ruling;
    let all = beans(&view.overview, simple_host(&state.stock.host), &state.host, shows_money);
    let found: Vec<Bean> = all.into_iter().filter_map(|bean| pattern.select(bean)).collect();
    Ok(Box::new(view.aged(fresh(StatusCode::OK, JSON, written(&found)))))
}

/// Beans as 1.2.1 writes them.
fn written(beans: &[Bean]) -> String {
    let mut text = "{\n  \"beans\" : [".to_owned();
    for (place, bean) in beans.iter().enumerate() {
        text.push_str(if place == 0 { " {" } else { ", {" });
        let names = [("name", &bean.name), ("modelerType", &bean.kind)];
        let names = names.map(|(name, value)| (name.to_owned(), serde_json::Value::from(value.as_str())));
        let attributes = bean.attributes.iter().map(|(name, value)| (name.clone(), value.clone()));
        for (place, (name, value)) in names.into_iter().chain(attributes).enumerate() {
            let comma = if place == 0 { "" } else { "," };
            // Writing to a text does not fail.
            let _ = write!(text, "{comma}\n    {} : {}", serde_json::Value::from(name), pretty(&value));
        }
        text.push_str("\n  }");
    }
    text.push_str(" ]\n}\n");
    text
}

/// A value as it stands in the line of its attribute.
fn pretty(value: &serde_json::Value) -> String {
    let serde_json::Value::Object(members) = value else { return value.to_string() };
    let members: BTreeMap<_, _> = members.iter().collect();
    let lines: Vec<String> = members
        .into_iter()
        .map(|(name, value)| format!("      {} : {value}", serde_json::Value::from(name.as_str())))
        .collect();
    format!("{{\n{}\n    }}", lines.join(",\n"))
}
