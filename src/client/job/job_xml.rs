//! job.xml, as 1.2.1 `Configuration.writeXml` writes it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A character that XML 1.0 cannot represent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} contains the character {character:?}, which cannot be written to job.xml")]
pub struct JobXmlError {
    /// The property.
    pub(crate) name: String,
    /// The character.
    pub(crate) character: char,
}

/// The bytes of job.xml.
///
/// # Errors
/// [`JobXmlError`]
pub(super) fn job_xml(properties: &BTreeMap<String, String>) -> Result<Vec<u8>, JobXmlError> {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?><configuration>\n");
    for (name, value) in properties {
        if let Some(character) = name.chars().chain(value.chars()).find(|character| !is_xml(*character)) {
            return Err(JobXmlError { name: name.clone(), character });
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "<property><name>{}</name><value>{}</value></property>", escaped(name), escaped(value));
    }
    text += "</configuration>";
    Ok(text.into_bytes())
}

fn is_xml(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

fn escaped(text: &str) -> String {
    // A parser reads a literal CR as LF.
    quick_xml::escape::partial_escape(text).replace('\r', "&#13;")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::config::xml;

    use super::*;

    fn one(name: &str, value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn characters_that_xml_cannot_represent_are_named() {
        let error = job_xml(&one("stream.map.output.field.separator", "\u{1}")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "stream.map.output.field.separator contains the character '\\u{1}', which cannot be written to job.xml"
        );
    }

    proptest! {
        #[test]
        fn values_read_back(value in "[a<>&\"'\r\n\t é😀]{1,12}") {
            let bytes = job_xml(&one("k", &value)).unwrap();
            let document = xml::parse(&bytes).unwrap();
            prop_assert_eq!(document.properties[0].value.as_deref(), Some(value.as_str()));
        }
    }
}
