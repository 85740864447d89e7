//! A page: its frame and its sections, and the answer that carries it, whole, in part or as CSV.

use askama::Template;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG};
use axum::http::{HeaderValue, Response, StatusCode};

use super::super::pictures::Mark;
use super::super::response::{HTML, packed, text};
use super::asked::Asked;
use super::block::{Block, Section};
use super::piece::{Cell, Piece};
use super::static_files::{FileAddresses, short_hash};

/// A page loads its own files and sends its forms to its own server; nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    pub(super) status: StatusCode,
    /// The title of the document: the finding first.
    pub(super) title: String,
    pub(super) heading: Cell,
    /// The entry of the navigation that leads to it.
    pub(super) entry: &'static str,
    pub(super) sections: Vec<Section>,
    /// Seconds between two looks at it; 0: it does not change.
    pub(super) refresh_s: u32,
    /// The address of Hadoop's page of the same thing.
    pub(super) stock: Option<String>,
}

#[derive(Template)]
#[template(path = "pages/page.html")]
struct WholePage<'a> {
    page: &'a Page,
    frame: &'a PageFrame,
    files: FileAddresses,
    /// Addresses of its tables as CSV, with the titles of their sections.
    csv: Vec<(String, &'a str)>,
}

/// The input of the template of some of its sections.
#[derive(Template)]
#[template(path = "pages/part.html")]
struct PartOfPage<'a> {
    page: &'a Page,
    sections: &'a [Section],
    frame: &'a PageFrame,
    is_whole: bool,
}

impl Page {
    pub(super) fn answer(&self, mut frame: PageFrame, asked: &Asked) -> Response<Body> {
        if asked.is_csv {
            return self.csv(asked);
        }
        let unknown: Vec<&str> = asked.unknown().collect();
        if asked.is_malformed {
            frame
                .notices
                .push("The parameters of this address cannot be read, or one of them is there twice.".to_owned());
        } else if !unknown.is_empty() {
            frame.notices.push(format!("This page has no parameter {}.", unknown.join(", ")));
        }
        let html = match asked.part.as_deref() {
            None => WholePage { page: self, frame: &frame, files: FileAddresses::get(), csv: self.csv_links(asked) }
                .render(),
            Some("main") => PartOfPage { page: self, sections: &self.sections, frame: &frame, is_whole: true }.render(),
            Some(id) => match self.sections.iter().position(|section| section.id == id) {
                Some(place) => {
                    let sections = &self.sections[place..=place];
                    PartOfPage { page: self, sections, frame: &frame, is_whole: false }.render()
                }
                None => return text(StatusCode::NOT_FOUND, format_args!("this page has no part {id}")),
            },
        };
        match html {
            Ok(html) => tagged(self.status, HTML, html, asked),
            Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error),
        }
    }

    /// Whether it has a form whose fields are sent by POST.
    pub(super) fn has_sent_form(&self) -> bool {
        let mut blocks = self.sections.iter().flat_map(|section| &section.blocks);
        blocks.any(|block| matches!(block, Block::Form(form) if form.is_sent))
    }

    fn csv_links(&self, asked: &Asked) -> Vec<(String, &str)> {
        let csv = asked.with("format", "csv");
        let with_tables = self.sections.iter().filter(|section| section.table().is_some()).enumerate();
        with_tables
            .map(|(place, section)| {
                let address = if place == 0 { csv.clone() } else { format!("{csv}&part={}", section.id) };
                (address, section.title.as_str())
            })
            .collect()
    }

    /// The first table of the part that is asked for, of the page where none is.
    fn csv(&self, asked: &Asked) -> Response<Body> {
        let wanted = |section: &&Section| {
            matches!(asked.part.as_deref(), None | Some("main")) || asked.part.as_deref() == Some(section.id)
        };
        match self.sections.iter().filter(wanted).find_map(Section::table) {
            Some(table) => tagged(self.status, "text/csv; charset=utf-8", table.csv(), asked),
            None => text(StatusCode::NOT_ACCEPTABLE, "this page has no such table; expected format=html"),
        }
    }
}

/// An answer with a tag of its content, packed for those who take that; without content where the reader has it.
fn tagged(status: StatusCode, kind: &'static str, content: String, asked: &Asked) -> Response<Body> {
    let tag = format!("\"{}\"", short_hash(content.as_bytes()));
    let is_known = status == StatusCode::OK && asked.known_tags.contain(&tag);
    let mut response = if is_known { Response::new(Body::empty()) } else { packed(content, asked.takes_gzip) };
    *response.status_mut() = if is_known { StatusCode::NOT_MODIFIED } else { status };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    response
}

/// What all pages have around their content.
#[derive(Clone, Debug, Default)]
pub(super) struct PageFrame {
    /// Entries of the navigation: address, name.
    pub(super) entries: Vec<(&'static str, &'static str)>,
    pub(super) is_well: bool,
    pub(super) health: String,
    /// What is shown, as a number that rises.
    pub(super) generation: String,
    pub(super) as_of: Cell,
    /// Why what is shown is old.
    pub(super) stale: Option<String>,
    /// Notices above the content.
    pub(super) notices: Vec<String>,
    /// The user who has signed in, and the address of that user's page.
    pub(super) signed_in: Option<(String, String)>,
    pub(super) version: &'static str,
}
