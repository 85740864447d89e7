//! The pages of the Fair and Capacity schedulers, from plain numbers.

use askama::Template;

use crate::api::{
    ExactDecimal, LimitCount, LimitHolder, PendingReason, PolicyName, PoolMode, PoolShares, PooledJob, QueueCapacity,
    QueueJobLimits, ReportedGroup, ReportedJob, SchedulerReport,
};
use crate::model::{PartsPerMillion, PerKind, Priority};
use crate::web::capacity_page::CapacityPage;
use crate::web::fair_page::FairPage;

fn millionths(map: u64, reduce: u64) -> PerKind<ExactDecimal> {
    PerKind::new(ExactDecimal(PartsPerMillion(map)), ExactDecimal(PartsPerMillion(reduce)))
}

fn group(name: &str) -> ReportedGroup {
    ReportedGroup {
        name: name.to_owned(),
        parent: None,
        jobs: 2,
        running: PerKind::new(3, 1),
        held: PerKind::new(3, 1),
        waiting: PerKind::new(7, 0),
        capacity: None,
        pool: None,
        bought: None,
    }
}

fn pool(name: &str, maximum: PerKind<Option<u32>>, mode: PoolMode) -> ReportedGroup {
    let shares = PoolShares {
        minimum: PerKind::new(4, 0),
        maximum,
        is_inverted: PerKind::new(maximum.map.is_some_and(|maximum| maximum < 4), false),
        weight: ExactDecimal(PartsPerMillion::ONE),
        mode,
        max_running_jobs: None,
        demand: PerKind::new(10, 1),
        fair_share: millionths(2_666_666, 1_000_000),
        below_minimum_ms: None,
        below_half_share_ms: None,
    };
    ReportedGroup { pool: Some(shares), ..group(name) }
}

fn job(number: i32, group: &str, name: &str) -> ReportedJob {
    ReportedJob {
        job: format!("job_202611211200_{number:04}").parse().unwrap(),
        name: name.to_owned(),
        user: "alice".to_owned(),
        queue: "default".to_owned(),
        group: group.to_owned(),
        priority: Priority::High,
        state: "RUNNING".to_owned(),
        has_begun: true,
        submit_ms: 1_238_600_160_788,
        tasks: PerKind::new(10, 1),
        finished: PerKind::new(2, 0),
        running: PerKind::new(3, 1),
        held: PerKind::new(3, 1),
        waiting: PerKind::new(5, 0),
        place: PerKind::default(),
        held_back_by: Vec::new(),
        capacity: None,
        pool: Some(PooledJob {
            is_runnable: true,
            demand: PerKind::new(8, 1),
            weight: millionths(2_000_000, 2_000_000),
            fair_share: Some(millionths(2_650_000, 1_000_000)),
            deficit_slot_ms: None,
            waited_ms: 0,
        }),
        deadline: None,
    }
}

fn fair() -> SchedulerReport {
    let in_order = ReportedJob {
        held_back_by: vec![PendingReason::GroupMaximum {
            kind: crate::model::Kind::Map,
            of: LimitHolder::Pool,
            name: "zeta".to_owned(),
            maximum: 3,
            held: 3,
        }],
        pool: job(1, "zeta", "").pool.map(|pool| PooledJob { fair_share: None, ..pool }),
        ..job(1, "zeta", "sorts <b>")
    };
    let waiting = ReportedJob {
        has_begun: false,
        held_back_by: vec![PendingReason::BeginLimit {
            of: LimitHolder::User,
            name: None,
            counts: LimitCount::Jobs,
            limit: 2,
            used: 2,
        }],
        ..job(3, "default", "waits")
    };
    SchedulerReport {
        policy: PolicyName::Fair,
        at_ms: 1_238_600_160_788,
        groups: vec![
            pool("alpha", PerKind::new(None, Some(5)), PoolMode::Fair),
            pool("default", PerKind::default(), PoolMode::Fair),
            pool("zeta", PerKind::new(Some(3), None), PoolMode::Fifo),
        ],
        jobs: vec![waiting, job(2, "alpha", "counts"), in_order],
        ..SchedulerReport::default()
    }
}

/// What stands between two lines of a page.
fn part<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = page.split_once(from).unwrap();
    rest.split_once(to).unwrap().0
}

#[test]
fn fair_section_8_the_page_lists_pools_by_name_and_jobs_that_have_begun() {
    let page = FairPage::new("master", &fair(), false, false).render().unwrap();
    insta::assert_snapshot!(page, @r#"
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>master Fair Scheduler Administration</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/static/jobtracker.css">
    </head>
    <body>
    <header>
    <h1><a href="/jobtracker.jsp">master</a> Fair Scheduler Administration</h1>
    <nav><a href="/">Start page</a> <a href="/scheduler?advanced">More columns</a> <a href="/scheduler?format=json">JSON</a></nav>
    </header>
    <main>
    <section id="pools">
    <h2>Pools</h2>
    <div class="wide"><table>
    <thead>
    <tr><th rowspan="2">Pool</th><th rowspan="2" class="number">Running Jobs</th><th colspan="4">Map Tasks</th><th colspan="4">Reduce Tasks</th><th rowspan="2">Scheduling Mode</th></tr>
    <tr><th class="number">Min Share</th><th class="number">Max Share</th><th class="number">Running</th><th class="number">Fair Share</th><th class="number">Min Share</th><th class="number">Max Share</th><th class="number">Running</th><th class="number">Fair Share</th></tr>
    </thead>
    <tbody>
    <tr><th scope="row">alpha</th><td class="number">2</td><td class="number">4</td><td class="number">-</td><td class="number">3</td><td class="number">2.7</td><td class="number">0</td><td class="number">5</td><td class="number">1</td><td class="number">1.0</td><td>FAIR</td></tr>
    <tr><th scope="row">zeta</th><td class="number">2</td><td class="number">4*</td><td class="number">3*</td><td class="number">3</td><td class="number">2.7</td><td class="number">0</td><td class="number">-</td><td class="number">1</td><td class="number">1.0</td><td>FIFO</td></tr>
    <tr><th scope="row">default</th><td class="number">2</td><td class="number">4</td><td class="number">-</td><td class="number">3</td><td class="number">2.7</td><td class="number">0</td><td class="number">-</td><td class="number">1</td><td class="number">1.0</td><td>FAIR</td></tr>
    </tbody>
    </table></div>
    <p class="none">*: the maximum share is below the minimum share. The maximum counts.</p>
    </section>
    <section id="jobs">
    <h2>Running Jobs</h2>
    <div class="wide"><table>
    <thead>
    <tr><th rowspan="2">Submitted</th><th rowspan="2">JobID</th><th rowspan="2">User</th><th rowspan="2">Name</th><th rowspan="2">Pool</th><th rowspan="2">Priority</th><th colspan="3">Map Tasks</th><th colspan="3">Reduce Tasks</th></tr>
    <tr><th class="number">Finished</th><th class="number">Running</th><th class="number">Fair Share</th><th class="number">Finished</th><th class="number">Running</th><th class="number">Fair Share</th></tr>
    </thead>
    <tbody>
    <tr><td>Apr 01, 15:36</td><td><a href="jobdetails.jsp?jobid=job_202611211200_0001">job_202611211200_0001</a></td><td>alice</td><td>sorts &#60;b&#62;</td>
    <td>zeta</td><td>HIGH</td><td class="number">2 / 10</td><td class="number">3</td><td class="number">NA</td><td class="number">0 / 1</td><td class="number">1</td><td class="number">NA</td></tr>
    <tr><td>Apr 01, 15:36</td><td><a href="jobdetails.jsp?jobid=job_202611211200_0002">job_202611211200_0002</a></td><td>alice</td><td>counts</td>
    <td>alpha</td><td>HIGH</td><td class="number">2 / 10</td><td class="number">3</td><td class="number">2.7</td><td class="number">0 / 1</td><td class="number">1</td><td class="number">1.0</td></tr>
    </tbody>
    </table></div>
    </section>
    </main>
    <footer>As of 2009-04-01 15:36:00 UTC</footer>
    </body>
    </html>
    "#);
}

#[test]
fn fair_section_8_the_advanced_view_has_weights_and_what_holds_jobs_back() {
    let page = FairPage::new("master", &fair(), true, false).render().unwrap();
    insta::assert_snapshot!(part(&page, "<section id=\"jobs\">", "</section>"), @r#"

    <h2>Running Jobs</h2>
    <div class="wide"><table>
    <thead>
    <tr><th rowspan="2">Submitted</th><th rowspan="2">JobID</th><th rowspan="2">User</th><th rowspan="2">Name</th><th rowspan="2">Pool</th><th rowspan="2">Priority</th><th colspan="4">Map Tasks</th><th colspan="4">Reduce Tasks</th><th rowspan="2">Held back by</th></tr>
    <tr><th class="number">Finished</th><th class="number">Running</th><th class="number">Fair Share</th><th class="number">Weight</th><th class="number">Finished</th><th class="number">Running</th><th class="number">Fair Share</th><th class="number">Weight</th></tr>
    </thead>
    <tbody>
    <tr><td>Apr 01, 15:36</td><td><a href="jobdetails.jsp?jobid=job_202611211200_0001">job_202611211200_0001</a></td><td>alice</td><td>sorts &#60;b&#62;</td>
    <td>zeta</td><td>HIGH</td><td class="number">2 / 10</td><td class="number">3</td><td class="number">NA</td><td class="number">2.0</td><td class="number">0 / 1</td><td class="number">1</td><td class="number">NA</td><td class="number">2.0</td><td>pool zeta may hold 3 map slots and holds 3</td></tr>
    <tr><td>Apr 01, 15:36</td><td><a href="jobdetails.jsp?jobid=job_202611211200_0002">job_202611211200_0002</a></td><td>alice</td><td>counts</td>
    <td>alpha</td><td>HIGH</td><td class="number">2 / 10</td><td class="number">3</td><td class="number">2.7</td><td class="number">2.0</td><td class="number">0 / 1</td><td class="number">1</td><td class="number">1.0</td><td class="number">2.0</td><td></td></tr>
    </tbody>
    </table></div>
    "#);
}

#[test]
fn fair_section_8_forms_use_post_and_offer_pools_and_priorities() {
    let page = FairPage::new("master", &fair(), false, true).render().unwrap();
    let row = page.lines().filter(|line| line.contains("job_202611211200_0002")).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(row, @r#"
    <tr><td>Apr 01, 15:36</td><td><a href="jobdetails.jsp?jobid=job_202611211200_0002">job_202611211200_0002</a></td><td>alice</td><td>counts</td>
    <td><form method="post" action="/scheduler"><input type="hidden" name="jobid" value="job_202611211200_0002"><input name="setPool" value="alpha" list="pool-names" aria-label="pool of job_202611211200_0002"> <button>Move</button></form></td>
    <td><form method="post" action="/scheduler"><input type="hidden" name="jobid" value="job_202611211200_0002"><select name="setPriority" aria-label="priority of job_202611211200_0002"><option>VERY_HIGH</option><option selected>HIGH</option><option>NORMAL</option><option>LOW</option><option>VERY_LOW</option></select> <button>Set</button></form></td><td class="number">2 / 10</td><td class="number">3</td><td class="number">2.7</td><td class="number">0 / 1</td><td class="number">1</td><td class="number">1.0</td></tr>
    "#);
    let none = FairPage::new("master", &fair(), false, false).render().unwrap();
    assert!(!none.contains("<form"), "{none}");
}

#[test]
fn fair_section_8_deficits_are_shown_where_jobs_are_ordered_by_them() {
    let mut report = fair();
    for (job, deficit) in
        report.jobs.iter_mut().zip([PerKind::new(1_333, 0), PerKind::new(-2_667, 0), PerKind::default()])
    {
        job.pool = job.pool.map(|pool| PooledJob { deficit_slot_ms: Some(deficit), ..pool });
    }
    let page = FairPage::new("master", &report, true, false).render().unwrap();
    assert!(page.contains("<th class=\"number\">Deficit</th>") && page.contains(">-2s</td>"), "{page}");
}

#[test]
fn row_28_the_page_lists_every_queue_with_its_percentage() {
    let queue = |name: &str| {
        let capacity = QueueCapacity {
            percent: "50.0".to_owned(),
            maximum_percent: None,
            user_limit_percent: 100,
            user_limit_factor: "1.0".to_owned(),
            supports_priority: false,
            slots: PerKind::new(4, 1),
            maximum_slots: None,
            occupied: PerKind::new(2, 1),
            occupied_percent: PerKind::new("50.0".to_owned(), "100.0".to_owned()),
            running: PerKind::new(2, 1),
            active_users: PerKind::new(1, 0),
            user_limit: PerKind::new(4, 1),
            users: Vec::new(),
            waiting_jobs: 3,
            initializing_jobs: 1,
            running_jobs: 2,
            active_tasks: 12,
            limits: QueueJobLimits::default(),
        };
        ReportedGroup { capacity: Some(capacity), ..group(name) }
    };
    let report = SchedulerReport {
        policy: PolicyName::Capacity,
        at_ms: 1_238_600_160_788,
        groups: vec![queue("default"), queue("q&2")],
        ..SchedulerReport::default()
    };
    insta::assert_snapshot!(CapacityPage::new("master", &report).render().unwrap(), @r#"
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>master Job Scheduler Admininstration</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/static/jobtracker.css">
    </head>
    <body>
    <header>
    <h1><a href="/jobtracker.jsp">master</a> Job Scheduler Administration</h1>
    <nav><a href="/">Start page</a> <a href="/scheduler?format=json">JSON</a></nav>
    </header>
    <main>
    <section id="queues">
    <h2>Queues</h2>
    <div class="wide"><table class="sortable">
    <thead><tr><th>Queue</th><th class="number">Running Jobs</th><th class="number">Pending Jobs</th><th class="number">Capacity Percentage</th><th class="number">Map Task Capacity</th><th class="number">Map Task Used Capacity</th><th class="number">Running Maps</th><th class="number">Reduce Task Capacity</th><th class="number">Reduce Task Used Capacity</th><th class="number">Running Reduces</th></tr></thead>
    <tbody>
    <tr><th scope="row"><a href="jobqueue_details.jsp?queueName=default">default</a></th><td class="number">3</td><td class="number">3</td><td class="number">50.0%</td><td class="number">4</td><td class="number">2 (50.0% of Capacity)</td><td class="number">2</td><td class="number">1</td><td class="number">1 (100.0% of Capacity)</td><td class="number">1</td></tr>
    <tr><th scope="row"><a href="jobqueue_details.jsp?queueName=q%262">q&#38;2</a></th><td class="number">3</td><td class="number">3</td><td class="number">50.0%</td><td class="number">4</td><td class="number">2 (50.0% of Capacity)</td><td class="number">2</td><td class="number">1</td><td class="number">1 (100.0% of Capacity)</td><td class="number">1</td></tr>
    </tbody>
    </table></div>
    </section>
    </main>
    <footer>As of 2009-04-01 15:36:00 UTC</footer>
    </body>
    </html>
    "#);
}
