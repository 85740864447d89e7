//! Which of the two ways of a job's files works here, and for which users: the daemon reads staging directories, or clients hand files over.

use crate::config::Settings;
use crate::fs::FileRights;

/// The drop-in that lets the daemon read the staging directories of stock clients.
const DROP_IN: &str = "etc/systemd/stock-clients.conf";

/// The line of the start and of `check-config`, about a daemon with the rights of this process.
pub(super) fn staging_line(settings: &Settings) -> String {
    line(FileRights::of_process(), &settings.daemon_user, settings.uploads.job_bytes >> 20)
}

fn line(rights: FileRights, user: &str, max_mb: u64) -> String {
    match (rights.reads_all, rights.writes_all) {
        (true, true) => format!(
            "files of jobs: staging directories of all users are read and removed; what a client cannot stage it hands over by \
             HTTP, at most {max_mb} MB a job"
        ),
        (true, false) => format!(
            "files of jobs: staging directories of all users are read, those of {user} alone removed ({DROP_IN}); what a client \
             cannot stage it hands over by HTTP, at most {max_mb} MB a job"
        ),
        (false, _) => format!(
            "files of jobs: staging directories of {user} are read; other users hand their files over by HTTP, at most {max_mb} MB a \
             job, which `jobtracker job submit` does by itself and stock clients cannot do ({DROP_IN})"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_decide_what_is_said() {
        let said = |reads_all, writes_all| line(FileRights { reads_all, writes_all }, "mapred", 1_024);
        assert!(said(true, true).contains("of all users are read and removed"));
        assert!(said(true, false).contains("those of mapred alone removed"));
        assert!(
            said(false, false)
                .contains("of mapred are read; other users hand their files over by HTTP, at most 1024 MB")
        );
    }
}
