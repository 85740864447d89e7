//! What a request says of the form of its answer: packings that its reader takes, and answers that it has already (RFC 9110).

use axum::http::HeaderMap;
use axum::http::header::{ACCEPT_ENCODING, IF_NONE_MATCH};

/// The values of a list with weights, but for those with weight 0.
pub(super) fn offered(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').filter_map(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        let name = parts.next()?;
        let is_refused =
            parts.any(|part| part.strip_prefix("q=").is_some_and(|weight| weight.trim_matches(['0', '.']).is_empty()));
        (!is_refused).then_some(name)
    })
}

pub(super) fn takes_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(offered).any(|packing| packing.eq_ignore_ascii_case("gzip"))
}

/// The entity tags of answers that the reader has.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownTags(Vec<String>);

impl KnownTags {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let lists = headers.get_all(IF_NONE_MATCH).iter().filter_map(|list| list.to_str().ok());
        Self(lists.flat_map(|list| list.split(',').map(|tag| tag.trim().to_owned())).collect())
    }

    /// Whether a tag is among them, weak or strong.
    pub(super) fn contain(&self, tag: &str) -> bool {
        let strong = |tag: &str| tag.trim_start_matches("W/").to_owned();
        self.0.iter().any(|known| known == "*" || strong(known) == strong(tag))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(name: HeaderName, values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn packings_are_lists_with_weights() {
        let takes = |values: &[&'static str]| takes_gzip(&headers(ACCEPT_ENCODING, values));
        assert!(takes(&["gzip"]) && takes(&["br, GZip;q=0.5"]) && takes(&["br", "gzip"]));
        assert!(!takes(&[]) && !takes(&["gzip;q=0"]) && !takes(&["gzip; q=0.000"]) && !takes(&["gzippy"]));
    }

    #[test]
    fn known_tags_are_lists_of_weak_and_strong_ones() {
        let knows = |values: &[&'static str], tag: &str| KnownTags::of(&headers(IF_NONE_MATCH, values)).contain(tag);
        assert!(knows(&["\"x\", W/\"a\""], "\"a\"") && knows(&["\"x\"", "\"a\""], "W/\"a\"") && knows(&["*"], "\"a\""));
        assert!(!knows(&[], "\"a\"") && !knows(&["\"ab\""], "\"a\""));
    }
}
