//! What `jobtracker run` submits: an unattended application with one stored context and one request.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde::Serialize;

use crate::api::applications::{AskRow, ItemRules, LaunchOnGrant, Placement};
use crate::client::file_digest::{FileDigest, open_file};
use crate::model::{ApplicationId, BroughtResource, Capability, LaunchContext, ResourceKind};

/// The name of the only context.
const SPEC: &str = "run";
/// What kind of program it is, for people.
const APPLICATION_TYPE: &str = "run";
/// The priority of the only request.
const PRIORITY: u32 = 1;

/// A command to run, once or for each item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSubmission {
    /// 1 to 255 characters.
    pub name: String,
    /// None: the server's default.
    pub queue: Option<String>,
    /// What each container takes.
    pub capability: Capability,
    /// What each container runs.
    pub context: LaunchContext,
    /// None: one container without item.
    pub work: Option<WorkItems>,
}

/// Items, each with a container of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkItems {
    /// As they are written, such as `1-1000`.
    pub items: String,
    /// How many they are.
    pub count: u64,
    /// Most containers at a time.
    pub max_running: Option<u32>,
    /// What becomes of failures.
    pub rules: ItemRules,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Body<'a> {
    application_id: ApplicationId,
    application_name: &'a str,
    application_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    unattended: bool,
    specs: BTreeMap<&'a str, &'a LaunchContext>,
    ask: [AskRow; 1],
}

impl RunSubmission {
    /// The body of `POST /apps`: the same bytes each time, so that it may be sent again.
    pub(crate) fn body(&self, application_id: ApplicationId) -> Result<String, serde_json::Error> {
        let Self { name, queue, capability, context, work } = self;
        let launch = LaunchOnGrant {
            spec: SPEC.to_owned(),
            items: work.as_ref().map(|work| work.items.clone()),
            max_running: work.as_ref().and_then(|work| work.max_running),
            rules: work.as_ref().map_or_else(ItemRules::default, |work| work.rules),
        };
        let count = work.as_ref().map_or(1, |work| work.count);
        let row = AskRow {
            priority: PRIORITY,
            allocation_request_id: 0,
            resource_name: Placement::Any,
            capability: *capability,
            num_containers: u32::try_from(count).unwrap_or(u32::MAX >> 1),
            relax_locality: true,
            launch: Some(launch),
        };
        serde_json::to_string(&Body {
            application_id,
            application_name: name,
            application_type: APPLICATION_TYPE,
            queue: queue.as_deref(),
            unattended: true,
            specs: BTreeMap::from([(SPEC, context)]),
            ask: [row],
        })
    }
}

/// A file that workers bring, as it is now: if it changes, no container starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocalFile {
    /// Where it is, its SHA-256 and length.
    pub(crate) resource: BroughtResource,
    /// Its lines; the last one need not end in a line break.
    pub(crate) lines: u64,
}

/// Any of the three bits that let a file be executed.
const EXECUTABLE: u32 = 0o111;

impl LocalFile {
    /// Reads a regular file by its absolute path, whose text is UTF-8. It may be executed if it may be here.
    /// Errors: no regular file, or the system's error.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let executable = open_file(path)?.metadata()?.permissions().mode() & EXECUTABLE != 0;
        let FileDigest { sha256, bytes, lines } = FileDigest::of(path)?;
        let resource = format!("file://{}", path.to_string_lossy());
        let resource = BroughtResource { resource, sha256, size: bytes, kind: ResourceKind::File, executable };
        Ok(Self { resource, lines })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(work: Option<WorkItems>) -> serde_json::Value {
        let mut context = LaunchContext::of_command(vec!["./simulate".to_owned(), "{}".to_owned()]);
        context.working_directory = Some("/home/alice/run".to_owned());
        let (name, queue) = ("simulate".to_owned(), work.is_some().then(|| "batch".to_owned()));
        let submission = RunSubmission { name, queue, capability: Capability::new(1024, 1), context, work };
        serde_json::from_str(&submission.body(ApplicationId::new(1_700_000_000_000, 1)).unwrap()).unwrap()
    }

    #[test]
    fn one_command_is_one_container_without_item() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&body(None)).unwrap());
    }

    #[test]
    fn items_have_the_rules_that_were_given_and_no_others() {
        let rules = ItemRules { max_attempts: Some(3), max_fails: None };
        let work = WorkItems { items: "1-10".to_owned(), count: 10, max_running: Some(4), rules };
        let body = body(Some(work));
        assert_eq!(body["queue"], "batch");
        insta::assert_snapshot!(body["ask"], @r#"[{"allocation-request-id":0,"capability":{"memory":1024,"vCores":1},"launch":{"items":"1-10","max-attempts":3,"max-running":4,"spec":"run"},"num-containers":10,"priority":1,"relax-locality":true,"resource-name":"*"}]"#);
    }
}
