//! How long the money of a queue lasts: its balance over time, and when it ends at its bid.

use crate::api::{Statement, StatementRow};
use crate::model::Credits;

use super::super::pictures::{StepPoint, steps};
use super::block::Block;
use super::piece::{Cell, Piece, iso_text};
use super::viewer::View;

/// Most points.
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
