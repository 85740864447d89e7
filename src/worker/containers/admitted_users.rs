//! The users of containers that were looked up lately: a lookup runs programs and may wait for a directory server, and many
//! containers of one user start within a short time.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::accounts::LoginUser;

use super::super::run_as::{RefusedUser, UserRules};

/// For so long an answer is good. Jobs look their user up once, when they come to a worker.
const GOOD_FOR: Duration = Duration::from_secs(30);

/// Users that were admitted lately. Refusals are not kept: an account may be created in between.
#[derive(Debug, Default)]
pub(crate) struct AdmittedUsers {
    /// By name, with the time until which they are good.
    found: Mutex<BTreeMap<String, (Instant, LoginUser)>>,
}

impl AdmittedUsers {
    /// The user of a container, if its containers run here. May wait for a directory server; others do not wait for that.
    pub(crate) fn admit(&self, rules: &UserRules, user: &str) -> Result<LoginUser, RefusedUser> {
        self.admit_at(Instant::now(), user, || rules.admit(user))
    }

    fn admit_at(
        &self,
        now: Instant,
        user: &str,
        look_up: impl FnOnce() -> Result<LoginUser, RefusedUser>,
    ) -> Result<LoginUser, RefusedUser> {
        let known = self.with(|found| found.get(user).filter(|(until, _)| now < *until).map(|(_, one)| one.clone()));
        if let Some(known) = known {
            return Ok(known);
        }
        let one = look_up()?;
        self.with(|found| {
            found.retain(|_, (until, _)| now < *until);
            found.insert(user.to_owned(), (now + GOOD_FOR, one.clone()));
        });
        Ok(one)
    }

    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<String, (Instant, LoginUser)>) -> T) -> T {
        act(&mut self.found.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str, uid: u32) -> LoginUser {
        LoginUser { name: name.to_owned(), uid, gid: uid, groups: vec![uid], home: "/".to_owned() }
    }

    #[test]
    fn a_user_is_looked_up_once_in_a_while_and_a_refusal_each_time() {
        let (users, start) = (AdmittedUsers::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let unknown = || Err(RefusedUser::Unknown { user: "alice".to_owned() });
        assert!(users.admit_at(start, "alice", unknown).is_err());
        assert_eq!(users.admit_at(start, "alice", || Ok(user("alice", 1_001))).unwrap().uid, 1_001);
        let again = users.admit_at(at(29), "alice", || panic!("it is known")).unwrap();
        assert_eq!(again, user("alice", 1_001));
        assert_eq!(users.admit_at(at(29), "bob", || Ok(user("bob", 1_002))).unwrap().uid, 1_002);
        assert!(users.admit_at(at(30), "alice", unknown).is_err(), "an account that is gone is noticed");
        assert_eq!(users.admit_at(at(30), "bob", || panic!("it is known")).unwrap().uid, 1_002);
    }
}
