//! Changes of applications: what is stored, and the only way in which the state changes.

use std::sync::Arc;

use crate::api::applications::Placement;
use crate::market::{ForgottenStamps, Stamp};
use crate::model::{ApplicationId, LaunchContext};
use crate::scheduler::RequestType;

use super::container::{Container, ContainerCost};
use super::record::{ItemTrouble, Standing, SubmittedApplication, TypeLaunch};

/// One change. Those of one step are one fact: they are durable together.
#[derive(Clone, Debug, PartialEq)]
pub enum ApplicationChange {
    IdGiven {
        application: ApplicationId,
        /// Who may submit under it.
        user: Arc<str>,
        /// Until when, epoch ms.
        until_ms: i64,
    },
    Submitted {
        submitted: Arc<SubmittedApplication>,
        standing: Box<Standing>,
    },
    Stands {
        application: ApplicationId,
        standing: Box<Standing>,
    },
    /// A context is kept under a number.
    ContextKept {
        application: ApplicationId,
        number: u64,
        context: Arc<LaunchContext>,
    },
    ContextDropped {
        application: ApplicationId,
        number: u64,
    },
    SpecNamed {
        application: ApplicationId,
        name: String,
        context: u64,
    },
    /// A row of a type has this number from now on.
    RowSet {
        application: ApplicationId,
        request: RequestType,
        place: Placement,
        count: u32,
        relaxes: bool,
    },
    TypeDropped {
        application: ApplicationId,
        request: RequestType,
    },
    /// Containers of a type start when they are granted; none of its items is taken.
    LaunchSet {
        application: ApplicationId,
        request: RequestType,
        /// How; none: they no longer do.
        launch: Option<Box<TypeLaunch>>,
    },
    /// So many items of a type are taken.
    ItemsTaken {
        application: ApplicationId,
        request: RequestType,
        /// How many, from the first on.
        taken: u32,
    },
    /// An item that did not end well at once is here from now on.
    ItemTroubled {
        application: ApplicationId,
        request: RequestType,
        item: u32,
        /// What is known of it; none: it ended well, or nothing waits for it.
        trouble: Option<ItemTrouble>,
    },
    /// A host or a rack is on the blacklist, or no longer.
    Blacklisted {
        application: ApplicationId,
        name: String,
        is_on: bool,
    },
    Container(Box<Container>),
    Answered {
        application: ApplicationId,
        attempt: u32,
        response_id: u64,
        answer: Arc<[u8]>,
        containers: Vec<u64>,
        statuses: Vec<u64>,
    },
    /// Containers were named by the answer of `register`, and statuses that were not acknowledged come again.
    Listed {
        application: ApplicationId,
        attempt: u32,
        containers: Vec<u64>,
        /// Numbers of containers whose status no answer has from now on.
        statuses: Vec<u64>,
    },
    Charged {
        application: ApplicationId,
        cost: ContainerCost,
    },
    Stamped(Stamp),
    /// Used signatures that no other can equal any more are forgotten.
    StampsForgotten(ForgottenStamps),
}

impl ApplicationChange {
    #[must_use]
    pub(crate) fn is_reported(&self) -> bool {
        !matches!(
            self,
            Self::Stamped(_)
                | Self::StampsForgotten(_)
                | Self::IdGiven { .. }
                | Self::ContextKept { .. }
                | Self::ContextDropped { .. }
                | Self::SpecNamed { .. }
        )
    }

    /// The application; none: none alone.
    #[must_use]
    pub(crate) fn application(&self) -> Option<ApplicationId> {
        match self {
            Self::Submitted { submitted, .. } => Some(submitted.id),
            Self::Container(container) => Some(container.id.application),
            Self::Stamped(_) | Self::StampsForgotten(_) => None,
            Self::IdGiven { application, .. }
            | Self::Stands { application, .. }
            | Self::ContextKept { application, .. }
            | Self::ContextDropped { application, .. }
            | Self::SpecNamed { application, .. }
            | Self::RowSet { application, .. }
            | Self::TypeDropped { application, .. }
            | Self::LaunchSet { application, .. }
            | Self::ItemsTaken { application, .. }
            | Self::ItemTroubled { application, .. }
            | Self::Blacklisted { application, .. }
            | Self::Answered { application, .. }
            | Self::Listed { application, .. }
            | Self::Charged { application, .. } => Some(*application),
        }
    }
}
