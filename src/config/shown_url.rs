//! URLs as they may be shown.

/// A value as it may be shown: without the password of a URL, or of words `name=value`, in it.
#[must_use]
pub(crate) fn without_password(value: &str) -> String {
    let Some((scheme, rest)) = value.split_once("://") else { return masked(value, ' ') };
    let (before, parameters) = rest.split_once('?').map_or((rest, None), |(before, after)| (before, Some(after)));
    // A password may hold an `@` and a `/` that should have been encoded.
    let before = match before.rsplit_once('@') {
        Some((user, host)) if user.contains(':') => {
            format!("{}:***@{host}", user.split(':').next().unwrap_or_default())
        }
        _ => before.to_owned(),
    };
    let Some(parameters) = parameters else { return format!("{scheme}://{before}") };
    format!("{scheme}://{before}?{}", masked(parameters, '&'))
}

/// Without the values of passwords. A name that is encoded may be one.
fn masked(parameters: &str, separator: char) -> String {
    let is_secret = |name: &str| name.contains('%') || name.to_ascii_lowercase().contains("password");
    let shown = parameters.split(separator).map(|parameter| match parameter.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}=***"),
        _ => parameter.to_owned(),
    });
    shown.collect::<Vec<_>>().join(&separator.to_string())
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
            ("postgres://h/db?%70assword=s3cret", "postgres://h/db?%70assword=***"),
            ("host=h user=u Password=s3cret dbname=d", "host=h user=u Password=*** dbname=d"),
            ("/etc/hadoop/password", "/etc/hadoop/password"),
            ("http://host:80/path", "http://host:80/path"),
            ("${x}", "${x}"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
