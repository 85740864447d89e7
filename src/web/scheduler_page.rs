//! `/scheduler` without an operation of the market: the page of the ruling policy, and its numbers as JSON.

use askama::Template;
use axum::body::Body;
use axum::http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY};
use axum::http::{HeaderValue, Method, Response, StatusCode};

use crate::api::{PolicyName, SchedulerReport};
use crate::engine::deadline_change;
use crate::market::answer::short_host;

use super::capacity_page::CapacityPage;
use super::cluster_view::ClusterView;
use super::constraint_page::ConstraintPage;
use super::fair_page::FairPage;
use super::job_changes::change_job;
use super::owner::{JobChange, MarketPresence, Owner};
use super::page_query::{FormChange, PageQuery};
use super::page_user::PageUser;
use super::response::{HTML, JSON, fresh, json, text, with_allow};
use super::signed_request::{HttpRequest, check_method};
use super::state::WebState;
use super::time_text::format_time;

/// The policy of a page with forms, which go to this server alone.
const FORMS_POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Answers a request for the page; none if the market answers, which rules.
pub(super) async fn scheduler_page<O: Owner>(
    state: &WebState<O>,
    request: &HttpRequest,
    query: PageQuery,
) -> Option<Response<Body>> {
    let PageQuery { format, is_advanced, change } = query;
    if format.is_none() && state.owner.market_presence() == MarketPresence::Ruling {
        return None;
    }
    let view = match ClusterView::with_jobs(state).await {
        Ok(view) => view,
        Err(why) => return Some(text(StatusCode::SERVICE_UNAVAILABLE, why)),
    };
    let report = &view.overview.report;
    if format.is_none() && report.policy == PolicyName::Fifo {
        return Some(no_page(state.owner.market_presence()));
    }
    if let Err(refusal) = check_method(&request.method, |status, message| text(status, message)) {
        return Some(*refusal);
    }
    let host = short_host(&state.host);
    let user = request.user.as_ref().map_or("", |PageUser(user)| user);
    let has_forms = state.job_forms.are_for(user);
    let takes_get = state.stock.takes_get_changes && request.method == Method::GET;
    Some(view.aged(match (format.as_deref(), report.policy) {
        (Some("json"), _) => json_report(report.clone(), state.shows_money),
        (Some(other), _) => text(StatusCode::BAD_REQUEST, format_args!("format: {other:?} is not json")),
        (None, PolicyName::Dynamic | PolicyName::Fifo) => return None,
        (None, PolicyName::Capacity) => page(&CapacityPage::new(host, report)),
        (None, PolicyName::Fair | PolicyName::Constraint) if change.is_some() => {
            let (job, change) = change?;
            let question = ConfirmPage::new(host, is_advanced, &job, &change, report.at_ms);
            // The page of the Fair scheduler has always taken changes by GET; the form that asks changes by POST.
            match question.filter(|_| has_forms && request.method == Method::GET && !takes_get) {
                Some(question) => return Some(page(&question)),
                None if request.method != Method::POST && has_forms && !takes_get => {
                    let refusal = text(StatusCode::METHOD_NOT_ALLOWED, "a job is changed by POST");
                    return Some(with_allow(refusal, "POST"));
                }
                None => {}
            }
            match job_change(change) {
                Ok(change) => change_job(state, request, &job, change, address(is_advanced)).await,
                Err(message) => text(StatusCode::BAD_REQUEST, message),
            }
        }
        (None, PolicyName::Fair) => page(&FairPage::new(host, report, is_advanced, has_forms)),
        (None, PolicyName::Constraint) => page(&ConstraintPage::new(host, report, has_forms)),
    }))
}

/// A change as the owner knows it, or which field is wrong.
fn job_change(change: FormChange) -> Result<JobChange, String> {
    match change {
        FormChange::Pool(pool) => Ok(JobChange::Pool(pool)),
        FormChange::Priority(priority) => Ok(JobChange::Priority(priority)),
        FormChange::Deadline(fields) => deadline_change(&fields).map(JobChange::Deadline),
    }
}

fn json_report(mut report: SchedulerReport, shows_money: bool) -> Response<Body> {
    if !shows_money {
        report.hide_money(|_| false);
    }
    fresh(StatusCode::OK, JSON, json(&report))
}

fn no_page(market: MarketPresence) -> Response<Body> {
    let message = match market {
        MarketPresence::Absent => "The scheduler in use has no market; /scheduler belongs to the dynamic one",
        MarketPresence::Idle | MarketPresence::Signing | MarketPresence::Ruling => {
            "The scheduler in use has no page; the market answers /scheduler?OPERATION"
        }
    };
    text(StatusCode::NOT_FOUND, message)
}

const fn address(is_advanced: bool) -> &'static str {
    if is_advanced { "/scheduler?advanced" } else { "/scheduler" }
}

/// A page that may send forms. With its own address as referrer, so that a form is known to be its own.
fn page(page: &impl Template) -> Response<Body> {
    match page.render() {
        Ok(html) => {
            let mut response = fresh(StatusCode::OK, HTML, html);
            let headers = response.headers_mut();
            headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(FORMS_POLICY));
            headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
            response
        }
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error),
    }
}

#[derive(Template)]
#[template(path = "confirm.html")]
pub(super) struct ConfirmPage<'a> {
    host: &'a str,
    is_advanced: bool,
    job: &'a str,
    what: &'static str,
    /// The parameter and its value.
    name: &'static str,
    value: &'a str,
    at: String,
}

impl<'a> ConfirmPage<'a> {
    /// None for a change that no link may ask for.
    pub(super) fn new(
        host: &'a str,
        is_advanced: bool,
        job: &'a str,
        change: &'a FormChange,
        at_ms: i64,
    ) -> Option<Self> {
        let (what, name, value) = match change {
            FormChange::Pool(pool) => ("pool", "setPool", pool),
            FormChange::Priority(priority) => ("priority", "setPriority", priority),
            FormChange::Deadline(_) => return None,
        };
        Some(Self { host, is_advanced, job, what, name, value, at: format_time(at_ms) })
    }
}
