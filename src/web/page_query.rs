//! The parameters of `/scheduler` that belong to the page of the ruling policy; all others are operations of the market.

use axum::extract::Query;
use axum::http::Uri;

use crate::market::DeadlineWords;

/// A request for the page, or for a change of a job by its forms.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PageQuery {
    /// `format`: another form than a page.
    pub(super) format: Option<String>,
    /// `advanced`: more columns.
    pub(super) is_advanced: bool,
    /// `jobid` as written, with `setPool`, `setPriority` or `setDeadline`.
    pub(super) change: Option<(String, FormChange)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FormChange {
    Pool(String),
    Priority(String),
    Deadline(DeadlineWords),
}

impl PageQuery {
    /// The parameters of a query; none if any of them is not the page's, or if one is repeated.
    pub(super) fn parse(query: &str) -> Option<Self> {
        let uri = Uri::builder().path_and_query(format!("/?{query}")).build().ok()?;
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&uri).ok()?;
        let (mut page, mut job, mut change) = (Self::default(), None, None);
        let mut times = DeadlineWords::default();
        for (name, value) in pairs {
            let is_first = match name.as_str() {
                "format" => page.format.replace(value).is_none(),
                "advanced" => !std::mem::replace(&mut page.is_advanced, true),
                "jobid" => job.replace(value).is_none(),
                "setPool" => change.replace(FormChange::Pool(value)).is_none(),
                "setPriority" => change.replace(FormChange::Priority(value)).is_none(),
                "setDeadline" => {
                    times.due = value;
                    change.replace(FormChange::Deadline(DeadlineWords::default())).is_none()
                }
                "mapTime" => set_once(&mut times.map_time, value),
                "reduceTime" => set_once(&mut times.reduce_time, value),
                "filterRatio" => set_once(&mut times.filter_ratio, value),
                _ => false,
            };
            if !is_first {
                return None;
            }
        }
        match &mut change {
            Some(FormChange::Deadline(fields)) => *fields = times,
            _ if times != DeadlineWords::default() => return None,
            _ => {}
        }
        page.change = change.map(|change| (job.unwrap_or_default(), change));
        Some(page)
    }
}

/// False if it was given before.
fn set_once(slot: &mut String, value: String) -> bool {
    std::mem::replace(slot, value).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(job: &str, change: FormChange) -> Option<PageQuery> {
        Some(PageQuery { change: Some((job.to_owned(), change)), ..PageQuery::default() })
    }

    #[test]
    fn the_page_and_its_forms_are_told_from_operations_of_the_market() {
        assert_eq!(PageQuery::parse(""), Some(PageQuery::default()));
        let advanced = PageQuery { is_advanced: true, ..PageQuery::default() };
        assert_eq!(PageQuery::parse("advanced"), Some(advanced));
        let json = PageQuery { format: Some("json".to_owned()), ..PageQuery::default() };
        assert_eq!(PageQuery::parse("format=json"), Some(json));
        assert_eq!(PageQuery::parse("setPool=a%26b+c&jobid=j"), change("j", FormChange::Pool("a&b c".to_owned())));
        assert_eq!(PageQuery::parse("setPriority=LOW"), change("", FormChange::Priority("LOW".to_owned())));
        let fields = DeadlineWords { due: "20m".to_owned(), map_time: "4s".to_owned(), ..DeadlineWords::default() };
        let deadline = change("j", FormChange::Deadline(fields));
        assert_eq!(PageQuery::parse("jobid=j&setDeadline=20m&mapTime=4s&reduceTime="), deadline);
        assert_eq!(PageQuery::parse("jobid=j&setPool=a&mapTime=4s"), None);
        for markets in ["price", "info=q&user=u", "format=json&price", "setPool=a&setPriority=LOW", "advanced&advanced"]
        {
            assert_eq!(PageQuery::parse(markets), None, "{markets}");
        }
    }
}
