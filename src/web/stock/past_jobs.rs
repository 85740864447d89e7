//! `/jobhistoryhome.jsp`: jobs that are over, as `state.db` has them. `/jobhistory.jsp` leads there.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};
use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use tokio::time::timeout;

use crate::model::PastSearch;

use super::super::owner::Owner;
use super::super::response::text;
use super::super::rows::cut;
use super::super::state::{ANSWER_TIMEOUT, WebState};
use super::answer;
use super::changes::go_back;
use super::data::{StockPastJob, StockPastJobs};
use super::java_text::date;
use super::request::{PageAnswer, PageRequest};
use super::rows::simple_host;

/// Jobs of a page (1.2.1).
const PAGE_JOBS: u64 = 100;
/// Jobs of the page with all of them.
const ALL_JOBS: u64 = 10_000;
/// `pageno` of the page with all of them.
const ALL: i64 = -1;

pub(super) async fn jobhistory() -> Response<Body> {
    go_back("jobhistoryhome.jsp")
}

pub(super) async fn jobhistoryhome<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    let page = asked.parsed::<i64>("pageno", "the number of a page, or -1 for all")?.unwrap_or(1);
    let page = if page == ALL { ALL } else { page.max(1) };
    let search = asked.get("search").unwrap_or_default();
    let wanted = search_of(search).ok_or_else(|| wrong_date(search))?;
    let (first, count) = match u64::try_from(page) {
        Ok(page) => ((page - 1).saturating_mul(PAGE_JOBS), PAGE_JOBS),
        Err(_) => (0, ALL_JOBS),
    };
    let found = timeout(ANSWER_TIMEOUT, state.owner.stock_past_jobs(wanted, first, count)).await;
    let found = match found {
        Ok(Ok(found)) => found,
        Ok(Err(why)) => return Err(text(StatusCode::SERVICE_UNAVAILABLE, why).into()),
        Err(_) => return Err(text(StatusCode::SERVICE_UNAVAILABLE, "the database does not answer in time").into()),
    };
    let page = Home::new(&found, simple_host(&state.stock.host), search, page, first);
    Ok(answer::page(StatusCode::OK, &page))
}

fn wrong_date(search: &str) -> Response<Body> {
    let search = cut(search);
    text(StatusCode::BAD_REQUEST, format_args!("search: {search:?}: expected [user][:words][;MM/DD/YYYY]"))
}

/// `[user][:words][;MM/DD/YYYY]`; none: the date is none.
fn search_of(search: &str) -> Option<PastSearch> {
    let (names, day) = search.split_once(';').unwrap_or((search, ""));
    let (user, words) = names.split_once(':').unwrap_or((names, ""));
    let submitted_ms = match day.trim() {
        "" => None,
        day => Some(day_ms(day)?),
    };
    Some(PastSearch {
        user: Some(user.trim().to_owned()).filter(|user| !user.is_empty()),
        words: words.split_whitespace().map(str::to_owned).collect(),
        submitted_ms,
    })
}

/// The first moment of a day in the zone of the daemon, and that of the next day, epoch ms.
fn day_ms(day: &str) -> Option<(i64, i64)> {
    let day = Date::strptime("%m/%d/%Y", day).ok()?;
    let start = |day: Date| Some(day.to_zoned(TimeZone::system()).ok()?.timestamp().as_millisecond());
    Some((start(day)?, start(day.checked_add(1.day()).ok()?)?))
}

#[derive(Template)]
#[template(path = "stock/jobhistoryhome.html")]
struct Home<'a> {
    new_page: &'static str,
    host: &'a str,
    search: &'a str,
    user: &'a str,
    words: &'a str,
    day: &'a str,
    jobs: &'a [StockPastJob],
    page: i64,
    total: u64,
    start: u64,
    end: u64,
    last_page: i64,
    /// The numbers of the pages around this one.
    pages: Vec<i64>,
}

impl<'a> Home<'a> {
    fn new(found: &'a StockPastJobs, host: &'a str, search: &'a str, page: i64, first: u64) -> Self {
        let (names, day) = search.split_once(';').unwrap_or((search, ""));
        let (user, words) = names.split_once(':').unwrap_or((names, ""));
        // All of them are one page.
        let (page, last_page) = match page {
            ALL => (1, 1),
            _ => (page, i64::try_from(found.total.div_ceil(PAGE_JOBS)).unwrap_or(i64::MAX).max(1)),
        };
        Home {
            new_page: "/",
            host,
            search,
            user,
            words,
            day,
            jobs: &found.jobs,
            page,
            total: found.total,
            start: if found.jobs.is_empty() { 0 } else { first + 1 },
            end: first + found.jobs.len() as u64,
            last_page,
            pages: (page.saturating_sub(5).max(1)..=page.saturating_add(5).min(last_page)).collect(),
        }
    }
}

impl Home<'_> {
    fn submitted(&self, job: &StockPastJob) -> String {
        date(job.submit_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_search_may_be_missing() {
        let search = |user: &str, words: &[&str], submitted_ms| {
            Some(PastSearch {
                user: Some(user.to_owned()).filter(|user| !user.is_empty()),
                words: words.iter().map(|word| (*word).to_owned()).collect(),
                submitted_ms,
            })
        };
        assert_eq!(search_of(""), search("", &[], None));
        assert_eq!(search_of("smith"), search("smith", &[], None));
        assert_eq!(search_of("smith:sort all"), search("smith", &["sort", "all"], None));
        assert_eq!(search_of(":sort"), search("", &["sort"], None));
        let (from_ms, until_ms) = search_of(";07/04/2010").unwrap().submitted_ms.unwrap();
        assert_eq!((day_ms("07/04/2010"), until_ms - from_ms), (Some((from_ms, until_ms)), 86_400_000));
        for none in [";yesterday", ";2010-07-04", ";13/40/2010"] {
            assert_eq!(search_of(none), None, "{none}");
        }
    }
}
