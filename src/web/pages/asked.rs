//! What a request for a page asks for: the parameters of its address, and the form of the answer.

use std::collections::BTreeMap;

use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, Uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::super::request_body::form_fields;
use super::super::response::{KnownTags, takes_gzip};
use super::super::signed_request::HttpRequest;
use super::block::Field;

/// What stands for itself in a parameter or a part of a path.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Names the viewer where names are believed.
const USER: &str = "user.name";

#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// Its path, as it came.
    pub(super) path: String,
    /// Its parameters that no part of the page has read yet.
    left: BTreeMap<String, String>,
    /// Those that were read: links to the same page keep them.
    read: BTreeMap<&'static str, String>,
    /// Only the section with this id; `main`: all of them.
    pub(super) part: Option<String>,
    /// Its tables as lines of CSV.
    pub(super) is_csv: bool,
    /// Whether the parameters cannot be read, or one is there twice.
    pub(super) is_malformed: bool,
    pub(super) takes_gzip: bool,
    pub(super) known_tags: KnownTags,
}

impl Asked {
    pub(super) fn new(request: &HttpRequest) -> Self {
        Self::of(&request.uri, &request.headers)
    }

    pub(super) fn of(uri: &Uri, headers: &HeaderMap) -> Self {
        let fields = form_fields(uri.query().unwrap_or_default().as_bytes());
        let is_malformed = fields.is_none();
        let mut left = fields.unwrap_or_default();
        // Who looks: links lead to pages as the same user sees them.
        let user = left.remove(USER).map(|user| (USER, user));
        let format = left.remove("format");
        let accepts =
            |kind: &str| header(headers, &ACCEPT).split(',').next().is_some_and(|first| first.trim().starts_with(kind));
        Self {
            path: uri.path().to_owned(),
            part: left.remove("part"),
            is_csv: format.as_deref() == Some("csv") || (format.is_none() && accepts("text/csv")),
            is_malformed,
            takes_gzip: takes_gzip(headers),
            known_tags: KnownTags::of(headers),
            read: user.into_iter().collect(),
            left,
        }
    }

    /// The same for a whole page.
    pub(super) fn as_whole(&self) -> Self {
        Self { part: None, known_tags: KnownTags::default(), ..self.clone() }
    }

    /// A parameter; none if it is missing or empty.
    pub(super) fn take(&mut self, name: &'static str) -> Option<String> {
        let value = self.left.remove(name).filter(|value| !value.is_empty())?;
        self.read.insert(name, value.clone());
        Some(value)
    }

    /// The address of another page as the same viewer sees it.
    pub(super) fn at(&self, path: &str) -> String {
        Self { path: path.to_owned(), ..Self::default() }.with(USER, self.read.get(USER).map_or("", String::as_str))
    }

    /// Who looks, for a form whose address keeps no parameters.
    pub(super) fn hidden_user(&self) -> Option<Field> {
        let user = self.read.get(USER).filter(|user| !user.is_empty())?;
        Some(Field { is_hidden: true, ..Field::text(USER, "", &**user) })
    }

    /// Parameters that the page does not know.
    pub(super) fn unknown(&self) -> impl Iterator<Item = &str> {
        self.left.keys().map(String::as_str)
    }

    /// The address of the same page with another value of a parameter.
    pub(super) fn with(&self, name: &'static str, value: &str) -> String {
        let mut read = self.read.clone();
        read.insert(name, value.to_owned());
        let pairs = read.iter().filter(|(_, value)| !value.is_empty());
        let pairs: Vec<String> = pairs.map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        if pairs.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, pairs.join("&")) }
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &axum::http::HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Whether a reader is a browser: it takes a page where others get a line of text.
pub(super) fn takes_html(headers: &HeaderMap) -> bool {
    header(headers, &ACCEPT).contains("text/html")
}

/// A text as a part of a path or a parameter.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_keep_what_was_asked_and_unknown_parameters_are_named() {
        let uri = "/jobs?state=failed&user=a%26b&nonsense=1&part=jobs".parse().unwrap();
        let mut asked = Asked::of(&uri, &HeaderMap::new());
        assert_eq!((asked.take("state").as_deref(), asked.take("user").as_deref()), (Some("failed"), Some("a&b")));
        assert_eq!(asked.with("sort", "-cost"), "/jobs?sort=-cost&state=failed&user=a%26b");
        assert_eq!(asked.with("state", ""), "/jobs?user=a%26b");
        assert_eq!((asked.unknown().collect::<Vec<_>>(), asked.part.as_deref()), (vec!["nonsense"], Some("jobs")));
        assert!(Asked::of(&"/jobs?user=a&user=b".parse().unwrap(), &HeaderMap::new()).is_malformed);
        assert_eq!(encoded("tracker_a:x/1"), "tracker_a%3Ax%2F1");
    }
}
