//! What the configuration says of these pages.

use std::sync::Arc;

use serde::Serialize;

use super::super::page_user::PageLogin;

/// What the configuration says of these pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StockSettings {
    /// Host of the JobTracker's address (`mapred.job.tracker`); cut at the first dot where it is shown.
    pub host: String,
    /// Whether access lists of jobs are enforced (`mapred.acls.enabled`).
    pub are_acls_on: bool,
    /// Whether the log is for administrators (`hadoop.security.authorization`).
    pub is_authorization_on: bool,
    /// Whether numbers and configuration are for administrators (`hadoop.security.instrumentation.requires.admin`).
    pub are_numbers_for_administrators: bool,
    /// How requests say who asks (`hadoop.http.filter.initializers`).
    pub login: PageLogin,
    /// Whether jobs are changed by GET, too (`jobtracker.web.get-changes`).
    pub takes_get_changes: bool,
    /// The configuration in force, by name, secrets blanked.
    pub conf: Arc<[ConfProperty]>,
}

/// A value of the configuration, as 1.2.1 writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfProperty {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) is_final: bool,
    /// Where it comes from.
    pub(crate) resource: String,
}
