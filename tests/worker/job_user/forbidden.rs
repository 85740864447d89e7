//! Files that a job names and its user may not touch.

use rustix::process::{Signal, kill_process};

use crate::cluster::{files_of, wait_until_gone};

use super::stage::{Stage, cached};
use super::users::give;

const ROOT: (u32, u32) = (0, 0);

#[test]
fn what_a_jobs_user_may_not_touch_the_job_may_not_either() {
    let Some(mut stage) = Stage::of_test("what_a_jobs_user_may_not_touch_the_job_may_not_either") else { return };
    let users = stage.users.clone();
    let (alice, bob) = (&users.alice, &users.bob);
    let home = stage.home(alice);
    let run = |words: &[&str]| {
        let once = ["--reducer", "NONE", "-D", "mapred.map.max.attempts=1", "--mapper", "cat"];
        stage.submit(alice, &[words, &once].concat())
    };
    // Submitted while all of it is hers, since the client looks too.
    for (folder, file) in [("roots", "input"), ("bobs", "input")] {
        std::fs::create_dir(home.join(folder)).unwrap();
        alice.owns(&home.join(folder), 0o700);
        stage.write(alice, &format!("{folder}/{file}"), "secret\n");
    }
    stage.write(alice, "in", "a\n");
    stage.write(alice, "cached", "secret\n");
    std::fs::create_dir(home.join("closed")).unwrap();
    alice.owns(&home.join("closed"), 0o700);
    let file = cached(&home.join("cached"), "cached");
    let jobs = [
        run(&["--input", "roots/input", "--output", "out1"]),
        run(&["--input", "bobs/input", "--output", "out2"]),
        run(&["--input", "in", "--output", "out3", "-D", &file]),
        run(&["--input", "in", "--output", "closed/out"]),
    ];
    give(&home.join("roots/input"), ROOT, 0o600);
    give(&home.join("bobs"), (bob.uid, bob.gid), 0o700);
    give(&home.join("cached"), ROOT, 0o600);
    give(&home.join("closed"), ROOT, 0o755);
    stage.add_worker(&[]);
    for (job, path) in jobs.iter().zip(["roots/input", "bobs/input", "cached", "closed/out"]) {
        let failure = stage.failure_of(job);
        assert!(failure.contains("Permission denied") && failure.contains(path), "{path}: {failure}");
    }
    assert!(!home.join("closed/out").exists());
    for out in ["out1", "out2", "out3"] {
        assert!(!home.join(out).join("part-00000").exists(), "{out}");
    }
}

/// Puts a link in place of the attempt's folder, which leads to a folder of root's with a name that a worker would remove, and one in
/// place of what is served.
const PLANTS_LINKS: &str = r#"
cat > /dev/null
mv "$mapred_local_dir" "$mapred_local_dir.old"
ln -s "$1" "$mapred_local_dir"
echo planted
"#;

#[test]
fn links_in_a_jobs_folder_lead_the_worker_nowhere() {
    let Some(mut stage) = Stage::of_test("links_in_a_jobs_folder_lead_the_worker_nowhere") else { return };
    let users = stage.users.clone();
    let alice = &users.alice;
    let roots = stage.cluster.place.path("roots");
    for folder in ["", "output", "work"] {
        std::fs::create_dir(roots.join(folder)).unwrap();
        std::fs::write(roots.join(folder).join("file.out"), "kept").unwrap();
    }
    stage.write(alice, "in", "a\n");
    stage.write(alice, "plant.sh", PLANTS_LINKS);
    stage.add_worker(&[]);
    let mapper = format!("sh plant.sh {}", roots.display());
    let words = ["--input", "in", "--output", "out", "--file", "plant.sh", "--reducer", "cat", "--mapper", &mapper];
    let once = ["-D", "mapred.map.tasks=1", "-D", "mapred.map.max.attempts=1"];
    let job = stage.submit(alice, &[&words[..], &once].concat());
    stage.failure_of(&job);
    // It removes what is left of the job at the latest now.
    let worker = stage.cluster.worker_pid(0);
    kill_process(worker, Signal::TERM).unwrap();
    wait_until_gone(worker.as_raw_nonzero().get());
    assert_eq!(files_of(&stage.disk()), ["userlogs"]);
    for folder in ["", "output", "work"] {
        assert_eq!(std::fs::read_to_string(roots.join(folder).join("file.out")).unwrap(), "kept");
    }
}
