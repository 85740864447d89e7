//! One case of each contradiction, and that its opposite is silent.

use crate::config::LoadOptions;

use super::*;

fn texts(find: fn(&Configuration) -> Vec<Warning>, overrides: &[&str]) -> Vec<String> {
    let overrides = overrides.iter().map(|text| (*text).to_owned()).collect();
    let configuration = LoadOptions { overrides, ..LoadOptions::default() }.configuration().unwrap();
    find(&configuration).iter().map(ToString::to_string).collect()
}

fn all(find: fn(&Configuration) -> Vec<Warning>, cases: &[&[&str]]) -> String {
    cases.iter().map(|overrides| texts(find, overrides).join("\n")).collect::<Vec<_>>().join("\n")
}

const MARKET: &str = "mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.DynamicPriorityScheduler";

#[test]
fn contradictions_of_a_jobtracker_are_named() {
    insta::assert_snapshot!(all(|configuration| of_jobtracker(configuration, false), &[
        &["jobtracker.state.dir=/s", "mapred.local.dir=/a,/s/local"],
        &["jobtracker.state.dir=/sys/state", "mapred.system.dir=/sys"],
        &["mapreduce.jobtracker.staging.root.dir=/sys/users", "mapred.system.dir=/sys"],
        &["jobtracker.state.dir=/s", "mapred.system.dir=/s/system", "mapreduce.jobtracker.staging.root.dir=/s/users"],
        &["mapred.tasktracker.expiry.interval=60"],
        &["mapred.task.timeout=600", "jobtracker.web.hosts=proxy,http://proxy/"],
        &["mapred.hosts=/etc/hosts", "mapred.hosts.exclude=/etc/hosts"],
        &["mapred.cluster.map.memory.mb=100"],
        &["mapred.cluster.map.memory.mb=9", "mapred.cluster.max.map.memory.mb=8", "mapred.cluster.reduce.memory.mb=1", "mapred.cluster.max.reduce.memory.mb=1"],
        &["mapred.dynamic-scheduler.alloc-interval=5"],
        &[MARKET, "jobtracker.fifo.compatible=true"],
        &[MARKET, "mapred.priority-scheduler.kill-interval=30"],
        &["mapred.constraint-scheduler.strategy.fixed=3", "mapred.constraint-scheduler.history.alpha=0.5", "mapred.constraint-scheduler.history.enabled=false"],
        &["mapred.local.dir=/tmp/a;/tmp/b", "jobtracker.web.hosts=a b"],
        &["mapred.local.dir=/tmp/a:/tmp/b"],
    ]), @r#"
    -D: mapred.local.dir = "/a,/s/local" is inside jobtracker.state.dir, which must contain only the JobTracker's state
    -D: jobtracker.state.dir = "/sys/state" is inside mapred.system.dir, which a Java JobTracker deletes at its start
    -D: mapreduce.jobtracker.staging.root.dir = "/sys/users" is inside mapred.system.dir, which a Java JobTracker deletes at its start
    -D: mapred.system.dir = "/s/system" is inside jobtracker.state.dir, which only the JobTracker may access
    -D: mapreduce.jobtracker.staging.root.dir = "/s/users" is inside jobtracker.state.dir, which only the JobTracker may access
    -D: mapred.tasktracker.expiry.interval = "60" is in ms, and below 10000: a tracker whose heartbeat is a moment late is lost, and what ran there runs again
    -D: mapred.task.timeout = "600" is in ms, and below 10000: a task that reports nothing for a moment is killed
    -D: jobtracker.web.hosts = "proxy,http://proxy/" admits no request for "http://proxy/": expected host names, without http:// and port
    -D: mapred.hosts.exclude = "/etc/hosts" is also the file of mapred.hosts, so no host is admitted
    -D: mapred.cluster.map.memory.mb = "100" has no effect while mapred.cluster.reduce.memory.mb is not set
    -D: mapred.cluster.map.memory.mb = "9" exceeds mapred.cluster.max.map.memory.mb, the maximum that a task may request
    -D: mapred.dynamic-scheduler.alloc-interval = "5" is read only if mapred.jobtracker.taskScheduler is org.apache.hadoop.mapred.DynamicPriorityScheduler, or if the file of mapred.priority-scheduler.acl-file is there
    -D: jobtracker.fifo.compatible = "true" is read only if mapred.jobtracker.taskScheduler is org.apache.hadoop.mapred.JobQueueTaskScheduler
    -D: mapred.priority-scheduler.kill-interval = "30" is not a multiple of mapred.dynamic-scheduler.alloc-interval (20): rounds of preemption do not follow the ticks
    -D: mapred.constraint-scheduler.strategy.fixed = "3" has no effect while mapred.constraint-scheduler.strategy is not fixed
    -D: mapred.constraint-scheduler.history.alpha = "0.5" has no effect while mapred.constraint-scheduler.history.enabled is not true
    -D: mapred.local.dir = "/tmp/a;/tmp/b" has "/tmp/a;/tmp/b" as one entry: separate entries by commas
    -D: jobtracker.web.hosts = "a b" has "a b" as one entry: separate entries by commas
    -D: mapred.local.dir = "/tmp/a:/tmp/b" has "/tmp/a:/tmp/b" as one entry: separate entries by commas
    "#);
}

#[test]
fn consistent_values_cause_no_warnings() {
    let silent: [&[&str]; 8] = [
        &[],
        &[
            "mapred.local.dir=/my disk/a, /b",
            "mapred.constraint-scheduler.strategy=fixed",
            "mapred.constraint-scheduler.strategy.fixed=3",
        ],
        &["mapred.tasktracker.expiry.interval=30000", "mapred.task.timeout=0", "jobtracker.web.hosts=proxy,[::1]"],
        &["jobtracker.state.dir=/s", "mapred.system.dir=/system", "mapred.local.dir=/state/local"],
        &["mapred.job.tracker=h:0", "mapred.job.tracker.http.address=h:0"],
        &["mapred.hosts=/a", "mapred.hosts.exclude=/b", "mapred.cluster.map.memory.mb=-1"],
        &[MARKET, "mapred.priority-scheduler.kill-interval=40", "mapred.dynamic-scheduler.alloc-interval=20"],
        &["mapred.cluster.map.memory.mb=10", "mapred.cluster.reduce.memory.mb=1", "mapred.task.limit.maxvmem=99999999"],
    ];
    for overrides in silent {
        assert_eq!(
            texts(|configuration| of_jobtracker(configuration, false), overrides),
            Vec::<String>::new(),
            "{overrides:?}"
        );
    }
    let silent: [&[&str]; 3] = [
        &[],
        &["mapred.tasktracker.map.tasks.maximum=0"],
        &["mapred.job.tracker=master:1", "mapred.task.tracker.http.address=0.0.0.0:50060"],
    ];
    for overrides in silent {
        assert_eq!(texts(of_tasktracker, overrides), Vec::<String>::new(), "{overrides:?}");
    }
}

#[test]
fn contradictions_of_a_tasktracker_are_named() {
    insta::assert_snapshot!(all(of_tasktracker, &[
        &["mapred.tasktracker.map.tasks.maximum=0", "mapred.tasktracker.reduce.tasks.maximum=0"],
        &["mapred.job.tracker=master:8021"],
        &["mapred.local.dir=/s/local", "jobtracker.state.dir=/s"],
        &["dfs.socket.timeout=60"],
    ]), @r#"
    -D: mapred.tasktracker.map.tasks.maximum = "0" and mapred.tasktracker.reduce.tasks.maximum is also 0: the tasktracker would run no tasks
    standalone default: mapred.task.tracker.http.address = "127.0.0.1:50060" is reachable from this machine only, but the JobTracker is at master:8021: tasktrackers on other machines could not fetch map output
    -D: mapred.local.dir = "/s/local" is inside jobtracker.state.dir, which must contain only the JobTracker's state
    -D: dfs.socket.timeout = "60" is in ms, and below 1000: a DataNode that is slow for a moment is given up
    "#);
}

#[test]
fn access_lists_and_states_that_apply_to_no_queue_are_named() {
    let queues = "mapred.queue.names=my_group,default";
    insta::assert_snapshot!(all(of_queues, &[
        &[queues, "mapred.acls.enabled=true", "mapred.queue.my_queue.acl-submit-job=alice"],
        &[queues, "mapred.queue.my_groups.state=STOPPED"],
        &[queues, "mapred.queue.default.acl-administer-jobs=ops"],
        &["mapred.queue.names=default;research;payroll"],
        &["mapred.queue.names=default research, payroll"],
    ]), @r#"
    -D: mapred.queue.my_queue.acl-submit-job = "alice" has no effect: no such queue in mapred.queue.names (my_group, default)
    -D: mapred.queue.my_groups.state = "STOPPED" has no effect: no such queue in mapred.queue.names (my_group, default); did you mean mapred.queue.my_group.state?
    -D: mapred.queue.default.acl-administer-jobs = "ops" has no effect while mapred.acls.enabled is not true
    -D: mapred.queue.names = "default;research;payroll" has "default;research;payroll" as one entry: separate entries by commas
    -D: mapred.queue.names = "default research, payroll" has "default research" as one entry: separate entries by commas
    "#);
    let silent: [&[&str]; 3] = [
        &[queues, "mapred.acls.enabled=true", "mapred.queue.my_group.acl-submit-job=alice"],
        &[queues, "mapred.queue.default.state=RUNNING", "mapred.queue.default.acl-submit-job=*"],
        &["mapred.queue.default.acl-submit-job= "],
    ];
    for overrides in silent {
        assert_eq!(texts(of_queues, overrides), Vec::<String>::new(), "{overrides:?}");
    }
}

#[test]
fn a_proxy_user_with_one_list_of_two_is_named() {
    insta::assert_snapshot!(all(of_proxy_users, &[
        &["hadoop.proxyuser.oozie.hosts=*"],
        &["hadoop.proxyuser.hue.groups=users", "hadoop.proxyuser.oozie.hosts=h", "hadoop.proxyuser.oozie.groups=*"],
    ]), @r#"
    -D: hadoop.proxyuser.oozie.hosts = "*" has no effect while hadoop.proxyuser.oozie.groups is not set: oozie may act for no user
    -D: hadoop.proxyuser.hue.groups = "users" has no effect while hadoop.proxyuser.hue.hosts is not set: hue may act for no user
    "#);
}
