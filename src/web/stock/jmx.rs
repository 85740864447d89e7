//! `/jmx`: the beans of a JobTracker as JSON, one attribute a line, as scripts search for them, by patterns of their names.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;

use super::super::cluster_view::ClusterView;
use super::super::owner::{MarketPresence, Owner};
use super::super::response::{fresh, text};
use super::super::state::WebState;
use super::access::check_instrumentation;
use super::jmx_beans::{Bean, beans};
use super::request::{PageAnswer, PageRequest};
use super::rows::simple_host;

/// The content type, as 1.2.1 spells it.
const JSON: &str = "application/json; charset=utf8";

/// Answers `/jmx?qry=PATTERN`.
pub(super) async fn jmx<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    check_instrumentation(&state, asked.user()).await?;
    let Some(pattern) = Pattern::parse(asked.get("qry").unwrap_or("*:*")) else {
        return Ok(fresh(StatusCode::BAD_REQUEST, JSON, ""));
    };
    let view = ClusterView::of(&state).await;
    let view = view.map_err(|why| text(StatusCode::SERVICE_UNAVAILABLE, why))?;
    let shows_money = state.shows_money || state.owner.market_presence() != MarketPresence::Ruling;
    let all = beans(&view.overview, simple_host(&state.stock.host), &state.host, shows_money);
    let found: Vec<Bean> = all.into_iter().filter_map(|bean| pattern.select(bean)).collect();
    Ok(view.aged(fresh(StatusCode::OK, JSON, written(&found))))
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

#[derive(Debug)]
pub(super) struct Pattern {
    domain: String,
    properties: Vec<(String, String)>,
    /// Whether a name may have properties beside these.
    is_open: bool,
}

impl Pattern {
    /// None for a text that is no pattern.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (domain, list) = text.split_once(':')?;
        let mut pattern = Pattern { domain: domain.to_owned(), properties: Vec::new(), is_open: false };
        for part in list.split(',') {
            match part.split_once('=') {
                Some((name, value)) if !name.is_empty() && !value.is_empty() => {
                    pattern.properties.push((name.to_owned(), value.to_owned()));
                }
                None if part == "*" && !pattern.is_open => pattern.is_open = true,
                _ => return None,
            }
        }
        Some(pattern)
    }

    /// The bean if its name fits. Older versions spelt the domain `hadoop`: who asks for that gets it so.
    pub(super) fn select(&self, mut bean: Bean) -> Option<Bean> {
        if self.domain.starts_with("hadoop")
            && let Some(rest) = bean.name.strip_prefix("Hadoop")
        {
            bean.name = format!("hadoop{rest}");
        }
        self.fits(&bean.name).then_some(bean)
    }

    fn fits(&self, name: &str) -> bool {
        let Some((domain, list)) = name.split_once(':') else { return false };
        let properties: Vec<(&str, &str)> = list.split(',').filter_map(|part| part.split_once('=')).collect();
        let has =
            |(name, value): &(String, String)| properties.iter().any(|(known, is)| known == name && is_like(value, is));
        let are_all = self.is_open || self.properties.len() == properties.len();
        are_all && is_like(&self.domain, domain) && self.properties.iter().all(has)
    }
}

/// Whether a text fits a pattern with `*` and `?`. Without a walk back over more than the last `*`.
fn is_like(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut place, mut star) = (0, 0, None);
    while place < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(sign) if *sign == '?' || *sign == text[place] => {
                at += 1;
                place += 1;
            }
            _ => match star {
                Some((star_at, taken)) => {
                    star = Some((star_at, taken + 1));
                    (at, place) = (star_at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|sign| *sign == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, name: &str) -> bool {
        Pattern::parse(pattern).unwrap().fits(name)
    }

    #[test]
    fn patterns_of_collectors_find_their_beans() {
        let info = "Hadoop:service=JobTracker,name=JobTrackerInfo";
        for pattern in [
            "*:*",
            "Hadoop:*",
            "Hadoop:service=JobTracker,name=JobTrackerInfo",
            "Hadoop:name=JobTrackerInfo,service=JobTracker",
            "Hadoop:service=JobTracker,*",
            "Hadoop:*,name=Job*Info",
            "H?doop:service=*,name=JobTracker????",
        ] {
            assert!(fits(pattern, info), "{pattern}");
        }
        for pattern in ["java.lang:*", "Hadoop:service=JobTracker", "Hadoop:name=Info,*", "hadoop:*", ":*"] {
            assert!(!fits(pattern, info), "{pattern}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_none() {
        for text in ["", "x", "Hadoop:", "Hadoop:service", "Hadoop:service=", "Hadoop:=x", "Hadoop:*,*", "a:b=c,,*"] {
            assert!(Pattern::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        assert!(!is_like(&"*a".repeat(5_000), &"a".repeat(4_000)));
    }
}
