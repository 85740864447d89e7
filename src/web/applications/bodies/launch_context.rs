//! A launch context: its members and files, and their limits.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::model::{
    BroughtResource, ContentResource, LaunchContext, LocalResource, LogOverflow, OutputPlace, ResourceKind,
};

use super::super::json::{Item, Members};

/// Program and arguments.
const MAX_COMMAND_TEXTS: usize = 1_000;
/// Bytes of program and arguments together; of names and values of the environment together.
const MAX_TEXT_BYTES: usize = 64 << 10;
const MAX_VARIABLES: usize = 1_000;
/// The longest time limit, ms: beyond it not every JSON library keeps whole numbers.
const MAX_TIME_LIMIT_MS: u64 = 1 << 53;
/// The longest time between TERM and KILL, ms.
const MAX_KILL_GRACE_MS: u64 = 600_000;
/// Variables that the worker sets begin so.
const OWN_PREFIX: &str = "JOBTRACKER_";

pub(super) fn read_context(item: Item<'_>) -> Option<LaunchContext> {
    let mut members = Members::of(item)?;
    let command = members.required("command", command);
    let environment = members.or("environment", BTreeMap::new(), environment);
    let local_resources = members.or("local-resources", BTreeMap::new(), local_resources);
    let working_directory = members.optional("working-directory", absolute_path);
    let stdout = members.or("stdout", OutputPlace::Log, output_place);
    let stderr = members.or("stderr", OutputPlace::Log, output_place);
    let time_limit_ms = members.optional("time-limit-ms", |item| item.whole(1..=MAX_TIME_LIMIT_MS));
    let kill_grace_ms =
        members.or("kill-grace-ms", LaunchContext::DEFAULT_KILL_GRACE_MS, |item| item.whole(0..=MAX_KILL_GRACE_MS));
    let log_overflow = members.or("log-overflow", LogOverflow::Cut, log_overflow);
    let placeholder = members.or("placeholder", Some(LaunchContext::DEFAULT_PLACEHOLDER.to_owned()), placeholder);
    let values_from = members.optional("values-from", |item| item.plain_text().map(str::to_owned));
    if let (Some(Some(name)), Some(resources)) = (&values_from, &local_resources) {
        check_values_from(&members, name, resources);
    }
    members.end()?;
    Some(LaunchContext {
        command: command?,
        environment: environment?,
        local_resources: local_resources?,
        working_directory: working_directory?,
        stdout: stdout?,
        stderr: stderr?,
        time_limit_ms: time_limit_ms?,
        kill_grace_ms: kill_grace_ms?,
        log_overflow: log_overflow?,
        placeholder: placeholder?,
        values_from: values_from?,
    })
}

fn command(item: Item<'_>) -> Option<Vec<String>> {
    let mut is_program = true;
    let texts = item.each(1..=MAX_COMMAND_TEXTS, |text| {
        // An argument may be empty, a program not.
        let text = if std::mem::take(&mut is_program) { text.plain_text() } else { text.text_without_zero() };
        text.map(str::to_owned)
    })?;
    let bytes: usize = texts.iter().map(String::len).sum();
    at_most_bytes(item, bytes, "program and arguments")?;
    Some(texts)
}

fn environment(item: Item<'_>) -> Option<BTreeMap<String, String>> {
    let variables = item.each_member(MAX_VARIABLES, |name, value| {
        if !is_variable(name) {
            return value.refuse("the name of a variable has to be letters, digits and _, and no digit first");
        }
        if name.starts_with(OWN_PREFIX) {
            return value.refuse("variables that begin with JOBTRACKER_ are the worker's");
        }
        value.text_without_zero().map(str::to_owned)
    })?;
    let bytes: usize = variables.iter().map(|(name, value)| name.len() + value.len()).sum();
    at_most_bytes(item, bytes, "names and values")?;
    Some(variables.into_iter().collect())
}

fn is_variable(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn at_most_bytes(item: Item<'_>, bytes: usize, of: &str) -> Option<()> {
    if bytes <= MAX_TEXT_BYTES {
        return Some(());
    }
    item.refuse(format_args!("expected at most {MAX_TEXT_BYTES} bytes of {of} together, found {bytes}"))
}

fn absolute_path(item: Item<'_>) -> Option<String> {
    item.text_without_zero()?;
    item.parsed("an absolute path", |path| path.starts_with('/').then(|| path.to_owned()))
}

/// A path, or `null` for nowhere.
fn output_place(item: Item<'_>) -> Option<OutputPlace> {
    if item.is_null() {
        return Some(OutputPlace::Nowhere);
    }
    item.plain_text().map(|path| OutputPlace::File(path.to_owned()))
}

fn log_overflow(item: Item<'_>) -> Option<LogOverflow> {
    item.parsed("cut or kill", |text| match text {
        "cut" => Some(LogOverflow::Cut),
        "kill" => Some(LogOverflow::Kill),
        _ => None,
    })
}

/// A text, or `null` for none.
fn placeholder(item: Item<'_>) -> Option<Option<String>> {
    if item.is_null() {
        return Some(None);
    }
    item.plain_text().map(|text| Some(text.to_owned()))
}

/// The values of items are lines of a file that the context brings.
fn check_values_from(members: &Members<'_>, name: &str, resources: &BTreeMap<String, LocalResource>) {
    let refuse = |detail| {
        members.refuse_at::<()>("values-from", detail);
    };
    match resources.get(name) {
        None => refuse("expected the name of a local resource of this context"),
        Some(LocalResource::Brought(file)) if file.kind == ResourceKind::Archive => {
            refuse("expected a file with lines, found an archive");
        }
        Some(_) => {}
    }
}

/// Files of a context; each is a name of a folder at least.
const MAX_FILES: usize = 10_000;
/// Bytes of a file that comes with the context.
const MAX_CONTENT_BYTES: usize = 64 << 10;
/// Bytes of all of them together.
const MAX_CONTENTS_BYTES: usize = 256 << 10;
/// Beyond it not every JSON library keeps whole numbers.
const MAX_SIZE_BYTES: u64 = 1 << 53;
/// What an archive's name ends with.
const ARCHIVES: [&str; 4] = [".zip", ".tar", ".tar.gz", ".tgz"];

pub(super) fn local_resources(item: Item<'_>) -> Option<BTreeMap<String, LocalResource>> {
    let mut contents_bytes = 0;
    let files = item.each_member(MAX_FILES, |name, file| {
        if !is_name(name) {
            return file.refuse("the name has to be a relative path without . and .. parts");
        }
        let (file, content_bytes) = local_resource(file)?;
        contents_bytes += content_bytes;
        Some(file)
    })?;
    if contents_bytes > MAX_CONTENTS_BYTES {
        let detail =
            format_args!("expected at most {MAX_CONTENTS_BYTES} bytes of contents together, found {contents_bytes}");
        return item.refuse(detail);
    }
    Some(files.into_iter().collect())
}

fn is_name(name: &str) -> bool {
    !name.contains('\0') && name.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// A file and the bytes of its content here.
fn local_resource(item: Item<'_>) -> Option<(LocalResource, usize)> {
    let mut members = Members::of(item)?;
    match (members.has("resource"), members.has("content")) {
        (true, false) => brought(members).map(|file| (LocalResource::Brought(file), 0)),
        (false, true) => content(members).map(|(file, bytes)| (LocalResource::Content(file), bytes)),
        (true, true) => {
            // What else is wrong depends on which of the two is meant.
            members.refuse("expected resource or content, found both")
        }
        (false, false) => {
            for name in ["sha256", "size", "type", "executable"] {
                members.optional::<()>(name, |_| Some(()));
            }
            members.refuse::<()>("expected resource or content, found neither");
            members.end()?;
            None
        }
    }
}

fn brought(mut members: Members<'_>) -> Option<BroughtResource> {
    let resource = members.required("resource", |item| {
        item.text_without_zero()?;
        item.parsed("a URL that begins with file:///", |url| url.starts_with("file:///").then(|| url.to_owned()))
    });
    let sha256 = members.required("sha256", |item| {
        item.parsed("64 lower-case hex digits", |text| is_sha256(text).then(|| text.to_owned()))
    });
    let size = members.required("size", |item| item.whole(0..=MAX_SIZE_BYTES));
    let kind = members.or("type", ResourceKind::File, |item| {
        item.parsed("FILE or ARCHIVE", |text| match text {
            "FILE" => Some(ResourceKind::File),
            "ARCHIVE" => Some(ResourceKind::Archive),
            _ => None,
        })
    });
    let executable = members.or("executable", false, |item| item.boolean());
    if let (Some(url), Some(ResourceKind::Archive)) = (&resource, kind)
        && !ARCHIVES.iter().any(|end| url.ends_with(end))
    {
        members.refuse_at::<()>("type", "an archive's name has to end with .zip, .tar, .tar.gz or .tgz")?;
    }
    members.end()?;
    Some(BroughtResource { resource: resource?, sha256: sha256?, size: size?, kind: kind?, executable: executable? })
}

fn content(mut members: Members<'_>) -> Option<(ContentResource, usize)> {
    let content = members.required("content", |item| {
        let text = item.text()?;
        let Ok(bytes) = STANDARD.decode(text) else { return item.refuse("expected base64 with padding") };
        if bytes.len() > MAX_CONTENT_BYTES {
            return item.refuse(format_args!("expected at most {MAX_CONTENT_BYTES} bytes, found {}", bytes.len()));
        }
        Some((text.to_owned(), bytes.len()))
    });
    let executable = members.or("executable", false, |item| item.boolean());
    members.end()?;
    let (content, bytes) = content?;
    Some((ContentResource { content, executable: executable? }, bytes))
}

/// Whether a text is a SHA-256 as it is written here.
pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
