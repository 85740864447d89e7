//! `/scheduler`, pages, metrics and health over HTTP.
