//! The question before a change that a link asks for: a page of any site may have made the link, so that only a form may change.

use askama::Template;

use super::page_query::FormChange;
use super::time_text::format_time;

/// The input of the template.
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
