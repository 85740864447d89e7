//! Keys of containers that any application asks for.

use super::Unit::{Count, Megabytes, Milliseconds};
use super::ValueKind::{Flag, LocalPath, Number};
use super::keys;

const INT: i64 = i32::MAX as i64;
const DAY_MS: i64 = 86_400_000;

keys! {
    CONTAINERS;
    CONTAINERS_ENABLED = "jobtracker.containers.enabled", Flag, Some("true"),
        "Whether applications may ask for containers (`/ws/v1/cluster`) on built-in tasktrackers.";
    CONTAINERS_ACL_FILE = "jobtracker.containers.acl-file", LocalPath, None,
        "Lines of user, role (`user` or `admin`), key, by which requests about applications are signed; re-read when it changes. Unset: the file of the market, where there is one. Without a file requests need no signature, and are taken from users of this machine over loopback only.";
    CONTAINER_MIN_MEMORY = "jobtracker.containers.minimum.memory.mb", Number(Megabytes, 1, INT), Some("512"),
        "Memory of a container is rounded up to a multiple of this.";
    CONTAINER_MAX_MEMORY = "jobtracker.containers.maximum.memory.mb", Number(Megabytes, 1, INT), Some("1048576"),
        "Maximum memory of a container; a request for more is refused.";
    CONTAINER_MAX_VCORES = "jobtracker.containers.maximum.vcores", Number(Count, 1, INT), Some("1024"),
        "Maximum number of cores of a container; a request for more is refused.";
    CONTAINER_SLOT_MEMORY = "jobtracker.containers.slot.memory.mb", Number(Megabytes, 1, INT), None,
        "Memory that a running map or reduce takes from what its tasktracker has for containers, with one core. JobTracker and tasktrackers read it each; where they differ the JobTracker's counts. Unset: `mapred.cluster.map.memory.mb`, or 1024.";
    CONTAINER_LAUNCH_EXPIRY = "jobtracker.containers.launch-expiry-ms", Number(Milliseconds, 1_000, DAY_MS), Some("60000"),
        "A container that its application does not launch within this time after its grant is taken back.";
    CONTAINER_MAX_KILL_GRACE = "jobtracker.containers.max-kill-grace-ms", Number(Milliseconds, 0, 600_000), Some("30000"),
        "Maximum time between TERM and KILL of a container that its owner did not end: of preemptions (an allocation interval at most), kills by administrators and silent applications, and, as read by a tasktracker, of its own stop.";
    CONTAINER_LOCALITY_DELAY = "jobtracker.containers.locality.delay", Number(Count, 0, INT), Some("40"),
        "Number of offers, and at most the number of tasktrackers that take containers, that a request passes over before it takes a container in the rack instead of on its host; scaled down for one anywhere.";
    CONTAINERS_OF_APPLICATION = "jobtracker.containers.max-per-application", Number(Count, 1, 1_000_000), Some("100000"),
        "Maximum number of containers that one application has at a time.";
}
