//! XML text as a tree of elements with their lines, for small files that people write.

use quick_xml::errors::{Error, IllFormedError};
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// Elements inside of each other, at most: a reader of the tree may recurse.
const MAX_DEPTH: usize = 64;
/// Longest part of a received text in an error, characters.
const MAX_SHOWN_CHARACTERS: usize = 64;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) tag: String,
    /// The attribute `name`.
    pub(super) name: Option<String>,
    /// Its own text, entities resolved; none for an empty element.
    pub(super) text: Option<String>,
    pub(super) children: Vec<Element>,
    /// Line of its start tag, from 1.
    pub(super) line: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub(crate) struct XmlElementError {
    pub(crate) line: u32,
    pub(crate) reason: String,
}

/// At most 64 characters of a text.
pub(super) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The message of the parser library, cut where it repeats long names of the file.
fn excerpt_of_error(error: &Error) -> String {
    const LONGEST_CHARACTERS: usize = 160;
    let text = error.to_string();
    if text.chars().count() > LONGEST_CHARACTERS { excerpt(&text) } else { text }
}

impl Element {
    /// Parses a document and returns its root. A DOCTYPE with declarations and unknown entities are refused.
    pub(super) fn parse(text: &str) -> Result<Self, XmlElementError> {
        let mut reader = Reader::from_str(text);
        let mut open: Vec<Element> = Vec::new();
        let mut root = None;
        let (mut line, mut counted_to) = (1_u32, 0);
        loop {
            let at = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
            line = line.saturating_add(count_newlines(text, counted_to, at));
            counted_to = at;
            let error = |reason: String| XmlElementError { line, reason };
            let event = reader.read_event().map_err(|error| {
                let at = usize::try_from(reader.error_position()).unwrap_or(usize::MAX);
                let line = count_newlines(text, 0, at).saturating_add(1);
                let is_other_end = matches!(&error, Error::IllFormed(IllFormedError::MismatchedEndTag { .. }));
                let opened = if is_other_end { opened(open.last()) } else { String::new() };
                XmlElementError { line, reason: excerpt_of_error(&error) + &opened }
            })?;
            match event {
                Event::Start(start) if root.is_none() && open.len() < MAX_DEPTH => {
                    open.push(Element::open(&start, line)?);
                }
                Event::Empty(start) if root.is_none() => close(Element::open(&start, line)?, &mut open, &mut root),
                Event::Start(start) | Event::Empty(start) => {
                    let reason = if root.is_some() { "stands after the root element" } else { "is nested too deep" };
                    return Err(error(format!("<{}> {reason}", excerpt(start.name().0))));
                }
                Event::End(_) => {
                    if let Some(element) = open.pop() {
                        close(element, &mut open, &mut root);
                    }
                }
                Event::Text(characters) => {
                    add_text(&characters.xml10_content(), &mut open).map_err(error)?;
                }
                Event::CData(characters) => {
                    add_text(&characters.xml10_content(), &mut open).map_err(error)?;
                }
                Event::GeneralRef(reference) => {
                    add_text(&resolve(&reference).map_err(error)?, &mut open).map_err(error)?;
                }
                Event::DocType(declaration) if declaration.contains('[') => {
                    return Err(error("a DOCTYPE with declarations is not accepted".to_owned()));
                }
                Event::DocType(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
                Event::Eof if !open.is_empty() => {
                    return Err(error(format!("the file ends inside an element{}", opened(open.last()))));
                }
                Event::Eof => return root.ok_or_else(|| error("no element".to_owned())),
            }
        }
    }

    fn open(start: &BytesStart<'_>, line: u32) -> Result<Self, XmlElementError> {
        let error = |reason: String| XmlElementError { line, reason: excerpt(&reason) };
        let attribute = start.try_get_attribute("name").map_err(|reason| error(reason.to_string()))?;
        let name = attribute.map(|name| name.normalized_value(XmlVersion::Implicit1_0).map(|name| name.into_owned()));
        let name = name.transpose().map_err(|reason| error(reason.to_string()))?;
        Ok(Self { tag: start.name().0.to_owned(), name, line, ..Self::default() })
    }
}

/// The element whose end may be what is missing.
fn opened(element: Option<&Element>) -> String {
    element.map_or_else(String::new, |element| {
        format!("; <{}> was opened at line {}", excerpt(&element.tag), element.line)
    })
}

fn close(element: Element, open: &mut [Element], root: &mut Option<Element>) {
    match open.last_mut() {
        Some(parent) => parent.children.push(element),
        None => *root = Some(element),
    }
}

fn add_text(characters: &str, open: &mut [Element]) -> Result<(), String> {
    match open.last_mut() {
        Some(element) if !characters.is_empty() => element.text.get_or_insert_default().push_str(characters),
        None if !characters.trim().is_empty() => return Err("text outside of the root element".to_owned()),
        _ => {}
    }
    Ok(())
}

fn resolve(reference: &BytesRef<'_>) -> Result<String, String> {
    if let Some(text) = resolve_predefined_entity(reference) {
        return Ok(text.to_owned());
    }
    let character = reference.resolve_char_ref().map_err(|error| error.to_string())?;
    character.map(String::from).ok_or_else(|| format!("unknown entity &{};", excerpt(reference)))
}

fn count_newlines(text: &str, from: usize, to: usize) -> u32 {
    let passed = text.as_bytes().get(from..to.min(text.len())).unwrap_or_default();
    u32::try_from(passed.iter().filter(|byte| **byte == b'\n').count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Element::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn elements_have_names_texts_children_and_lines() {
        let root = Element::parse(
            "<?xml version=\"1.0\"?>\n<!-- a -->\n<a>\n<b name='x &amp; y'>1&lt;<![CDATA[2]]></b>\n<c/>\n</a>\n",
        );
        let root = root.unwrap();
        assert_eq!((root.tag.as_str(), root.line, root.children.len()), ("a", 3, 2));
        let [b, c] = root.children.as_slice() else { panic!("{root:?}") };
        assert_eq!((b.name.as_deref(), b.text.as_deref(), b.line), (Some("x & y"), Some("1<2"), 4));
        assert_eq!((c.text.as_deref(), c.line), (None, 5));
    }

    #[test]
    fn what_is_no_xml_is_refused_with_its_line() {
        assert_eq!(error(""), "line 1: no element");
        assert_eq!(error("pool 2 1\nother 3 4\n"), "line 1: text outside of the root element");
        assert_eq!(error("<a>\n<b>\n"), "line 3: the file ends inside an element; <b> was opened at line 2");
        assert_eq!(error("<a>\n</a>\n<b/>"), "line 3: <b> stands after the root element");
        assert_eq!(error("<a>\n&x;</a>"), "line 2: unknown entity &x;");
        assert_eq!(
            error("<!DOCTYPE a [<!ENTITY x 'y'>]>\n<a/>"),
            "line 1: a DOCTYPE with declarations is not accepted"
        );
        let unended = error("<a>\n<b>\n</a>");
        assert!(unended.starts_with("line 3: ") && unended.ends_with("; <b> was opened at line 2"), "{unended}");
        assert_eq!(error(&"<a>".repeat(65)), "line 1: <a> is nested too deep");
    }
}
