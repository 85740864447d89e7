//! `/conf`: the configuration in force, values that are secret left out. `/jobconf.jsp`: that of a job.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde::Serialize;

use crate::model::JobId;

use super::super::owner::Owner;
use super::super::response::{XML, fresh, text};
use super::super::rows::cut;
use super::super::state::WebState;
use super::access::{check_instrumentation, found, viewer};
use super::answer;
use super::data::ConfProperty;
use super::request::{PageAnswer, PageRequest};
use super::rows::new_job_page;

/// The content type, as 1.2.1 sends it.
const JSON: &str = "application/json; charset=utf-8";

pub(super) async fn conf<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    check_instrumentation(&state, asked.user()).await?;
    let conf = &state.stock.conf;
    let (kind, body) = match asked.get("format").unwrap_or("xml") {
        "xml" => (XML, xml(conf)),
        "json" => (JSON, super::super::response::json(&ConfProperties { properties: conf })),
        other => {
            return Err(text(StatusCode::BAD_REQUEST, format_args!("Bad format: {}", cut(other))).into());
        }
    };
    Ok(fresh(StatusCode::OK, kind, body))
}

/// As 1.2.1 `Configuration.dumpConfiguration`.
#[derive(Serialize)]
struct ConfProperties<'a> {
    properties: &'a [ConfProperty],
}

/// As 1.2.1 `Configuration.writeXml`.
fn xml(conf: &[ConfProperty]) -> String {
    let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?><configuration>\n".to_owned();
    for ConfProperty { key, value, resource, .. } in conf {
        // No comment may have two dashes.
        let resource = resource.replace("--", "- -");
        let (key, value) = (escaped(key), escaped(value));
        xml.push_str(&format!(
            "<property><!--Loaded from {resource}--><name>{key}</name><value>{value}</value></property>\n"
        ));
    }
    xml.push_str("</configuration>");
    xml
}

/// A text as XML has it; what XML 1.0 cannot say is left out.
fn escaped(text: &str) -> String {
    let mut xml = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'.. => xml.push(character),
            _ => {}
        }
    }
    xml
}

pub(super) async fn jobconf<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    let id: Option<JobId> = asked.parsed("jobid", "the id of a job")?;
    let Some(id) = id else {
        return Ok(answer::heading("Job Configuration", "/", "Missing 'jobid' for fetching job configuration!"));
    };
    let conf = found(state.owner.stock_conf(id, viewer(&state, &asked)?), asked.user(), id).await?;
    let heading = format!("Job Configuration: JobId - {id}");
    Ok(answer::page(StatusCode::OK, &ConfPage { new_page: new_job_page(id), id, heading, properties: conf }))
}

/// The input of the template, which `/jobconf_history.jsp` has too.
#[derive(Template)]
#[template(path = "stock/jobconf.html")]
pub(super) struct ConfPage {
    pub(super) new_page: String,
    pub(super) id: JobId,
    pub(super) heading: String,
    /// None of a job that is unknown, or whose file is lost.
    pub(super) properties: Option<Vec<(String, String)>>,
}
