//! The report of the ruling policy, which pages and metrics show, and what explanations say of its limits.

use std::sync::Arc;

use crate::api::{PendingReason, PolicyName, SchedulerReport};
use crate::engine::{FairConfig, PolicyConfig};
use crate::fake_tracker::Role;
use crate::mapreduce::JobSpec;
use crate::model::{Decimal, JobId};
use crate::scheduler::capacity::{CapacityConfig, WrittenConfig, WrittenQueue};
use crate::scheduler::fair::allocation_file::AllocationFile;

use super::cluster::{Cluster, Fate, dynamic, fifo, spec};
use super::market::market_under;
use super::policies;

/// Half of the cluster for `default` and half for `research`, which may take three quarters.
pub(crate) fn two_queues() -> PolicyConfig {
    let queue = |name: &str| WrittenQueue::with_defaults(name, Decimal::parse("50"));
    let research = WrittenQueue { maximum_capacity: Decimal::whole(75), ..queue("research") };
    let written = WrittenConfig { queues: vec![queue("default"), research], ..WrittenConfig::default() };
    PolicyConfig::Capacity { config: Arc::new(CapacityConfig::new(&written).unwrap()), is_compatible: false }
}

/// The Fair scheduler with these allocations.
pub(crate) fn fair(file: &str) -> PolicyConfig {
    let file = AllocationFile::parse(&format!("<allocations>{file}</allocations>")).unwrap();
    let PolicyConfig::Fair(fair) = policies::fair() else { panic!("another policy") };
    PolicyConfig::Fair(FairConfig { allocations: Arc::new(file.allocations), ..fair })
}

pub(crate) fn report(cluster: &Cluster) -> SchedulerReport {
    cluster.engine.build_snapshot(cluster.now).value.report
}

pub(crate) fn why(cluster: &Cluster, job: JobId) -> Vec<String> {
    let explained = cluster.engine.explain(job, false, cluster.now).value.unwrap().finish();
    explained.why.iter().map(PendingReason::to_string).collect()
}

/// Sets jobs up and starts tasks, none of which ends.
fn start_tasks(cluster: &mut Cluster) {
    for _ in 0..6 {
        cluster.pass_ms(1_000);
        cluster.timer();
        for tracker in 0..2 {
            cluster.beat(tracker, |task| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang });
        }
    }
}

pub(crate) fn with_trackers(policy: PolicyConfig, specs: impl IntoIterator<Item = JobSpec>) -> (Cluster, Vec<JobId>) {
    let mut cluster = Cluster::new(policy);
    cluster.add_tracker("h0", 2, 1);
    cluster.add_tracker("h1", 2, 1);
    let mut jobs = Vec::new();
    for spec in specs {
        cluster.pass_ms(1);
        jobs.push(cluster.submit(spec).unwrap());
    }
    start_tasks(&mut cluster);
    (cluster, jobs)
}

#[test]
fn each_policy_has_a_name_and_no_numbers_of_others() {
    for (policy, name) in [
        (fifo(), PolicyName::Fifo),
        (dynamic(), PolicyName::Dynamic),
        (policies::capacity(), PolicyName::Capacity),
        (policies::fair(), PolicyName::Fair),
    ] {
        let cluster = Cluster::new(policy);
        let report = report(&cluster);
        assert_eq!(report.policy, name);
        for group in &report.groups {
            assert_eq!(group.capacity.is_some(), name == PolicyName::Capacity, "{group:?}");
            assert_eq!(group.pool.is_some(), name == PolicyName::Fair, "{group:?}");
            assert_eq!(group.bought.is_some(), name == PolicyName::Dynamic, "{group:?}");
        }
    }
}

#[test]
fn the_report_has_every_number_of_a_queue_and_its_jobs() {
    let jobs = [spec("alice", "default", 5, 1), spec("alice", "default", 1, 0)];
    let (cluster, _) = with_trackers(policies::capacity(), jobs);
    insta::assert_snapshot!(serde_json::to_string_pretty(&report(&cluster)).unwrap(), @r#"
    {
      "policy": "capacity",
      "since_ms": 0,
      "at_ms": 1795252006002,
      "slots": {
        "map": 4,
        "reduce": 2
      },
      "groups": [
        {
          "name": "default",
          "jobs": 2,
          "running": {
            "map": 4,
            "reduce": 0
          },
          "held": {
            "map": 4,
            "reduce": 0
          },
          "waiting": {
            "map": 2,
            "reduce": 0
          },
          "capacity": {
            "percent": "100.0",
            "user_limit_percent": 100,
            "user_limit_factor": "1.0",
            "supports_priority": false,
            "slots": {
              "map": 4,
              "reduce": 2
            },
            "occupied": {
              "map": 4,
              "reduce": 0
            },
            "occupied_percent": {
              "map": "100.0",
              "reduce": "0.0"
            },
            "running": {
              "map": 4,
              "reduce": 0
            },
            "active_users": {
              "map": 1,
              "reduce": 0
            },
            "user_limit": {
              "map": 4,
              "reduce": 2
            },
            "users": [
              {
                "user": "alice",
                "occupied": {
                  "map": 4,
                  "reduce": 0
                }
              }
            ],
            "waiting_jobs": 0,
            "initializing_jobs": 0,
            "running_jobs": 2,
            "active_tasks": 7,
            "limits": {
              "initialized": 5000,
              "initialized_per_user": 5000,
              "accepted": 50000,
              "accepted_per_user": 50000,
              "active_tasks": 200000,
              "active_tasks_per_user": 100000
            }
          }
        }
      ],
      "jobs": [
        {
          "job": "job_202611210913_0002",
          "name": "job",
          "user": "alice",
          "queue": "default",
          "group": "default",
          "priority": "NORMAL",
          "state": "RUNNING",
          "has_begun": true,
          "submit_ms": 1795252000002,
          "tasks": {
            "map": 1,
            "reduce": 0
          },
          "finished": {
            "map": 0,
            "reduce": 0
          },
          "running": {
            "map": 0,
            "reduce": 0
          },
          "held": {
            "map": 0,
            "reduce": 0
          },
          "waiting": {
            "map": 1,
            "reduce": 0
          },
          "place": {
            "map": {
              "groups_before": 0,
              "jobs_before": 1
            },
            "reduce": null
          },
          "held_back_by": [
            {
              "reason": "user_limit",
              "kind": "map",
              "limit": 4,
              "held": 4
            }
          ],
          "capacity": {
            "stage": "running",
            "slots_per_task": {
              "map": 1,
              "reduce": 1
            },
            "reserved": {
              "map": 0,
              "reduce": 0
            }
          }
        },
        {
          "job": "job_202611210913_0001",
          "name": "job",
          "user": "alice",
          "queue": "default",
          "group": "default",
          "priority": "NORMAL",
          "state": "RUNNING",
          "has_begun": true,
          "submit_ms": 1795252000001,
          "tasks": {
            "map": 5,
            "reduce": 1
          },
          "finished": {
            "map": 0,
            "reduce": 0
          },
          "running": {
            "map": 4,
            "reduce": 0
          },
          "held": {
            "map": 4,
            "reduce": 0
          },
          "waiting": {
            "map": 1,
            "reduce": 0
          },
          "place": {
            "map": {
              "groups_before": 0,
              "jobs_before": 0
            },
            "reduce": null
          },
          "held_back_by": [
            {
              "reason": "user_limit",
              "kind": "map",
              "limit": 4,
              "held": 4
            }
          ],
          "capacity": {
            "stage": "running",
            "slots_per_task": {
              "map": 1,
              "reduce": 1
            },
            "reserved": {
              "map": 0,
              "reduce": 0
            }
          }
        }
      ],
      "jobs_left_out": 0
    }
    "#);
}

#[test]
fn the_report_has_every_number_of_a_pool_and_its_jobs() {
    let file =
        r#"<pool name="alice"><minMaps>1</minMaps><maxMaps>3</maxMaps><maxRunningJobs>1</maxRunningJobs></pool>"#;
    let jobs = [spec("alice", "default", 5, 1), spec("alice", "default", 1, 0)];
    let (cluster, _) = with_trackers(fair(file), jobs);
    insta::assert_snapshot!(serde_json::to_string_pretty(&report(&cluster)).unwrap(), @r#"
    {
      "policy": "fair",
      "since_ms": 0,
      "at_ms": 1795252006002,
      "slots": {
        "map": 4,
        "reduce": 2
      },
      "groups": [
        {
          "name": "alice",
          "jobs": 2,
          "running": {
            "map": 3,
            "reduce": 0
          },
          "held": {
            "map": 3,
            "reduce": 0
          },
          "waiting": {
            "map": 2,
            "reduce": 0
          },
          "pool": {
            "minimum": {
              "map": 1,
              "reduce": 0
            },
            "maximum": {
              "map": 3,
              "reduce": null
            },
            "is_inverted": {
              "map": false,
              "reduce": false
            },
            "weight": "1.0",
            "mode": "fair",
            "max_running_jobs": 1,
            "demand": {
              "map": 3,
              "reduce": 0
            },
            "fair_share": {
              "map": "3.0",
              "reduce": "0.0"
            }
          }
        },
        {
          "name": "default",
          "jobs": 0,
          "running": {
            "map": 0,
            "reduce": 0
          },
          "held": {
            "map": 0,
            "reduce": 0
          },
          "waiting": {
            "map": 0,
            "reduce": 0
          },
          "pool": {
            "minimum": {
              "map": 0,
              "reduce": 0
            },
            "maximum": {
              "map": null,
              "reduce": null
            },
            "is_inverted": {
              "map": false,
              "reduce": false
            },
            "weight": "1.0",
            "mode": "fair",
            "demand": {
              "map": 0,
              "reduce": 0
            },
            "fair_share": {
              "map": "0.0",
              "reduce": "0.0"
            }
          }
        }
      ],
      "jobs": [
        {
          "job": "job_202611210913_0002",
          "name": "job",
          "user": "alice",
          "queue": "default",
          "group": "alice",
          "priority": "NORMAL",
          "state": "PREP",
          "has_begun": false,
          "submit_ms": 1795252000002,
          "tasks": {
            "map": 1,
            "reduce": 0
          },
          "finished": {
            "map": 0,
            "reduce": 0
          },
          "running": {
            "map": 0,
            "reduce": 0
          },
          "held": {
            "map": 0,
            "reduce": 0
          },
          "waiting": {
            "map": 0,
            "reduce": 0
          },
          "place": {
            "map": {
              "groups_before": 0,
              "jobs_before": 1
            },
            "reduce": null
          },
          "held_back_by": [
            {
              "reason": "begin_limit",
              "of": "pool",
              "name": "alice",
              "counts": "jobs",
              "limit": 1,
              "used": 1
            }
          ],
          "pool": {
            "is_runnable": false,
            "demand": {
              "map": 0,
              "reduce": 0
            },
            "weight": {
              "map": "1.0",
              "reduce": "1.0"
            },
            "fair_share": {
              "map": "0.0",
              "reduce": "0.0"
            },
            "waited_ms": 0
          }
        },
        {
          "job": "job_202611210913_0001",
          "name": "job",
          "user": "alice",
          "queue": "default",
          "group": "alice",
          "priority": "NORMAL",
          "state": "RUNNING",
          "has_begun": true,
          "submit_ms": 1795252000001,
          "tasks": {
            "map": 5,
            "reduce": 1
          },
          "finished": {
            "map": 0,
            "reduce": 0
          },
          "running": {
            "map": 3,
            "reduce": 0
          },
          "held": {
            "map": 3,
            "reduce": 0
          },
          "waiting": {
            "map": 2,
            "reduce": 0
          },
          "place": {
            "map": {
              "groups_before": 0,
              "jobs_before": 0
            },
            "reduce": null
          },
          "held_back_by": [
            {
              "reason": "group_maximum",
              "kind": "map",
              "of": "pool",
              "name": "alice",
              "maximum": 3,
              "held": 3
            }
          ],
          "pool": {
            "is_runnable": true,
            "demand": {
              "map": 5,
              "reduce": 0
            },
            "weight": {
              "map": "1.0",
              "reduce": "1.0"
            },
            "fair_share": {
              "map": "3.0",
              "reduce": "0.0"
            },
            "waited_ms": 0
          }
        }
      ],
      "jobs_left_out": 0
    }
    "#);
}

#[test]
fn a_report_names_the_newest_jobs_and_counts_the_others() {
    let mut cluster = Cluster::new(fifo());
    let last = (0..1_003).map(|_| cluster.submit(spec("alice", "default", 1, 0)).unwrap()).last().unwrap();
    let report = report(&cluster);
    assert_eq!((report.jobs.len(), report.jobs_left_out, report.jobs[0].job), (1_000, 3, last));
}

#[test]
fn what_visibility_keeps_private_is_not_in_the_report_without_money() {
    let cluster = market_under(dynamic(), &[("alice", "100", "1")]);
    let mut shown = report(&cluster);
    assert!(shown.groups.iter().any(|group| group.bought.is_some()));
    shown.hide_money(|_| false);
    let text = serde_json::to_string(&shown).unwrap();
    assert!(!["share", "quota", "rate", "cost"].iter().any(|word| text.contains(&format!("\"{word}\""))), "{text}");
}
