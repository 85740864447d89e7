//! The files of a launch context.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::model::{BroughtResource, ContentResource, LocalResource, ResourceKind};

use super::super::json::{Item, Members};

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

/// Reads the files of a context.
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
