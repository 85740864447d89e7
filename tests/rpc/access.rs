//! Who may open which connection (proxy users, lists of protocols), and delegation tokens, as answered over RPC.

use std::net::{IpAddr, SocketAddr};

use tokio::net::TcpSocket;

use crate::daemon::in_process::{DaemonOptions, InProcessDaemon, read_bytes, read_to_close, send, with_daemon};

use jobtracker::ipc::client::{IpcClient, IpcError};
use jobtracker::wire::opening::{ConnectionHeader, ConnectionUser, encode_opening};
use jobtracker::wire::protocol::{
    Call, JobSubmissionCall, Protocol, RefreshAuthorizationPolicyCall, RefreshUserMappingsCall, Value, encode_call,
};

/// Bytes of the answer to a request for a version.
const VERSION_ANSWER_BYTES: usize = 22;

/// What a connection gets that asks for its version right behind its header: `allowed`, or the text of the refusal.
async fn opened(rig: &InProcessDaemon, protocol: Protocol, user: &str, real: Option<&str>, from: [u8; 4]) -> String {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(IpAddr::from(from), 0)).unwrap();
    let mut stream = socket.connect(rig.address).await.unwrap();
    let user = ConnectionUser { effective: user.to_owned(), real: real.map(str::to_owned) };
    let mut bytes = Vec::new();
    encode_opening(&mut bytes, &ConnectionHeader { protocol: protocol.class_name().into(), user: Some(user) });
    let name = protocol.class_name().to_owned();
    encode_call(&mut bytes, 1, &Call::ProtocolVersion { protocol: name, client_version: protocol.version() });
    send(&mut stream, &bytes).await;
    let first = read_bytes(&mut stream, VERSION_ANSWER_BYTES).await;
    if first[..8] == [0, 0, 0, 1, 0, 0, 0, 0] {
        return "allowed".to_owned();
    }
    assert_eq!(first[..8], [0xff; 8], "a FATAL that answers no call");
    let rest = String::from_utf8_lossy(&read_to_close(&mut stream).await).into_owned();
    let class = "authorize.AuthorizationException";
    let (_, text) = rest.split_once(class).unwrap_or_else(|| panic!("no {class} in {rest}"));
    // Behind its length.
    text.chars().skip(4).collect()
}

fn property(name: &str, value: &str) -> String {
    format!("<property><name>{name}</name><value>{value}</value></property>\n")
}

/// A conf folder in which service-level authorization is on.
struct Conf(tempfile::TempDir);

impl Conf {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, file: &str, properties: &[(&str, &str)]) {
        let properties: String = properties.iter().map(|(name, value)| property(name, value)).collect();
        std::fs::write(self.0.path().join(file), format!("<configuration>\n{properties}</configuration>\n")).unwrap();
    }

    fn options(&self) -> DaemonOptions {
        DaemonOptions {
            conf_dir: Some(self.0.path().to_owned()),
            overrides: vec!["mapred.job.tracker=127.0.0.1:0".to_owned()],
            ..DaemonOptions::default()
        }
    }
}

async fn refresh_policy(rig: &InProcessDaemon, user: &str) -> Result<Value, String> {
    let connected = IpcClient::connect(rig.address, Protocol::RefreshAuthorizationPolicy, user).await;
    let mut client = connected.map_err(text)?;
    let call = Call::RefreshAuthorizationPolicy(RefreshAuthorizationPolicyCall::RefreshServiceAcl);
    client.call(&call).await.map_err(text)
}

async fn refresh_proxies(rig: &InProcessDaemon, user: &str) -> Result<Value, String> {
    let mut client = IpcClient::connect(rig.address, Protocol::RefreshUserMappings, user).await.unwrap();
    let call = Call::RefreshUserMappings(RefreshUserMappingsCall::RefreshSuperUserGroupsConfiguration);
    client.call(&call).await.map_err(text)
}

fn text(error: IpcError) -> String {
    match error {
        IpcError::Remote { exception, .. } => exception.message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_proxy_user_acts_for_others_as_the_conf_folder_says() {
    let conf = Conf::new();
    conf.write(
        "core-site.xml",
        &[("hadoop.proxyuser.oozie.hosts", "127.0.0.1"), ("hadoop.proxyuser.oozie.groups", "*")],
    );
    with_daemon(conf.options(), async |rig: InProcessDaemon| {
        rig.gate.open();
        let as_alice = async |real, from| opened(&rig, Protocol::JobSubmission, "alice", Some(real), from).await;
        assert_eq!(as_alice("oozie", [127, 0, 0, 1]).await, "allowed");
        assert_eq!(
            as_alice("oozie", [127, 0, 0, 2]).await,
            "Unauthorized connection for super-user: oozie from IP 127.0.0.2"
        );
        assert_eq!(as_alice("hue", [127, 0, 0, 1]).await, "User: hue is not allowed to impersonate alice");
        conf.write("core-site.xml", &[("hadoop.proxyuser.hue.hosts", "*"), ("hadoop.proxyuser.hue.group", "*")]);
        let error = refresh_proxies(&rig, "anyone").await.unwrap_err();
        assert!(error.contains("core-site.xml:3: hadoop.proxyuser.hue.group = \"*\": expected a key"), "{error}");
        assert_eq!(as_alice("oozie", [127, 0, 0, 1]).await, "allowed", "what was read before holds");
        conf.write("core-site.xml", &[("hadoop.proxyuser.hue.hosts", "*"), ("hadoop.proxyuser.hue.groups", "root")]);
        assert_eq!(refresh_proxies(&rig, "anyone").await, Ok(Value::Void));
        assert!(as_alice("oozie", [127, 0, 0, 1]).await.contains("not allowed"));
        assert!(as_alice("hue", [127, 0, 0, 1]).await.contains("not allowed"), "not of its groups");
        assert_eq!(opened(&rig, Protocol::JobSubmission, "root", Some("hue"), [127, 0, 0, 9]).await, "allowed");
    });
}

#[test]
fn each_protocol_has_its_list_and_a_bad_file_changes_none() {
    let conf = Conf::new();
    conf.write("core-site.xml", &[("hadoop.security.authorization", "true")]);
    let submission = "security.job.submission.protocol.acl";
    conf.write(
        "hadoop-policy.xml",
        &[
            (submission, "alice root"),
            ("security.inter.tracker.protocol.acl", "mapred"),
            ("security.refresh.policy.protocol.acl", "boss"),
        ],
    );
    with_daemon(conf.options(), async |rig: InProcessDaemon| {
        rig.gate.open();
        let open = async |protocol, user| opened(&rig, protocol, user, None, [127, 0, 0, 1]).await;
        let denied = |user: &str, protocol: Protocol| {
            format!(
                "User {user} is not authorized for protocol interface {}, expected client Kerberos principal is null",
                protocol.class_name()
            )
        };
        assert_eq!(open(Protocol::JobSubmission, "alice").await, "allowed");
        assert_eq!(open(Protocol::JobSubmission, "root").await, "allowed", "by its group");
        assert_eq!(open(Protocol::JobSubmission, "bob").await, denied("bob", Protocol::JobSubmission));
        assert_eq!(open(Protocol::InterTracker, "alice").await, denied("alice", Protocol::InterTracker));
        assert_eq!(open(Protocol::AdminOperations, "bob").await, "allowed", "its list is not there");
        let mut kept = rig.client("alice").await;
        kept.call(&Call::JobSubmission(JobSubmissionCall::GetFilesystemName)).await.unwrap();
        conf.write("hadoop-policy.xml", &[("security.job.submision.protocol.acl", "bob")]);
        assert_eq!(refresh_policy(&rig, "bob").await.unwrap_err(), denied("bob", Protocol::RefreshAuthorizationPolicy));
        let error = refresh_policy(&rig, "boss").await.unwrap_err();
        assert!(error.contains("hadoop-policy.xml:2: security.job.submision.protocol.acl = \"bob\""), "{error}");
        assert_eq!(open(Protocol::JobSubmission, "alice").await, "allowed", "what was read before holds");
        conf.write("hadoop-policy.xml", &[(submission, "bob")]);
        assert_eq!(refresh_policy(&rig, "boss").await, Ok(Value::Void));
        assert_eq!(open(Protocol::JobSubmission, "alice").await, denied("alice", Protocol::JobSubmission));
        assert_eq!(open(Protocol::JobSubmission, "bob").await, "allowed");
        let answer = kept.call(&Call::JobSubmission(JobSubmissionCall::GetFilesystemName)).await;
        assert!(answer.is_ok(), "a connection is checked once");
    });
}

#[test]
fn a_token_is_answered_once_it_is_durable() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        let alice = rig.client("alice").await;
        let get = || Call::JobSubmission(JobSubmissionCall::GetDelegationToken { renewer: Some("oozie".into()) });
        let asking = rig.ask(alice, get()).await;
        assert!(!asking.is_answered());
        let (_, value) = rig.pass(asking).await;
        rig.gate.open();
        let Value::Token(Some(token)) = value else { panic!("{value:?}") };
        let mut oozie = rig.client("oozie").await;
        let renew = Call::JobSubmission(JobSubmissionCall::RenewDelegationToken { token: Some(token.clone()) });
        assert!(matches!(oozie.call(&renew).await.unwrap(), Value::Long(until_ms) if until_ms > 0));
        let cancel = Call::JobSubmission(JobSubmissionCall::CancelDelegationToken { token: Some(token) });
        let mut bob = rig.client("bob").await;
        assert_eq!(
            bob.call(&cancel).await.map_err(text),
            Err("org.apache.hadoop.security.AccessControlException: bob is not authorized to cancel the token"
                .to_owned())
        );
        assert_eq!(oozie.call(&cancel).await.unwrap(), Value::Void);
        assert_eq!(
            oozie.call(&renew).await.map_err(text),
            Err("org.apache.hadoop.security.token.SecretManager$InvalidToken: Renewal request for unknown token"
                .to_owned())
        );
    });
}
