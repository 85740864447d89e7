//! The NameNode's files and directories by their names.

use jobtracker::wire::hdfs::{DirectoryListing, FileStatus, FsPermission, HdfsAnswer};

use super::cluster::{Directory, File, State};
use super::namenode::{IO, Outcome, PROTOCOL, thrown};

fn parent_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Whether a path lies below a directory, at any depth.
fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
}

// === impl State ===

impl State {
    /// Makes the directories above a path, with the mode of those that are there.
    pub fn make_parents(&mut self, path: &str, owner: &str) {
        let parent = parent_of(path);
        if !parent.is_empty() && !self.directories.contains_key(parent) {
            self.make_parents(parent, owner);
            let directory = Directory { mode: 0o755, owner: owner.to_owned() };
            self.directories.insert(parent.to_owned(), directory);
        }
    }

    pub(super) fn make_directory(&mut self, path: &str, mode: u16, user: &str) -> Outcome {
        if self.files.keys().any(|file| file == path || is_below(path, file)) {
            return Err(thrown("java.io.FileNotFoundException", &format!("Parent path is not a directory: {path}")));
        }
        self.make_parents(path, user);
        let owner = user.to_owned();
        self.directories.entry(path.to_owned()).or_insert(Directory { mode, owner });
        Ok(HdfsAnswer::Boolean(true))
    }

    pub(super) fn delete(&mut self, path: &str, is_recursive: bool) -> Outcome {
        let holds_something =
            self.files.keys().chain(self.directories.keys()).any(|other| other != path && is_below(other, path));
        if holds_something && !is_recursive {
            return Err(thrown(IO, &format!("{path} is non empty")));
        }
        let was = self.files.contains_key(path) || self.directories.contains_key(path);
        self.files.retain(|file, _| file != path && !is_below(file, path));
        self.directories.retain(|directory, _| directory != path && !is_below(directory, path));
        Ok(HdfsAnswer::Boolean(was))
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> bool {
        let to = match self.directories.contains_key(to) {
            true => format!("{}/{}", to.trim_end_matches('/'), from.rsplit('/').next().unwrap_or_default()),
            false => to.to_owned(),
        };
        let is_taken = self.files.contains_key(&to) || self.directories.contains_key(&to);
        let has_parent = parent_of(&to).is_empty() || self.directories.contains_key(parent_of(&to));
        if is_taken || !has_parent || is_below(&to, from) {
            return false;
        }
        if let Some(file) = self.files.remove(from) {
            return self.files.insert(to, file).is_none();
        }
        if self.directories.remove(from).map(|directory| self.directories.insert(to.clone(), directory)).is_none() {
            return false;
        }
        let moved = |path: &str| path.strip_prefix(from).map(|rest| format!("{to}{rest}"));
        let below = |path: &&String| is_below(path, from);
        for path in self.files.keys().filter(below).cloned().collect::<Vec<_>>() {
            let file = self.files.remove(&path);
            self.files.extend(moved(&path).zip(file));
        }
        for path in self.directories.keys().filter(below).cloned().collect::<Vec<_>>() {
            let directory = self.directories.remove(&path);
            self.directories.extend(moved(&path).zip(directory));
        }
        true
    }

    pub(super) fn create(&mut self, path: &str, file: File, overwrite: bool) -> Outcome {
        if self.directories.contains_key(path) {
            return Err(thrown(IO, &format!("{path} already exists as a directory")));
        }
        if let Some(there) = self.files.get(path) {
            if there.writer.is_some() {
                return Err(thrown(
                    &format!("{PROTOCOL}AlreadyBeingCreatedException"),
                    &format!(
                        "failed to create file {path} for {:?}, because this file is already being created",
                        file.writer
                    ),
                ));
            }
            if !overwrite {
                return Err(thrown(
                    IO,
                    &format!("failed to create file {path} either because the filename is invalid or the file exists"),
                ));
            }
        }
        self.make_parents(path, &file.owner);
        self.files.insert(path.to_owned(), file);
        Ok(HdfsAnswer::Void)
    }

    /// The permission bits of what stands under a path.
    pub(super) fn mode_of(&mut self, path: &str) -> Option<&mut u16> {
        match self.files.get_mut(path) {
            Some(file) => Some(&mut file.mode),
            None => self.directories.get_mut(path).map(|directory| &mut directory.mode),
        }
    }

    pub(super) fn status(&self, path: &str, name: &str) -> Option<FileStatus> {
        let file = self.files.get(path);
        let is_directory = file.is_none();
        let (mode, owner) = match file {
            Some(file) => (file.mode, &file.owner),
            None => self.directories.get(path).map(|directory| (directory.mode, &directory.owner))?,
        };
        let is_open = file.is_some_and(|file| file.writer.is_some());
        let length = file.map_or(0, |file| file.blocks.iter().map(|block| block.length_bytes).sum());
        Some(FileStatus {
            name: name.as_bytes().to_vec(),
            length_bytes: if is_open { 0 } else { length },
            is_directory,
            replication: file.map_or(0, |file| file.replication as i16),
            block_bytes: file.map_or(0, |file| file.block_bytes),
            modified_ms: 5,
            accessed_ms: 6,
            permission: FsPermission(mode),
            owner: owner.as_str().into(),
            group: "hadoop".into(),
        })
    }

    pub(super) fn listing(&self, path: &str, start_after: &[u8]) -> Option<DirectoryListing> {
        if self.files.contains_key(path) {
            let entries = self.status(path, "").into_iter().collect();
            return Some(DirectoryListing { entries, remaining: 0 });
        }
        self.directories.get(path)?;
        if self.lists_without_end {
            let one = self.status("/", &"x".repeat(4_000))?;
            return Some(DirectoryListing { entries: vec![one; self.page], remaining: 1 });
        }
        let prefix = format!("{}/", path.trim_end_matches('/'));
        let all = self.files.keys().chain(self.directories.keys());
        let mut names: Vec<&str> = all.filter_map(|name| name.strip_prefix(&prefix)).collect();
        names.retain(|name| !name.is_empty() && !name.contains('/'));
        names.retain(|name| start_after.is_empty() || name.as_bytes() > start_after);
        names.sort_unstable();
        let remaining = names.len().saturating_sub(self.page) as i32;
        names.truncate(self.page);
        let entries = names.iter().filter_map(|name| self.status(&format!("{prefix}{name}"), name)).collect();
        Some(DirectoryListing { entries, remaining })
    }
}
