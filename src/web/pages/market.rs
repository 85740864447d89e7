//! The market: what does a slot cost, what would my bid give?

use tokio::task::spawn_blocking;

use crate::api::{PriceHistory, PricePoint};
use crate::model::Credits;

use super::super::pictures::{Bar, LegendLine, Picture, Rung, SlotRow, StepPoint, bars, ladder, slot_map, steps};
use super::super::quotes::QuoteRow;
use super::asked::Asked;
use super::block::{Block, Field, Form, Section};
use super::error::Refused;
use super::page::Page;
use super::piece::{Cell, Piece, iso_text};
use super::queue_colours::{Colours, OTHERS};
use super::queues::private_line;
use super::viewer::View;

/// Ranges of the picture of the price: words, ms.
const RANGES: [(&str, i64); 4] =
    [("1 h", 3_600_000), ("1 d", 86_400_000), ("7 d", 604_800_000), ("30 d", 2_592_000_000)];
/// Units of credit in a credit, as pictures count.
const CREDIT: f64 = 1e12;

/// Since when the price is shown, epoch ms: what is asked for, else an hour.
pub(super) fn price_since(asked: &mut Asked, at_ms: i64) -> Result<i64, Refused> {
    match asked.take("since") {
        None => Ok(at_ms - RANGES[0].1),
        Some(text) => {
            text.parse().map_err(|_| Refused::unknown("moment, in ms since 1970,", &text, Some("/market".to_owned())))
        }
    }
}

/// The price between two moments, epoch ms, as steps.
pub(super) fn price_picture(prices: &PriceHistory, (since_ms, until_ms): (i64, i64)) -> Block {
    let is_shown = |point: &&PricePoint| (since_ms..=until_ms).contains(&point.time_ms);
    let shown: Vec<&PricePoint> = prices.points.iter().filter(is_shown).collect();
    let (Some(first), Some(last)) = (shown.first(), shown.last()) else {
        return Block::line("No tick of the market is in this span.");
    };
    let low = shown.iter().map(|point| point.low).min().unwrap_or(last.low);
    let high = shown.iter().map(|point| point.high).max().unwrap_or(last.high);
    let title = format!("Price: {} to {}, last {}", low.rate_text(), high.rate_text(), last.price.rate_text());
    let step = |point: &&PricePoint| StepPoint {
        time_ms: point.time_ms,
        value: credits(point.price),
        low: credits(point.low),
        high: credits(point.high),
        row: vec![iso_text(point.time_ms), point.price.to_string(), point.low.to_string(), point.high.to_string()],
    };
    let points: Vec<StepPoint> = shown.iter().map(step).collect();
    // Before the first tick there was no price.
    let span = (first.time_ms, until_ms);
    Block::Picture(steps("price", "price", title, &points, span, gap_ms(&points, prices.step_ms)))
}

/// A pause is a gap from so many ms on: several times the usual distance.
fn gap_ms(points: &[StepPoint], step_ms: u64) -> i64 {
    let mut distances: Vec<i64> = points
        .windows(2)
        .map(|pair| pair.last().map_or(0, |last| last.time_ms) - pair.first().map_or(0, |first| first.time_ms))
        .collect();
    distances.sort_unstable();
    let usual = distances.get(distances.len() / 2).copied().unwrap_or(0);
    usual.max(i64::try_from(step_ms).unwrap_or(i64::MAX)).saturating_mul(5)
}

fn credits(amount: Credits) -> f64 {
    amount.units() as f64 / CREDIT
}

/// The page.
pub(super) async fn market_page(
    view: &View,
    asked: &mut Asked,
    prices: &PriceHistory,
    since_ms: i64,
) -> Result<Page, Refused> {
    let overview = view.overview();
    let price: Credits = overview.price.as_ref().and_then(|price| price.parse().ok()).unwrap_or(Credits::ZERO);
    let quote = AskedQuote::take(asked);
    let at_ms = view.at_ms();
    let mut ranges: Cell = Vec::new();
    for (words, span_ms) in RANGES {
        ranges.extend([Piece::link(format!("/market?since={}", at_ms - span_ms), words), Piece::text(" · ")]);
    }
    ranges.push(Piece::link("/market?since=0", "all"));
    let now = vec![
        Block::Summary(vec![
            ("Price", vec![Piece::number("price", price), Piece::text(" credits, the sum of the active rates")]),
            (
                "Slots",
                vec![
                    Piece::number("slots.map", overview.slots.map),
                    Piece::text(" map, "),
                    Piece::number("slots.reduce", overview.slots.reduce),
                    Piece::text(" reduce"),
                ],
            ),
        ]),
        price_picture(prices, (since_ms, at_ms)),
        Block::Line(ranges),
    ];
    let mut sections = vec![Section::new("price", "Price", now)];
    let mut bought = if view.shows_money() { ladder_blocks(view) } else { Vec::new() };
    bought.extend(private_line(view, "/market"));
    sections.push(Section::new("ladder", "Who has bought what", bought));
    sections.push(Section::new("quote", "What would a bid buy?", quote_blocks(view, price, &quote).await?));
    if let Some(money) = overview.money.as_ref().filter(|_| view.shows_all_money()) {
        sections.push(Section::new("ledger", "Ledger", ledger_blocks(money)));
    }
    Ok(Page {
        title: format!("Price {} · market", price.rate_text()),
        heading: vec![Piece::text("Market")],
        entry: "/market",
        sections,
        refresh_s: 1,
        ..Page::default()
    })
}

fn ladder_blocks(view: &View) -> Vec<Block> {
    let overview = view.overview();
    let colours = Colours::of_queues(overview);
    let bought = || overview.report.groups.iter().filter_map(|group| Some((group, view.bought(group)?)));
    let rungs: Vec<Rung> = bought()
        .map(|(group, bought)| Rung {
            name: group.name.clone(),
            class: colours.class(&group.name).to_owned(),
            slots: u64::from(bought.quota.map) + u64::from(bought.quota.reduce),
            rate: credits(bought.rate),
            rate_text: bought.rate.to_string(),
        })
        .collect();
    let capacity = u64::from(overview.slots.map) + u64::from(overview.slots.reduce);
    let sold: u64 = rungs.iter().map(|rung| rung.slots).sum();
    let title = match rungs.iter().max_by_key(|rung| rung.slots).filter(|rung| rung.slots > 0) {
        Some(own) if !view.shows_all_money() => format!("Queue {} has bought {sold} of {capacity} slots", own.name),
        Some(most) => format!("{sold} of {capacity} slots are bought, {} of them by queue {}", most.slots, most.name),
        None => "No slot is bought".to_owned(),
    };
    let mut blocks =
        vec![Block::Picture(ladder(title, rungs, capacity)), Block::Picture(shares_picture(view, &colours))];
    blocks.push(Block::Picture(owner_map(view, &colours)));
    blocks
}

fn shares_picture(view: &View, colours: &Colours<'_>) -> Picture {
    // Whole per milles: a picture shows no more.
    let permille = |share: f64| (share * 1_000.0).round() as u64;
    let own = view.overview().queues.iter().filter_map(|queue| {
        let used = permille(view.share(queue)?.parse().ok()?);
        let class = colours.class(&queue.name).to_owned();
        Some(Bar { name: queue.name.clone(), class, used, right: None, waiting: 0 })
    });
    let summed = view.summed_shares();
    let others = (!summed.is_empty()).then(|| Bar {
        name: "other queues".to_owned(),
        class: OTHERS.to_owned(),
        used: permille(summed.iter().sum()),
        right: None,
        waiting: 0,
    });
    let all: Vec<Bar> = own.chain(others).collect();
    let largest = all.iter().max_by_key(|bar| bar.used).filter(|bar| bar.used > 0);
    let title = largest.map_or_else(
        || "No queue has a share".to_owned(),
        |bar| format!("Shares in thousandths, the largest: {} {}", bar.name, bar.used),
    );
    bars("shares", title, &all, "")
}

/// Each cell a slot in use: by owner, what is above its quota apart.
fn owner_map(view: &View, colours: &Colours<'_>) -> Picture {
    let overview = view.overview();
    let mut rows = Vec::new();
    for group in &overview.report.groups {
        let Some(bought) = view.bought(group) else { continue };
        let held = u64::from(group.held.map) + u64::from(group.held.reduce);
        let quota = u64::from(bought.quota.map) + u64::from(bought.quota.reduce);
        if held == 0 {
            continue;
        }
        let class = colours.class(&group.name);
        let cells =
            (0..held.min(2_000)).map(|slot| if slot < quota { class.to_owned() } else { format!("{class} above") });
        rows.push(SlotRow {
            worker: group.name.clone(),
            cells: cells.collect(),
            row: vec![group.name.clone(), held.to_string(), quota.to_string(), held.saturating_sub(quota).to_string()],
        });
    }
    let above: u64 = rows.iter().filter_map(|row| row.row.last()?.parse::<u64>().ok()).sum();
    let title = format!(
        "{above} of these slots are held beyond what was bought: they go first when another queue has a right to them"
    );
    let legend = vec![LegendLine::new("cell q0 above", "beyond what was bought")];
    Picture { name: "owners", ..slot_map(title, &rows, legend, vec!["Queue", "Held", "Bought", "Beyond"]) }
}

/// What is asked about bids: what a rate buys, or which rate buys so many slots more.
struct AskedQuote {
    rate: Option<String>,
    more: Option<String>,
    queue: Option<String>,
}

impl AskedQuote {
    fn take(asked: &mut Asked) -> Self {
        let mut text = |name| asked.take(name).filter(|text| !text.is_empty());
        Self { rate: text("rate"), more: text("more"), queue: text("queue") }
    }

    fn form(&self, shows_money: bool) -> Block {
        let field = |name, label, text: &Option<String>| {
            let value = text.clone().unwrap_or_default();
            Field::text(name, label, value)
        };
        let mut fields = vec![field("rate", "Rate, credits an interval", &self.rate)];
        if shows_money {
            fields.push(field("more", "or so many slots more", &self.more));
            fields.push(field("queue", "Queue, if it is there", &self.queue));
        }
        Block::Form(Form {
            action: "/market".to_owned(),
            label: "Quote",
            fields,
            button: "What would it buy?",
            ..Form::default()
        })
    }

    /// The queue whose money is asked about.
    fn queue<'a>(&'a self, view: &'a View) -> Option<&'a str> {
        self.queue.as_deref().filter(|_| view.shows_money()).or(view.signed_in())
    }
}

/// What a rate would buy for a queue, or for a buyer that bids nothing now; and which rate buys so many slots more.
async fn quote_blocks(view: &View, price: Credits, asked: &AskedQuote) -> Result<Vec<Block>, Refused> {
    let mut blocks = vec![asked.form(view.shows_money())];
    if let Some(rate) = &asked.rate {
        blocks.extend(rate_blocks(view, price, rate, asked)?);
    } else if let Some(more) = &asked.more {
        blocks.extend(more_blocks(view, more, asked).await?);
    }
    Ok(blocks)
}

fn rate_blocks(view: &View, price: Credits, text: &str, asked: &AskedQuote) -> Result<Vec<Block>, Refused> {
    let wanted = Credits::parse_exact(text).ok().filter(|rate| rate.units() > 0);
    let try_command = || "/market?rate=0.5".to_owned();
    let wanted =
        wanted.ok_or_else(|| Refused::malformed("rate", text, "a number of credits above 0", try_command()))?;
    let quoted = asked.queue(view).map(|name| (name, view.quote(name, wanted)));
    match quoted {
        Some((name, Some(row))) => Ok(quoted_blocks(name, &row)),
        Some((name, None)) if asked.queue.is_some() => Err(unquoted(view, name)),
        _ => {
            let intro = "Of a queue that bids nothing now, if the others stay as they are, from the next tick on:";
            let row = QuoteRow::of_new_buyer(wanted, price, view.overview().slots);
            let outro = "Exactly, for your own queue, and then for good:";
            let summary = Block::Summary(quote_summary(&row));
            Ok(vec![Block::line(intro), summary, Block::line(outro), quote_commands("QUEUE", wanted)])
        }
    }
}

async fn more_blocks(view: &View, text: &str, asked: &AskedQuote) -> Result<Vec<Block>, Refused> {
    let try_command = || "/market?more=4".to_owned();
    let more = text.parse().ok().filter(|more| *more > 0);
    let more: u32 =
        more.ok_or_else(|| Refused::malformed("more", text, "a whole number of slots above 0", try_command()))?;
    let Some(name) = asked.queue(view) else {
        return Ok(vec![Block::line("How many more than it has now is known of a queue alone: name one, or sign in.")]);
    };
    let search = view.search_more(name, more).ok_or_else(|| unquoted(view, name))?;
    // About eighty allocations of all slots.
    let found = spawn_blocking(search).await.map_err(|error| Refused::unavailable(error.to_string()))?;
    match found {
        None => {
            let words = format!(
                "No bid gets queue {name} {more} more: there are no more slots, nothing of it waits for them, or its money does not \
                 pay them for one interval."
            );
            Ok(vec![Block::line(words)])
        }
        Some(row) => {
            let words = format!("The smallest bid that gets queue {name} {more} more is {}.", row.rate);
            let mut blocks = vec![Block::line(words)];
            blocks.extend(quoted_blocks(name, &row));
            Ok(blocks)
        }
    }
}

fn quoted_blocks(name: &str, row: &QuoteRow) -> Vec<Block> {
    let intro = format!("Of queue {name}, if no other queue changes its bid or its work, from the next tick on:");
    let (summary, outro) = (Block::Summary(quote_summary(row)), Block::line("Signed, and then for good:"));
    vec![Block::line(intro), summary, outro, quote_commands(name, row.rate)]
}

fn quote_commands(name: &str, rate: Credits) -> Block {
    Block::Commands(vec![
        format!("jobtracker queue quote {name} {rate}"),
        format!("jobtracker queue set-spending {name} {rate}"),
    ])
}

fn unquoted(view: &View, name: &str) -> Refused {
    if view.hides_money_of(name) && view.overview().queues.iter().any(|queue| queue.name == name) {
        let detail = "Only its user and administrators see this, who sign in by: jobtracker open".to_owned();
        return Refused::not_now(&format!("What queue {name} could buy is private"), detail);
    }
    Refused::unknown("queue of the market", name, Some("jobtracker queue list".to_owned()))
}

fn quote_summary(row: &QuoteRow) -> Vec<(&'static str, Cell)> {
    let part: f64 = row.share.parse().unwrap_or_default();
    let mut slots = vec![
        Piece::number("quota.map", row.map_slots),
        Piece::text(" map, "),
        Piece::number("quota.reduce", row.reduce_slots),
        Piece::text(" reduce"),
    ];
    match row.container_slots {
        Some(0) => {}
        Some(count) => slots.extend([
            Piece::text(", "),
            Piece::number("quota.container", count),
            Piece::text(" for containers beside them"),
        ]),
        None => slots.push(Piece::text(", or one more of what is left over")),
    }
    let mut summary = vec![
        ("Part of the cluster", vec![Piece::shown("share", &row.share, format!("{:.1} %", part * 100.0))]),
        ("Slots", slots),
        ("Price then", vec![Piece::number("price.then", row.price)]),
    ];
    if let Some(budget) = row.budget {
        let words = match row.is_funded {
            Some(false) => " credits: it cannot pay one slot for one interval, and gets none",
            _ => " credits, once the interval that runs is charged",
        };
        summary.push(("Money then", vec![Piece::number("budget.then", budget), Piece::text(words)]));
        let end = |empty_ms: Option<i64>| match empty_ms {
            Some(empty_ms) => vec![Piece::moment(empty_ms)],
            None => vec![Piece::text("not at all: nothing is charged")],
        };
        summary.push(("It ends with all of these in use", end(row.full_use_empty_ms)));
        summary.push(("It ends with the present use", end(row.present_use_empty_ms)));
    }
    summary
}

fn ledger_blocks(money: &crate::engine::MoneySnapshot) -> Vec<Block> {
    let balances = money.balances.iter().try_fold(Credits::ZERO, |sum, (_, balance)| sum.checked_add(*balance));
    let left = balances.and_then(|sum| money.issued.checked_sub(money.charged)?.checked_sub(sum));
    let mut summary = vec![
        ("Issued", vec![Piece::number("issued", money.issued)]),
        ("Charged", vec![Piece::number("charged", money.charged)]),
    ];
    summary.extend(balances.map(|sum| ("Balances", vec![Piece::number("balances", sum)])));
    summary.extend(left.map(|left| ("Issued − charged − balances", vec![Piece::number("difference", left)])));
    vec![Block::Summary(summary)]
}
