//! Elements, defaults, errors and warnings of allocation files.

use super::*;

fn parse(inside: &str) -> AllocationFile {
    AllocationFile::parse(&format!("<?xml version=\"1.0\"?>\n<allocations>\n{inside}\n</allocations>\n")).unwrap()
}

fn error(inside: &str) -> String {
    AllocationFile::parse(&format!("<allocations>\n{inside}\n</allocations>\n")).unwrap_err().to_string()
}

fn warnings(inside: &str) -> Vec<String> {
    parse(inside).warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn row_31_the_file_of_the_original_test() {
    let file = parse(
        "<pool name=\"poolA\"><minMaps>1</minMaps><minReduces>2</minReduces></pool>
         <pool name=\"poolB\"><minMaps>2</minMaps><minReduces>1</minReduces></pool>
         <pool name=\"poolC\"><minMaps>2</minMaps></pool>
         <pool name=\"poolD\"><maxRunningJobs>3</maxRunningJobs></pool>
         <pool name=\"poolE\"><minSharePreemptionTimeout>60</minSharePreemptionTimeout></pool>
         <user name=\"user1\"><maxRunningJobs>10</maxRunningJobs></user>
         <poolMaxJobsDefault>15</poolMaxJobsDefault>
         <userMaxJobsDefault>5</userMaxJobsDefault>
         <defaultMinSharePreemptionTimeout>120</defaultMinSharePreemptionTimeout>
         <fairSharePreemptionTimeout>300</fairSharePreemptionTimeout>",
    );
    let allocations = file.allocations;
    assert_eq!(file.warnings, []);
    assert_eq!(allocations.pools.len(), 5);
    let min = |pool: &str| allocations.settings(pool).min;
    assert_eq!(
        ["default", "poolA", "poolB", "poolC", "poolD"].map(min),
        [PerKind::new(0, 0), PerKind::new(1, 2), PerKind::new(2, 1), PerKind::new(2, 0), PerKind::new(0, 0)]
    );
    let of_user = |user: &str| allocations.max_running_jobs_of_user(user);
    assert_eq!((of_user("user1"), of_user("user2")), (Some(10), Some(5)));
    let jobs = |pool: &str| allocations.settings(pool).max_running_jobs;
    assert_eq!(["default", "poolA", "poolD"].map(jobs), [Some(15), Some(15), Some(3)]);
    let timeout = |pool: &str| allocations.settings(pool).min_share_timeout_ms;
    assert_eq!(["default", "poolA", "poolE"].map(timeout), [Some(120_000), Some(120_000), Some(60_000)]);
    assert_eq!(allocations.fair_share_timeout_ms, Some(300_000));
}

#[test]
fn an_empty_file_limits_nothing() {
    let allocations = parse("").allocations;
    assert_eq!(allocations, Allocations::default());
    let PoolSettings { min, max, max_running_jobs, weight, min_share_timeout_ms, mode } = allocations.settings("a");
    assert_eq!((min, max, max_running_jobs), (PerKind::new(0, 0), PerKind::new(None, None), None));
    assert_eq!((weight, min_share_timeout_ms, mode), (PartsPerMillion::ONE, None, SchedulingMode::Fair));
    assert_eq!((allocations.max_running_jobs_of_user("u"), allocations.fair_share_timeout_ms), (None, None));
}

#[test]
fn every_field_of_a_pool_is_read() {
    let text = "<pool name='p'>
        <minMaps> 1 </minMaps><minReduces>2</minReduces><maxMaps>3</maxMaps><maxReduces>4</maxReduces>
        <maxRunningJobs>5</maxRunningJobs><weight>2.5</weight>
        <minSharePreemptionTimeout>6</minSharePreemptionTimeout><schedulingMode>FiFo</schedulingMode>
        </pool>";
    let expected = PoolSettings {
        min: PerKind::new(1, 2),
        max: PerKind::new(Some(3), Some(4)),
        max_running_jobs: Some(5),
        weight: PartsPerMillion(2_500_000),
        min_share_timeout_ms: Some(6_000),
        mode: SchedulingMode::Fifo,
    };
    assert_eq!((parse(text).allocations.settings("p"), warnings(text)), (expected, vec![]));
}

#[test]
fn the_default_mode_is_that_of_all_pools_without_one() {
    let file = "<pool name='a'/><pool name='b'><schedulingMode>fair</schedulingMode></pool>
        <defaultPoolSchedulingMode>fifo</defaultPoolSchedulingMode>";
    let mode = |pool: &str| parse(file).allocations.settings(pool).mode;
    assert_eq!(["a", "b", "c"].map(mode), [SchedulingMode::Fifo, SchedulingMode::Fair, SchedulingMode::Fifo]);
}

#[test]
fn a_pool_that_is_listed_twice_has_the_fields_of_both() {
    let file = parse(
        "<pool name='a'><minMaps>1</minMaps><maxMaps>9</maxMaps></pool><pool name='a'><minMaps>2</minMaps></pool>",
    );
    let settings = file.allocations.settings("a");
    assert_eq!((settings.min.map, settings.max.map), (2, Some(9)));
}

#[test]
fn names_are_not_trimmed_and_weights_of_any_decimal_form_are_read() {
    let file = parse("<pool name=' a '><weight>5e-1</weight></pool><pool name='b'><weight>0.0000001</weight></pool>");
    let weight = |pool: &str| file.allocations.settings(pool).weight.0;
    assert_eq!([" a ", "a", "b"].map(weight), [500_000, 1_000_000, 1]);
}

#[test]
fn another_root_is_refused() {
    let refused = AllocationFile::parse("<configuration/>").unwrap_err().to_string();
    assert_eq!(
        refused,
        "line 1: Bad fair scheduler config file: top-level element not <allocations>, but <configuration>"
    );
}

#[test]
fn the_text_file_of_the_proposal_is_no_xml() {
    let refused = AllocationFile::parse("poolA 1 2\n").unwrap_err().to_string();
    assert_eq!(refused, "line 1: text outside of the root element; expected XML with one element <allocations>");
}

#[test]
fn a_bad_value_names_line_element_owner_value_and_what_was_expected() {
    for (inside, refused) in [
        (
            "<pool name='a'>\n<minMaps>x</minMaps></pool>",
            "line 3: <minMaps> of pool a = \"x\": expected a whole number from 0 to 2147483647",
        ),
        (
            "<pool name='a'><minMaps/></pool>",
            "line 2: <minMaps> of pool a = \"\": expected a whole number from 0 to 2147483647",
        ),
        (
            "<pool name='a'><maxMaps>2147483648</maxMaps></pool>",
            "line 2: <maxMaps> of pool a = \"2147483648\": expected a whole number from 0 to 2147483647",
        ),
        (
            "<pool name='a'><maxReduces><b/>1</maxReduces></pool>",
            "line 2: <maxReduces> of pool a = \"1\": expected a whole number from 0 to 2147483647",
        ),
        (
            "<pool name='a'><weight>-1</weight></pool>",
            "line 2: <weight> of pool a = \"-1\": expected a decimal number from 0 to 1000000000",
        ),
        (
            "<pool name='a'><weight>NaN</weight></pool>",
            "line 2: <weight> of pool a = \"NaN\": expected a decimal number from 0 to 1000000000",
        ),
        (
            "<user name='u'><maxRunningJobs>-1</maxRunningJobs></user>",
            "line 2: <maxRunningJobs> of user u = \"-1\": expected a whole number from 0 to 2147483647",
        ),
        (
            "<poolMaxJobsDefault>no</poolMaxJobsDefault>",
            "line 2: <poolMaxJobsDefault> = \"no\": expected a whole number from 0 to 2147483647",
        ),
        (
            "<fairSharePreemptionTimeout>1.5</fairSharePreemptionTimeout>",
            "line 2: <fairSharePreemptionTimeout> = \"1.5\": expected a whole number of seconds from 0 to 1000000000",
        ),
        (
            "<pool name='a'><schedulingMode>lifo</schedulingMode></pool>",
            "line 2: <schedulingMode> of pool a: Unknown scheduling mode : lifo; expected 'fifo' or 'fair'",
        ),
        (
            "<defaultPoolSchedulingMode/>",
            "line 2: <defaultPoolSchedulingMode>: Unknown scheduling mode : ; expected 'fifo' or 'fair'",
        ),
        ("<pool/>", "line 2: <pool> without a name; expected <pool name=\"...\">"),
        ("<user name=''/>", "line 2: <user> without a name; expected <user name=\"...\">"),
    ] {
        assert_eq!(error(inside), refused);
    }
}

#[test]
fn questionable_parts_are_warnings() {
    assert_eq!(
        warnings("\n<queue name='a'/>"),
        ["line 4: Bad element in allocations file: queue (expected <pool>); ignored"]
    );
    let inverted = "<pool name='a'><minMaps>2</minMaps><maxMaps>1</maxMaps><minReduces>3</minReduces>\
                    <maxReduces>2</maxReduces></pool>";
    assert_eq!(
        warnings(inverted),
        [
            "line 3: Pool a has max maps 1 less than min maps 2: the max counts",
            "line 3: Pool a has max reduces 2 less than min reduces 3: the max counts"
        ]
    );
    let settings = parse(inverted).allocations.settings("a");
    assert!(settings.is_inverted(Kind::Map) && settings.is_inverted(Kind::Reduce));
    assert!(!PoolSettings::default().is_inverted(Kind::Map));
}

#[test]
fn a_pool_in_a_pool_has_a_full_name_and_its_parent_at_least_its_minimum() {
    let file = "<pool name='a'><minMaps>1</minMaps>
        <pool name='b'><minMaps>2</minMaps><minReduces>4</minReduces></pool>
        <pool name='c'><minMaps>3</minMaps><pool name='d'><minMaps>5</minMaps></pool></pool></pool>";
    let pools = parse(file).allocations.pools;
    let found: Vec<_> =
        pools.iter().map(|(name, pool)| (name.as_str(), pool.parent.as_deref(), pool.settings.min)).collect();
    assert_eq!(
        found,
        [
            ("a", None, PerKind::new(7, 4)),
            ("a.b", Some("a"), PerKind::new(2, 4)),
            ("a.c", Some("a"), PerKind::new(5, 0)),
            ("a.c.d", Some("a.c"), PerKind::new(5, 0)),
        ]
    );
    assert_eq!(
        warnings(file),
        [
            "line 5: Pool a.c has min maps 3 less than its pools together, 5, which counts",
            "line 3: Pool a has min maps 1 less than its pools together, 7, which counts"
        ]
    );
}

#[test]
fn a_pool_inside_itself_or_at_two_places_is_refused() {
    let inside = "<pool name='a'><pool name='b'>\n<pool name='a'/></pool></pool>";
    assert_eq!(error(inside), "line 3: pool a.b.a is inside of itself; expected another name");
    assert_eq!(
        error("<pool name='a.b'/>\n<pool name='a'><pool name='b'/></pool>"),
        "line 3: pool a.b is declared at line 2 too, in another pool; expected one place"
    );
}

#[test]
fn an_unknown_element_is_named_with_its_pool_or_user_and_the_nearest_name() {
    let file = "<pool name='prod'><minMaps>10</minMaps>\n<maxRunningJob>1</maxRunningJob>
        <pool name='nightly'><MaxMaps>3</MaxMaps></pool><aclSubmitApps>x</aclSubmitApps></pool>
        <user name='alice'><maxRunningJobs>2</maxRunningJobs><maxRuningJobs>3</maxRuningJobs><weight>2</weight></user>
        <userMaxJobDefault>3</userMaxJobDefault><pool name='b'><userMaxJobsDefault>3</userMaxJobsDefault></pool>";
    assert_eq!(
        warnings(file),
        [
            "line 4: Bad element in allocations file: maxRunningJob of pool prod (did you mean <maxRunningJobs>?); ignored",
            "line 5: Bad element in allocations file: aclSubmitApps of pool prod (expected <pool>, <minMaps>, <minReduces>, <maxMaps>, <maxReduces>, <maxRunningJobs>, <weight>, <minSharePreemptionTimeout>, <schedulingMode>); ignored",
            "line 5: Bad element in allocations file: MaxMaps of pool prod.nightly (did you mean <maxMaps>?); ignored",
            "line 6: Bad element in allocations file: maxRuningJobs of user alice (did you mean <maxRunningJobs>?); ignored",
            "line 6: Bad element in allocations file: weight of user alice (expected <maxRunningJobs>); ignored",
            "line 7: Bad element in allocations file: userMaxJobDefault (did you mean <userMaxJobsDefault>?); ignored",
            "line 7: Bad element in allocations file: userMaxJobsDefault of pool b (<userMaxJobsDefault> stands in <allocations> itself); ignored",
        ]
    );
    let pool = parse(file).allocations.settings("prod").max_running_jobs;
    assert_eq!(pool, None, "a misspelt limit is none");
}

#[test]
fn a_file_full_of_nonsense_has_a_bounded_number_of_warnings() {
    assert_eq!(warnings(&"<x/>".repeat(500)).len(), MAX_WARNINGS);
}
