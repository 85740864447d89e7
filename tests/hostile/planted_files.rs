//! Files of a job that are not what they seem: pipes, links, and what lies behind them.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};

use crate::attacker::{Staged, ask, connect, stage_job, try_submit};
use crate::daemon::skip::report_skipped;
use crate::stage::{Stage, run, size};
use crate::staging::JobFiles;
use crate::verdict::Attack;
use crate::victims::{VictimOptions, read_page, small_job};

use jobtracker::model::JobId;
use jobtracker::wire::protocol::{JobSubmissionCall, Protocol};

const SIGNED: VictimOptions =
    VictimOptions { is_signed: true, tracker_host: None, never_ends: false, submits_nothing: false };
/// An attacker waits no longer for an answer that hangs.
const HUNG: Duration = Duration::from_millis(700);
/// A regular file, as it says, that never ends.
const ENDLESS: &str = "/proc/kmsg";

/// Exchanges a file with another, over and over.
struct Swapper {
    pair: Arc<Mutex<Option<(PathBuf, PathBuf)>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Swapper {
    fn start() -> Self {
        let (pair, is_over) = (Arc::new(Mutex::new(None)), Arc::new(AtomicBool::new(false)));
        let (theirs, ended) = (Arc::clone(&pair), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let Some((one, other)) = theirs.lock().unwrap().clone() else {
                    std::thread::yield_now();
                    continue;
                };
                for _ in 0..50 {
                    let _ = renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE);
                }
            }
        });
        Self { pair, is_over, thread: Some(thread) }
    }

    fn swap(&self, one: &Path, other: &Path) {
        *self.pair.lock().unwrap() = Some((one.to_owned(), other.to_owned()));
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn make_fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
}

/// Submits a job without a signature whose file is now this, now a pipe that nobody writes; whether an answer came.
async fn submit_swapped(rpc: std::net::SocketAddr, swapper: &Swapper, file: &str) -> anyhow::Result<bool> {
    let job = stage_job(rpc, "mallory", &small_job(false)).await?;
    let (regular, pipe) = (job.folder.join(file), job.folder.join("pipe"));
    make_fifo(&pipe);
    swapper.swap(&regular, &pipe);
    let answer = tokio::time::timeout(HUNG, try_submit(rpc, "mallory", &job)).await;
    Ok(answer.is_ok())
}

#[test]
fn files_that_become_pipes_while_they_are_opened() {
    let mut attack = Attack::on(Stage::market(&[]), "job files swapped for pipes", &SIGNED);
    let (attackers, time) = (size(3, 6), Duration::from_secs(u64::from(size(4, 10))));
    let (tried, hung) = (AtomicU32::new(0), AtomicU32::new(0));
    attack.strike(|stage| {
        let end = Instant::now() + time;
        std::thread::scope(|threads| {
            for number in 0..attackers {
                let (tried, hung) = (&tried, &hung);
                threads.spawn(move || {
                    run(async {
                        let swapper = Swapper::start();
                        while Instant::now() < end && hung.load(Ordering::Relaxed) < 40 {
                            let file = if number % 2 == 0 { "job.xml" } else { "job.splitmetainfo" };
                            let Ok(answered) = submit_swapped(stage.rpc, &swapper, file).await else { continue };
                            tried.fetch_add(1, Ordering::Relaxed);
                            hung.fetch_add(u32::from(!answered), Ordering::Relaxed);
                        }
                    });
                });
            }
        });
    });
    let (tried, hung) = (tried.into_inner(), hung.into_inner());
    eprintln!("hostile: {tried} submissions of swapped files, {hung} unanswered");
    attack.must(hung == 0, || format!("{hung} of {tried} submissions hang"));
    let ready = read_page(attack.stage.serving.http, "/readyz");
    attack.must(ready.as_ref().is_ok_and(|page| page.starts_with("HTTP/1.1 200 ")), || format!("/readyz: {ready:?}"));
    attack.close();
}

#[test]
fn links_to_a_file_that_never_ends() {
    if !Path::new(ENDLESS).exists() {
        return report_skipped("links_to_a_file_that_never_ends", &format!("there is no {ENDLESS}"));
    }
    let mut attack = Attack::on(Stage::market(&[]), "job files that never end", &SIGNED);
    let hung = attack.strike(|stage| {
        run(async {
            let mut hung = 0;
            for number in 0..20 {
                let job = stage_job(stage.rpc, "mallory", &small_job(false)).await.unwrap();
                let file = job.folder.join(if number % 2 == 0 { "job.xml" } else { "job.splitmetainfo" });
                std::fs::remove_file(&file).unwrap();
                symlink(ENDLESS, &file).unwrap();
                // Those without the rights of root are refused at once.
                let answer = tokio::time::timeout(HUNG, try_submit(stage.rpc, "mallory", &job)).await;
                hung += u32::from(answer.is_err());
            }
            hung
        })
    });
    attack.must(hung == 0, || format!("{hung} of 20 submissions hang"));
    attack.close();
}

const SECRET: &str = "hunter2";

/// A conf folder that holds a secret.
fn with_secret() -> Stage {
    let mut place = crate::stage::place(&[]);
    let site = format!(
        "<configuration><property><name>fs.s3.awsSecretAccessKey</name><value>{SECRET}</value></property></configuration>"
    );
    std::fs::write(place.path("etc/core-site.xml"), site).unwrap();
    std::fs::write(place.path("etc/mapred-site.xml"), "<configuration></configuration>").unwrap();
    let conf = place.path("etc").display().to_string();
    place.overrides.push("mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler".to_owned());
    place.environment.push(("HADOOP_CONF_DIR", Box::leak(conf.into_boxed_str())));
    Stage::around(place)
}

fn with_property(name: &str, value: &str) -> JobFiles {
    let files = small_job(false);
    JobFiles { properties: vec![(name.to_owned(), value.to_owned())], ..files }
}

/// What anybody is told of a job.
async fn told(stage: &Stage, id: JobId) -> String {
    let mut client = connect(stage.rpc, Protocol::JobSubmission, "mallory").await.unwrap();
    let profile = ask(&mut client, JobSubmissionCall::GetJobProfile { job: Some(id) }).await;
    let pages = ["/", "/metrics"].map(|target| read_page(stage.serving.http, target).unwrap_or_default());
    format!("{profile:?}{}{}", pages[0], pages[1])
}

#[test]
fn values_of_the_daemon_in_those_of_a_job() {
    let mut attack = Attack::on(with_secret(), "the daemon's values in a job's", &VictimOptions::default());
    let mut seen = Vec::new();
    attack.strike(|stage| {
        run(async {
            for name in [
                "mapred.job.priority",
                "mapred.job.name",
                "mapred.map.tasks",
                "mapred.job.queue.name",
                "user.name",
                "job.end.notification.url",
                "mapreduce.job.acl-view-job",
                "mapred.reduce.slowstart.completed.maps",
            ] {
                let files = with_property(name, "x ${fs.s3.awsSecretAccessKey}");
                let job = stage_job(stage.rpc, "mallory", &files).await.unwrap();
                let answer = match try_submit(stage.rpc, "mallory", &job).await {
                    Ok(_) => told(stage, job.id).await,
                    Err(error) => format!("{error:#}"),
                };
                if answer.contains(SECRET) {
                    seen.push(name);
                }
            }
            // Whole files of others, by links of both kinds and by entities.
            let site = stage.place.path("etc/core-site.xml");
            std::fs::set_permissions(&site, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
            for kind in ["link", "second name", "entity", "inclusion"] {
                let files = with_property("mapred.job.name", "${fs.s3.awsSecretAccessKey}");
                let job = stage_job(stage.rpc, "mallory", &files).await.unwrap();
                plant(&job, &site, kind);
                let answer = match try_submit(stage.rpc, "mallory", &job).await {
                    Ok(_) => told(stage, job.id).await,
                    Err(error) => format!("{error:#}"),
                };
                if answer.contains(SECRET) {
                    seen.push(kind);
                }
            }
        });
    });
    let log = attack.stage.serving.log.text();
    attack.must(!log.contains(SECRET), || "the secret stands in the log".to_owned());
    attack.must(seen.is_empty(), || format!("the secret is told by {seen:?}"));
    attack.close();
}

fn plant(job: &Staged, site: &Path, kind: &str) {
    let xml = job.folder.join("job.xml");
    let own = std::fs::read_to_string(&xml).unwrap();
    std::fs::remove_file(&xml).unwrap();
    match kind {
        "link" => symlink(site, &xml).unwrap(),
        "second name" => std::fs::hard_link(site, &xml).unwrap(),
        "entity" => {
            let body = own.split_once("<configuration>").unwrap().1;
            let head = format!(
                "<?xml version=\"1.0\"?><!DOCTYPE configuration [<!ENTITY e SYSTEM \"file://{}\">]>",
                site.display()
            );
            std::fs::write(&xml, format!("{head}<configuration>&e;{body}")).unwrap();
        }
        _ => {
            let body = own.split_once("<configuration>").unwrap().1;
            let include =
                format!("<xi:include xmlns:xi=\"http://www.w3.org/2001/XInclude\" href=\"{}\"/>", site.display());
            std::fs::write(&xml, format!("<configuration>{include}{body}")).unwrap();
        }
    }
}
