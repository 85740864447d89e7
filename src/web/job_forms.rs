//! Who may change jobs by the forms of pages.

/// Who may change jobs by the forms of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JobForms {
    /// No request changes anything (`webinterface.private.actions` is false).
    #[default]
    Off,
    /// Requests have no user, and access lists are off.
    ForAll,
    /// Changes must be signed, and forms are not (`jobtracker.job-changes`).
    Signed,
    /// Requests have no user, so access lists let none change a job (`mapred.acls.enabled`).
    ForNone,
}
