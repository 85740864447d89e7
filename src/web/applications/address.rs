//! The addresses of the interface: their paths and methods.

use axum::http::Method;

/// An address. Paths are exact: a slash more makes another path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Address {
    Info,
    /// All applications, and where they are submitted.
    Applications,
    NewApplication,
    Application,
    /// A program registers for it.
    Register,
    /// Its program asks, and reads what there is.
    Allocate,
    Unregister,
    State,
    Containers,
    Container,
    Signal,
    /// Leads to a log.
    Logs,
    Nodes,
    Node,
}

/// The parameters that a path can have.
pub(super) mod part {
    pub(crate) const APPLICATION: &str = "application-id";
    pub(crate) const CONTAINER: &str = "container-id";
    /// How a container ends.
    pub(crate) const COMMAND: &str = "command";
    pub(crate) const LOG: &str = "log";
    pub(crate) const NODE: &str = "node-id";
}

impl Address {
    pub(super) const ALL: [Self; 14] = [
        Self::Info,
        Self::Applications,
        Self::NewApplication,
        Self::Application,
        Self::Register,
        Self::Allocate,
        Self::Unregister,
        Self::State,
        Self::Containers,
        Self::Container,
        Self::Signal,
        Self::Logs,
        Self::Nodes,
        Self::Node,
    ];

    /// The path, parts of it in braces; as the router and the description of the interface write it.
    pub(super) const fn template(self) -> &'static str {
        match self {
            Self::Info => "/ws/v1/cluster/info",
            Self::Applications => "/ws/v1/cluster/apps",
            Self::NewApplication => "/ws/v1/cluster/apps/new-application",
            Self::Application => "/ws/v1/cluster/apps/{application-id}",
            Self::Register => "/ws/v1/cluster/apps/{application-id}/register",
            Self::Allocate => "/ws/v1/cluster/apps/{application-id}/allocate",
            Self::Unregister => "/ws/v1/cluster/apps/{application-id}/unregister",
            Self::State => "/ws/v1/cluster/apps/{application-id}/state",
            Self::Containers => "/ws/v1/cluster/apps/{application-id}/containers",
            Self::Container => "/ws/v1/cluster/containers/{container-id}",
            Self::Signal => "/ws/v1/cluster/containers/{container-id}/signal/{command}",
            Self::Logs => "/ws/v1/cluster/containers/{container-id}/logs/{log}",
            Self::Nodes => "/ws/v1/cluster/nodes",
            Self::Node => "/ws/v1/cluster/nodes/{node-id}",
        }
    }

    /// The methods that are accepted, HEAD beside GET.
    pub(super) const fn methods(self) -> &'static [Method] {
        match self {
            Self::Applications => &[Method::GET, Method::POST],
            Self::State => &[Method::GET, Method::PUT],
            Self::NewApplication | Self::Register | Self::Allocate | Self::Unregister | Self::Signal => &[Method::POST],
            Self::Info
            | Self::Application
            | Self::Containers
            | Self::Container
            | Self::Logs
            | Self::Nodes
            | Self::Node => &[Method::GET],
        }
    }

    /// Whether a request by this method has a body.
    pub(super) fn has_body(self, method: &Method) -> bool {
        let is_of_call = matches!(self, Self::Register | Self::Allocate | Self::Unregister | Self::State);
        match *method {
            Method::POST => is_of_call || self == Self::Applications,
            Method::PUT => is_of_call,
            _ => false,
        }
    }

    pub(super) fn allow(self) -> String {
        let names = self.methods().iter().flat_map(|method| match *method {
            Method::GET => vec!["GET", "HEAD"],
            _ => vec![method.as_str()],
        });
        names.collect::<Vec<_>>().join(", ")
    }
}
