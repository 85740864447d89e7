//! `500 ACCESS DENIED: query`, the document's answer to an unauthorized request.

use axum::body::Body;
use axum::http::{Response, StatusCode};
use hyper::ext::ReasonPhrase;

use super::response::{HTML, fresh};

/// Largest reason phrase, bytes. Queries may be longer than the status lines that clients accept.
const MAX_REASON_BYTES: usize = 1024;

/// The denial of a raw query. `reason` is only for a signer whose signature is valid.
pub(super) fn access_denied(query: &str, reason: Option<&str>) -> Response<Body> {
    let denial = format!("ACCESS DENIED: {query}");
    let mut body = escape(&denial);
    body.push('\n');
    if let Some(reason) = reason {
        body.push_str(&escape(reason));
        body.push('\n');
    }
    let mut response = fresh(StatusCode::INTERNAL_SERVER_ERROR, HTML, body);
    if let Ok(phrase) = ReasonPhrase::try_from(reason_phrase(&denial)) {
        response.extensions_mut().insert(phrase);
    }
    response
}

/// A text as a status line can hold it: cut, and without control characters.
fn reason_phrase(text: &str) -> String {
    let cut = text.get(..text.floor_char_boundary(MAX_REASON_BYTES)).unwrap_or_default();
    cut.replace(char::is_control, "?")
}

/// Escapes a text for HTML outside of attributes and replaces control characters.
fn escape(text: &str) -> String {
    quick_xml::escape::partial_escape(text.replace(char::is_control, "\u{FFFD}")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phrase(query: &str) -> Vec<u8> {
        let response = access_denied(query, None);
        response.extensions().get::<ReasonPhrase>().unwrap().as_bytes().to_vec()
    }

    #[test]
    fn the_reason_phrase_is_the_documents() {
        assert_eq!(phrase("info&user=u"), b"ACCESS DENIED: info&user=u");
        assert_eq!(phrase(""), b"ACCESS DENIED: ");
    }

    #[test]
    fn a_long_query_is_cut_at_a_character() {
        let cut = phrase(&"ä".repeat(2000));
        // The prefix has 15 bytes, so 1024 would split a two-byte character.
        assert_eq!(cut.len(), 1023);
        assert!(String::from_utf8(cut).unwrap().ends_with("ää"));
    }

    #[test]
    fn control_characters_never_reach_the_status_line() {
        assert_eq!(phrase("a\r\nSet-Cookie: b\u{7f}\u{85}\t"), b"ACCESS DENIED: a??Set-Cookie: b???");
    }
}
