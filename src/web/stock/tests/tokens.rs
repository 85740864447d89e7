//! Two pages are the same if these tokens are: starts of elements with their ids and links, and texts.
//!
//! Left out, since ours differ there on purpose: ends of elements, all attributes but `id` and `href`, scripts and styles, the page
//! that loads itself again, `<main>`, the scrolling `<div>` around a table, the link in front, and the picture of tasks, which is a
//! part of our page and another document of theirs.

/// The tokens of a page.
pub(super) fn tokens(html: &str) -> Vec<String> {
    let html = without(html, "<svg", "</svg>", "<embed>");
    let html = without(&html, "<script", "</script>", "");
    let html = without(&html, "<a class=\"newpage\"", "</a>", "");
    let mut tokens = Vec::new();
    let mut rest = html.as_str();
    while !rest.is_empty() {
        let (text, after) = rest.split_once('<').unwrap_or((rest, ""));
        push_text(&mut tokens, text);
        let end = after.find('>').unwrap_or(after.len());
        let (tag, left) = after.split_at(end);
        rest = left.strip_prefix('>').unwrap_or(left);
        push_tag(&mut tokens, tag);
    }
    tokens
}

fn push_text(tokens: &mut Vec<String>, text: &str) {
    let text = decoded(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    if !words.is_empty() {
        tokens.push(words.join(" "));
    }
}

fn push_tag(tokens: &mut Vec<String>, tag: &str) {
    let name = tag.split([' ', '\n', '/']).next().unwrap_or_default().to_ascii_lowercase();
    let is_left_out = matches!(name.as_str(), "" | "!doctype" | "meta" | "main" | "link" | "head" | "body" | "html");
    let is_around_table = name == "div" && tag.contains("class=\"wide\"");
    if tag.starts_with('/') || is_left_out || is_around_table {
        return;
    }
    let of = |attribute: &str| attribute_of(tag, attribute).map(|value| format!(" {attribute}={value}"));
    tokens.push(format!("<{name}{}{}>", of("id").unwrap_or_default(), of("href").unwrap_or_default()));
}

fn attribute_of(tag: &str, name: &str) -> Option<String> {
    let (_, after) = tag.split_once(&format!(" {name}="))?;
    let quote = after.chars().next()?;
    let value = match quote {
        '"' | '\'' => after[1..].split(quote).next()?,
        _ => after.split(' ').next()?,
    };
    Some(decoded(value))
}

/// The page with `instead` for each part from `start` to `end`.
fn without(html: &str, start: &str, end: &str, instead: &str) -> String {
    let mut kept = String::new();
    let mut rest = html;
    while let Some((before, after)) = rest.split_once(start) {
        kept.push_str(before);
        kept.push_str(instead);
        rest = after.split_once(end).map_or("", |(_, rest)| rest);
    }
    kept + rest
}

pub(super) fn decoded(text: &str) -> String {
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&nbsp;", "\u{a0}"), ("&#60;", "<")];
    let numbered = [("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&"), ("&amp;", "&")];
    named.into_iter().chain(numbered).fold(text.to_owned(), |text, (code, sign)| text.replace(code, sign))
}

#[test]
fn a_cell_a_link_and_a_word_make_a_difference() {
    let page = "<td id=\"a\"><a href=\"x\">1</a></td>";
    assert_eq!(tokens(page), ["<td id=a>", "<a href=x>", "1"]);
    assert_eq!(tokens("<main><td  id='a' class=c>\n<a href=\"x\"> 1 </a>"), tokens(page));
    for other in ["<th id=\"a\"><a href=\"x\">1", "<td id=\"b\"><a href=\"x\">1", "<td id=\"a\"><a href=\"y\">1"] {
        assert_ne!(tokens(other), tokens(page), "{other}");
    }
    assert_ne!(tokens("<td id=\"a\"><td><a href=\"x\">1</a></td>"), tokens(page));
}
