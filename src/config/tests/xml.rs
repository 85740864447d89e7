//! The XML of configuration files, well and badly formed.

use proptest::prelude::*;

use super::*;

fn error(text: &[u8]) -> String {
    parse(text).map_or_else(|error| error.to_string(), |document| format!("read: {document:?}"))
}

fn values(text: &str) -> Vec<(String, Option<String>)> {
    parse(text.as_bytes()).unwrap().properties.into_iter().map(|property| (property.name, property.value)).collect()
}

#[test]
fn reads_properties_with_their_lines() {
    let text = "<?xml version=\"1.0\"?>\n<?xml-stylesheet type=\"text/xsl\" href=\"c.xsl\"?>\n<!-- Put <site> values here -->\n\
        <configuration>\n\n<property>\n <name> a.b </name>\n <value> 1 &lt; 2 &#x41;</value><final>true</final>\n\
        <description>about <b>it</b></description></property>\n<property><name>c</name><value/></property>\n</configuration>\n";
    let document = parse(text.as_bytes()).unwrap();
    let expected = [
        Property { name: "a.b".into(), value: Some(" 1 < 2 A".into()), is_final: true, line: 6 },
        Property { name: "c".into(), value: None, is_final: false, line: 10 },
    ];
    assert_eq!(document.properties, expected);
    assert_eq!(document.remarks, []);
}

#[test]
fn takes_a_value_in_pieces_as_one() {
    let text =
        "<configuration><property><name>a</name><value>x<!-- c -->y<![CDATA[<&>]]>z</value></property></configuration>";
    assert_eq!(values(text), [("a".to_owned(), Some("xy<&>z".to_owned()))]);
}

#[test]
fn empty_values_are_not_set_but_blanks_are() {
    let text = "<configuration><property><name>a</name><value></value></property>\
        <property><name>b</name></property><property><name>c</name><value> </value></property></configuration>";
    assert_eq!(values(text), [("a".into(), None), ("b".into(), None), ("c".into(), Some(" ".into()))]);
}

#[test]
fn remarks_on_ignored_elements() {
    let text = "<configuration>\n<propertie><name>a</name></propertie>\n<property><value>1</value></property>\n\
        <property><nam>x</nam><name>b</name><value>2</value></property>\n\
        <property><name>c</name><val>3</val></property>\n\
        <property><name>d</name><value>4</value><value>5</value><final>yes</final></property></configuration>";
    let document = parse(text.as_bytes()).unwrap();
    let remarks: Vec<String> = document.remarks.iter().map(|(line, remark)| format!("{line}: {remark}")).collect();
    insta::assert_snapshot!(remarks.join("\n"), @"
    2: <propertie> has no meaning here; ignored
    3: <property> without <name>; ignored
    4: b has <nam>, which has no meaning here; expected <name>, <value>, <final> or <description>
    5: c has <val>, which has no meaning here; expected <name>, <value>, <final> or <description>; the property sets nothing
    6: d has two values, of which the first, \"4\", does not count
    6: d has \"yes\" as <final>, expected true or false: it is not final
    ");
    assert_eq!(document.properties.len(), 3);
}

/// 1.2.1 `Configuration.loadResource` calls itself for them.
#[test]
fn a_configuration_inside_a_configuration_is_read() {
    let text = "<configuration>\n<configuration>\n<property><name>a</name><value>1</value><final>true</final></property>\n\
        <configuration/><configuration><property><name>b</name><value>2</value></property></configuration>\n\
        </configuration>\n<property><name>c</name><value>3</value></property>\n</configuration>\n";
    let document = parse(text.as_bytes()).unwrap();
    let read: Vec<_> = document.properties.iter().map(|property| (&*property.name, property.line)).collect();
    assert_eq!(read, [("a", 3), ("b", 4), ("c", 6)]);
    assert!(document.properties[0].is_final && document.remarks.is_empty(), "{document:?}");
    assert_eq!(
        error(b"<configuration><configuration></configuration>"),
        "line 1, column 47: the file ends inside an element; <configuration> was opened at line 1; it is cut off, or still being written"
    );
    let after = b"<configuration><configuration/></configuration><configuration/>";
    assert_eq!(error(after), "line 1, column 48: <configuration> after the end of <configuration>");
    // Only where a property may stand: inside one it has no meaning, as in 1.2.1.
    let inside = "<configuration><property><name>a</name><configuration><property><name>b</name><value>2</value></property>\
        </configuration><value>1</value></property></configuration>";
    assert_eq!(values(inside), [("a".to_owned(), Some("1".to_owned()))]);
    let deep = format!("{}{}", "<configuration>".repeat(100_000), "</configuration>".repeat(100_000));
    assert_eq!(parse(deep.as_bytes()).unwrap(), Document::default());
}

#[test]
fn reads_latin_1_and_a_byte_order_mark() {
    let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><configuration><property><name>a</name><value>\xe9</value></property></configuration>";
    assert_eq!(parse(latin).unwrap().properties[0].value.as_deref(), Some("\u{e9}"));
    assert!(parse(b"\xef\xbb\xbf<configuration/>").unwrap().properties.is_empty());
}

#[test]
fn reads_utf_16_of_either_order_with_and_without_a_mark() {
    let text = "<?xml version=\"1.0\" encoding=\"UTF-16\"?>\r\n<configuration><property>\r\n<name>a</name><value>\u{e9}\u{1f600}</value></property></configuration>";
    let units: Vec<u16> = text.encode_utf16().collect();
    let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
    let marked = [[&[0xff, 0xfe], &little[..]].concat(), [&[0xfe, 0xff], &big[..]].concat()];
    for bytes in marked.iter().chain([&little, &big]) {
        let document = parse(bytes).unwrap();
        assert_eq!(document.properties[0].value.as_deref(), Some("\u{e9}\u{1f600}"));
        assert_eq!(document.properties[0].line, 2);
        let cut = error(&bytes[..bytes.len() - 1]);
        assert!(cut.ends_with("half a letter of UTF-16; it is cut off, or still being written"), "{cut}");
    }
    assert_eq!(error(b"\xff\xfe<\0\0\xd8<\0"), "line 1, column 2: not UTF-16 text");
}

/// `write` of an editor that truncates first, a copy over a slow network, a file after a crash.
#[test]
fn a_file_that_is_half_written_is_never_read_as_a_whole_one() {
    let whole = "<?xml version=\"1.0\"?>\r\n<configuration>\r\n<property><name>a</name><value>1</value></property>\r\n</configuration>";
    assert!(parse(whole.as_bytes()).is_ok());
    for length in 0..whole.len() {
        let error = parse(&whole.as_bytes()[..length]).unwrap_err();
        assert!(length > 0 || error.reason.contains("is empty"), "{error}");
    }
    assert_eq!(error(&[0; 64]), "line 1, column 1: a zero byte, expected text");
    let tail = [whole.as_bytes(), &[0; 8]].concat();
    assert_eq!(error(&tail), "line 4, column 17: a zero byte, expected text");
}

#[test]
fn errors_have_place_and_reason() {
    let property = |value: &str| format!("<configuration>\n<property><name>a</name>{value}</property></configuration>");
    let cases: [Vec<u8>; 21] = [
        b"".to_vec(),
        b"just text".to_vec(),
        b"<html><body/></html>".to_vec(),
        b"<configuration>\n  <property>\n".to_vec(),
        b"<configuration>\n</property>".to_vec(),
        b"<configuration></configuration><configuration/>".to_vec(),
        b"<configuration></configuration>\nmore".to_vec(),
        b"<configuration>\n \xff</configuration>".to_vec(),
        b"<?xml version=\"1.0\" encoding=\"UTF-16\"?><configuration/>".to_vec(),
        b"<!DOCTYPE c [<!ENTITY a \"b\">]><configuration/>".to_vec(),
        b"<configuration xmlns:xi=\"http://www.w3.org/2001/XInclude\">\n<xi:include href=\"other.xml\"/></configuration>".to_vec(),
        property("<value>&unknown;</value>").into_bytes(),
        property("<value>&#0;</value>").into_bytes(),
        property("<value>&#xZZ;</value>").into_bytes(),
        property("<value>a & b</value>").into_bytes(),
        property("<value><b>1</b></value>").into_bytes(),
        property("<value><%= @host %></value>").into_bytes(),
        property("<value>1</valu>").into_bytes(),
        property("<value>1").into_bytes(),
        b"<configuration><property <name>".to_vec(),
        b"<configuration><!-- never closed".to_vec(),
    ];
    insta::assert_snapshot!(cases.map(|case| error(&case)).join("\n"), @"
    line 1, column 1: no <configuration> element: the file is empty; it is cut off, or still being written
    line 1, column 1: text outside <configuration>
    line 1, column 1: the root element is <html>, expected <configuration>
    line 3, column 1: the file ends inside an element; <property> was opened at line 2; it is cut off, or still being written
    line 2, column 1: ill-formed document: expected `</configuration>`, but `</property>` was found; <configuration> was opened at line 1
    line 1, column 32: <configuration> after the end of <configuration>
    line 1, column 32: text outside <configuration>
    line 2, column 2: not UTF-8 text
    line 1, column 1: encoding UTF-16, expected UTF-8, ISO-8859-1, or UTF-16 with a byte order mark
    line 1, column 1: a DOCTYPE with declarations is not accepted
    line 2, column 1: <xi:include>: XInclude is not supported; write the values here
    line 2, column 32: unknown entity &unknown;
    line 2, column 32: invalid character reference: 0x0 character is not permitted in XML
    line 2, column 32: invalid character reference: invalid digit found in string
    line 2, column 34: ill-formed document: entity or character reference not closed: `;` not found before end of input
    line 2, column 32: <b> where only text may stand; <value> was opened at line 2
    line 2, column 32: <%=> where only text may stand; <value> was opened at line 2; this is a template: let its program fill it in
    line 2, column 33: ill-formed document: expected `</value>`, but `</valu>` was found; <value> was opened at line 2
    line 2, column 33: ill-formed document: expected `</value>`, but `</property>` was found; <value> was opened at line 2
    line 1, column 32: the file ends inside an element; <property> was opened at line 1; it is cut off, or still being written
    line 1, column 16: syntax error: comment not closed: `-->` not found before end of input
    ");
}

#[test]
fn an_element_without_its_end_is_named_with_the_line_where_it_begins() {
    let property = |line: &str| format!("<property>\n<name>a</name>\n<value>{line}\n");
    let no_value = format!("<configuration>\n{}</property>\n</configuration>", property("1"));
    let no_property =
        format!("<configuration>\n{}{}</property>\n</configuration>", property("1</value>"), property("2</value>"));
    assert!(error(no_value.as_bytes()).ends_with("; <value> was opened at line 4"), "{}", error(no_value.as_bytes()));
    let found = error(no_property.as_bytes());
    assert!(found.starts_with("line 9") && found.ends_with("; <property> was opened at line 2"), "{found}");
}

#[test]
fn remarks_are_bounded() {
    let text = format!("<configuration>{}</configuration>", "<a/>".repeat(10_000));
    assert_eq!(parse(text.as_bytes()).unwrap().remarks.len(), MOST_REMARKS);
}

#[test]
fn deep_nesting_is_only_passed_over() {
    let text = format!("<configuration>{}{}</configuration>", "<a>".repeat(100_000), "</a>".repeat(100_000));
    assert_eq!(parse(text.as_bytes()).unwrap().remarks.len(), 1);
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn no_markup_panics(pieces in proptest::collection::vec(
        prop_oneof![
            Just("<configuration>"), Just("</configuration>"), Just("<property>"), Just("</property>"), Just("<name>"),
            Just("</name>"), Just("<value>"), Just("</value>"), Just("<x/>"), Just("a"), Just("&amp;"), Just("<!--"),
            Just("-->"), Just("<![CDATA["), Just("]]>"), Just("<?xml"), Just("?>"), Just("\n"), Just("\u{e9}"),
        ], 0..20)) {
        let _ = parse(pieces.concat().as_bytes());
    }
}
