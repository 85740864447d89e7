//! The kinds of problems: names, statuses, and what each means for people.

use axum::http::StatusCode;

/// A kind of problem; `/problems/NAME` explains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProblemName {
    /// Body or query cannot be as they are.
    InvalidRequest,
    /// A row of `ask` or a launch cannot be as it is.
    InvalidResourceRequest,
    /// No signature that counts.
    SignatureRefused,
    /// A good signature with a timestamp that does not count.
    TimestampRefused,
    /// A bearer that is no session, or none any more.
    SessionRefused,
    /// Not the caller's own.
    Forbidden,
    NoSuchApplication,
    NoSuchContainer,
    NoSuchNode,
    NoSuchJob,
    NoSuchQueue,
    NoSuchUser,
    NoSuchWorker,
    NoSuchDecision,
    NoMarket,
    NoSuchAddress,
    /// Neither JSON nor CSV.
    NotAcceptable,
    /// Another generation is shown.
    StaleGeneration,
    MethodNotAllowed,
    /// The body did not arrive.
    BodyTimedOut,
    /// The caller has to register again.
    Resync,
    /// Another attempt, or another call, came after.
    Superseded,
    /// The id is in use.
    ApplicationExists,
    ApplicationOver,
    BodyTooLarge,
    /// The body is no JSON by its header.
    UnsupportedMediaType,
    /// It names another server.
    MisdirectedRequest,
    /// A limit.
    TooMany,
    /// A defect of this program.
    InternalError,
    /// Not now.
    Unavailable,
}

impl ProblemName {
    pub(crate) const ALL: [Self; 30] = [
        Self::InvalidRequest,
        Self::InvalidResourceRequest,
        Self::SignatureRefused,
        Self::TimestampRefused,
        Self::SessionRefused,
        Self::Forbidden,
        Self::NoSuchApplication,
        Self::NoSuchContainer,
        Self::NoSuchNode,
        Self::NoSuchJob,
        Self::NoSuchQueue,
        Self::NoSuchUser,
        Self::NoSuchWorker,
        Self::NoSuchDecision,
        Self::NoMarket,
        Self::NoSuchAddress,
        Self::NotAcceptable,
        Self::StaleGeneration,
        Self::MethodNotAllowed,
        Self::BodyTimedOut,
        Self::Resync,
        Self::Superseded,
        Self::ApplicationExists,
        Self::ApplicationOver,
        Self::BodyTooLarge,
        Self::UnsupportedMediaType,
        Self::MisdirectedRequest,
        Self::TooMany,
        Self::InternalError,
        Self::Unavailable,
    ];

    /// The name in the address of its page.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid-request",
            Self::InvalidResourceRequest => "invalid-resource-request",
            Self::SignatureRefused => "signature-refused",
            Self::TimestampRefused => "timestamp-refused",
            Self::SessionRefused => "session-refused",
            Self::Forbidden => "forbidden",
            Self::NoSuchApplication => "no-such-application",
            Self::NoSuchContainer => "no-such-container",
            Self::NoSuchNode => "no-such-node",
            Self::NoSuchJob => "no-such-job",
            Self::NoSuchQueue => "no-such-queue",
            Self::NoSuchUser => "no-such-user",
            Self::NoSuchWorker => "no-such-worker",
            Self::NoSuchDecision => "no-such-decision",
            Self::NoMarket => "no-market",
            Self::NoSuchAddress => "no-such-address",
            Self::NotAcceptable => "not-acceptable",
            Self::StaleGeneration => "stale-generation",
            Self::MethodNotAllowed => "method-not-allowed",
            Self::BodyTimedOut => "body-timed-out",
            Self::Resync => "resync",
            Self::Superseded => "superseded",
            Self::ApplicationExists => "application-exists",
            Self::ApplicationOver => "application-over",
            Self::BodyTooLarge => "body-too-large",
            Self::UnsupportedMediaType => "unsupported-media-type",
            Self::MisdirectedRequest => "misdirected-request",
            Self::TooMany => "too-many",
            Self::InternalError => "internal-error",
            Self::Unavailable => "unavailable",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::InvalidRequest | Self::InvalidResourceRequest => StatusCode::BAD_REQUEST,
            Self::SignatureRefused | Self::TimestampRefused | Self::SessionRefused => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NoSuchApplication
            | Self::NoSuchContainer
            | Self::NoSuchNode
            | Self::NoSuchJob
            | Self::NoSuchQueue
            | Self::NoSuchUser
            | Self::NoSuchWorker
            | Self::NoSuchDecision
            | Self::NoMarket
            | Self::NoSuchAddress => StatusCode::NOT_FOUND,
            Self::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
            Self::StaleGeneration => StatusCode::CONFLICT,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::BodyTimedOut => StatusCode::REQUEST_TIMEOUT,
            Self::Resync | Self::Superseded | Self::ApplicationExists | Self::ApplicationOver => StatusCode::CONFLICT,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::MisdirectedRequest => StatusCode::MISDIRECTED_REQUEST,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// In a few words, the same for all of a kind.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::InvalidRequest => "The request is not valid",
            Self::InvalidResourceRequest => "A resource request is not valid",
            Self::SignatureRefused => "The signature is refused",
            Self::TimestampRefused => "The timestamp is refused",
            Self::SessionRefused => "The session is refused",
            Self::Forbidden => "Not allowed",
            Self::NoSuchApplication => "No such application",
            Self::NoSuchContainer => "No such container",
            Self::NoSuchNode => "No such node",
            Self::NoSuchJob => "No such job",
            Self::NoSuchQueue => "No such queue",
            Self::NoSuchUser => "No such user",
            Self::NoSuchWorker => "No such worker",
            Self::NoSuchDecision => "No such decision",
            Self::NoMarket => "There is no market",
            Self::NoSuchAddress => "No such address",
            Self::NotAcceptable => "Not in this form",
            Self::StaleGeneration => "Another generation is shown",
            Self::MethodNotAllowed => "Another method is expected",
            Self::BodyTimedOut => "The body did not arrive in time",
            Self::Resync => "Register again",
            Self::Superseded => "Superseded",
            Self::ApplicationExists => "The application exists",
            Self::ApplicationOver => "The application has ended",
            Self::BodyTooLarge => "The body is too large",
            Self::UnsupportedMediaType => "Another content type is expected",
            Self::MisdirectedRequest => "Not a name of this server",
            Self::TooMany => "Over a limit",
            Self::InternalError => "The JobTracker has a defect",
            Self::Unavailable => "Not available now",
        }
    }

    /// What it means and what to do.
    pub(crate) const fn explanation(self) -> &'static str {
        match self {
            Self::InvalidRequest => {
                "The body is no JSON, or one of its members is missing, unknown, repeated, of another type or out of \
                 range; or a parameter of the query is. `errors` lists what is wrong, at most 20 places. Nothing was done."
            }
            Self::InvalidResourceRequest => {
                "A row of `ask` or a launch is not valid. `errors` lists what is wrong, at most 20 places. The whole call \
                 was refused: nothing of it was done."
            }
            Self::SignatureRefused => {
                "Sign the text `METHOD PATH?QUERY`, exactly as it is sent, by HMAC-SHA1 with your key, and send the base64 \
                 text, URL-encoded, in the header Authorization. The query needs `user` and `timestamp` (ms since the \
                 epoch), and with a body `sha256`, the SHA-256 of the body in 64 lower-case hex digits. The secret of an \
                 application is good for this application's addresses only, with its id as `user`. Where no key file is \
                 configured, requests come from a loopback address of the machine and name their user by `user.name`."
            }
            Self::TimestampRefused => {
                "The signature is good, but its timestamp was used already, or is too far from the server's clock. Sign \
                 again with a later timestamp; `server-time-ms` is the server's clock."
            }
            Self::SessionRefused => {
                "The bearer in the header Authorization is no session, or one that has ended: its time is over, or its user's key was \
                 changed, rotated or removed. `jobtracker open --token` prints another."
            }
            Self::Forbidden => {
                "Only its owner, the application itself and administrators may ask this; or the request may come from a \
                 page of another site: send the header X-Requested-By."
            }
            Self::NoSuchApplication => {
                "No application has this id. Ids that were given out are good for 10 minutes; completed applications are \
                 kept as finished jobs are."
            }
            Self::NoSuchContainer => "No container has this id; or its logs were lost with its node.",
            Self::NoSuchNode => "No node has this id. Ids are `host:web port`; list them at /ws/v1/cluster/nodes.",
            Self::NoSuchJob => {
                "No job has this id, or it ended so long ago that reports alone have it: /api/v1/history/jobs."
            }
            Self::NoSuchQueue => "No queue has this name; /api/v1/queues lists them.",
            Self::NoSuchUser => "Nothing of this user is known; /api/v1/users lists those that have or had anything.",
            Self::NoSuchDecision => {
                "No decision has this number, or newer ones have taken its place: /api/v1/decisions lists the newest."
            }
            Self::NoSuchWorker => "No worker or tracker has this name; /api/v1/workers lists them.",
            Self::NoMarket => "No market keeps accounts here: there are no prices, no bids and no statements.",
            Self::NoSuchAddress => {
                "Nothing is at this path. Paths are exact; /ws/v1/openapi.json and /api/v1/openapi.json list them."
            }
            Self::NotAcceptable => "Ask for application/json, or of a list for text/csv.",
            Self::StaleGeneration => {
                "The generation that `at` names is not the one that is shown. Ask without `at`; the header \
                 Jobtracker-Generation says which one it is."
            }
            Self::MethodNotAllowed => "Use a method that the header Allow lists.",
            Self::BodyTimedOut => "No byte of the body came for a while, or all of it took too long. Nothing was done.",
            Self::Resync => {
                "The JobTracker cannot continue from this response-id. Register again, then send everything that is wanted."
            }
            Self::Superseded => {
                "A later attempt of the application has registered, or a newer call has the wait of this one. An attempt \
                 that was superseded should end."
            }
            Self::ApplicationExists => {
                "An application with this id was submitted with another body. Ask for a new id by \
                 /ws/v1/cluster/apps/new-application."
            }
            Self::ApplicationOver => "The application has ended; `state` says how. Nothing can be asked of it.",
            Self::BodyTooLarge => "A body may have 8 MiB. Send less in one call.",
            Self::UnsupportedMediaType => "Send the header Content-Type: application/json.",
            Self::MisdirectedRequest => {
                "Use an address or a host name of the JobTracker; the key jobtracker.web.hosts adds names. Pages of other \
                 sites reach no server under a name of their own. Nothing was done."
            }
            Self::TooMany => "The request would go beyond a limit, which `detail` names. Nothing was done.",
            Self::InternalError => "Report it to the operator of the JobTracker.",
            Self::Unavailable => {
                "The JobTracker starts, stops, or cannot write its state. Repeat the request; every call may be repeated."
            }
        }
    }

    /// Hadoop's class for it, where clients know one.
    pub(crate) const fn exception(self) -> Option<&'static str> {
        match self {
            Self::InvalidRequest => Some("BadRequestException"),
            Self::InvalidResourceRequest => Some("InvalidResourceRequestException"),
            Self::Forbidden => Some("AuthorizationException"),
            Self::NoSuchApplication => Some("ApplicationNotFoundException"),
            Self::NoSuchContainer => Some("ContainerNotFoundException"),
            Self::NoSuchNode | Self::NoSuchAddress => Some("NotFoundException"),
            Self::Resync => Some("ApplicationMasterNotRegisteredException"),
            _ => None,
        }
    }
}
