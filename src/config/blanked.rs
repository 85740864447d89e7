//! What pages leave out of a configuration.

/// Shown in the place of a secret.
pub const REDACTED: &str = "<redacted>";

/// Parts of the names of keys whose values are secret.
const SECRET_PARTS: [&str; 5] = ["password", "secret", "credential", "token", "signature"];
/// The end of such a name.
const SECRET_END: &str = ".key";

/// The value of a key as pages show it.
pub fn shown_value<'a>(name: &str, value: &'a str) -> &'a str {
    let name = name.to_ascii_lowercase();
    let is_secret = name.ends_with(SECRET_END) || SECRET_PARTS.iter().any(|part| name.contains(part));
    if is_secret && !value.is_empty() { REDACTED } else { value }
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
            "mapred.job.signature",
        ];
        for name in secret {
            assert_eq!((shown_value(name, "x"), shown_value(name, "")), (REDACTED, ""), "{name}");
        }
        for name in ["mapred.job.name", "key.value.separator", "com.example.key.class"] {
            assert_eq!(shown_value(name, "x"), "x", "{name}");
        }
    }
}
