//! Disks that are full while trackers work.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::daemon::small_disk::{OnSmallDisk, skip_without_disks};
use crate::job_client::{JobClient, StagedJob};
use crate::stage::{Stage, place, tell};
use crate::staging::JobShape;
use crate::steady_tracker::Ending;

const TRACKERS: u32 = 10;
/// After so much silence a tracker is lost.
const EXPIRY: Duration = Duration::from_secs(2);

async fn has_ended(client: &mut JobClient, job: &StagedJob) {
    let end = Instant::now() + Duration::from_secs(60);
    while !client.has_succeeded(job.id).await.unwrap() {
        assert!(Instant::now() < end, "{} does not end", job.id);
        sleep(Duration::from_millis(100)).await;
    }
}

#[test]
fn a_full_disk_under_the_database_holds_heartbeats_and_no_tracker_is_lost_for_it() {
    if skip_without_disks("trackers on a full disk") {
        return;
    }
    let place = place(&["mapred.tasktracker.expiry.interval=2000"]);
    let on = OnSmallDisk::start_on(&place, "state", 64);
    let stage = Stage::around(place, on.serving);
    let disk = on.disk;
    crate::stage::run(async {
        let trackers = stage.trackers(TRACKERS, Ending::Soon).await;
        let mut client = JobClient::connect(stage.rpc, "load").await.unwrap();
        let shape = JobShape { maps: 2_000, reduces: 2, reduces_start_early: false, holders: 0 };
        let jobs = client.stage_many(2, &shape).await.unwrap();
        client.submit(&jobs[0]).await.unwrap();
        let (beats, ()) = trackers
            .beats_while(10, async {
                sleep(Duration::from_millis(300)).await;
                OnSmallDisk::fill_folder(&disk);
                stage.serving.log.wait_for("state.db cannot be written");
                let ready = stage.serving.get("/readyz", "");
                assert!(
                    ready.status == 503 && ready.body.starts_with("the state store cannot write ("),
                    "{}",
                    ready.body
                );
                let refused = format!("{:#}", client.submit(&jobs[1]).await.unwrap_err());
                assert!(refused.contains("no job is accepted now because the state store cannot write"), "{refused}");
                sleep(EXPIRY * 3).await;
                OnSmallDisk::make_room_in(&disk);
                // It tries again, at the latest after five seconds.
                while stage.serving.get("/readyz", "").status != 200 {
                    sleep(Duration::from_millis(100)).await;
                }
                client.submit(&jobs[1]).await.expect("it recovers by itself");
                has_ended(&mut client, &jobs[0]).await;
                has_ended(&mut client, &jobs[1]).await;
            })
            .await;
        tell(format_args!("a disk that is full for {:?}: {beats}", EXPIRY * 3));
        assert!(beats.longest_ms >= 6_000.0, "held, not failed");
        let log = stage.serving.log.text();
        assert!(!log.contains(": lost tracker") && !log.contains("registered again"), "{log}");
    });
    assert_eq!(stage.serving.stop().0, 0);
}

#[test]
fn a_full_disk_under_the_system_directory_refuses_jobs_and_says_why() {
    if skip_without_disks("a full disk under the system directory") {
        return;
    }
    let mut place = place(&[]);
    std::fs::create_dir(place.path("system")).unwrap();
    place.overrides.push(format!("mapred.system.dir={}", place.path("system").display()));
    let on = OnSmallDisk::start(&place, "system");
    let stage = Stage::around(place, on.serving);
    let disk = on.disk;
    crate::stage::run(async {
        let trackers = stage.trackers(TRACKERS, Ending::Soon).await;
        let mut client = JobClient::connect(stage.rpc, "load").await.unwrap();
        let shape = JobShape { maps: 10, reduces: 1, reduces_start_early: false, holders: 0 };
        let jobs = client.stage_many(2, &shape).await.unwrap();
        trackers
            .beats_while(10, async {
                OnSmallDisk::fill_folder(&disk);
                let refused = format!("{:#}", client.submit(&jobs[0]).await.unwrap_err());
                assert!(refused.contains("No space left"), "{refused}");
                let left = std::fs::read_dir(&disk).unwrap().filter(|entry| {
                    entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("job_"))
                });
                assert_eq!(left.count(), 0, "nothing of the refused job stays");
                OnSmallDisk::make_room_in(&disk);
                client.submit(&jobs[1]).await.expect("it recovers by itself");
                has_ended(&mut client, &jobs[1]).await;
            })
            .await;
    });
    assert_eq!(stage.serving.stop().0, 0);
}
