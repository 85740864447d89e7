//! The cookies of a request.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;

/// The value of the first cookie of a name. Cookies of others beside it may be any bytes.
pub(super) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(COOKIE).iter().flat_map(|cookies| cookies.as_bytes().split(|byte| *byte == b';'));
    cookies.filter_map(|cookie| std::str::from_utf8(cookie).ok()).find_map(|cookie| {
        let (known, value) = cookie.trim().split_once('=')?;
        (known == name).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn what_others_keep_hides_none() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_bytes(b"theme=hell\xf6; a; wanted=1=2").unwrap());
        headers.append(COOKIE, HeaderValue::from_static("wanted=second; other=3"));
        assert_eq!(cookie(&headers, "wanted"), Some("1=2"));
        assert_eq!(cookie(&headers, "other"), Some("3"));
        assert_eq!(cookie(&headers, "theme"), None, "no text");
        assert_eq!(cookie(&headers, "a"), None);
    }
}
