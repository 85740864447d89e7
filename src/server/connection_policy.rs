//! Who may open which connection: users that act for others (1.2.1 `ProxyUsers`), and service-level authorization (1.2.1
//! `ServiceAuthorizationManager`). Each connection is checked once, when it names its user and protocol.
//!
//! Groups and host names are looked up off the owner's turn; the connection waits, and no other does.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use crate::clock::Clock;
use crate::config::service_policy::ServicePolicy;
use crate::config::settings::{NameList, ProxyUser, ProxyUsers};
use crate::engine::{AuditEntry, Caller, allows, names_groups};
use crate::ipc::{Introduced, origin_of};
use crate::wire::limits::excerpt;
use crate::wire::protocol::Protocol;

use super::audit_log::{AuditLog, write_audit_line};
use super::groups::UserGroups;
use super::host_addresses::HostAddresses;

pub(super) struct ConnectionPolicy {
    rules: RefCell<Rc<Rules>>,
    groups: Rc<UserGroups>,
    addresses: HostAddresses,
    log: RefCell<AuditLog>,
    clock: Clock,
}

/// The rules as they were read last.
#[derive(Debug)]
struct Rules {
    proxy_users: ProxyUsers,
    /// None: `hadoop.security.authorization` is false.
    service: Option<ServicePolicy>,
}

impl ConnectionPolicy {
    pub(super) fn new(
        proxy_users: ProxyUsers,
        service: Option<ServicePolicy>,
        groups: Rc<UserGroups>,
        clock: Clock,
    ) -> Rc<Self> {
        Rc::new(Self {
            rules: RefCell::new(Rc::new(Rules { proxy_users, service })),
            groups,
            addresses: HostAddresses::default(),
            log: RefCell::default(),
            clock,
        })
    }

    /// Whether service-level authorization is on.
    pub(super) fn is_authorizing(&self) -> bool {
        self.rules.borrow().service.is_some()
    }

    /// Replaces the users that may act for others. Open connections stay.
    pub(super) fn set_proxy_users(&self, proxy_users: ProxyUsers) {
        let service = self.rules.borrow().service.clone();
        *self.rules.borrow_mut() = Rc::new(Rules { proxy_users, service });
    }

    /// Replaces the lists of protocols. Open connections stay.
    pub(super) fn set_service(&self, service: Option<ServicePolicy>) {
        let proxy_users = self.rules.borrow().proxy_users.clone();
        *self.rules.borrow_mut() = Rc::new(Rules { proxy_users, service });
    }

    /// Whether a connection needs no check: its user acts for itself, and all may use all protocols.
    pub(super) fn is_open_to(&self, introduced: &Introduced) -> bool {
        introduced.real_user.is_none() && !self.is_authorizing()
    }

    /// Checks a connection.
    pub(super) async fn check(self: Rc<Self>, introduced: Introduced) -> Result<(), String> {
        let rules = self.rules.borrow().clone();
        let checked = match self.check_proxy(&rules, &introduced).await {
            Ok(()) => self.check_service(&rules, &introduced).await,
            Err(text) => Err(text),
        };
        if let Err(why) = &checked {
            self.log_refusal(&introduced, why);
        }
        checked
    }

    async fn check_proxy(&self, rules: &Rules, introduced: &Introduced) -> Result<(), String> {
        let Introduced { user, real_user: Some(real_user), address, .. } = introduced else { return Ok(()) };
        let unknown = ProxyUser::default();
        let ProxyUser { groups, hosts } = rules.proxy_users.get(&**real_user).unwrap_or(&unknown);
        let may_act = match groups {
            NameList::All => true,
            NameList::Names(names) if names.is_empty() => false,
            NameList::Names(names) => self.groups_of(user, *address).await?.iter().any(|group| names.contains(group)),
        };
        if !may_act {
            return Err(format!("User: {} is not allowed to impersonate {}", excerpt(real_user), excerpt(user)));
        }
        let may_call = match hosts {
            NameList::All => true,
            NameList::Names(names) => self.addresses.any_has(names, *address).await,
        };
        match may_call {
            true => Ok(()),
            false => Err(format!("Unauthorized connection for super-user: {} from IP {address}", excerpt(real_user))),
        }
    }

    async fn check_service(&self, rules: &Rules, introduced: &Introduced) -> Result<(), String> {
        let Some(policy) = &rules.service else { return Ok(()) };
        let Introduced { user, real_user, protocol, address } = introduced;
        if protocol.is_empty() {
            return Err("Unknown protocol: ".to_owned());
        }
        let Some(list) = list_of(policy, protocol) else {
            return Err(format!("Protocol interface {} is not known.", excerpt(protocol)));
        };
        let mut caller = Caller { real_user: real_user.clone(), ..Caller::named(user.clone()) };
        if !allows(list, &caller) && names_groups(list) {
            caller.groups = self.groups_of(user, *address).await?;
        }
        match allows(list, &caller) {
            true => Ok(()),
            false => Err(format!(
                "User {} is not authorized for protocol interface {protocol}, expected client Kerberos principal is null",
                excerpt(&caller.to_string())
            )),
        }
    }

    async fn groups_of(&self, user: &Arc<str>, address: IpAddr) -> Result<Arc<[String]>, String> {
        match self.groups.known(user) {
            Some(groups) => Ok(groups),
            None => self.groups.of(user, origin_of(address)).await.map_err(|refused| refused.to_string()),
        }
    }

    fn log_refusal(&self, introduced: &Introduced, why: &str) {
        let Introduced { user, real_user, protocol, address } = introduced;
        let entry = AuditEntry::new("connect", excerpt(user))
            .with_some("real-user", real_user.as_ref().map(|real_user| excerpt(real_user)))
            .with("protocol", excerpt(protocol))
            .with("address", address)
            .with("why", why)
            .denied();
        let mut log = self.log.borrow_mut();
        let now_ms = self.clock.mono_ms();
        let repeated = log.take_repeated(Some(now_ms));
        repeated.iter().chain(&log.line_of(&entry, now_ms)).for_each(write_audit_line);
    }
}

/// The list of a protocol; none: it is none of a JobTracker's.
fn list_of<'a>(policy: &'a ServicePolicy, protocol: &str) -> Option<&'a str> {
    Some(match Protocol::from_class_name(protocol)? {
        Protocol::InterTracker | Protocol::ContainerBeats => &policy.inter_tracker,
        Protocol::JobSubmission => &policy.job_submission,
        Protocol::TaskUmbilical => &policy.task_umbilical,
        Protocol::RefreshAuthorizationPolicy => &policy.refresh_policy,
        Protocol::RefreshUserMappings => &policy.refresh_user_mappings,
        Protocol::AdminOperations => &policy.admin_operations,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> NameList {
        NameList::Names(names.iter().map(|name| (*name).to_owned()).collect())
    }

    fn introduced(user: &str, real_user: Option<&str>, protocol: Protocol, address: &str) -> Introduced {
        Introduced {
            user: user.into(),
            real_user: real_user.map(Arc::from),
            protocol: protocol.class_name().into(),
            address: address.parse().unwrap(),
        }
    }

    fn policy(service: Option<ServicePolicy>) -> Rc<ConnectionPolicy> {
        let users = [
            ("all", ProxyUser { groups: NameList::All, hosts: NameList::All }),
            ("here", ProxyUser { groups: NameList::All, hosts: named(&["localhost", "10.0.0.7"]) }),
            ("of-root", ProxyUser { groups: named(&["root"]), hosts: NameList::All }),
            ("no-host", ProxyUser { groups: NameList::All, hosts: named(&[]) }),
        ];
        let users = users.into_iter().map(|(name, user)| (name.to_owned(), user)).collect();
        ConnectionPolicy::new(users, service, Rc::new(UserGroups::new(300)), Clock::start())
    }

    async fn proxied(real: &str, user: &str, address: &str) -> Result<(), String> {
        policy(None).check(introduced(user, Some(real), Protocol::JobSubmission, address)).await
    }

    #[tokio::test]
    async fn a_proxy_user_acts_for_its_groups_from_its_hosts() {
        let denied = |real: &str, user: &str| Err(format!("User: {real} is not allowed to impersonate {user}"));
        assert_eq!(proxied("all", "alice", "192.0.2.1").await, Ok(()));
        assert_eq!(proxied("stranger", "alice", "127.0.0.1").await, denied("stranger", "alice"));
        assert_eq!(proxied("of-root", "root", "127.0.0.1").await, Ok(()));
        assert_eq!(proxied("of-root", "no_such_user", "127.0.0.1").await, denied("of-root", "no_such_user"));
        for (address, is_allowed) in [("127.0.0.1", true), ("10.0.0.7", true), ("127.0.0.2", false)] {
            let text = format!("Unauthorized connection for super-user: here from IP {address}");
            let expected = if is_allowed { Ok(()) } else { Err(text) };
            assert_eq!(proxied("here", "alice", address).await, expected);
        }
        assert!(proxied("no-host", "alice", "127.0.0.1").await.is_err());
    }

    #[tokio::test]
    async fn each_protocol_has_its_list() {
        let list = |user: &str| user.to_owned();
        let policy = policy(Some(ServicePolicy {
            inter_tracker: list("mapred"),
            job_submission: list(" root"),
            task_umbilical: list("*"),
            refresh_policy: list("boss"),
            refresh_user_mappings: list("boss,deputy"),
            admin_operations: list(" "),
        }));
        let check =
            async |user: &str, protocol| policy.clone().check(introduced(user, None, protocol, "127.0.0.1")).await;
        assert!(!policy.is_open_to(&introduced("mapred", None, Protocol::InterTracker, "127.0.0.1")));
        assert_eq!(check("mapred", Protocol::InterTracker).await, Ok(()));
        assert_eq!(check("mapred", Protocol::ContainerBeats).await, Ok(()));
        assert_eq!(check("root", Protocol::JobSubmission).await, Ok(()), "by its group");
        assert_eq!(check("deputy", Protocol::RefreshUserMappings).await, Ok(()));
        assert_eq!(
            check("deputy", Protocol::RefreshAuthorizationPolicy).await.unwrap_err(),
            "User deputy is not authorized for protocol interface \
             org.apache.hadoop.security.authorize.RefreshAuthorizationPolicyProtocol, expected client Kerberos principal \
             is null"
        );
        assert!(check("root", Protocol::AdminOperations).await.is_err());
        let proxied = introduced("alice", Some("all"), Protocol::AdminOperations, "127.0.0.1");
        assert!(policy.clone().check(proxied).await.unwrap_err().starts_with("User alice via all is not authorized"));
        let foreign = Introduced {
            protocol: "org.apache.hadoop.hdfs.protocol.ClientProtocol".into(),
            ..introduced("root", None, Protocol::JobSubmission, "127.0.0.1")
        };
        assert!(policy.clone().check(foreign).await.unwrap_err().ends_with("ClientProtocol is not known."));
        policy.set_service(None);
        assert!(policy.is_open_to(&introduced("anyone", None, Protocol::AdminOperations, "127.0.0.1")));
    }
}
