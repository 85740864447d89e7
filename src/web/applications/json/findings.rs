//! What is wrong in a body, as it is collected while the body is read.

use std::cell::RefCell;
use std::fmt::Display;

use crate::engine::BodyFault;

use super::place::Place;

/// Findings beyond these are not kept.
pub(crate) const MAX_FINDINGS: usize = 20;

/// The findings in one body.
#[derive(Debug, Default)]
pub(crate) struct Findings(RefCell<Vec<BodyFault>>);

impl Findings {
    /// Notes a finding. Returns none, which is what a reader gives for a value that is wrong.
    pub(crate) fn add<T>(&self, place: &Place<'_>, detail: impl Display) -> Option<T> {
        let mut found = self.0.borrow_mut();
        if found.len() < MAX_FINDINGS {
            found.push(BodyFault { pointer: place.to_string(), detail: detail.to_string() });
        }
        None
    }

    /// All of them, at most [`MAX_FINDINGS`], in the order in which they were found.
    pub(crate) fn into_vec(self) -> Vec<BodyFault> {
        self.0.into_inner()
    }
}
