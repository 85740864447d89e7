//! Who may change jobs by the forms of pages.

/// Who may change jobs by the forms of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JobForms {
    /// No request changes anything (`webinterface.private.actions` is false).
    #[default]
    Off,
    /// Access lists are off.
    ForAll,
    /// Changes must be signed, and forms are not (`jobtracker.job-changes`).
    Signed,
    /// Access lists say which users change a job (`mapred.acls.enabled`): none does where requests name none.
    ForNamed,
}

impl JobForms {
    /// Whether a user, or a request that names none, is shown forms.
    pub(super) fn are_for(self, user: &str) -> bool {
        self == Self::ForAll || (self == Self::ForNamed && !user.is_empty())
    }
}
