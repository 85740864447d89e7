//! Staging directories and ids of others.

use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::attacker::{Staged, ask, connect, stage_job, submit_from, try_submit};
use crate::stage::{Stage, run};
use crate::verdict::Attack;
use crate::victims::{VictimOptions, small_job};

use jobtracker::wire::Credentials;
use jobtracker::wire::protocol::{JobSubmissionCall, Protocol};

/// What belongs to alice, and must be there afterwards.
fn precious(folder: &Path) -> PathBuf {
    std::fs::create_dir_all(folder).unwrap();
    let path = folder.join("precious");
    std::fs::write(&path, "alice's").unwrap();
    path
}

/// A file of a job that says nothing of its user, so that anybody may submit it.
fn forget_user(job: &Staged) {
    let xml = job.folder.join("job.xml");
    let text = std::fs::read_to_string(&xml).unwrap().replace("<name>user.name</name>", "<name>user.was</name>");
    std::fs::write(xml, text).unwrap();
}

async fn kill(stage: &Stage, user: &str, job: &Staged) {
    let mut client = connect(stage.rpc, Protocol::JobSubmission, user).await.unwrap();
    let _ = ask(&mut client, JobSubmissionCall::KillJob { job: Some(job.id) }).await;
}

/// Waits a while for a file that must not go; whether it stays.
async fn stays(path: &Path) -> bool {
    let end = Instant::now() + Duration::from_millis(800);
    while Instant::now() < end && path.exists() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    path.exists()
}

#[test]
fn ids_and_directories_of_others() {
    let mut attack = Attack::on(Stage::fifo(&[]), "ids and directories of others", &VictimOptions::default());
    let broken = attack.strike(|stage| run(take_from_others(stage)));
    for what in broken {
        attack.must(false, || what);
    }
    attack.close();
}

async fn take_from_others(stage: &Stage) -> Vec<String> {
    let (rpc, mut broken) = (stage.rpc, Vec::new());
    let mut note = |holds: bool, what: &str| {
        if !holds {
            broken.push(what.to_owned());
        }
    };
    let root = stage_job(rpc, "alice", &small_job(false)).await.unwrap().folder;
    let root = root.ancestors().nth(3).unwrap().to_owned();

    // Her id, from her directory.
    let hers = stage_job(rpc, "alice", &small_job(false)).await.unwrap();
    forget_user(&hers);
    let kept = precious(&hers.folder);
    let taken = try_submit(rpc, "bob", &hers).await;
    note(taken.is_err(), "bob submits under alice's id");
    kill(stage, "bob", &hers).await;
    note(stays(&kept).await, "bob has alice's directory removed");
    if taken.is_err() {
        note(try_submit(rpc, "alice", &hers).await.is_ok(), "alice cannot submit after bob's try");
    }

    // His id, from a directory of hers: named outright, and behind a link.
    let his = stage_job(rpc, "bob", &small_job(false)).await.unwrap();
    let folder = root.join(format!("alice/.staging/{}", his.id));
    std::fs::rename(&his.folder, &folder).unwrap();
    let (moved, kept) = (Staged { id: his.id, folder: folder.clone() }, precious(&folder));
    note(try_submit(rpc, "bob", &moved).await.is_err(), "bob submits from alice's staging directory");
    kill(stage, "bob", &moved).await;
    note(stays(&kept).await, "what lies in alice's staging directory is removed");

    let his = stage_job(rpc, "bob", &small_job(false)).await.unwrap();
    let private = root.join("alice/private");
    std::fs::rename(&his.folder, &private).unwrap();
    symlink(&private, &his.folder).unwrap();
    let kept = precious(&private);
    note(try_submit(rpc, "bob", &his).await.is_err(), "bob submits a link to alice's private directory");
    kill(stage, "bob", &his).await;
    note(stays(&kept).await, "alice's private directory is removed");

    // Elsewhere altogether.
    let his = stage_job(rpc, "bob", &small_job(false)).await.unwrap();
    let elsewhere = root.join(format!("bob/elsewhere/{}", his.id));
    std::fs::create_dir_all(elsewhere.parent().unwrap()).unwrap();
    std::fs::rename(&his.folder, &elsewhere).unwrap();
    let dotted = format!("file:{}/bob/.staging/../../alice/../bob/elsewhere/{}", root.display(), his.id);
    let answer = submit_from(rpc, "bob", his.id, &dotted, Credentials::default()).await;
    note(answer.is_err(), "bob submits from beside his staging directory");

    // `.staging` becomes a link once the job is in.
    let his = stage_job(rpc, "bob", &small_job(false)).await.unwrap();
    let staging = his.folder.parent().unwrap();
    if try_submit(rpc, "bob", &his).await.is_ok() {
        let kept = precious(&root.join(format!("alice/trap/{}", his.id)));
        std::fs::rename(staging, root.join("bob/.staging.was")).unwrap();
        symlink(root.join("alice/trap"), staging).unwrap();
        kill(stage, "bob", &his).await;
        note(stays(&kept).await, "what a link instead of .staging leads to is removed");
        std::fs::remove_file(staging).unwrap();
        std::fs::rename(root.join("bob/.staging.was"), staging).unwrap();
    } else {
        note(false, "bob cannot submit what is his own");
    }
    owners(rpc, &mut note).await;
    broken
}

/// Users whom this machine knows: files of the one are no job of the other.
async fn owners(rpc: std::net::SocketAddr, note: &mut impl FnMut(bool, &str)) {
    const DAEMON: u32 = 1;
    const BIN: u32 = 2;
    if !rustix::process::geteuid().is_root() || std::env::var_os("HOSTILE_USER").is_some() {
        return;
    }
    let own_all = |folder: &Path, owner: u32| {
        chown(folder, Some(owner), Some(owner)).unwrap();
        for entry in std::fs::read_dir(folder).unwrap() {
            chown(entry.unwrap().path(), Some(owner), Some(owner)).unwrap();
        }
    };
    let good = stage_job(rpc, "daemon", &small_job(false)).await.unwrap();
    own_all(&good.folder, DAEMON);
    let taken = try_submit(rpc, "daemon", &good).await;
    note(taken.is_ok(), "a user whom the machine knows cannot submit files of his own");
    let whole = stage_job(rpc, "daemon", &small_job(false)).await.unwrap();
    own_all(&whole.folder, BIN);
    note(try_submit(rpc, "daemon", &whole).await.is_err(), "a directory of another user is taken");
    let part = stage_job(rpc, "daemon", &small_job(false)).await.unwrap();
    own_all(&part.folder, DAEMON);
    chown(part.folder.join("job.xml"), Some(BIN), Some(BIN)).unwrap();
    note(try_submit(rpc, "daemon", &part).await.is_err(), "a job.xml of another user is taken");
}
