//! Settings of a client, with the defaults of a 1.2.1 one, and the keys that change them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use crate::wire::limits::CHECKSUM_CHUNK_BYTES;

/// Stands for no limit: long enough for any task, short enough for what clocks and sockets compute with.
pub(crate) const NO_TIME_LIMIT: Duration = Duration::from_secs(365 * 24 * 3600);

#[derive(Clone, Debug)]
pub struct HdfsOptions {
    /// Replicas of a new file (`dfs.replication`), 1 to 512.
    pub replication: u16,
    /// Bytes of a block of a new file (`dfs.block.size`), a multiple of [`Self::chunk_bytes`].
    pub block_bytes: u64,
    /// Bytes with a checksum of their own (`io.bytes.per.checksum`).
    pub chunk_bytes: usize,
    /// Bytes of a packet with its checksums (`dfs.write.packet.size`).
    pub packet_bytes: usize,
    /// Permission bits that are taken from new files and directories (`dfs.umaskmode`, or `dfs.umask`); the caller applies it, by
    /// [`Self::under_umask`].
    pub umask: u16,
    pub connect_timeout: Duration,
    /// Tries after the first to connect to a NameNode (`ipc.client.connect.max.retries`).
    pub connect_retries: u32,
    pub connect_pause: Duration,
    /// Limit for one call to a NameNode; stock clients have none.
    pub call_timeout: Duration,
    /// How long an unused connection is kept, ms (`ipc.client.connection.maxidletime`).
    pub max_idle_ms: u64,
    /// Limit for connecting to a DataNode and for each read of its stream (`dfs.socket.timeout`).
    pub socket_timeout: Duration,
    /// What is added to it for each DataNode of a pipeline.
    pub socket_timeout_per_node: Duration,
    /// Limit for each write to a DataNode (`dfs.datanode.socket.write.timeout`).
    pub write_timeout: Duration,
    /// What is added to it for each DataNode of a pipeline.
    pub write_timeout_per_node: Duration,
    /// Whether DataNodes are reached by their host names instead of their addresses (`dfs.client.use.datanode.hostname`).
    pub use_datanode_hostname: bool,
    /// How often all replicas of a block are tried (`dfs.client.max.block.acquire.failures`).
    pub read_rounds: u32,
    /// Pause before all are tried again.
    pub read_pause: Duration,
    /// Bytes whose blocks are asked for at a time (`dfs.read.prefetch.size`); none: ten times [`Self::block_bytes`].
    pub prefetch_bytes: Option<u64>,
    /// Tries after the first to set up a pipeline (`dfs.client.block.write.retries`).
    pub pipeline_retries: u32,
    /// Tries after the first for the next block of a file while the one before it is not replicated
    /// (`dfs.client.block.write.locateFollowingBlock.retries`).
    pub next_block_retries: u32,
    /// Pause before the first of them; each is twice as long as the one before.
    pub next_block_pause: Duration,
    /// Packets that wait for their acknowledgement at most, all of them kept in memory.
    pub window_packets: usize,
    /// Tries of one DataNode to recover a block that was being written.
    pub recovery_tries: u32,
    pub recovery_pause: Duration,
    /// How often a file is to be closed while its last block has no replica.
    pub complete_tries: u32,
    pub complete_pause: Duration,
    /// How often leases are renewed and waiting pipelines are kept while a file is being written.
    pub renew_interval: Duration,
    /// While the NameNode is in safe mode or cannot be reached, so many tries and pauses before each
    /// (`dfs.client.retry.policy.enabled`, `dfs.client.retry.policy.spec`); empty: a call fails at once.
    pub retry_policy: Vec<RetryStep>,
    pub pauses: Pauses,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryStep {
    pub(crate) tries: u32,
    pub(crate) pause: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value:?}: expected {expected}")]
pub struct HdfsOptionError {
    pub(crate) key: &'static str,
    pub(crate) value: String,
    pub(crate) expected: String,
}

impl Default for HdfsOptions {
    fn default() -> Self {
        Self {
            replication: 3,
            block_bytes: 64 << 20,
            chunk_bytes: 512,
            packet_bytes: 64 << 10,
            umask: 0o022,
            connect_timeout: Duration::from_secs(20),
            connect_retries: 10,
            connect_pause: Duration::from_secs(1),
            call_timeout: Duration::from_secs(120),
            max_idle_ms: 10_000,
            socket_timeout: Duration::from_secs(60),
            socket_timeout_per_node: Duration::from_secs(3),
            write_timeout: Duration::from_secs(480),
            write_timeout_per_node: Duration::from_secs(5),
            use_datanode_hostname: false,
            read_rounds: 3,
            read_pause: Duration::from_secs(3),
            prefetch_bytes: None,
            pipeline_retries: 3,
            next_block_retries: 5,
            next_block_pause: Duration::from_millis(400),
            window_packets: 32,
            recovery_tries: 5,
            recovery_pause: Duration::from_secs(1),
            complete_tries: 150,
            complete_pause: Duration::from_millis(400),
            renew_interval: Duration::from_secs(30),
            retry_policy: Vec::new(),
            pauses: Pauses::sleeping(),
        }
    }
}

impl HdfsOptions {
    /// Settings by a Hadoop configuration: `value_of` gives the value of a key, if it has one. Keys without one keep their defaults.
    ///
    /// # Errors
    /// A value that cannot be used, with its key.
    pub fn from_keys(value_of: impl Fn(&str) -> Option<String>) -> Result<Self, HdfsOptionError> {
        let keys = Keys { value_of: &value_of };
        let defaults = Self::default();
        let chunk_bytes = keys.number("io.bytes.per.checksum", 512, 1..=CHECKSUM_CHUNK_BYTES as u64)?;
        let options = Self {
            replication: keys.number("dfs.replication", defaults.replication.into(), 1..=512)? as u16,
            block_bytes: keys.number("dfs.block.size", defaults.block_bytes, 1..=i64::MAX as u64)?,
            chunk_bytes: chunk_bytes as usize,
            packet_bytes: keys.number("dfs.write.packet.size", 64 << 10, 1..=16 << 20)? as usize,
            umask: keys.umask()?,
            connect_retries: keys.number("ipc.client.connect.max.retries", 10, 0..=1_000_000)? as u32,
            max_idle_ms: keys.number("ipc.client.connection.maxidletime", 10_000, 0..=u64::from(u32::MAX))?,
            socket_timeout: keys.milliseconds("dfs.socket.timeout", defaults.socket_timeout)?,
            write_timeout: keys.milliseconds("dfs.datanode.socket.write.timeout", defaults.write_timeout)?,
            use_datanode_hostname: keys.flag("dfs.client.use.datanode.hostname")?,
            read_rounds: keys.number("dfs.client.max.block.acquire.failures", 3, 0..=1_000)? as u32,
            prefetch_bytes: keys.parsed("dfs.read.prefetch.size", 1..=i64::MAX as u64)?,
            pipeline_retries: keys.number("dfs.client.block.write.retries", 3, 0..=1_000)? as u32,
            next_block_retries: keys.number("dfs.client.block.write.locateFollowingBlock.retries", 5, 0..=20)? as u32,
            retry_policy: keys.retry_policy()?,
            ..defaults
        };
        if !options.block_bytes.is_multiple_of(chunk_bytes) {
            let expected = format!("a multiple of io.bytes.per.checksum, {chunk_bytes}");
            return Err(HdfsOptionError { key: "dfs.block.size", value: options.block_bytes.to_string(), expected });
        }
        Ok(options)
    }

    /// Permission bits without those of the umask.
    pub fn under_umask(&self, mode: u16) -> u16 {
        mode & !self.umask
    }

    /// Bytes whose blocks are asked for at a time.
    pub(super) fn prefetch(&self) -> u64 {
        self.prefetch_bytes.unwrap_or(self.block_bytes.saturating_mul(10))
    }

    /// Bytes of data of a full packet, a multiple of the chunk: the number of chunks is rounded up, as by 1.2.1 `DFSClient`.
    pub(super) fn packet_data_bytes(&self) -> usize {
        const HEADER_BYTES: usize = 25;
        let chunks = self.packet_bytes.saturating_sub(HEADER_BYTES).div_ceil(self.chunk_bytes + 4);
        chunks.max(1) * self.chunk_bytes
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreateOptions {
    /// Permission bits, with the umask applied; the NameNode drops the x bits.
    pub mode: u16,
    /// Whether a file that is there is replaced. It is gone as soon as the new one is begun.
    pub overwrite: bool,
    /// Whether missing directories above it are made; they inherit the mode of what is there.
    pub create_parent: bool,
    /// Replicas; none: `dfs.replication`.
    pub replication: Option<u16>,
    /// Bytes of a block, a multiple of `io.bytes.per.checksum`; none: `dfs.block.size`.
    pub block_bytes: Option<u64>,
}

impl Default for CreateOptions {
    /// As FsShell makes files: 0644, nothing replaced, parents made, replication and block size by the configuration.
    fn default() -> Self {
        Self { mode: 0o644, overwrite: false, create_parent: true, replication: None, block_bytes: None }
    }
}

struct Keys<'a> {
    value_of: &'a dyn Fn(&str) -> Option<String>,
}

impl Keys<'_> {
    fn text(&self, key: &str) -> Option<String> {
        (self.value_of)(key).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    fn parsed(&self, key: &'static str, range: std::ops::RangeInclusive<u64>) -> Result<Option<u64>, HdfsOptionError> {
        let Some(value) = self.text(key) else { return Ok(None) };
        match u64::from_str(&value).ok().filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => {
                let expected = format!("a number from {} to {}", range.start(), range.end());
                Err(HdfsOptionError { key, value, expected })
            }
        }
    }

    fn number(
        &self,
        key: &'static str,
        default: u64,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, HdfsOptionError> {
        Ok(self.parsed(key, range)?.unwrap_or(default))
    }

    fn milliseconds(&self, key: &'static str, default: Duration) -> Result<Duration, HdfsOptionError> {
        Ok(match self.parsed(key, 0..=i32::MAX as u64)? {
            None => default,
            // As a socket of Java takes it.
            Some(0) => NO_TIME_LIMIT,
            Some(limit_ms) => Duration::from_millis(limit_ms),
        })
    }

    fn flag(&self, key: &'static str) -> Result<bool, HdfsOptionError> {
        match self.text(key) {
            None => Ok(false),
            Some(value) => match &*value {
                "true" => Ok(true),
                "false" => Ok(false),
                _ => Err(HdfsOptionError { key, value, expected: "true or false".to_owned() }),
            },
        }
    }

    /// The old key rules where it is set, as in 1.2.1 `FsPermission.getUMask`.
    fn umask(&self) -> Result<u16, HdfsOptionError> {
        if let Some(umask) = self.parsed("dfs.umask", 0..=0o777)? {
            return Ok(umask as u16);
        }
        let key = "dfs.umaskmode";
        let Some(value) = self.text(key) else { return Ok(Self::DEFAULT_UMASK) };
        parse_umask(&value).ok_or_else(|| HdfsOptionError {
            key,
            value,
            expected: "three octal digits such as 022, or symbols such as u=rwx,g=rx,o=".to_owned(),
        })
    }

    const DEFAULT_UMASK: u16 = 0o022;

    fn retry_policy(&self) -> Result<Vec<RetryStep>, HdfsOptionError> {
        const KEY: &str = "dfs.client.retry.policy.spec";
        if !self.flag("dfs.client.retry.policy.enabled")? {
            return Ok(Vec::new());
        }
        let value = self.text(KEY).unwrap_or_else(|| "10000,6,60000,10".to_owned());
        let numbers: Option<Vec<u32>> =
            value.split(',').map(|number| number.trim().parse().ok().filter(|number| *number > 0)).collect();
        match numbers {
            Some(numbers) if numbers.len().is_multiple_of(2) => Ok(numbers
                .chunks_exact(2)
                .map(|step| RetryStep { tries: step[1], pause: Duration::from_millis(step[0].into()) })
                .collect()),
            _ => {
                let expected = "pairs of a pause in ms and a number of tries, such as 10000,6,60000,10".to_owned();
                Err(HdfsOptionError { key: KEY, value, expected })
            }
        }
    }
}

#[derive(Clone)]
pub struct Pauses(Arc<dyn Fn(Duration) + Send + Sync>);

impl Pauses {
    #[allow(clippy::disallowed_methods, reason = "a pause between tries waits for nothing but the clock")]
    fn sleeping() -> Self {
        Self(Arc::new(std::thread::sleep))
    }

    /// `pause` is called with each pause.
    pub fn through(pause: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        Self(Arc::new(pause))
    }

    pub(crate) fn pause(&self, length: Duration) {
        (self.0)(length);
    }
}

impl Default for Pauses {
    fn default() -> Self {
        Self::sleeping()
    }
}

impl fmt::Debug for Pauses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pauses")
    }
}

/// Reads `dfs.umaskmode`: three octal digits of what is taken away, or what is left, as `u=rwx,g=rx,o=` (1.2.1 `UmaskParser`).
fn parse_umask(text: &str) -> Option<u16> {
    let text = text.trim();
    if text.len() == 3 && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte)) {
        return u16::from_str_radix(text, 8).ok();
    }
    let mut allowed = 0;
    for clause in text.split(',') {
        let clause = clause.trim();
        let operator = clause.find(['+', '=', '-'])?;
        let (classes, rest) = clause.split_at(operator);
        let bits = rest.trim_start_matches(['+', '=', '-']);
        // The last of several operators counts.
        let is_taken = rest[..rest.len() - bits.len()].ends_with('-');
        let mut shifts = Vec::new();
        for class in classes.chars() {
            match class {
                'u' => shifts.push(6),
                'g' => shifts.push(3),
                'o' => shifts.push(0),
                'a' => {}
                _ => return None,
            }
        }
        if shifts.is_empty() {
            shifts = vec![6, 3, 0];
        }
        let mut mode = 0;
        for bit in bits.chars() {
            mode |= match bit {
                'r' => 4,
                'w' => 2,
                'x' => 1,
                _ => return None,
            };
        }
        for shift in shifts {
            // Each class begins without permissions, so there is nothing to take away; a later clause replaces an earlier one.
            allowed &= !(7 << shift);
            allowed |= if is_taken { 0 } else { mode << shift };
        }
    }
    Some(!allowed & 0o777)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(values: &[(&str, &str)]) -> Result<HdfsOptions, String> {
        let value_of = |key: &str| values.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned());
        HdfsOptions::from_keys(value_of).map_err(|error| error.to_string())
    }

    #[test]
    fn without_keys_the_defaults_are_those_of_1_2_1() {
        let options = options(&[]).unwrap();
        assert_eq!((options.replication, options.block_bytes, options.umask), (3, 64 << 20, 0o022));
        assert_eq!(options.packet_data_bytes(), 127 * 512);
        assert_eq!(options.prefetch(), 640 << 20);
        assert_eq!(options.under_umask(0o777), 0o755);
        assert!(options.retry_policy.is_empty());
    }

    #[test]
    fn keys_change_settings() {
        let options = options(&[
            ("dfs.replication", "2"),
            ("dfs.block.size", " 1048576 "),
            ("dfs.umaskmode", "u=rwx,g=rx,o="),
            ("dfs.socket.timeout", "5000"),
            ("dfs.client.use.datanode.hostname", "true"),
            ("dfs.client.retry.policy.enabled", "true"),
            ("dfs.read.prefetch.size", "4096"),
        ])
        .unwrap();
        assert_eq!((options.replication, options.block_bytes, options.umask), (2, 1 << 20, 0o027));
        assert_eq!(options.socket_timeout, Duration::from_secs(5));
        assert!(options.use_datanode_hostname);
        assert_eq!(options.prefetch(), 4096);
        let steps: Vec<_> = options.retry_policy.iter().map(|step| (step.tries, step.pause.as_secs())).collect();
        assert_eq!(steps, [(6, 10), (10, 60)]);
    }

    /// As in the conf folders of HDP 1.3 and CDH3.
    #[test]
    fn a_time_limit_of_0_is_none() {
        let options = options(&[("dfs.socket.timeout", "0"), ("dfs.datanode.socket.write.timeout", "0")]).unwrap();
        assert_eq!((options.socket_timeout, options.write_timeout), (NO_TIME_LIMIT, NO_TIME_LIMIT));
        // What is computed from them for a pipeline of many DataNodes.
        assert!(options.socket_timeout * 1_026 > options.socket_timeout + options.socket_timeout_per_node * 512);
    }

    #[test]
    fn the_old_umask_is_decimal_and_rules() {
        assert_eq!(options(&[("dfs.umask", "18"), ("dfs.umaskmode", "077")]).unwrap().umask, 0o022);
    }

    #[test]
    fn errors_name_key_and_value() {
        for (key, value, error) in [
            ("dfs.replication", "0", "dfs.replication = \"0\": expected a number from 1 to 512"),
            ("dfs.block.size", "1000", "dfs.block.size = \"1000\": expected a multiple of io.bytes.per.checksum, 512"),
            (
                "dfs.client.use.datanode.hostname",
                "yes",
                "dfs.client.use.datanode.hostname = \"yes\": expected true or false",
            ),
            ("dfs.socket.timeout", "60s", "dfs.socket.timeout = \"60s\": expected a number from 0 to 2147483647"),
            ("dfs.umask", "022x", "dfs.umask = \"022x\": expected a number from 0 to 511"),
        ] {
            assert_eq!(options(&[(key, value)]).unwrap_err(), error);
        }
        assert!(options(&[("dfs.umaskmode", "9")]).unwrap_err().starts_with("dfs.umaskmode = \"9\": expected three"));
        let policy = [("dfs.client.retry.policy.enabled", "true"), ("dfs.client.retry.policy.spec", "1,2,3")];
        assert!(options(&policy).unwrap_err().starts_with("dfs.client.retry.policy.spec = \"1,2,3\": expected pairs"));
    }

    #[test]
    fn octal_digits_take_away_and_letters_allow() {
        for (text, umask) in [
            ("022", 0o022),
            (" 077 ", 0o077),
            ("u=rwx,g=rx,o=rx", 0o022),
            ("u=rwx,g=,o=", 0o077),
            ("a=rwx", 0),
            ("=rx", 0o222),
            ("ug+rw, o-w", 0o117),
            ("u=rwx,u=r", 0o377),
        ] {
            assert_eq!(parse_umask(text), Some(umask), "{text}");
        }
        for text in ["", "0022", "22", "088", "rwx", "u=rwX", "z=r", "u=r g=r", "-1"] {
            assert_eq!(parse_umask(text), None, "{text}");
        }
    }
}
