//! How long things took: a histogram, with lines at the quantiles.

use super::picture::{LegendLine, Mark, Picture, Px};
use super::picture::{Scale, axis_text, round_up, value_text};

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 592.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 168.0;
const BINS: usize = 20;
/// Percent of the durations that are not longer.
const QUANTILES: [usize; 5] = [5, 25, 50, 75, 95];

/// The histogram of durations, ms; `noun`: of what, in the plural.
pub(crate) fn histogram(noun: &str, durations_ms: &[i64]) -> Picture {
    let mut sorted: Vec<f64> = durations_ms.iter().map(|ms| (*ms).max(0) as f64 / 1_000.0).collect();
    sorted.sort_by(f64::total_cmp);
    let largest = round_up(sorted.last().copied().unwrap_or(0.0));
    let width = largest / BINS as f64;
    let bins = count_bins(&sorted, width);
    let most = bins.iter().max().copied().unwrap_or(0);
    let x = Scale::new((0.0, largest), (LEFT, RIGHT));
    let y = Scale::new((0.0, round_up(most as f64)), (BOTTOM, TOP));
    let mut marks =
        vec![Mark::Path { class: "axis".to_owned(), d: format!("M{LEFT} {TOP}V{BOTTOM}H{RIGHT}"), series: None }];
    for (index, count) in bins.iter().enumerate().filter(|(_, count)| **count > 0) {
        let (from, to) = (index as f64 * width, (index + 1) as f64 * width);
        let top = y.px(*count as f64);
        marks.push(Mark::Box {
            class: "fill bin".to_owned(),
            x: Px(x.px(from) + 0.5),
            y: Px(top),
            width: Px(x.px(to) - x.px(from) - 1.0),
            height: Px(BOTTOM - top),
            words: format!("{count} took {} to {} s", value_text(from), value_text(to)),
        });
    }
    let quantiles = QUANTILES.map(|percent| (percent, quantile(&sorted, percent)));
    for (percent, seconds) in quantiles {
        let place = Px(x.px(seconds));
        let class = if percent == 50 { "median" } else { "quantile" };
        marks.push(Mark::Path { class: class.to_owned(), d: format!("M{place} {TOP}V{BOTTOM}"), series: None });
    }
    for (class, value) in [("x", 0.0), ("x", largest / 2.0), ("x end", largest)] {
        marks.push(Mark::word(class, x.px(value), HEIGHT - 10.0, format!("{} s", value_text(value))));
    }
    marks.push(Mark::word("y", LEFT - 6.0, TOP + 4.0, axis_text(y.to)));
    let median = quantile(&sorted, 50);
    let slowest = sorted.last().copied().unwrap_or(0.0);
    let rows = quantiles.iter().map(|(percent, seconds)| vec![format!("{percent} %"), value_text(*seconds)]);
    Picture {
        name: "durations",
        title: format!(
            "{} {noun}: half took at most {} s, the slowest {} s",
            sorted.len(),
            value_text(median),
            value_text(slowest)
        ),
        width: Px(WIDTH),
        height: Px(HEIGHT),
        data: vec![
            ("x0", "0".to_owned()),
            ("x1", value_text(largest)),
            ("y0", "0".to_owned()),
            ("y1", value_text(y.to)),
        ],
        marks,
        legend: vec![LegendLine::new("median", "median"), LegendLine::new("quantile", "5, 25, 75, 95 %")],
        heads: vec!["Not longer", "Seconds"],
        rows: rows.collect(),
    }
}

fn count_bins(durations_s: &[f64], width: f64) -> [u64; BINS] {
    let mut bins = [0_u64; BINS];
    for seconds in durations_s {
        // Not negative, and cut to the last bin.
        bins[((seconds / width) as usize).min(BINS - 1)] += 1;
    }
    bins
}

/// The smallest duration that is not shorter than so many percent of all.
fn quantile(sorted: &[f64], percent: usize) -> f64 {
    let place = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(place).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_all_and_quantiles_are_of_the_durations() {
        let durations: Vec<i64> = (1..=100).map(|second| second * 1_000).collect();
        let picture = histogram("maps", &durations);
        assert_eq!(picture.title, "100 maps: half took at most 50 s, the slowest 100 s");
        assert_eq!(picture.rows, [["5 %", "5"], ["25 %", "25"], ["50 %", "50"], ["75 %", "75"], ["95 %", "95"]]);
        let heights = picture.marks.iter().filter_map(|mark| match mark {
            Mark::Box { height, .. } => Some((height.0 / (BOTTOM - TOP) * 10.0).round()),
            _ => None,
        });
        assert_eq!(heights.sum::<f64>(), 100.0, "of an axis of 10");
    }
}
