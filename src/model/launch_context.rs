//! What a container runs: its command, environment, files, and limits. A context here is one that was checked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How a container is launched. The members are those of the HTTP interface, checked and with their defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LaunchContext {
    /// The program and its arguments, 1 to 1,000 texts, no shell.
    pub command: Vec<String>,
    /// Variables beside those that every container has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Files by their names in the working directory.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub local_resources: BTreeMap<String, LocalResource>,
    /// An absolute path that exists; none: a folder of the container's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
    #[serde(default, skip_serializing_if = "OutputPlace::is_log")]
    pub stdout: OutputPlace,
    /// Where the standard error output goes.
    #[serde(default, skip_serializing_if = "OutputPlace::is_log")]
    pub stderr: OutputPlace,
    /// Longest run, ms; none: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_ms: Option<u64>,
    /// Time between TERM and KILL, 0 to 600,000 ms.
    #[serde(default = "default_kill_grace_ms")]
    pub kill_grace_ms: u64,
    /// What happens to output beyond the limit of a log.
    #[serde(default)]
    pub log_overflow: LogOverflow,
    /// The text that stands for the item; none: no text does.
    #[serde(default = "default_placeholder")]
    pub placeholder: Option<String>,
    /// The local resource whose line the placeholder stands for, instead of the item's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values_from: Option<String>,
}

/// A file that a container finds in its working directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LocalResource {
    /// Brought from a file system.
    Brought(BroughtResource),
    /// Comes with the context.
    Content(ContentResource),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BroughtResource {
    /// `file:///…`.
    pub resource: String,
    /// SHA-256 of its bytes, 64 lower-case hex digits.
    pub sha256: String,
    pub size: u64,
    /// Whether it is unpacked.
    #[serde(rename = "type", default)]
    pub kind: ResourceKind,
    #[serde(default)]
    pub executable: bool,
}

/// A small file that comes with its context, at most 64 kB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContentResource {
    /// Its bytes, base64.
    pub(crate) content: String,
    #[serde(default)]
    pub(crate) executable: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ResourceKind {
    #[default]
    File,
    /// It is unpacked into a folder of its name.
    Archive,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<String>", into = "Option<String>")]
pub enum OutputPlace {
    /// Into the container's log: the member is absent.
    #[default]
    Log,
    /// Nowhere: the member is null.
    Nowhere,
    /// Into this file, absolute or below the working directory.
    File(String),
}

/// What happens to output beyond the limit of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogOverflow {
    /// The log ends with a line that says so, and the container runs on.
    #[default]
    Cut,
    Kill,
}

/// Memory of a text beside its bytes.
const TEXT_BYTES: usize = 32;

fn default_kill_grace_ms() -> u64 {
    LaunchContext::DEFAULT_KILL_GRACE_MS
}

fn default_placeholder() -> Option<String> {
    Some(LaunchContext::DEFAULT_PLACEHOLDER.to_owned())
}

impl LaunchContext {
    /// Time between TERM and KILL unless set, ms.
    pub(crate) const DEFAULT_KILL_GRACE_MS: u64 = 5_000;
    /// The placeholder unless set.
    pub(crate) const DEFAULT_PLACEHOLDER: &str = "{}";

    #[must_use]
    pub(crate) fn bytes(&self) -> u64 {
        let Self {
            command,
            environment,
            local_resources,
            working_directory,
            stdout,
            stderr,
            time_limit_ms: _,
            kill_grace_ms: _,
            log_overflow: _,
            placeholder,
            values_from,
        } = self;
        let of_output = |place: &OutputPlace| match place {
            OutputPlace::File(path) => path.len(),
            OutputPlace::Log | OutputPlace::Nowhere => 0,
        };
        let of_resource = |resource: &LocalResource| match resource {
            LocalResource::Brought(BroughtResource { resource, sha256, .. }) => resource.len() + sha256.len(),
            LocalResource::Content(ContentResource { content, .. }) => content.len(),
        };
        let texts: usize = command.iter().map(|text| TEXT_BYTES + text.len()).sum::<usize>()
            + environment.iter().map(|(name, value)| 2 * TEXT_BYTES + name.len() + value.len()).sum::<usize>()
            + local_resources.iter().map(|(name, of)| 4 * TEXT_BYTES + name.len() + of_resource(of)).sum::<usize>()
            + [working_directory, placeholder, values_from].into_iter().flatten().map(String::len).sum::<usize>()
            + of_output(stdout)
            + of_output(stderr);
        (size_of::<Self>() + texts) as u64
    }

    /// A context that runs a command, with every default.
    #[must_use]
    pub fn of_command(command: Vec<String>) -> Self {
        Self {
            command,
            environment: BTreeMap::new(),
            local_resources: BTreeMap::new(),
            working_directory: None,
            stdout: OutputPlace::Log,
            stderr: OutputPlace::Log,
            time_limit_ms: None,
            kill_grace_ms: Self::DEFAULT_KILL_GRACE_MS,
            log_overflow: LogOverflow::Cut,
            placeholder: default_placeholder(),
            values_from: None,
        }
    }
}

impl OutputPlace {
    /// Whether output goes into the container's log.
    #[must_use]
    pub(crate) const fn is_log(&self) -> bool {
        matches!(self, Self::Log)
    }
}

/// A member that is there: null or a path. An absent one is the default.
impl From<Option<String>> for OutputPlace {
    fn from(member: Option<String>) -> Self {
        member.map_or(Self::Nowhere, Self::File)
    }
}

impl From<OutputPlace> for Option<String> {
    fn from(place: OutputPlace) -> Self {
        match place {
            OutputPlace::File(path) => Some(path),
            OutputPlace::Log | OutputPlace::Nowhere => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_member_has_its_default_and_null_is_a_value() {
        let read = |text: &str| serde_json::from_str::<LaunchContext>(text).unwrap();
        let plain = read(r#"{"command": ["true"]}"#);
        assert_eq!(plain, LaunchContext::of_command(vec!["true".to_owned()]));
        let other = read(r#"{"command": ["true"], "stdout": null, "placeholder": null, "stderr": "err"}"#);
        assert_eq!((other.stdout, other.placeholder), (OutputPlace::Nowhere, None));
        assert_eq!(other.stderr, OutputPlace::File("err".to_owned()));
    }

    #[test]
    fn a_context_reads_as_it_was_written() {
        let text = r#"{"command":["./simulate","{}"],"environment":{"A":"1"},
            "local-resources":{"simulate":{"resource":"file:///s","sha256":"00","size":3,"executable":true},
                "d":{"resource":"file:///d.zip","sha256":"00","size":3,"type":"ARCHIVE"},"c":{"content":"AA=="}},
            "working-directory":"/tmp","stdout":null,"time-limit-ms":5,"kill-grace-ms":0,"log-overflow":"kill",
            "placeholder":"%","values-from":"c"}"#;
        let context: LaunchContext = serde_json::from_str(text).unwrap();
        let again = serde_json::from_str(&serde_json::to_string(&context).unwrap()).unwrap();
        assert_eq!(context, again);
        assert!(matches!(&context.local_resources["d"], LocalResource::Brought(d) if d.kind == ResourceKind::Archive));
    }
}
