//! The files that pages load, part of the binary: each under its name, and under its name with a hash of its content, which may
//! be kept for ever.

use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, Response, StatusCode};
use sha2::{Digest as _, Sha256};

use crate::model::hex;

use super::super::response::text;

struct StaticFile {
    stem: &'static str,
    ending: &'static str,
    kind: &'static str,
    content: &'static [u8],
}

const FILES: [StaticFile; 3] = [
    StaticFile {
        stem: "jobtracker",
        ending: "css",
        kind: "text/css; charset=utf-8",
        content: include_bytes!("../../../static/jobtracker.css"),
    },
    StaticFile {
        stem: "live",
        ending: "js",
        kind: "text/javascript; charset=utf-8",
        content: include_bytes!("../../../static/live.js"),
    },
    StaticFile {
        stem: "icon",
        ending: "svg",
        kind: "image/svg+xml",
        content: include_bytes!("../../../static/icon.svg"),
    },
];

/// The hashes of the files, in their order.
static HASHES: LazyLock<[String; 3]> = LazyLock::new(|| FILES.map(|file| short_hash(file.content)));

/// The addresses that pages name.
#[derive(Clone, Debug)]
pub(super) struct FileAddresses {
    pub(super) style: String,
    pub(super) script: String,
    pub(super) icon: String,
}

impl FileAddresses {
    pub(super) fn get() -> Self {
        let [style, script, icon] = std::array::from_fn(|index| {
            let StaticFile { stem, ending, .. } = &FILES[index];
            format!("/static/{stem}.{}.{ending}", HASHES[index])
        });
        Self { style, script, icon }
    }
}

pub(super) async fn static_file(Path(name): Path<String>) -> Response<Body> {
    for (file, hash) in FILES.iter().zip(HASHES.iter()) {
        let age = if name == format!("{}.{}", file.stem, file.ending) {
            "max-age=300"
        } else if name == format!("{}.{hash}.{}", file.stem, file.ending) {
            "max-age=31536000, immutable"
        } else {
            continue;
        };
        let mut response = Response::new(Body::from(file.content));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(file.kind));
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(age));
        return response;
    }
    text(StatusCode::NOT_FOUND, format_args!("There is nothing at /static/{name}"))
}

/// A hash of a content in a few characters.
pub(super) fn short_hash(content: &[u8]) -> String {
    hex(&Sha256::digest(content)[..8])
}
