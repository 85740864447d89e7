//! Parser for the XML of Hadoop configuration files: bytes in, named values with line numbers out. It follows Hadoop 1.2.1
//! `Configuration.loadResource`, but is stricter where Hadoop continues silently: another root element, an element inside a value,
//! XInclude, entity declarations and unknown entities are errors.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::errors::{Error, IllFormedError};
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use thiserror::Error;

use crate::wire::limits::excerpt;

/// Maximum number of remarks for one file, so that no file takes many times its size in memory.
pub(crate) const MOST_REMARKS: usize = 100;

/// What explains a file that ends early.
const CUT_OFF: &str = "; it is cut off, or still being written";

/// Longer texts of the parser library repeat long element names, and are truncated.
const LONGEST_REASON_CHARACTERS: usize = 120;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The name, trimmed.
    pub name: String,
    /// The value as written; `None` if the element is missing or empty, which Hadoop treats as not set.
    pub value: Option<String>,
    /// Whether later files cannot change it.
    pub is_final: bool,
    /// The line of `<property>`, from 1.
    pub line: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Properties in file order; the last one of a name applies.
    pub properties: Vec<Property>,
    /// Ignored elements with their lines, at most [`MOST_REMARKS`].
    pub remarks: Vec<(u32, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {reason}")]
pub struct XmlError {
    /// Line, from 1.
    pub(crate) line: u32,
    /// Column in characters, from 1.
    pub(crate) column: u32,
    pub(crate) reason: String,
}

/// Parses a configuration file.
///
/// # Errors
/// The first [`XmlError`].
pub fn parse(bytes: &[u8]) -> Result<Document, XmlError> {
    let text = decode(bytes)?;
    let mut reader = Reader::from_str(&text);
    let mut walk = ElementWalk {
        text: &text,
        line: 1,
        counted_to: 0,
        place: TextPlace::Prolog,
        nesting: 0,
        opened: Vec::new(),
        document: Document::default(),
    };
    loop {
        let start = position(reader.buffer_position());
        match reader.read_event() {
            Ok(Event::Eof) => return walk.end(),
            Ok(event) => walk.event(&event, start)?,
            Err(error) => {
                let at = position(reader.error_position());
                let is_other_end = matches!(&error, Error::IllFormed(IllFormedError::MismatchedEndTag { .. }));
                let opened = if is_other_end { walk.last_opened() } else { String::new() };
                return Err(error_at(&text, at, format!("{}{opened}", excerpt_of_error(&error))));
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PropertyField {
    Name,
    Value,
    Final,
}

#[derive(Debug)]
enum TextPlace {
    Prolog,
    Configuration,
    Property(Pending),
    Field(Pending, PropertyField, Option<String>),
    /// Inside an ignored element, this many levels deep, with the enclosing property.
    Skipped(Option<Pending>, u32),
    Epilog,
}

/// A property whose end tag is still to come.
#[derive(Debug)]
struct Pending {
    name: Option<String>,
    value: Option<String>,
    is_final: bool,
    line: u32,
    /// What is remarked once its name is known, as predicates of the property.
    faults: Vec<String>,
}

struct ElementWalk<'a> {
    text: &'a str,
    line: u32,
    counted_to: usize,
    place: TextPlace,
    /// Open `<configuration>` elements: one inside another is read like the root (1.2.1 `loadResource` calls itself).
    nesting: u32,
    /// Where the elements begin that are open.
    opened: Vec<usize>,
    document: Document,
}

impl ElementWalk<'_> {
    fn event(&mut self, event: &Event<'_>, at: usize) -> Result<(), XmlError> {
        match event {
            Event::Start(element) => {
                self.open(element, at)?;
                self.opened.push(at);
                Ok(())
            }
            Event::Empty(element) => {
                self.open(element, at)?;
                self.close();
                Ok(())
            }
            Event::End(_) => {
                self.opened.pop();
                self.close();
                Ok(())
            }
            Event::Text(text) => self.characters(&text.xml10_content(), at),
            Event::CData(text) => self.characters(&text.xml10_content(), at),
            Event::GeneralRef(reference) => {
                let characters = resolve(reference).map_err(|reason| error_at(self.text, at, reason))?;
                self.characters(&characters, at)
            }
            // Declarations (entities, defaults) are refused; a DOCTYPE without them has no effect.
            Event::DocType(text) if text.contains('[') => {
                Err(error_at(self.text, at, "a DOCTYPE with declarations is not accepted".to_owned()))
            }
            Event::DocType(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::Eof => Ok(()),
        }
    }

    fn open(&mut self, element: &BytesStart<'_>, at: usize) -> Result<(), XmlError> {
        let name = element.name().0;
        let shown = excerpt(name);
        let line = self.line_of(at);
        if element.local_name().as_ref() == "include" {
            return Err(error_at(
                self.text,
                at,
                format!("<{shown}>: XInclude is not supported; write the values here"),
            ));
        }
        let unknown = match std::mem::replace(&mut self.place, TextPlace::Epilog) {
            TextPlace::Prolog | TextPlace::Configuration if name == "configuration" => {
                self.place = TextPlace::Configuration;
                self.nesting = self.nesting.saturating_add(1);
                false
            }
            TextPlace::Prolog => {
                return Err(error_at(
                    self.text,
                    at,
                    format!("the root element is <{shown}>, expected <configuration>"),
                ));
            }
            TextPlace::Epilog => {
                return Err(error_at(self.text, at, format!("<{shown}> after the end of <configuration>")));
            }
            TextPlace::Configuration if name == "property" => {
                self.place =
                    TextPlace::Property(Pending { name: None, value: None, is_final: false, line, faults: Vec::new() });
                false
            }
            TextPlace::Configuration => {
                self.place = TextPlace::Skipped(None, 1);
                true
            }
            TextPlace::Property(pending) => {
                self.place = in_property(pending, name, &shown);
                false
            }
            TextPlace::Field(..) => {
                let opened = self.last_opened();
                // As `<%= … %>` of cookbooks and Puppet modules.
                let why = if shown.starts_with('%') { "; this is a template: let its program fill it in" } else { "" };
                return Err(error_at(self.text, at, format!("<{shown}> where only text may stand{opened}{why}")));
            }
            TextPlace::Skipped(pending, depth) => {
                self.place = TextPlace::Skipped(pending, depth.saturating_add(1));
                false
            }
        };
        if unknown {
            self.remark(line, format!("<{shown}> has no meaning here; ignored"));
        }
        Ok(())
    }

    fn close(&mut self) {
        self.place = match std::mem::replace(&mut self.place, TextPlace::Epilog) {
            TextPlace::Configuration if self.nesting > 1 => {
                self.nesting -= 1;
                TextPlace::Configuration
            }
            TextPlace::Prolog | TextPlace::Configuration | TextPlace::Epilog => TextPlace::Epilog,
            TextPlace::Property(pending) => {
                if let Some(name) = pending.name {
                    let Pending { value, is_final, line, faults, .. } = pending;
                    let sets_nothing = if value.is_none() { "; the property sets nothing" } else { "" };
                    for fault in faults {
                        self.remark(line, format!("{} {fault}{sets_nothing}", excerpt(&name)));
                    }
                    self.document.properties.push(Property { name, value, is_final, line });
                } else {
                    self.remark(pending.line, "<property> without <name>; ignored".to_owned());
                }
                TextPlace::Configuration
            }
            TextPlace::Field(mut pending, field, text) => {
                match (field, text) {
                    (_, None) => {}
                    (PropertyField::Name, Some(text)) => pending.name = Some(text.trim().to_owned()),
                    (PropertyField::Value, Some(text)) => {
                        if let Some(first) = pending.value.replace(text) {
                            pending.faults.push(format!(
                                "has two values, of which the first, {:?}, does not count",
                                excerpt(&first)
                            ));
                        }
                    }
                    (PropertyField::Final, Some(text)) => {
                        pending.is_final = text.trim() == "true";
                        if !matches!(text.trim(), "true" | "false") {
                            let text = excerpt(text.trim());
                            pending
                                .faults
                                .push(format!("has {text:?} as <final>, expected true or false: it is not final"));
                        }
                    }
                }
                TextPlace::Property(pending)
            }
            TextPlace::Skipped(pending, depth) if depth > 1 => TextPlace::Skipped(pending, depth - 1),
            TextPlace::Skipped(Some(pending), _) => TextPlace::Property(pending),
            TextPlace::Skipped(None, _) => TextPlace::Configuration,
        };
    }

    fn characters(&mut self, characters: &str, at: usize) -> Result<(), XmlError> {
        match &mut self.place {
            TextPlace::Field(_, _, text) => {
                if !characters.is_empty() {
                    text.get_or_insert_default().push_str(characters);
                }
                Ok(())
            }
            TextPlace::Prolog | TextPlace::Epilog if !characters.trim().is_empty() => {
                Err(error_at(self.text, at, "text outside <configuration>".to_owned()))
            }
            // Hadoop ignores text between properties.
            TextPlace::Prolog
            | TextPlace::Configuration
            | TextPlace::Property(_)
            | TextPlace::Skipped(..)
            | TextPlace::Epilog => Ok(()),
        }
    }

    fn end(self) -> Result<Document, XmlError> {
        let reason = match self.place {
            TextPlace::Epilog => return Ok(self.document),
            TextPlace::Prolog if self.text.trim().is_empty() => "no <configuration> element: the file is empty",
            TextPlace::Prolog => "no <configuration> element",
            TextPlace::Configuration | TextPlace::Property(_) | TextPlace::Field(..) | TextPlace::Skipped(..) => {
                "the file ends inside an element"
            }
        };
        Err(error_at(self.text, self.text.len(), format!("{reason}{}{CUT_OFF}", self.last_opened())))
    }

    /// The innermost element that is open, whose end may be what is missing.
    fn last_opened(&self) -> String {
        let Some(at) = self.opened.last().copied() else { return String::new() };
        let (before, element) = self.text.split_at_checked(at).unwrap_or_default();
        let name = element.trim_start_matches('<').split(|c: char| c.is_whitespace() || c == '>').next();
        let line = count_newlines(before.as_bytes()).saturating_add(1);
        format!("; <{}> was opened at line {line}", excerpt(name.unwrap_or_default()))
    }

    fn remark(&mut self, line: u32, remark: String) {
        if self.document.remarks.len() < MOST_REMARKS {
            self.document.remarks.push((line, remark));
        }
    }

    /// Counts from the last position on, so that each line is counted once.
    fn line_of(&mut self, at: usize) -> u32 {
        let passed = self.text.as_bytes().get(self.counted_to..at).unwrap_or_default();
        self.line = self.line.saturating_add(count_newlines(passed));
        self.counted_to = at.max(self.counted_to);
        self.line
    }
}

/// The parser library's message, truncated since it repeats names of the file.
fn excerpt_of_error(error: &Error) -> String {
    let text = error.to_string();
    if text.chars().count() > LONGEST_REASON_CHARACTERS { excerpt(&text) } else { text }
}

/// Where the text of an element of a property belongs.
fn in_property(mut pending: Pending, name: &str, shown: &str) -> TextPlace {
    match name {
        "name" => TextPlace::Field(pending, PropertyField::Name, None),
        "value" => TextPlace::Field(pending, PropertyField::Value, None),
        "final" => TextPlace::Field(pending, PropertyField::Final, None),
        // Documentation and the origin (newer versions write `<source>`) are ignored without a remark.
        "description" | "source" => TextPlace::Skipped(Some(pending), 1),
        _ => {
            let expected = "<name>, <value>, <final> or <description>";
            pending.faults.push(format!("has <{shown}>, which has no meaning here; expected {expected}"));
            TextPlace::Skipped(Some(pending), 1)
        }
    }
}

fn resolve(reference: &BytesRef<'_>) -> Result<Cow<'static, str>, String> {
    if let Some(text) = resolve_predefined_entity(reference) {
        return Ok(text.into());
    }
    let character = reference.resolve_char_ref().map_err(|error| error.to_string())?;
    character
        .map(|character| character.to_string().into())
        .ok_or_else(|| format!("unknown entity &{};", excerpt(reference)))
}

/// Decodes UTF-8 (or its subset US-ASCII), ISO-8859-1 and UTF-16; refuses any other encoding, and what is no text.
pub(super) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, XmlError> {
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => Cow::Owned(decode_utf16(rest, u16::from_le_bytes)?),
        [0xfe, 0xff, rest @ ..] => Cow::Owned(decode_utf16(rest, u16::from_be_bytes)?),
        [b'<', 0, ..] => Cow::Owned(decode_utf16(bytes, u16::from_le_bytes)?),
        [0, b'<', ..] => Cow::Owned(decode_utf16(bytes, u16::from_be_bytes)?),
        bytes => decode_bytes(bytes)?,
    };
    // A file system leaves them in place of what was not written before a crash.
    match text.find('\0') {
        Some(at) => Err(error_at(&text, at, "a zero byte, expected text".to_owned())),
        None => Ok(text),
    }
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, XmlError> {
    let (units, rest) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(units.len());
    for letter in char::decode_utf16(units.iter().map(|bytes| unit(*bytes))) {
        match letter {
            Ok(letter) => text.push(letter),
            Err(_) => return Err(error_at(&text, text.len(), "not UTF-16 text".to_owned())),
        }
    }
    match rest {
        [] => Ok(text),
        _ => Err(error_at(&text, text.len(), format!("half a letter of UTF-16{CUT_OFF}"))),
    }
}

fn decode_bytes(bytes: &[u8]) -> Result<Cow<'_, str>, XmlError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match declared_encoding(bytes).map(|name| name.to_ascii_uppercase()).as_deref() {
        None | Some("UTF-8" | "UTF8" | "US-ASCII" | "ASCII") => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(error) => {
                let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
                Err(error_at(&valid, valid.len(), "not UTF-8 text".to_owned()))
            }
        },
        Some("ISO-8859-1" | "LATIN1") => Ok(Cow::Owned(bytes.iter().copied().map(char::from).collect())),
        Some(other) => Err(XmlError {
            line: 1,
            column: 1,
            reason: format!(
                "encoding {}, expected UTF-8, ISO-8859-1, or UTF-16 with a byte order mark",
                excerpt(other)
            ),
        }),
    }
}

fn declared_encoding(bytes: &[u8]) -> Option<&str> {
    let head = bytes.get(..bytes.len().min(256))?.strip_prefix(b"<?xml ")?;
    let head = head.split(|byte| *byte == b'>').next()?;
    let (_, rest) = std::str::from_utf8(head).ok()?.split_once("encoding")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    rest[1..].split(quote).next()
}

fn position(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

fn count_newlines(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.iter().filter(|byte| **byte == b'\n').count()).unwrap_or(u32::MAX)
}

fn error_at(text: &str, at: usize, reason: String) -> XmlError {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let column = String::from_utf8_lossy(&before[line_start..]).chars().count();
    XmlError {
        line: count_newlines(before).saturating_add(1),
        column: u32::try_from(column).unwrap_or(u32::MAX).saturating_add(1),
        reason,
    }
}

#[cfg(test)]
#[path = "tests/xml.rs"]
mod tests;
