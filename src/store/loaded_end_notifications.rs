//! Loads whose owners are still to be notified of the ends of their jobs.

use crate::model::{EndNotification, JobId};

use super::error::StoreError;
use super::loader::Loader;

/// All of them, oldest first.
pub(super) fn load(loader: &Loader<'_>) -> Result<Vec<(JobId, EndNotification)>, StoreError> {
    let rows = loader.texts("SELECT job, notification FROM end_notification ORDER BY number")?;
    let typed = |[job, notification]: [String; 2]| {
        let job = loader.parse("end_notification.job", job, "a job id")?;
        let notification = serde_json::from_str(&notification)
            .map_err(|_| loader.wrong("end_notification.notification", notification, "a notification as JSON"))?;
        Ok((job, notification))
    };
    rows.into_iter().map(typed).collect()
}
