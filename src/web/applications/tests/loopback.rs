//! Requests without a signature, where no key file is: who is believed.

use std::net::{TcpListener, TcpStream};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::http::accept_until;

/// A connection of this process with itself; the streams keep it open.
struct Connection {
    ends: ConnectionEnds,
    client: Option<TcpStream>,
    _server: TcpStream,
}

fn connect() -> Connection {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, peer) = listener.accept().unwrap();
    let ends = ConnectionEnds { local: server.local_addr().unwrap(), peer };
    Connection { ends, client: Some(client), _server: server }
}

fn served() -> Served {
    let own = rustix::process::geteuid().as_raw();
    let mut owned = owned(ApplicationAccess::Loopback, |_| Err(ApplicationRefusal::NoSuchApplication(APPLICATION)));
    owned.uids = vec![("me", own)];
    Served::new(owned, WebLimits::default())
}

struct Sent<'a> {
    method: &'a str,
    target: &'a str,
    host: &'a str,
    headers: &'a [(&'a str, &'a str)],
}

const GET: Sent<'_> =
    Sent { method: "GET", target: "/ws/v1/cluster/apps?user.name=me", host: "localhost:50030", headers: &[] };
const JSON: (&str, &str) = ("content-type", "application/json");
const BY: (&str, &str) = ("x-requested-by", "test");

fn post<'a>(headers: &'a [(&'a str, &'a str)]) -> Sent<'a> {
    Sent { method: "POST", target: "/ws/v1/cluster/apps/new-application?user.name=me", host: "localhost", headers }
}

async fn send(served: &Served, ends: Option<ConnectionEnds>, sent: Sent<'_>) -> (u16, String) {
    let mut request = Request::builder().method(sent.method).uri(sent.target).header(HOST, sent.host);
    for (name, value) in sent.headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(Body::empty()).unwrap();
    if let Some(ends) = ends {
        request.extensions_mut().insert(ends);
    }
    served.send(request).await.problem()
}

fn passed() -> (u16, String) {
    (404, "no-such-application".to_owned())
}

fn problem(status: u16, name: &str) -> (u16, String) {
    (status, name.to_owned())
}

#[tokio::test]
async fn a_program_of_the_user_on_this_machine_is_believed() {
    let (served, connection) = (served(), connect());
    for host in ["localhost", "127.0.0.1:50030", "[::1]"] {
        assert_eq!(send(&served, Some(connection.ends), Sent { host, ..GET }).await, passed());
    }
    let asked = served.owned.asked.lock().unwrap();
    let ApplicationCaller::User { caller, is_administrator, signed } = &asked[0].0 else { panic!() };
    // The daemon's own user, who may end everything.
    assert_eq!((&*caller.user, *is_administrator, *signed), ("me", true, None));
}

/// These tests run as root or as the daemon, who may name others.
#[tokio::test]
async fn the_daemons_own_user_may_name_others_and_is_then_no_administrator() {
    let (served, connection) = (served(), connect());
    let target = "/ws/v1/cluster/apps?user.name=alice";
    assert_eq!(send(&served, Some(connection.ends), Sent { target, ..GET }).await, passed());
    let asked = served.owned.asked.lock().unwrap();
    let ApplicationCaller::User { caller, is_administrator, .. } = &asked[0].0 else { panic!() };
    assert_eq!((&*caller.user, *is_administrator), ("alice", false));
}

#[tokio::test]
async fn others_are_not() {
    let (served, mut connection) = (served(), connect());
    let ends = Some(connection.ends);
    let refused = problem(401, "signature-refused");
    assert_eq!(send(&served, None, GET).await, refused);
    assert_eq!(send(&served, Some(remote_ends()), GET).await, refused);
    for host in ["master:50030", "10.0.0.1", "evil.example"] {
        assert_eq!(send(&served, ends, Sent { host, ..GET }).await, refused, "{host}");
    }
    for target in ["/ws/v1/cluster/apps", "/ws/v1/cluster/apps?user.name=", "/ws/v1/cluster/apps?user=me"] {
        assert_eq!(send(&served, ends, Sent { target, ..GET }).await, refused, "{target}");
    }
    // The client has gone: the kernel lists its socket as root's.
    connection.client.take();
    assert_eq!(send(&served, ends, GET).await, refused);
    assert!(served.questions().is_empty());
}

#[tokio::test]
async fn no_web_page_can_change_anything() {
    let (served, connection) = (served(), connect());
    let ends = Some(connection.ends);
    assert_eq!(send(&served, ends, post(&[])).await, problem(415, "unsupported-media-type"));
    assert_eq!(send(&served, ends, post(&[BY])).await, problem(415, "unsupported-media-type"));
    assert_eq!(send(&served, ends, post(&[("content-type", "text/plain"), BY])).await.0, 415);
    assert_eq!(send(&served, ends, post(&[JSON])).await, problem(403, "forbidden"));
    let foreign = [("origin", "http://evil.example"), ("sec-fetch-site", "cross-site")];
    for header in foreign {
        assert_eq!(send(&served, ends, post(&[JSON, BY, header])).await, problem(403, "forbidden"));
        assert_eq!(send(&served, ends, Sent { headers: &[header], ..GET }).await, problem(403, "forbidden"));
    }
    assert!(served.questions().is_empty());
    assert_eq!(send(&served, ends, post(&[JSON, BY])).await, passed());
}

/// Over loopback the kernel says whose the proxy is, not who asks.
#[tokio::test]
async fn a_request_through_a_proxy_names_nobody() {
    let (served, connection) = (served(), connect());
    let ends = Some(connection.ends);
    for name in ["forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"] {
        let headers = [(name, "10.0.0.1")];
        assert_eq!(send(&served, ends, Sent { headers: &headers, ..GET }).await, problem(403, "forbidden"), "{name}");
        assert_eq!(send(&served, ends, post(&[JSON, BY, (name, "x")])).await, problem(403, "forbidden"), "{name}");
    }
    assert!(served.questions().is_empty());
}

/// Both ends of its connection come with a request, from the server that accepted it.
#[tokio::test]
async fn a_request_over_a_real_connection_is_believed() {
    let served = served();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let shutdown = async { stopped.await.unwrap_or_default() };
    let serving = tokio::spawn(accept_until(listener, served.router.clone(), WebLimits::default(), shutdown));
    let ask = async |method: &str, user: &str| {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let target = format!("/ws/v1/cluster/apps?user.name={user}");
        let request = format!("{method} {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    let get = ask("GET", "me").await;
    assert!(get.starts_with("HTTP/1.1 404") && get.contains("/problems/no-such-application"), "{get}");
    let head = ask("HEAD", "me").await;
    assert!(head.starts_with("HTTP/1.1 404") && head.ends_with("\r\n\r\n"), "{head}");
    assert_eq!(served.questions().len(), 2);
    drop(stop);
    serving.await.unwrap();
}

/// A master in a container has a secret and no key, wherever it runs.
#[tokio::test]
async fn an_application_signs_by_its_secret_from_anywhere() {
    let served = served();
    let id = APPLICATION.to_string();
    let mut request = signed_request(&id, &SECRET.to_hex(), "GET", APP, None);
    request.extensions_mut().insert(remote_ends());
    assert_eq!(served.send(request).await.problem(), passed());
    let wrong = signed_request(&id, "wrong", "GET", APP, None);
    assert_eq!(served.send(wrong).await.problem(), problem(401, "signature-refused"));
}
