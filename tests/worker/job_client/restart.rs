//! A job that is followed while its JobTracker is killed and started again.

use std::cell::Cell;
use std::rc::Rc;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use crate::daemon::child::DaemonFolders;
use crate::job_client::workers::{Maps, work};
use crate::program::job_command;

#[test]
fn a_followed_job_outlives_its_jobtracker() {
    let mut place = DaemonFolders::new("");
    place.overrides.push("mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler".to_owned());
    let serving = place.start();
    let rpc = serving.rpc();
    // The same address again.
    place.overrides.push(format!("mapred.job.tracker={rpc}"));
    let folder = place.path("hadoop");
    std::fs::write(folder.join("in.txt"), "one two\n").unwrap();
    let line = format!(
        "submit --input in.txt --output out --mapper cat --reducer cat --user alice --jobtracker {rpc} -D mapred.map.tasks=1"
    );
    let arguments: Vec<_> = line.split(' ').collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    runtime.block_on(local.run_until(async {
        let maps = Rc::new(Cell::new(Maps::Run));
        tokio::task::spawn_local(work(rpc, maps.clone()));
        let mut following = job_command(&folder, &arguments).spawn().unwrap();
        let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
        let mut all = Vec::new();
        let mut until = async |words: &str, all: &mut Vec<String>| {
            while let Some(line) = lines.next_line().await.unwrap() {
                all.push(line);
                if all.last().unwrap().contains(words) {
                    return;
                }
            }
            let mut stderr = String::new();
            following.stderr.take().unwrap().read_to_string(&mut stderr).await.unwrap();
            panic!("it ended without {words:?}: {all:#?}\n{stderr}");
        };
        until("1 running", &mut all).await;
        serving.kill();
        until("cannot be reached", &mut all).await;
        let serving = place.start();
        until("the JobTracker answers again", &mut all).await;
        maps.set(Maps::Succeed);
        until("SUCCEEDED", &mut all).await;
        until("output  file:", &mut all).await;
        let said = |words: &str| all.iter().filter(|line| line.contains(words)).count();
        assert_eq!([said("cannot be reached"), said("answers again")], [1, 1], "said once: {all:#?}");
        assert!(following.wait().await.unwrap().success());
        drop(serving);
    }));
}
