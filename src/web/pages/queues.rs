//! The queues and one of them: who uses what, who waits, how long does the money last?

use crate::api::{PoolShares, QueueCapacity, ReportedGroup, Statement, StatementRow};
use crate::engine::{JobSnapshot, QueueSnapshot};
use crate::model::{Credits, Kind};

use super::super::pictures::{Bar, Picture, StepPoint, bars, steps};
use super::asked::encoded;
use super::block::{Block, Column, MOST_ROWS, Section, Table};
use super::error::Refused;
use super::job_rows::{job_table, queue_link};
use super::page::Page;
use super::piece::{Cell, Piece, iso_text};
use super::queue_colours::Colours;
use super::viewer::View;

/// All queues, and under the Fair scheduler all pools.
pub(super) fn queues_page(view: &View) -> Page {
    let overview = view.overview();
    let waiting: u64 = overview.queues.iter().map(|queue| queue.waiting.map + queue.waiting.reduce).sum();
    let wanted: u64 = overview.queues.iter().map(|queue| queue.containers.wanted).sum();
    let mut blocks = Vec::new();
    if !overview.queues.is_empty() {
        blocks.push(Block::Picture(queue_picture(view)));
    }
    blocks.push(Block::Table(queue_table(view, MOST_ROWS)));
    blocks.extend(private_line(view, "/queues"));
    let mut sections = vec![Section::new("queues", "Queues", blocks)];
    if let Some(table) = pool_table(view) {
        sections.push(Section::new("pools", "Pools", vec![Block::Table(table)]));
    }
    Page {
        title: match wanted {
            0 => format!("{} queues, {waiting} tasks wait", overview.queues.len()),
            wanted => format!("{} queues, {waiting} tasks and {wanted} containers wait", overview.queues.len()),
        },
        heading: vec![Piece::text("Queues")],
        entry: "/queues",
        sections,
        refresh_s: 1,
        ..Page::default()
    }
}

/// In place of what is private of a market; none where all is shown. `page`: where the reader is.
pub(super) fn private_line(view: &View, page: &str) -> Option<Block> {
    let words = match view.signed_in() {
        _ if !view.has_market() || view.shows_all_money() => return None,
        Some(user) => vec![
            Piece::text("Shares, rates, balances and costs are those of queue "),
            queue_link(user),
            Piece::text(": the other queues' are private."),
        ],
        None => vec![
            Piece::text("Shares, rates, balances and costs are private. Sign in: "),
            Piece::code(format!("jobtracker open {page}")),
        ],
    };
    Some(Block::Line(words))
}

/// Pools with their shares; none where there are none.
pub(super) fn pool_table(view: &View) -> Option<Table> {
    let groups = &view.overview().report.groups;
    let pools: Vec<_> = groups.iter().filter_map(|group| Some((group, group.pool.as_ref()?))).collect();
    if pools.is_empty() {
        return None;
    }
    let mut columns = vec![Column::text("Pool"), Column::number("Jobs")];
    columns.extend(["Maps held", "Maps waiting", "Min maps", "Max maps", "Fair share of maps"].map(Column::number));
    columns.extend(
        ["Reduces held", "Reduces waiting", "Min reduces", "Max reduces", "Fair share of reduces"].map(Column::number),
    );
    columns.extend([Column::number("Weight"), Column::text("Order")]);
    let rows = pools.into_iter().map(|(group, pool)| pool_row(group, pool));
    Some(Table::new("Pools with their shares", columns, rows.collect()).cut())
}

fn pool_row(group: &ReportedGroup, pool: &PoolShares) -> Vec<Cell> {
    let mut row = vec![vec![queue_link(&group.name)], vec![Piece::number("jobs", group.jobs)]];
    for (kind, held, waiting) in
        [(Kind::Map, "slots.map", "tasks.map.waiting"), (Kind::Reduce, "slots.reduce", "tasks.reduce.waiting")]
    {
        row.push(vec![Piece::number(held, group.held[kind])]);
        row.push(vec![Piece::number(waiting, group.waiting[kind])]);
        row.push(vec![Piece::number("minimum", pool.minimum[kind])]);
        row.push(
            pool.maximum[kind].map_or_else(|| vec![Piece::text("–")], |most| vec![Piece::number("maximum", most)]),
        );
        row.push(vec![Piece::shown("fair_share", pool.fair_share[kind], pool.fair_share[kind].to_tenths())]);
    }
    row.push(vec![Piece::number("weight", pool.weight)]);
    row.push(vec![Piece::text(format!("{:?}", pool.mode).to_lowercase())]);
    row
}

/// One queue or pool.
/// The page of a queue; `statement`: its last movements, where its money is shown.
pub(super) fn queue_page(
    view: &View,
    name: &str,
    (jobs, more): (Vec<JobSnapshot>, u64),
    statement: Option<&Statement>,
) -> Result<Page, Refused> {
    let overview = view.overview();
    let queue = overview.queues.iter().find(|queue| queue.name == name);
    let group = overview.report.groups.iter().find(|group| group.name == name);
    if queue.is_none() && group.is_none() {
        return Err(Refused::unknown("queue or pool", name, Some("/queues".to_owned())));
    }
    let mut summary: Vec<(&'static str, Cell)> = Vec::new();
    let (mut used, mut waiting) = (0, 0);
    if let Some(queue) = queue {
        used = u64::from(queue.running.map) + u64::from(queue.running.reduce) + u64::from(queue.containers.held);
        waiting = queue.waiting.map + queue.waiting.reduce;
        summary.extend(queue_numbers(view, queue));
    }
    summary.extend(
        view.balance(name).map(|balance| ("Balance", vec![Piece::number("budget", balance), Piece::text(" credits")])),
    );
    let mut blocks = Vec::new();
    if let Some(group) = group {
        group_numbers(view, group, &mut summary, &mut blocks);
    }
    blocks.insert(0, Block::Summary(summary));
    let mut sections = vec![Section::new("now", "Now", blocks)];
    if view.has_market() && queue.is_some() {
        sections.push(Section::new("money", "Money", money_blocks(view, name, statement)));
    }
    let mut table = job_table("Jobs of the queue, the newest first", &jobs, view, None);
    table.left_out = more;
    sections.push(Section::new("jobs", "Jobs", vec![Block::Table(table.cut())]));
    Ok(Page {
        title: match queue.map_or(0, |queue| queue.containers.wanted) {
            0 => format!("{used} slots used, {waiting} tasks wait · queue {name}"),
            wanted => format!("{used} slots used, {waiting} tasks and {wanted} containers wait · queue {name}"),
        },
        heading: vec![Piece::text("Queue "), Piece::foreign(name)],
        entry: "/queues",
        sections,
        refresh_s: 1,
        stock: Some(format!("/jobqueue_details.jsp?queueName={}", encoded(name))),
        ..Page::default()
    })
}

fn queue_numbers(view: &View, queue: &QueueSnapshot) -> Vec<(&'static str, Cell)> {
    let mut numbers = vec![
        (
            "Maps",
            vec![
                Piece::number("slots.map", queue.running.map),
                Piece::text(" running, "),
                Piece::number("tasks.map.waiting", queue.waiting.map),
                Piece::text(" waiting"),
            ],
        ),
        (
            "Reduces",
            vec![
                Piece::number("slots.reduce", queue.running.reduce),
                Piece::text(" running, "),
                Piece::number("tasks.reduce.waiting", queue.waiting.reduce),
                Piece::text(" waiting"),
            ],
        ),
    ];
    if view.overview().containers.is_some() {
        numbers.push((
            "Containers",
            vec![
                Piece::number("containers.held_slots", queue.containers.held),
                Piece::text(" slots held, "),
                Piece::number("containers.waiting", queue.containers.wanted),
                Piece::text(" waiting"),
            ],
        ));
    }
    if let Some(paused) = &queue.paused {
        numbers.push(("Paused", vec![Piece::foreign(paused)]));
    }
    numbers.extend(view.share(queue).map(|share| ("Share", vec![Piece::number("share", share)])));
    numbers
}

fn group_numbers(view: &View, group: &ReportedGroup, summary: &mut Vec<(&'static str, Cell)>, blocks: &mut Vec<Block>) {
    if let Some(bought) = view.bought(group) {
        let quota = bought.quota;
        summary.push(("Rate", vec![Piece::number("rate", bought.rate)]));
        summary.push((
            "Slots bought",
            vec![
                Piece::number("quota.map", quota.map),
                Piece::text(" map, "),
                Piece::number("quota.reduce", quota.reduce),
                Piece::text(" reduce, "),
                Piece::number("quota.container", quota.container),
                Piece::text(" container"),
            ],
        ));
    }
    if let Some(capacity) = &group.capacity {
        capacity_numbers(capacity, summary, blocks);
    }
    if let Some(pool) = &group.pool {
        let shares = [pool.fair_share.map.to_tenths(), pool.fair_share.reduce.to_tenths()];
        summary.push((
            "Fair share",
            vec![
                Piece::shown("fair_share.map", pool.fair_share.map, &*shares[0]),
                Piece::text(" maps, "),
                Piece::shown("fair_share.reduce", pool.fair_share.reduce, &*shares[1]),
                Piece::text(" reduces"),
            ],
        ));
        summary.push((
            "Minimum",
            vec![
                Piece::number("minimum.map", pool.minimum.map),
                Piece::text(" maps, "),
                Piece::number("minimum.reduce", pool.minimum.reduce),
                Piece::text(" reduces"),
            ],
        ));
        if let Some(starved) = pool.below_minimum_ms.filter(|since| since.map.max(since.reduce) > 0) {
            summary.push((
                "Below its minimum for",
                vec![Piece::number("below_minimum_ms", starved.map.max(starved.reduce)), Piece::text(" ms")],
            ));
        }
    }
}

fn capacity_numbers(capacity: &QueueCapacity, summary: &mut Vec<(&'static str, Cell)>, blocks: &mut Vec<Block>) {
    summary.push((
        "Capacity",
        vec![
            Piece::number("percent", &capacity.percent),
            Piece::text(" %: "),
            Piece::number("capacity.map", capacity.slots.map),
            Piece::text(" map and "),
            Piece::number("capacity.reduce", capacity.slots.reduce),
            Piece::text(" reduce slots"),
        ],
    ));
    if let Some(most) = &capacity.maximum_percent {
        summary.push(("Maximum", vec![Piece::number("maximum_percent", most), Piece::text(" %")]));
    }
    summary.push((
        "Jobs",
        vec![
            Piece::number("jobs.running", capacity.running_jobs),
            Piece::text(" running, "),
            Piece::number("jobs.initializing", capacity.initializing_jobs),
            Piece::text(" being set up, "),
            Piece::number("jobs.waiting", capacity.waiting_jobs),
            Piece::text(" waiting to begin"),
        ],
    ));
    let columns = vec![Column::text("User"), Column::number("Map slots"), Column::number("Reduce slots")];
    let rows = capacity.users.iter().map(|user| {
        vec![
            vec![super::job_rows::user_link(&user.user)],
            vec![Piece::number("slots.map", user.occupied.map)],
            vec![Piece::number("slots.reduce", user.occupied.reduce)],
        ]
    });
    let limit = capacity.user_limit;
    blocks.push(Block::Line(vec![
        Piece::text("One user may hold "),
        Piece::number("user_limit.map", limit.map),
        Piece::text(" map and "),
        Piece::number("user_limit.reduce", limit.reduce),
        Piece::text(" reduce slots now."),
    ]));
    blocks.push(Block::Table(
        Table::new("Users with a job in the queue", columns, rows.collect())
            .cut()
            .or_empty(vec![Piece::text("No user has a job in it.")]),
    ));
}

fn money_blocks(view: &View, name: &str, statement: Option<&Statement>) -> Vec<Block> {
    let mut blocks = Vec::new();
    match statement {
        _ if !view.shows_money_of(name) => blocks.extend(private_line(view, &format!("/queues/{}", encoded(name)))),
        Some(statement) => blocks.extend(burn_down_blocks(view, name, statement)),
        None => {}
    }
    blocks.push(Block::line("What it was charged, who moved its money, and what a bid would buy, by signed commands:"));
    blocks.push(Block::Commands(vec![
        format!("jobtracker queue statement {name}"),
        format!("jobtracker queue quote {name} RATE"),
        format!("jobtracker queue set-spending {name} RATE"),
    ]));
    blocks
}

/// Slots of each queue as bars, with what it has bought or has a right to.
pub(super) fn queue_picture(view: &View) -> Picture {
    let overview = view.overview();
    let colours = Colours::of_queues(overview);
    let group_of = |name: &str| overview.report.groups.iter().find(|group| group.name == name);
    let right_of = |name: &str| {
        let group = group_of(name)?;
        let sum = |slots: crate::model::PerKind<u32>| u64::from(slots.map) + u64::from(slots.reduce);
        match (view.bought(group), &group.capacity) {
            (Some(bought), _) => Some(sum(bought.quota.slots()) + u64::from(bought.quota.container)),
            (None, Some(capacity)) => Some(sum(capacity.slots)),
            (None, None) => None,
        }
    };
    let all: Vec<Bar> = overview
        .queues
        .iter()
        .map(|queue| Bar {
            name: queue.name.clone(),
            class: colours.class(&queue.name).to_owned(),
            used: [queue.running.map, queue.running.reduce, queue.containers.held].map(u64::from).iter().sum(),
            right: right_of(&queue.name),
            waiting: queue.waiting.map + queue.waiting.reduce + queue.containers.wanted,
        })
        .collect();
    let used: u64 = all.iter().map(|bar| bar.used).sum();
    let title = match all.iter().max_by_key(|bar| bar.used).filter(|bar| bar.used > 0) {
        Some(most) => format!("{used} slots in use, most of them, {}, by queue {}", most.used, most.name),
        None => "No slot is in use".to_owned(),
    };
    let right = if view.shows_money() { "Bought" } else { "Capacity" };
    bars("queue_slots", title, &all, right)
}

/// The queues with slots and tasks, at most so many.
pub(super) fn queue_table(view: &View, most: usize) -> Table {
    let overview = view.overview();
    let mut columns = vec![Column::text("Queue"), Column::number("Maps running"), Column::number("Reduces running")];
    columns.extend([Column::number("Maps waiting"), Column::number("Reduces waiting")]);
    let has_containers = overview.containers.is_some();
    if has_containers {
        columns.extend([Column::number("Slots in containers"), Column::number("Containers waiting")]);
    }
    if view.shows_money() {
        columns.extend([
            Column::number("Share"),
            Column::number("Rate"),
            Column::number("Slots bought"),
            Column::number("Balance"),
        ]);
    }
    let rows = overview.queues.iter().take(most).map(|queue| {
        let mut name = vec![queue_link(&queue.name)];
        if let Some(paused) = &queue.paused {
            name.extend([Piece::text(" "), Piece::foreign(paused)]);
        }
        let mut row = vec![
            name,
            vec![Piece::number("slots.map", queue.running.map)],
            vec![Piece::number("slots.reduce", queue.running.reduce)],
            vec![Piece::number("tasks.map.waiting", queue.waiting.map)],
            vec![Piece::number("tasks.reduce.waiting", queue.waiting.reduce)],
        ];
        if has_containers {
            row.push(vec![Piece::number("containers.held_slots", queue.containers.held)]);
            row.push(vec![Piece::number("containers.waiting", queue.containers.wanted)]);
        }
        if view.shows_money() {
            let group = overview.report.groups.iter().find(|group| group.name == queue.name);
            let bought = group.and_then(|group| view.bought(group));
            let number = |metric, value: Option<String>| {
                vec![value.map_or_else(|| Piece::text("–"), |value| Piece::number(metric, value))]
            };
            row.push(number("share", view.share(queue).map(str::to_owned)));
            row.push(number("rate", bought.map(|bought| bought.rate.to_string())));
            row.push(number("quota", bought.map(|bought| (bought.quota.map + bought.quota.reduce).to_string())));
            row.push(number("budget", view.balance(&queue.name).map(|balance| balance.to_string())));
        }
        row
    });
    let rows = rows.collect();
    let mut table = Table::new("Queues with their slots and waiting tasks", columns, rows)
        .or_empty(vec![Piece::text("There are no queues.")]);
    table.left_out = overview.queues.len().saturating_sub(most) as u64;
    table
}

const POINTS: usize = 300;
/// Units of credit in a credit, as pictures count.
const CREDIT: f64 = 1e12;

/// The balance over time, and when it ends.
pub(super) fn burn_down_blocks(view: &View, queue: &str, statement: &Statement) -> Vec<Block> {
    let mut blocks: Vec<Block> = balance_picture(view, statement).into_iter().collect();
    let bid = view.views().market().bid(queue).filter(|bid| *bid > Credits::ZERO);
    if let Some(quote) = bid.and_then(|bid| view.quote(queue, bid)) {
        let is_funded = quote.is_funded.unwrap_or(true);
        let end = |empty_ms: Option<i64>| -> Cell {
            match empty_ms {
                _ if !is_funded => vec![Piece::text("it pays no slot at this bid any more")],
                Some(empty_ms) => vec![Piece::moment(empty_ms)],
                None => vec![Piece::text("not at all: nothing is charged")],
            }
        };
        blocks.push(Block::Summary(vec![
            ("Bid", vec![Piece::number("bid", quote.rate), Piece::text(" credits for a slot")]),
            ("The money ends at the present use", end(quote.present_use_empty_ms)),
            ("With all in use that the bid buys", end(quote.full_use_empty_ms)),
        ]));
    }
    let orders = view.views().market().orders().filter(|(of, _)| of.as_str() == queue);
    let (mut count, mut bound) = (0_u32, Credits::ZERO);
    for most in orders.filter_map(|(_, order)| order.max_cost) {
        count += 1;
        bound = bound.checked_add(most).unwrap_or(Credits::MAX);
    }
    if count > 0 {
        blocks.push(Block::Line(vec![
            Piece::text("Deadline orders may spend up to "),
            Piece::number("orders.max_cost", bound),
            Piece::text(" credits of it."),
        ]));
    }
    blocks
}

/// None of a queue without movements.
fn balance_picture(view: &View, statement: &Statement) -> Option<Block> {
    let with_balance = |row: &StatementRow| Some((row.time_ms, row.balance?));
    let rows: Vec<(i64, Credits)> = statement.rows.iter().filter_map(with_balance).collect();
    let every = rows.len().div_ceil(POINTS).max(1);
    let value = |amount: Credits| amount.units() as f64 / CREDIT;
    let points = rows.chunks(every).filter_map(|span| {
        let (time_ms, last) = *span.last()?;
        let low = span.iter().map(|(_, balance)| *balance).min()?;
        let high = span.iter().map(|(_, balance)| *balance).max()?;
        let row = vec![iso_text(time_ms), last.to_string(), low.to_string(), high.to_string()];
        Some(StepPoint { time_ms, value: value(last), low: value(low), high: value(high), row })
    });
    let points: Vec<StepPoint> = points.collect();
    let (first, until_ms) = (points.first()?, view.at_ms());
    let highest = rows.iter().map(|(_, balance)| *balance).max()?;
    let title = format!("Balance: {} now, {} at most of what is shown", statement.balance, highest);
    // A balance holds until it moves: no pause is a gap.
    Some(Block::Picture(steps("burn_down", "balance", title, &points, (first.time_ms, until_ms), i64::MAX)))
}
