//! Keys of Hadoop's client of HDFS (1.2.1 `DFSClient`, `hdfs-default.xml`), and of the JobTracker's watch over it.

use super::Unit::{Bytes, Count, Milliseconds};
use super::ValueKind::{Flag, Number, Text};
use super::keys;

const INT: i64 = i32::MAX as i64;
const MOST: i64 = i64::MAX;

keys! {
    HDFS;
    REPLICATION = "dfs.replication", Number(Count, 1, 512), Some("3"),
        "Copies of each block of a new file.";
    BLOCK_SIZE = "dfs.block.size" ["dfs.blocksize"], Number(Bytes, 1, MOST), Some("67108864"),
        "Block size of new files, a multiple of `io.bytes.per.checksum`.";
    BYTES_PER_CHECKSUM = "io.bytes.per.checksum", Number(Bytes, 1, 1 << 20), Some("512"),
        "How many bytes of a new file share a checksum.";
    WRITE_PACKET_SIZE = "dfs.write.packet.size" ["dfs.client-write-packet-size"], Number(Bytes, 1, 16 << 20), Some("65536"),
        "Bytes that are sent to DataNodes at a time.";
    UMASK_MODE = "dfs.umaskmode" ["fs.permissions.umask-mode"], Text, Some("022"),
        "Permission bits that new files and directories do not get: octal, or symbolic as `u=rwx,g=rx,o=`.";
    UMASK = "dfs.umask", Number(Count, 0, 511), None,
        "Deprecated: the same as a decimal number, which wins.";
    CONNECT_RETRIES = "ipc.client.connect.max.retries", Number(Count, 0, 1_000_000), Some("10"),
        "How often a client or worker tries again to connect to a NameNode. The JobTracker does not: it serves meanwhile.";
    CONNECTION_MAX_IDLE = "ipc.client.connection.maxidletime", Number(Milliseconds, 0, INT), Some("10000"),
        "How long an unused connection to a NameNode is kept.";
    SOCKET_TIMEOUT = "dfs.socket.timeout" ["dfs.client.socket-timeout"], Number(Milliseconds, 0, INT), Some("60000"),
        "Limit for connecting to a DataNode and for each read from it. 0: no limit; the JobTracker itself waits 2 s at most.";
    SOCKET_WRITE_TIMEOUT = "dfs.datanode.socket.write.timeout", Number(Milliseconds, 0, INT), Some("480000"),
        "Limit for each write to a DataNode. 0: no limit.";
    USE_DATANODE_HOSTNAME = "dfs.client.use.datanode.hostname", Flag, Some("false"),
        "Connect to DataNodes by their host names instead of their addresses.";
    BLOCK_ACQUIRE_FAILURES = "dfs.client.max.block.acquire.failures", Number(Count, 0, 1_000), Some("3"),
        "How often all copies of a block are tried before a read fails.";
    READ_PREFETCH_SIZE = "dfs.read.prefetch.size", Number(Bytes, 1, MOST), None,
        "How many bytes of a file the blocks are looked up for at a time. Unset: ten times `dfs.block.size`.";
    BLOCK_WRITE_RETRIES = "dfs.client.block.write.retries", Number(Count, 0, 1_000), Some("3"),
        "How often a new block is begun again with other DataNodes.";
    FOLLOWING_BLOCK_RETRIES = "dfs.client.block.write.locateFollowingBlock.retries", Number(Count, 0, 20), Some("5"),
        "How often the next block is asked for while the one before has no copy yet.";
    RETRY_POLICY_ENABLED = "dfs.client.retry.policy.enabled", Flag, Some("false"),
        "Whether clients and workers wait for a NameNode that is away or in safe mode.";
    RETRY_POLICY_SPEC = "dfs.client.retry.policy.spec", Text, Some("10000,6,60000,10"),
        "How: pairs of a pause in ms and a number of tries.";
    HDFS_MONITOR = "mapreduce.jt.hdfs.monitor.enable", Flag, Some("false"),
        "Whether the JobTracker is in safe mode while the NameNode of its system directory is away or in safe mode: no task is handed out then, and none fails for good.";
    HDFS_MONITOR_INTERVAL = "mapreduce.jt.hdfs.monitor.interval.ms", Number(Milliseconds, 100, INT), Some("5000"),
        "How often it looks at that NameNode, for `/readyz` also where the key above is `false`.";
}
