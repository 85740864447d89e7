//! URLs as they may be shown.

/// A value as it may be shown: without the password of a URL in it.
#[must_use]
pub fn without_password(value: &str) -> String {
    let Some((scheme, rest)) = value.split_once("://") else { return value.to_owned() };
    let (before, parameters) = rest.split_once('?').map_or((rest, None), |(before, after)| (before, Some(after)));
    // A password may hold an `@` and a `/` that should have been encoded.
    let before = match before.rsplit_once('@') {
        Some((user, host)) if user.contains(':') => {
            format!("{}:***@{host}", user.split(':').next().unwrap_or_default())
        }
        _ => before.to_owned(),
    };
    let Some(parameters) = parameters else { return format!("{scheme}://{before}") };
    let shown = parameters.split('&').map(|parameter| match parameter.split_once('=') {
        Some((name, _)) if name.contains("password") => format!("{name}=***"),
        _ => parameter.to_owned(),
    });
    format!("{scheme}://{before}?{}", shown.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown_wherever_it_stands() {
        for (url, shown) in [
            ("postgres://u@h/db", "postgres://u@h/db"),
            ("postgres://u:s3cret@h:5/db?a=b", "postgres://u:***@h:5/db?a=b"),
            ("postgres://u:s3@cr/et@h/db", "postgres://u:***@h/db"),
            ("postgres://u@h/db?password=s3cret&a=b", "postgres://u@h/db?password=***&a=b"),
            ("postgres://h/db?sslpassword=s3cret", "postgres://h/db?sslpassword=***"),
            ("http://host:80/path", "http://host:80/path"),
            ("${x}", "${x}"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
