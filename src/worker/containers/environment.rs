//! The whole environment of a container: nothing else of the worker's reaches it.

use std::collections::BTreeMap;

use crate::model::LaunchContext;
use crate::supervisor::command::WORK_FOLDER_VARIABLE;

use super::order::ContainerOrder;

/// Variables that a container has of the worker, beside `LC_…`.
const PASSED_ON: [&str; 5] = ["PATH", "LANG", "LANGUAGE", "TZ", "HOME"];

/// Whether a container has a variable of the worker.
fn is_passed_on(name: &str) -> bool {
    PASSED_ON.contains(&name) || name.starts_with("LC_")
}

/// The environment of a container with this context, its item put in, in this working directory; sorted by name.
///
/// What the context says counts before what is the worker's, and after what only the worker knows.
pub(crate) fn build(order: &ContainerOrder, context: &LaunchContext, work_folder: &str) -> Vec<(String, String)> {
    let launch = &order.launch;
    let of_worker = order.environment.iter().filter(|(name, _)| is_passed_on(name));
    let mut all: BTreeMap<String, String> = of_worker.map(|(name, value)| (name.clone(), value.clone())).collect();
    all.insert("OMP_NUM_THREADS".to_owned(), launch.capability.vcores.to_string());
    all.extend(context.environment.iter().map(|(name, value)| (name.clone(), value.clone())));
    let mut set = |name: &str, value: String| all.insert(name.to_owned(), value);
    set("PWD", work_folder.to_owned());
    set("TMPDIR", order.temporary_folder().display().to_string());
    set("USER", launch.user.clone());
    set("LOGNAME", launch.user.clone());
    set(WORK_FOLDER_VARIABLE, order.folder.display().to_string());
    set("JOBTRACKER_APPLICATION_ID", launch.id.application.to_string());
    set("JOBTRACKER_CONTAINER_ID", launch.id.to_string());
    set("JOBTRACKER_ATTEMPT", launch.id.attempt.to_string());
    set("JOBTRACKER_NODE_ID", order.node_id.clone());
    set("JOBTRACKER_MEMORY_MB", launch.capability.memory_mb.to_string());
    set("JOBTRACKER_VCORES", launch.capability.vcores.to_string());
    set("JOBTRACKER_SERVER", launch.server.clone());
    if let Some(item) = launch.item {
        set("JOBTRACKER_ITEM", item.number.to_string());
        set("JOBTRACKER_ITEM_ATTEMPT", item.attempt.to_string());
    }
    if launch.secret.is_some() {
        set("JOBTRACKER_SECRET_FILE", order.secret_file().display().to_string());
    }
    all.into_iter().collect()
}
