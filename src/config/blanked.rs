//! What pages leave out of a configuration.

use std::borrow::Cow;

pub(crate) const REDACTED: &str = "<redacted>";

/// Parts of names whose values are secret.
const SECRET_PARTS: [&str; 9] =
    ["apikey", "api-key", "api_key", "credential", "passphrase", "passw", "secret", "signature", "token"];
/// Ends of such names.
const SECRET_ENDS: [&str; 3] = [".key", "private-key", "private_key"];
/// What a job may cost, and the most that it bids: private, as all money is.
const MONEY: [&str; 2] = ["mapred.job.deadline.max.cost", "mapred.job.deadline.max.rate"];
/// What ends a name or a value within a value.
const BOUNDS: &[char] = &[' ', '\t', '\n', ',', ';', '&', '?', '"', '\''];

/// The value of a key as pages show it: nothing of a secret one, and of others no part that is one, such as the value of
/// `DB_PASSWORD=…` among variables of the environment, or the password in a URL.
pub(crate) fn shown_value<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    let is_private = is_secret(name) || MONEY.contains(&name);
    if is_private && !value.is_empty() { REDACTED.into() } else { without_secrets(value) }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_ENDS.iter().any(|end| name.ends_with(end)) || SECRET_PARTS.iter().any(|part| name.contains(part))
}

fn without_secrets(value: &str) -> Cow<'_, str> {
    if !value.contains(['=', '@']) {
        return value.into();
    }
    value.split_inclusive(BOUNDS).map(without_secret).collect::<String>().into()
}

/// A part of a value, with what ends it.
fn without_secret(part: &str) -> Cow<'_, str> {
    let text = part.trim_end_matches(BOUNDS);
    let end = &part[text.len()..];
    if let Some((name, secret)) = text.split_once('=')
        && is_secret(name)
        && !secret.is_empty()
    {
        return format!("{name}={REDACTED}{end}").into();
    }
    let Some((scheme, rest)) = text.split_once("://") else { return part.into() };
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    match authority.rsplit_once('@') {
        Some((user, host)) if user.contains(':') => {
            let user = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}:{REDACTED}@{host}{path}{end}").into()
        }
        _ => part.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_keys_that_sound_secret_are_blanked() {
        let secret = [
            "fs.s3.awsSecretAccessKey",
            "dfs.PASSWORD",
            "my.credential.file",
            "mapred.job.token.file",
            "com.example.api.key",
            "com.example.apikey",
            "ssh.private-key",
            "mapred.job.signature",
            "mapred.job.deadline.max.rate",
        ];
        for name in secret {
            assert_eq!((&*shown_value(name, "x"), &*shown_value(name, "")), (REDACTED, ""), "{name}");
        }
        for name in ["mapred.job.name", "key.value.separator", "com.example.key.class"] {
            assert_eq!(shown_value(name, "x"), "x", "{name}");
        }
    }

    #[test]
    fn secrets_within_values_are_blanked_and_nothing_else() {
        for (value, shown) in [
            ("DB_PASSWORD=p API_TOKEN=t LANG=C", "DB_PASSWORD=<redacted> API_TOKEN=<redacted> LANG=C"),
            ("jdbc:mysql://h/d?user=u&password=p", "jdbc:mysql://h/d?user=u&password=<redacted>"),
            ("http://u:p@h:1/x y", "http://u:<redacted>@h:1/x y"),
            ("cmd --token=t -v", "cmd --token=<redacted> -v"),
            ("http://h/a@b", "http://h/a@b"),
            ("http://u@h/", "http://u@h/"),
            ("a=1,b=2", "a=1,b=2"),
            ("password=", "password="),
            ("mail=a@b", "mail=a@b"),
        ] {
            assert_eq!(shown_value("x", value), shown, "{value}");
        }
    }
}
