//! The interface as it is served, over an owner that answers what a test has it answer.

mod answers;
mod bodies;
mod body_memory;
pub(crate) mod json_schema;
mod loopback;
mod openapi;
mod problems;
mod reports;
mod signatures;
mod waits;

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, Request};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use sha2::{Digest, Sha256};
use tokio::sync::Notify;

use crate::engine::{
    ApplicationAnswer, ApplicationCaller, ApplicationQuestion, ApplicationRefusal, ApplicationRequest, ReportTerms,
    StoreView,
};
use crate::http::{ConnectionEnds, ServedNames, WebLimits, cut_short};
use crate::market::{Acl, Key, signature};
use crate::model::{ApplicationId, ApplicationSecret, Capability, Now};
use crate::web::{JobForms, OwnerGone, ServedPorts, StockSettings, WebState};

use super::{ApplicationAccess, ApplicationOwner, ApplicationReply, NewsWait};

/// What a test has the engine answer.
type Reply = Result<ApplicationAnswer, ApplicationRefusal>;

const APPLICATION: ApplicationId = ApplicationId::new(1_700_000_000_000, 1);
const SECRET: ApplicationSecret = ApplicationSecret::new([0xa5; 20]);
const STORE: StoreView = StoreView {
    sees_all: false,
    terms: ReportTerms { slot: Capability::new(1_024, 1), cluster_id: 1, version: 1 },
    now: Now { mono_ms: 1, wall_ms: 1 },
};
const ACL: &str = "alice user alicekey-abc\nroot admin rootkey\n";
const APP: &str = "/ws/v1/cluster/apps/application_1700000000000_0001";

/// What the owner was asked, and what it answers.
struct Owned {
    access: ApplicationAccess,
    asked: Mutex<Vec<(ApplicationCaller, ApplicationQuestion, u64)>>,
    reply: Box<dyn Fn(&ApplicationQuestion) -> Reply + Send + Sync>,
    /// Requests that may wait do so until this.
    news: Notify,
    /// A request waits.
    waits: Notify,
    /// Names by user ids of the machine.
    uids: Vec<(&'static str, u32)>,
}

/// The interface before an owner.
#[derive(Clone)]
struct Served {
    owned: Arc<Owned>,
    router: Router,
    service: TowerToHyperService<Router>,
}

#[derive(Clone)]
struct TestOwner(Arc<Owned>);

/// A response, read.
#[derive(Debug)]
struct Answered {
    status: u16,
    headers: HeaderMap,
    body: String,
}

impl ApplicationOwner for TestOwner {
    async fn application(&self, request: ApplicationRequest, wait: NewsWait) -> Result<ApplicationReply, OwnerGone> {
        match request {
            ApplicationRequest::Secret(id) => {
                Ok(Ok(Box::new(ApplicationAnswer::Secret((id == APPLICATION).then_some(SECRET)))))
            }
            ApplicationRequest::Waited { .. } | ApplicationRequest::StoredLogs { .. } => Err(OwnerGone),
            ApplicationRequest::Asked { caller, question } => {
                let reply = (self.0.reply)(&question).map(Box::new);
                self.0.asked.lock().unwrap().push((caller, *question, wait.ms));
                if wait.ms > 0 {
                    self.0.waits.notify_one();
                    tokio::select! {
                        () = self.0.news.notified() => {}
                        () = cut_short(wait.cut) => {}
                    }
                }
                Ok(reply)
            }
        }
    }

    async fn application_access(&self) -> ApplicationAccess {
        self.0.access.clone()
    }

    async fn is_uid_of(&self, user: &str, uid: u32) -> bool {
        self.0.uids.contains(&(user, uid))
    }
}

impl Served {
    fn new(owned: Owned, limits: WebLimits) -> Self {
        let owned = Arc::new(owned);
        let web = Arc::new(WebState {
            owner: TestOwner(owned.clone()),
            names: ServedNames::new(None::<Vec<String>>, "jobtracker.web.hosts"),
            host: "h".to_owned(),
            shows_money: false,
            job_forms: JobForms::Off,
            stock: StockSettings::default(),
            job_page_prefix: String::new(),
            container_slot: crate::model::Capability::new(1_024, 1),
            sessions: crate::web::Sessions::new(crate::model::SessionKey::new([7; 32]), 60),
            streams: crate::web::EventStreams::default(),
            plays: None,
            ports: ServedPorts::default(),
            limits,
        });
        let router = super::routes(&web).with_state(web);
        Self { owned, router: router.clone(), service: TowerToHyperService::new(router) }
    }

    /// One whose callers sign, answering as `reply` has it.
    fn signed(reply: impl Fn(&ApplicationQuestion) -> Reply + Send + Sync + 'static) -> Self {
        let acl = Acl::parse(ACL, "acl").unwrap();
        Self::new(owned(ApplicationAccess::Signed(Arc::new(acl)), reply), WebLimits::default())
    }

    /// One whose callers sign, and that knows nothing.
    fn empty() -> Self {
        Self::signed(|_| Err(ApplicationRefusal::NoSuchApplication(APPLICATION)))
    }

    async fn send(&self, request: Request<Body>) -> Answered {
        let response = self.service.call(request).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        Answered { status, headers, body: String::from_utf8(body.to_vec()).unwrap() }
    }

    /// Sends a request that alice signs.
    async fn ask(&self, method: &str, target: &str, body: Option<&str>) -> Answered {
        self.send(signed_request("alice", "alicekey-abc", method, target, body)).await
    }

    /// The questions that came so far.
    fn questions(&self) -> Vec<ApplicationQuestion> {
        self.owned.asked.lock().unwrap().iter().map(|(_, question, _)| question.clone()).collect()
    }
}

fn owned(access: ApplicationAccess, reply: impl Fn(&ApplicationQuestion) -> Reply + Send + Sync + 'static) -> Owned {
    Owned {
        access,
        asked: Mutex::default(),
        reply: Box::new(reply),
        news: Notify::new(),
        waits: Notify::new(),
        uids: Vec::new(),
    }
}

impl Answered {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Status and kind of a problem.
    fn problem(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        let kind = self.json()["type"].as_str().unwrap().to_owned();
        (self.status, kind.trim_start_matches("/problems/").to_owned())
    }
}

/// The target with what a signature needs, and the signature.
fn sign(user: &str, key: &str, method: &str, target: &str, body: Option<&str>) -> (String, String) {
    let mark = if target.contains('?') { '&' } else { '?' };
    let mut target = format!("{target}{mark}user={user}&timestamp=1700000000001");
    if let Some(body) = body {
        let digest: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
        target += &format!("&sha256={digest}");
    }
    let signature = signature::sign(&format!("{method} {target}"), &Key::new(key));
    (target, signature)
}

fn signed_request(user: &str, key: &str, method: &str, target: &str, body: Option<&str>) -> Request<Body> {
    let (target, signature) = sign(user, key, method, target, body);
    let request = Request::builder().method(method).uri(target).header("authorization", signature).header(HOST, "h");
    match body {
        None => request.body(Body::empty()).unwrap(),
        Some(body) => request.header(CONTENT_TYPE, "application/json").body(Body::from(body.to_owned())).unwrap(),
    }
}

/// The ends of a connection from elsewhere.
fn remote_ends() -> ConnectionEnds {
    ConnectionEnds { local: "10.0.0.1:50030".parse().unwrap(), peer: "10.0.0.2:4000".parse().unwrap() }
}
