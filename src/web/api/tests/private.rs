//! What is private is in no answer to a stranger.

use super::super::address::ApiAddress;
use super::stage::{PRIVATE, Stage};
use super::{MarketPresence, job_id};

/// An address with its parts filled in.
pub(super) fn path_of(address: ApiAddress) -> String {
    let job = job_id(2).to_string();
    let parts = [
        ("{job}", job.as_str()),
        ("{application-id}", "application_1700000000000_0001"),
        ("{worker}", "tracker_h:localhost%2F127.0.0.1:7"),
        ("{queue}", "alice"),
        ("{user}", "alice"),
        ("{report}", "jobs"),
        ("{decision}", "14"),
    ];
    parts.into_iter().fold(address.template().to_owned(), |path, (part, value)| path.replace(part, value))
}

#[tokio::test]
async fn strangers_see_no_money_in_any_form() {
    let stage = Stage::new();
    let public = Stage::with(MarketPresence::Ruling, true, false);
    let mut seen_in_public = Vec::new();
    // The rows of the stream are those of lists.
    for address in ApiAddress::ALL.into_iter().filter(|address| *address != ApiAddress::Events) {
        for form in ["", "?format=csv", "?pretty"] {
            if form == "?format=csv" && !address.is_list() {
                continue;
            }
            let path = format!("{}{form}", path_of(address));
            let answered = stage.get(&path).await;
            for private in PRIVATE {
                assert!(!answered.text().contains(private), "{path} shows {private}: {}", answered.text());
            }
            let open = public.get(&path).await;
            seen_in_public.extend(PRIVATE.into_iter().filter(|private| open.text().contains(private)));
        }
    }
    for private in PRIVATE {
        assert!(seen_in_public.contains(&private), "{private} is shown nowhere, so its absence proves nothing");
    }
    assert_eq!(stage.get("/api/v1/queues/alice/statement").await.problem(), (403, "forbidden".to_owned()));
}

#[tokio::test]
async fn access_lists_keep_strangers_to_the_rows_of_lists() {
    let stage = Stage::with(MarketPresence::Absent, false, true);
    for rest in ["attempts", "tasks", "grid", "waits", "timeline", "explain", "counters", "events", "conf"] {
        let refused = stage.get(&format!("/api/v1/jobs/job_202611211200_0002/{rest}")).await;
        assert_eq!(refused.problem(), (403, "forbidden".to_owned()), "{rest}");
    }
    let base = "/api/v1/applications/application_1700000000000_0001";
    for rest in ["items", "containers", "grid"] {
        assert_eq!(stage.get(&format!("{base}/{rest}")).await.status, 403, "{rest}");
    }
    let (job, application) = (stage.get("/api/v1/jobs").await, stage.get(base).await);
    assert_eq!((job.status, application.status), (200, 200));
    assert!(application.json().get("requests").is_none() && application.json().get("failed_items").is_none());
}
