//! Requests of the web server about applications.

use tokio::sync::oneshot;

use crate::engine::{ApplicationAnswer, ApplicationRefusal, ApplicationRequest};
use crate::web::{ApplicationAccess, ApplicationOwner, ApplicationReply, NewsWait, OwnerGone};

use super::application_requests::{ApplicationOfWeb, ApplicationUsers};
use super::applications_on_disk::{DiskReply, DiskRequest};
use super::handle::OwnerHandle;

impl ApplicationOwner for OwnerHandle {
    async fn application(&self, request: ApplicationRequest, wait: NewsWait) -> Result<ApplicationReply, OwnerGone> {
        let disk = self.applications_on_disk.as_ref().zip(DiskRequest::of(&request));
        let waiting = self.waiting_calls.begin(wait.ms);
        let reply = ask(self, request, wait).await?;
        drop(waiting);
        let reply = match disk {
            None => reply,
            Some((disk, asked)) => match disk.add_to(asked, reply).await {
                Ok(DiskReply::Reply(reply)) => reply,
                Ok(DiskReply::Ask(request)) => ask(self, request, NewsWait::default()).await?,
                Err(refusal) => Err(refusal),
            },
        };
        match reply.as_deref() {
            // Without a disk.
            Ok(ApplicationAnswer::NotInMemory(id, _)) => Ok(Err(ApplicationRefusal::NoSuchApplication(*id))),
            _ => Ok(reply),
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

async fn ask(handle: &OwnerHandle, request: ApplicationRequest, wait: NewsWait) -> Result<ApplicationReply, OwnerGone> {
    let (reply, answer) = oneshot::channel();
    let request = ApplicationOfWeb { request, wait, reply };
    handle.requests.send(move |thread, in_hand| request.ask(thread, in_hand)).await?;
    answer.await.map_err(|_| OwnerGone)
}
