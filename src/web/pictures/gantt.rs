//! The timeline: a lane for each slot of a worker that ran something, a bar for each attempt.

use super::bars::short;
use super::picture::{LegendLine, Mark, Picture, Px};
use super::picture::{Scale, value_text};
use super::steps::clock_text;

/// Most bars: the longest are kept.
pub(crate) const MOST_BARS: usize = 1_000;
const WIDTH: f64 = 600.0;
const LANE: f64 = 9.0;
const LEFT: f64 = 160.0;
const RIGHT: f64 = 592.0;
const TOP: f64 = 6.0;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GanttBar {
    /// The worker: lanes of one stand together.
    pub(crate) worker: String,
    pub(crate) name: String,
    pub(crate) class: &'static str,
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
}

/// The bars between two moments, epoch ms. Those that are shorter than the longest 1,000 are counted, not drawn.
pub(crate) fn gantt(title: String, mut bars: Vec<GanttBar>, (from_ms, to_ms): (i64, i64)) -> Picture {
    bars.sort_by_key(|bar| (bar.from_ms - bar.to_ms, bar.from_ms));
    let left_out = bars.split_off(bars.len().min(MOST_BARS));
    bars.sort_by(|one, other| (&one.worker, one.from_ms, &one.name).cmp(&(&other.worker, other.from_ms, &other.name)));
    let x = Scale::new((from_ms as f64, to_ms as f64), (LEFT, RIGHT));
    let (mut marks, mut lane) = (Vec::new(), 0);
    for of_worker in bars.chunk_by(|one, other| one.worker == other.worker) {
        let lanes = lanes(of_worker);
        let y = |lane: usize| TOP + lane as f64 * LANE;
        let Some(first) = of_worker.first() else { continue };
        marks.push(Mark::word("name", LEFT - 8.0, y(lane) + LANE, short(&first.worker)));
        for (bar, own) in of_worker.iter().zip(&lanes) {
            let (start, end) = (x.px(bar.from_ms.max(from_ms) as f64), x.px(bar.to_ms.min(to_ms) as f64));
            let seconds = (bar.to_ms - bar.from_ms) / 1_000;
            marks.push(Mark::Box {
                class: format!("fill {}", bar.class),
                x: Px(start),
                y: Px(y(lane + own)),
                width: Px((end - start).max(0.5)),
                height: Px(LANE - 1.0),
                words: format!("{}: {seconds} s on {}, {}", bar.name, bar.worker, bar.class),
            });
        }
        lane += lanes.iter().max().map_or(0, |last| last + 1).max(2);
    }
    let height = TOP + lane.max(1) as f64 * LANE + 24.0;
    marks.push(Mark::word("x start", LEFT, height - 6.0, clock_text(from_ms)));
    marks.push(Mark::word("x end", RIGHT, height - 6.0, clock_text(to_ms)));
    let left_out_s = left_out.iter().map(|bar| (bar.to_ms - bar.from_ms) / 1_000).sum::<i64>();
    let mut classes: Vec<&str> = bars.iter().map(|bar| bar.class).collect();
    classes.sort_unstable();
    classes.dedup();
    let mut legend: Vec<_> = classes.into_iter().map(|class| LegendLine::new(format!("fill {class}"), class)).collect();
    if !left_out.is_empty() {
        legend.push(LegendLine::new(
            "",
            format!("{} shorter ones, {left_out_s} s in all, are not drawn", left_out.len()),
        ));
    }
    Picture {
        name: "timeline",
        title,
        width: Px(WIDTH),
        height: Px(height),
        data: vec![
            ("x0", from_ms.to_string()),
            ("x1", to_ms.to_string()),
            ("px0", value_text(LEFT)),
            ("px1", value_text(RIGHT)),
            ("left-out", left_out.len().to_string()),
        ],
        marks,
        legend,
        heads: vec!["Attempt", "Worker", "State", "Began", "Took, s"],
        rows: bars.iter().take(200).map(row).collect(),
    }
}

fn row(bar: &GanttBar) -> Vec<String> {
    let seconds = (bar.to_ms - bar.from_ms) / 1_000;
    vec![bar.name.clone(), bar.worker.clone(), bar.class.to_owned(), clock_text(bar.from_ms), seconds.to_string()]
}

/// For each bar of a worker, sorted by its begin, the first lane that is free then.
fn lanes(bars: &[GanttBar]) -> Vec<usize> {
    let mut ends: Vec<i64> = Vec::new();
    let place = |bar: &GanttBar| match ends.iter().position(|end| *end <= bar.from_ms) {
        Some(free) => {
            ends[free] = bar.to_ms;
            free
        }
        None => {
            ends.push(bar.to_ms);
            ends.len() - 1
        }
    };
    bars.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(worker: &str, from_ms: i64, to_ms: i64) -> GanttBar {
        GanttBar { worker: worker.to_owned(), name: format!("a{from_ms}"), class: "succeeded", from_ms, to_ms }
    }

    fn boxes(picture: &Picture) -> Vec<(f64, f64, f64)> {
        let of = |mark: &Mark| match mark {
            Mark::Box { x, y, width, .. } => Some((x.0, y.0, width.0)),
            _ => None,
        };
        picture.marks.iter().filter_map(of).collect()
    }

    #[test]
    fn bars_are_as_long_as_attempts_and_two_at_a_time_have_two_lanes() {
        let bars = vec![bar("w", 0, 50_000), bar("w", 20_000, 60_000), bar("w", 50_000, 100_000)];
        let picture = gantt("t".to_owned(), bars, (0, 100_000));
        let unit = (RIGHT - LEFT) / 100_000.0;
        let drawn: Vec<_> = boxes(&picture)
            .into_iter()
            .map(|(x, y, width)| (((x - LEFT) / unit).round(), y, (width / unit).round()))
            .collect();
        assert_eq!(drawn, [(0.0, 6.0, 50_000.0), (20_000.0, 15.0, 40_000.0), (50_000.0, 6.0, 50_000.0)]);
        assert_eq!(picture.rows[1], ["a20000", "w", "succeeded", "Jan 01, 00:00:20 UTC", "40"]);
    }

    #[test]
    fn the_longest_are_kept_and_the_rest_is_summed() {
        let bars =
            (0..1_010).map(|index| bar("w", index * 1_000, index * 1_000 + if index < 10 { 1_000 } else { 2_000 }));
        let picture = gantt("t".to_owned(), bars.collect(), (0, 2_000_000));
        assert_eq!(boxes(&picture).len(), MOST_BARS);
        let last = picture.legend.last().unwrap();
        assert_eq!(last.text, "10 shorter ones, 10 s in all, are not drawn");
    }
}
