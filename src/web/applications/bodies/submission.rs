//! The body of a submission.

use std::collections::BTreeMap;

use crate::api::applications::{AskRow, Submission, SubmittedMaster};
use crate::model::{LaunchContext, Priority};

use super::super::json::{Item, Members};
use super::allocate::{Asker, MAX_ATTEMPTS, MAX_ROWS, read_capability, read_row};
use super::launch_context::read_context;
use super::read;

/// Hadoop's name of an application without one (`YarnConfiguration.DEFAULT_APPLICATION_NAME`).
const DEFAULT_NAME: &str = "N/A";
/// Silence after which an application has failed, ms.
const DEFAULT_EXPIRY_MS: u64 = 600_000;
/// How often a master is started.
const DEFAULT_MASTER_ATTEMPTS: u32 = 2;

pub(crate) fn read_submission(item: Item<'_>) -> Option<Submission> {
    let mut members = Members::of(item)?;
    let application_id = members.required("application-id", read::application_id);
    let name = members.or("application-name", DEFAULT_NAME.to_owned(), |item| item.text_of(1..=255).map(str::to_owned));
    let application_type =
        members.or("application-type", String::new(), |item| item.text_of(0..=32).map(str::to_owned));
    let queue = members.optional("queue", read::queue);
    let priority = members.or("priority", Priority::Normal, priority);
    let expiry_ms = members.or("expiry-ms", DEFAULT_EXPIRY_MS, |item| item.whole(10_000..=86_400_000));
    let strict_gates = members.or("strict-gates", false, |item| item.boolean());
    let tracking_url = members.optional("tracking-url", read::tracking_url);
    let specs = members.or("specs", BTreeMap::new(), read::specs);
    let unattended = unattended(&mut members, specs.as_ref());
    let master = members.optional("master", |item| read_master(item).map(Box::new));
    members.end()?;
    Some(Submission {
        application_id: application_id?,
        name: name?,
        application_type: application_type?,
        queue: queue?,
        priority: priority?,
        expiry_ms: expiry_ms?,
        strict_gates: strict_gates?,
        tracking_url: tracking_url?,
        specs: specs?,
        unattended: unattended?,
        master: master?,
    })
}

fn priority(item: Item<'_>) -> Option<Priority> {
    item.parsed("VERY_HIGH, HIGH, NORMAL, LOW or VERY_LOW", Priority::from_name)
}

/// The requests of an unattended application; `Some(None)` for one whose program registers.
fn unattended(
    members: &mut Members<'_>,
    specs: Option<&BTreeMap<String, LaunchContext>>,
) -> Option<Option<Vec<AskRow>>> {
    let is_unattended = members.or("unattended", false, |item| item.boolean());
    let rows = members.optional("ask", |item| {
        item.each(1..=MAX_ROWS, |row| {
            let read = read_row(row, Asker::Unattended)?;
            let names_spec =
                |specs: &BTreeMap<_, _>| read.launch.as_ref().is_none_or(|launch| specs.contains_key(&launch.spec));
            if !specs.is_none_or(names_spec) {
                return row.refuse("its launch names a spec that is not among specs");
            }
            Some(read)
        })
    });
    if members.has("master") && is_unattended == Some(true) {
        members.refuse_at::<()>("master", "an unattended application has no master");
    }
    match (is_unattended?, members.has("ask")) {
        (true, true) | (false, false) => rows,
        (true, false) => members.refuse_at("ask", "the member is missing: an unattended application asks here for all"),
        (false, true) => members.refuse_at("ask", "only an unattended application asks here; others call allocate"),
    }
}

fn read_master(item: Item<'_>) -> Option<SubmittedMaster> {
    let mut members = Members::of(item)?;
    let context = members.required("context", read_context);
    let capability = members.required("capability", read_capability);
    let max_attempts = members.or("max-attempts", DEFAULT_MASTER_ATTEMPTS, |item| item.whole(1..=MAX_ATTEMPTS));
    members.end()?;
    Some(SubmittedMaster { context: context?, capability: capability?, max_attempts: max_attempts? })
}
