//! Renders the price over time as a table for people and as JSON for programs.

use crate::api::{PriceHistory, PricePoint};
use crate::model::Credits;

use super::market_text::{Form, columns, json, lines};
use super::time_text::format_time;

/// Length of the longest bar, characters.
const BAR: i128 = 30;

/// The spans, newest last, each with a bar of its highest price.
pub(super) fn render_price_history(history: &PriceHistory, form: Form) -> String {
    if form == Form::Json {
        return json(history);
    }
    let highest = history.points.iter().map(|point| point.high).max().unwrap_or_default();
    let mut table = columns(&["time", "price", "low", "high", ""], 1);
    if let Some(bars) = table.column_mut(4) {
        bars.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    for point in &history.points {
        let PricePoint { time_ms, price, low, high, .. } = point;
        table.add_row([
            format_time(*time_ms),
            price.to_string(),
            low.to_string(),
            high.to_string(),
            bar(*high, highest),
        ]);
    }
    lines(&table)
}

fn bar(high: Credits, highest: Credits) -> String {
    let length = high.units() * BAR / highest.units().max(1);
    "#".repeat(usize::try_from(length).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> PriceHistory {
        let point = |time_ms, price: &str, low: &str, high: &str| PricePoint {
            time_ms,
            tick: 7,
            price: price.parse().unwrap(),
            low: low.parse().unwrap(),
            high: high.parse().unwrap(),
        };
        let points = vec![
            point(1_795_000_000_000, "1.5", "0", "3"),
            point(1_795_003_600_000, "12.249998", "1.5", "12.5"),
            point(1_795_007_200_000, "0", "0", "0"),
        ];
        PriceHistory { step_ms: 3_600_000, points }
    }

    #[test]
    fn people_get_bars() {
        insta::assert_snapshot!(render_price_history(&history(), Form::Table), @"
        TIME                      PRICE  LOW  HIGH
        2026-11-18T11:06:40Z        1.5  0.0   3.0  #######
        2026-11-18T12:06:40Z  12.249998  1.5  12.5  ##############################
        2026-11-18T13:06:40Z        0.0  0.0   0.0
        ");
        insta::assert_snapshot!(render_price_history(&PriceHistory::default(), Form::Table), @"TIME  PRICE  LOW  HIGH");
    }

    #[test]
    fn machines_get_json() {
        let text = render_price_history(&history(), Form::Json);
        assert_eq!(serde_json::from_str::<PriceHistory>(&text).unwrap(), history());
    }
}
