//! Changes of applications: what is stored, and the only way in which the state changes.

use crate::scheduler::RequestType;
use std::sync::Arc;

use crate::api::applications::Placement;
use crate::market::{ForgottenStamps, Stamp};
use crate::model::{ApplicationId, LaunchContext};

use super::container::Container;
use super::container_cost::ContainerCost;
use super::record::{ItemTrouble, Standing, SubmittedApplication, TypeLaunch};

/// One change. Those of one step are one fact: they are durable together.
#[derive(Clone, Debug, PartialEq)]
pub enum ApplicationChange {
    /// An id was given out.
    IdGiven {
        /// The id.
        application: ApplicationId,
        /// Who may submit under it.
        user: Arc<str>,
        /// Until when, epoch ms.
        until_ms: i64,
    },
    /// An application is there.
    Submitted {
        /// What it is.
        submitted: Arc<SubmittedApplication>,
        /// How it stands.
        standing: Box<Standing>,
    },
    /// It stands like this from now on.
    Stands {
        /// The application.
        application: ApplicationId,
        /// How it stands.
        standing: Box<Standing>,
    },
    /// A context is kept under a number.
    ContextKept {
        /// The application.
        application: ApplicationId,
        /// The number.
        number: u64,
        /// The context.
        context: Arc<LaunchContext>,
    },
    /// A context is not needed any more.
    ContextDropped {
        /// The application.
        application: ApplicationId,
        /// Its number.
        number: u64,
    },
    /// A name stands for a context from now on.
    SpecNamed {
        /// The application.
        application: ApplicationId,
        /// The name.
        name: String,
        /// The number of the context.
        context: u64,
    },
    /// A row of a type has this number from now on.
    RowSet {
        /// The application.
        application: ApplicationId,
        /// The type.
        request: RequestType,
        /// The row's name.
        place: Placement,
        /// Containers that are wanted there.
        count: u32,
        /// Whether they may come from farther away.
        relaxes: bool,
    },
    /// A type has no rows any more.
    TypeDropped {
        /// The application.
        application: ApplicationId,
        /// The type.
        request: RequestType,
    },
    /// Containers of a type start when they are granted; none of its items is taken.
    LaunchSet {
        /// The application.
        application: ApplicationId,
        /// The type.
        request: RequestType,
        /// How; none: they no longer do.
        launch: Option<Box<TypeLaunch>>,
    },
    /// So many items of a type are taken.
    ItemsTaken {
        /// The application.
        application: ApplicationId,
        /// The type.
        request: RequestType,
        /// How many, from the first on.
        taken: u32,
    },
    /// An item that did not end well at once is here from now on.
    ItemTroubled {
        /// The application.
        application: ApplicationId,
        /// The type.
        request: RequestType,
        /// The item.
        item: u32,
        /// What is known of it; none: it ended well, or nothing waits for it.
        trouble: Option<ItemTrouble>,
    },
    /// A host or a rack is on the blacklist, or no longer.
    Blacklisted {
        /// The application.
        application: ApplicationId,
        /// Its name.
        name: String,
        /// Whether it is there.
        is_on: bool,
    },
    /// A container is like this from now on.
    Container(Box<Container>),
    /// The call that was taken in is answered.
    Answered {
        /// The application.
        application: ApplicationId,
        /// The attempt.
        attempt: u32,
        /// The id of the answer.
        response_id: u64,
        /// The answer as it is sent.
        answer: Arc<[u8]>,
        /// Numbers of containers that it names.
        containers: Vec<u64>,
        /// Numbers of containers whose status it has.
        statuses: Vec<u64>,
    },
    /// Containers were named by the answer of `register`, and statuses that were not acknowledged come again.
    Listed {
        /// The application.
        application: ApplicationId,
        /// The attempt that registered.
        attempt: u32,
        /// Numbers of containers that the answer names.
        containers: Vec<u64>,
        /// Numbers of containers whose status no answer has from now on.
        statuses: Vec<u64>,
    },
    /// A tick has charged for its containers.
    Charged {
        /// The application.
        application: ApplicationId,
        /// What they have cost from now on.
        cost: ContainerCost,
    },
    /// A signature was used.
    Stamped(Stamp),
    /// Used signatures that no other can equal any more are forgotten.
    StampsForgotten(ForgottenStamps),
}

// === impl ApplicationChange ===

impl ApplicationChange {
    /// Whether reports show it.
    #[must_use]
    pub fn is_reported(&self) -> bool {
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
    pub fn application(&self) -> Option<ApplicationId> {
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
