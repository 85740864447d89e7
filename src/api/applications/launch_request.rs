//! Launches that applications ask for.

use serde::{Deserialize, Serialize};

use crate::model::{ContainerId, LaunchContext};

/// What a container runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LaunchSource {
    /// A context that the application stored under this name.
    Spec(String),
    /// A context of its own.
    Context(Box<LaunchContext>),
}

/// `launch` of an allocate call: a container that was granted starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ContainerStart {
    /// The container.
    pub(crate) container_id: ContainerId,
    /// What it runs.
    #[serde(flatten)]
    pub(crate) source: LaunchSource,
    /// Its item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) item: Option<u32>,
}

/// `launch` of a row for any node: each container of the type starts as soon as it is granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LaunchOnGrant {
    /// The stored context.
    pub spec: String,
    /// The items as they are written, such as `1-1000`; none: containers without items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<String>,
    /// Most containers of the type at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_running: Option<u32>,
    /// What becomes of failures; of unattended applications only.
    #[serde(flatten)]
    pub rules: ItemRules,
}

/// What becomes of failed items of an unattended application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ItemRules {
    /// How often an item may fail, 1 to 100; none: once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_attempts: Option<u32>,
    /// So many items may fail for good; one more ends the rest. None: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_fails: Option<u32>,
}
