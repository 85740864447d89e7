//! Rounds of preemption between pools, from claim to kill. Trackers have two slots of each kind.

use crate::engine::{Effect, FairConfig, PolicyConfig};
use crate::mapreduce::POOL_PROPERTY;
use crate::model::{JobId, PerKind};
use crate::scheduler::fair::locality_wait::LocalityDelayRule;

use super::cluster::Cluster;
use super::pools::{fair_config, in_pool, running, set_pool};
use super::preemption::{hang, live};

/// How long a pool starves until it gets slots.
const TIMEOUT_MS: u64 = 60_000;

/// A cluster without trackers, with a round each second. Its default pool gets no slots: jobs are set up in it.
fn cluster(file: &str) -> Cluster {
    let file = format!("<pool name='default'><maxMaps>0</maxMaps><maxReduces>0</maxReduces></pool>{file}");
    let mut config = FairConfig { preemption_interval_ms: Some(1_000), ..fair_config(&file) };
    config.options.preempts = true;
    config.options.delays = LocalityDelayRule { node_ms: Some(0), rack_ms: Some(0) };
    Cluster::new(PolicyConfig::Fair(config))
}

fn add_trackers(cluster: &mut Cluster, count: usize) {
    for number in 0..count {
        cluster.add_tracker(&format!("h{number}"), 2, 2);
    }
}

fn submit(cluster: &mut Cluster, maps: u32, reduces: u32) -> JobId {
    cluster.submit(in_pool(POOL_PROPERTY, "default", maps, reduces)).unwrap()
}

/// The texts of the rounds so far that wanted slots for a pool.
fn claims(cluster: &Cluster, pool: &str) -> Vec<String> {
    let lines = cluster.effects.iter().filter_map(|effect| match effect {
        Effect::Log { text, .. } => Some(text.clone()),
        _ => None,
    });
    let mut claims: Vec<_> = lines.filter(|line| line.contains(&format!("tasks for pool {pool}:"))).collect();
    claims.dedup();
    claims
}

/// Two trackers that the first job fills from its pool; the second one is about to enter `poolA`.
fn filled(file: &str, maps: u32, reduces: u32) -> (Cluster, [JobId; 2]) {
    let mut cluster = cluster(file);
    add_trackers(&mut cluster, 2);
    let jobs = [submit(&mut cluster, 10, 10), submit(&mut cluster, maps, reduces)];
    live(&mut cluster, 3_000, hang);
    set_pool(&mut cluster, jobs[0], "others");
    live(&mut cluster, 2_000, hang);
    assert_eq!(running(&cluster, jobs), [PerKind::new(4, 4), PerKind::default()]);
    set_pool(&mut cluster, jobs[1], "poolA");
    (cluster, jobs)
}

#[test]
fn row_17_a_pool_gets_no_more_than_its_jobs_need() {
    let file = "<pool name='poolA'><minMaps>3</minMaps><minReduces>3</minReduces>
        <minSharePreemptionTimeout>60</minSharePreemptionTimeout></pool>";
    let (mut cluster, jobs) = filled(file, 1, 2);
    live(&mut cluster, TIMEOUT_MS - 1_000, hang);
    assert_eq!(running(&cluster, jobs), [PerKind::new(4, 4), PerKind::default()]);
    live(&mut cluster, 8_000, hang);
    assert_eq!(running(&cluster, jobs), [PerKind::new(3, 2), PerKind::new(1, 2)]);
}

#[test]
fn row_18_a_pool_below_half_its_share_gets_all_of_it_in_whole_slots() {
    let mut cluster = cluster("<fairSharePreemptionTimeout>60</fairSharePreemptionTimeout>");
    add_trackers(&mut cluster, 3);
    let jobs = [(); 3].map(|()| submit(&mut cluster, 10, 10));
    live(&mut cluster, 3_000, hang);
    set_pool(&mut cluster, jobs[0], "pool1");
    live(&mut cluster, 3_000, hang);
    cluster.add_tracker("h3", 2, 2);
    set_pool(&mut cluster, jobs[1], "pool2");
    live(&mut cluster, 3_000, hang);
    let running = |cluster: &Cluster| {
        let [one, two] = running(cluster, [jobs[0], jobs[1]]);
        [one, two, super::pools::running(cluster, [jobs[2]; 2])[0]]
    };
    let both = |count| PerKind::new(count, count);
    assert_eq!(running(&cluster), [both(6), both(2), both(0)]);
    set_pool(&mut cluster, jobs[2], "pool3");
    live(&mut cluster, TIMEOUT_MS - 1_000, hang);
    assert_eq!(running(&cluster), [both(6), both(2), both(0)]);
    live(&mut cluster, 8_000, hang);
    assert_eq!(running(&cluster), [both(4), both(2), both(2)]);
    assert_eq!(claims(&cluster, "pool2"), [""; 0]);
}

#[test]
fn row_19_pools_above_their_share_lose_one_slot_each() {
    let mut cluster = cluster("<fairSharePreemptionTimeout>60</fairSharePreemptionTimeout>");
    let jobs = [(); 3].map(|()| submit(&mut cluster, 10, 0));
    add_trackers(&mut cluster, 3);
    live(&mut cluster, 3_000, hang);
    set_pool(&mut cluster, jobs[0], "pool1");
    set_pool(&mut cluster, jobs[1], "pool2");
    live(&mut cluster, 3_000, hang);
    let maps = |cluster: &Cluster| jobs.map(|job| super::pools::running(cluster, [job; 2])[0].map);
    assert_eq!(maps(&cluster), [3, 3, 0]);
    set_pool(&mut cluster, jobs[2], "pool3");
    live(&mut cluster, TIMEOUT_MS + 7_000, hang);
    assert_eq!(maps(&cluster), [2, 2, 2]);
}

#[test]
fn row_20_minimum_and_share_are_not_wanted_twice() {
    let file = "<pool name='poolA'><minMaps>2</minMaps><minReduces>2</minReduces>
        <minSharePreemptionTimeout>60</minSharePreemptionTimeout></pool>
        <fairSharePreemptionTimeout>60</fairSharePreemptionTimeout>";
    let (mut cluster, jobs) = filled(file, 10, 10);
    live(&mut cluster, TIMEOUT_MS + 7_000, hang);
    assert_eq!(running(&cluster, jobs), [PerKind::new(2, 2), PerKind::new(2, 2)]);
    let claims = claims(&cluster, "poolA");
    let both = "2 MAP tasks for pool poolA: tasksDueToMinShare = 2, tasksDueToFairShare = 2";
    assert_eq!(claims.first().unwrap(), &format!("Should preempt {both}"), "{claims:#?}");
}
