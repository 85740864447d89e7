//! Whether a job's files go into the staging directory, or to the JobTracker over HTTP because it could not read them there.
//!
//! The rule: a staging root of the client's own user is the JobTracker's, too. Otherwise the JobTracker says which folders it
//! reads; those of a user that it does not read are handed over, and also where the client cannot make its folder. A JobTracker that does
//! not say it, such as the Java one, finds the files in the staging directory.

use std::path::{Path, PathBuf};

use crate::api::UploadRules;
use crate::client::market::{MarketClient, MarketClientError, Signer, UploadedFile};
use crate::fs::FileUri;
use crate::model::JobId;

use super::error::JobClientError;

/// What is known of the JobTracker's access to staging directories.
#[derive(Debug)]
pub(super) enum Access {
    /// It reads those of this user.
    Reads,
    /// It reads those of this user, and takes files over HTTP too.
    ReadsOrTakes(UploadRules),
    /// It does not read them, and takes files over HTTP.
    Takes(UploadRules),
    /// It does not say, for this reason.
    Unknown(String),
}

/// The web address of the JobTracker to which files are handed over, and by which rules.
#[derive(Clone, Debug)]
pub(super) struct HandOver {
    pub(super) web: MarketClient,
    pub(super) rules: UploadRules,
}

/// Asks whether the JobTracker reads files in the staging area of the user of this process.
pub(super) async fn access(area: &FileUri, web: Option<&MarketClient>) -> Access {
    let ours = rustix::process::geteuid().as_raw();
    // The daemon reaches another file system as the user.
    let Some(path) = area.local_path() else { return Access::Reads };
    let root = path.ancestors().nth(2).unwrap_or(Path::new("/"));
    if owner_of(root) == Some(ours) {
        return Access::Reads;
    }
    let Some(web) = web else { return Access::Reads };
    match web.upload_rules().await {
        Ok(rules) if rules.reads_all || rules.uid == ours => Access::ReadsOrTakes(rules),
        Ok(rules) => Access::Takes(rules),
        Err(error) => Access::Unknown(error.to_string()),
    }
}

fn owner_of(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|metadata| metadata.uid())
}

impl HandOver {
    /// Sends all files of a folder, which lie in it directly.
    pub(super) async fn send_all(
        &self,
        job: JobId,
        folder: &Path,
        user: &str,
        signer: Option<&Signer>,
    ) -> Result<(), JobClientError> {
        let files = files_in(folder)?;
        let bytes: u64 = files.iter().map(|(_, bytes)| bytes).sum();
        if bytes > self.rules.max_mb << 20 {
            return Err(JobClientError::Refused(format!(
                "the files of {job} have {bytes} bytes; the JobTracker takes at most {} MB (jobtracker.upload.max-mb)",
                self.rules.max_mb
            )));
        }
        for (path, _) in files {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let sent = self.web.upload(UploadedFile { job, name, path: &path }, user, signer).await;
            sent.map_err(|error| failed(name, error, signer.is_some()))?;
        }
        Ok(())
    }
}

pub(super) fn files_in(folder: &Path) -> Result<Vec<(PathBuf, u64)>, JobClientError> {
    let unreadable =
        |error: std::io::Error| JobClientError::Refused(format!("cannot read {}: {error}", folder.display()));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        files.push((entry.path(), entry.metadata().map_err(unreadable)?.len()));
    }
    files.sort();
    Ok(files)
}

fn failed(name: &str, error: MarketClientError, is_signed: bool) -> JobClientError {
    match error {
        // The signature of a job, by -D, does not cover its files.
        MarketClientError::Denied { .. } if !is_signed => JobClientError::Denied(format!(
            "ACCESS DENIED: the files of a job are handed over signed, with the key in --key-file, and {name} is not"
        )),
        MarketClientError::Denied { reason } => {
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            JobClientError::Denied(format!("ACCESS DENIED: {name} is not handed over{reason}"))
        }
        MarketClientError::Unreachable { server, reason } | MarketClientError::NoResult { server, reason } => {
            JobClientError::NotHandedOver { name: name.to_owned(), server, reason }
        }
        error => JobClientError::Refused(format!("{name} is not handed over: {error}")),
    }
}
