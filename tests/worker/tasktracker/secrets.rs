//! What other users of a worker's machine can read there, and what is not there at all.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::cluster::Cluster;
use crate::daemon::child::wait_for_files;

const SIGNATURE: &str = "c2lnbmF0dXJlIG9mIGFsaWNl";

/// Everything in a folder, the folder too; links are not followed.
pub fn all_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    if !folder.is_symlink() && folder.is_dir() {
        for entry in std::fs::read_dir(folder).unwrap() {
            found.extend(all_in(&entry.unwrap().path()));
        }
    }
    found.retain(|path| !path.is_symlink());
    found
}

#[test]
fn files_of_jobs_are_the_workers_own_and_no_signature_is_among_them() {
    let mut cluster = Cluster::new(0);
    cluster.add_worker_without_umask(&[]);
    let at = |name: &str| cluster.folder().join(name).display().to_string();
    assert!(std::process::Command::new("mkfifo").arg(at("gate")).status().unwrap().success());
    // The map's output is served, the reduce runs.
    std::fs::write(cluster.folder().join("wait.sh"), "env > \"$2\"\necho > \"$3\"\ncat \"$1\" -\n").unwrap();
    let reducer = format!("sh wait.sh {} {} {}", at("gate"), at("environment"), at("begun"));
    let signature = format!("mapred.job.signature={SIGNATURE}");
    let words = ["--input", "in/a", "--output", "out", "--file", "wait.sh", "--mapper", "cat", "--reducer", &reducer];
    let signed = ["-D", &signature, "-D", "mapred.job.timestamp=1700000000000", "-D", "x=${mapred.job.signature}"];
    let job = cluster.submit(&[&words[..], &signed].concat());
    wait_for_files(&cluster.folder(), || Path::new(&at("begun")).exists());

    let port = cluster.workers[0].http.port();
    let local = cluster.folder().join("mapred/local");
    let logs = local.join("userlogs").join(&job);
    let mut found = all_in(&local.join(format!("tasktracker-{port}")));
    found.extend(all_in(&logs));
    found.push(local.join(format!("tasktracker-{port}.lock")));
    let (mut open_to_others, mut signed) = (Vec::new(), Vec::new());
    for path in &found {
        let mode = path.metadata().unwrap().permissions().mode() & 0o7777;
        let own = if path.is_dir() { mode == 0o700 } else { mode == 0o600 || mode == 0o700 };
        if !own {
            open_to_others.push(format!("{mode:o} {}", path.display()));
        }
        if path.is_file() && String::from_utf8_lossy(&std::fs::read(path).unwrap()).contains(SIGNATURE) {
            signed.push(path);
        }
    }
    for name in ["jobToken", "file.out", "file.out.index", "wait.sh", "stderr", "syslog", "log.index"] {
        assert!(found.iter().any(|path| path.ends_with(name)), "no {name} in {found:#?}");
    }
    assert!(open_to_others.is_empty(), "{open_to_others:#?}");
    assert!(signed.is_empty(), "{signed:#?}");
    let environment = std::fs::read_to_string(at("environment")).unwrap();
    assert!(environment.contains("mapred_job_id="), "{environment}");
    assert!(!environment.contains(SIGNATURE) && !environment.contains("1700000000000"), "{environment}");
    drop(std::fs::File::options().write(true).open(at("gate")).unwrap());
    let out = cluster.folder().join("out");
    wait_for_files(&out, || out.join("_SUCCESS").exists());
}
