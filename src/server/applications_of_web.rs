//! Requests of the web server about applications.

use crate::engine::ApplicationRequest;
use crate::web::{ApplicationAccess, ApplicationOwner, ApplicationReply, OwnerGone};

use super::application_users::ApplicationUsers;
use super::containers_on_disk::DiskQuestion;
use super::handle::OwnerHandle;

impl ApplicationOwner for OwnerHandle {
    async fn application(&self, request: ApplicationRequest, wait_ms: u64) -> Result<ApplicationReply, OwnerGone> {
        let disk = self.containers_on_disk.as_ref().zip(DiskQuestion::of(&request));
        let reply = self.ask_application(request, wait_ms).await?;
        match disk {
            None => Ok(reply),
            Some((disk, question)) => Ok(disk.add_to(question, reply).await),
        }
    }

    async fn application_access(&self) -> ApplicationAccess {
        match &self.application_users {
            ApplicationUsers::Off => ApplicationAccess::Off,
            ApplicationUsers::Signed(acl) => ApplicationAccess::Signed(acl.latest().await),
            ApplicationUsers::Loopback => ApplicationAccess::Loopback,
        }
    }

    async fn is_uid_of(&self, user: &str, uid: u32) -> bool {
        let (accounts, user) = (self.accounts.clone(), user.to_owned());
        let lookup = tokio::task::spawn_blocking(move || accounts.uid_of(&user));
        lookup.await.ok().flatten() == Some(uid)
    }
}
