//! The bid ladder: slots bought along, the rate of each buyer upwards, dearest first.

use super::picture::{LegendLine, Mark, Picture, Px};
use super::picture::{Scale, axis_text, round_up, value_text};

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 592.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 188.0;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rung {
    pub(crate) name: String,
    pub(crate) class: String,
    pub(crate) slots: u64,
    pub(crate) rate: f64,
    /// The rate as it is written.
    pub(crate) rate_text: String,
}

/// The ladder of buyers, with a line at all slots of the cluster.
pub(crate) fn ladder(title: String, mut rungs: Vec<Rung>, capacity: u64) -> Picture {
    rungs.sort_by(|one, other| other.rate.total_cmp(&one.rate).then_with(|| one.name.cmp(&other.name)));
    let bought: u64 = rungs.iter().map(|rung| rung.slots).sum();
    let dearest = rungs.iter().map(|rung| rung.rate).fold(0.0, f64::max);
    let x = Scale::new((0.0, bought.max(capacity).max(1) as f64), (LEFT, RIGHT));
    let y = Scale::new((0.0, round_up(dearest)), (BOTTOM, TOP));
    let mut marks =
        vec![Mark::Path { class: "axis".to_owned(), d: format!("M{LEFT} {TOP}V{BOTTOM}H{RIGHT}"), series: None }];
    let mut before = 0;
    for rung in rungs.iter().filter(|rung| rung.slots > 0) {
        let (from, to, top) = (x.px(before as f64), x.px((before + rung.slots) as f64), y.px(rung.rate));
        before += rung.slots;
        marks.push(Mark::Box {
            class: format!("fill {}", rung.class),
            x: Px(from),
            y: Px(top),
            width: Px(to - from),
            height: Px(BOTTOM - top),
            words: format!("{} has bought {} slots at {}", rung.name, rung.slots, rung.rate_text),
        });
    }
    let d = format!("M{} {TOP}V{BOTTOM}", Px(x.px(capacity as f64)));
    marks.push(Mark::Path { class: "right".to_owned(), d, series: None });
    for value in [0.0, y.to] {
        marks.push(Mark::word("y", LEFT - 6.0, y.px(value) + 4.0, axis_text(value)));
    }
    for (class, value) in [("x", 0.0), ("x end", x.to)] {
        marks.push(Mark::word(class, x.px(value), BOTTOM + 20.0, value_text(value)));
    }
    Picture {
        name: "ladder",
        title,
        width: Px(WIDTH),
        height: Px(HEIGHT),
        data: vec![
            ("x0", "0".to_owned()),
            ("x1", value_text(x.to)),
            ("y0", "0".to_owned()),
            ("y1", value_text(y.to)),
            ("px0", value_text(LEFT)),
            ("px1", value_text(RIGHT)),
            ("py0", value_text(BOTTOM)),
            ("py1", value_text(TOP)),
        ],
        marks,
        legend: vec![LegendLine::new("right", "all slots of the cluster")],
        heads: vec!["Queue", "Slots bought", "Rate"],
        rows: rungs
            .iter()
            .map(|rung| vec![rung.name.clone(), rung.slots.to_string(), rung.rate_text.clone()])
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_slots_and_heights_are_rates() {
        let rung = |name: &str, slots, rate: f64| Rung {
            name: name.to_owned(),
            class: "q0".to_owned(),
            slots,
            rate,
            rate_text: rate.to_string(),
        };
        let picture = ladder("t".to_owned(), vec![rung("bob", 8, 2.0), rung("alice", 4, 8.0)], 16);
        let boxes: Vec<_> = picture
            .marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Box { x, y, width, .. } => Some([
                    ((x.0 - LEFT) / (RIGHT - LEFT) * 16.0).round(),
                    (width.0 / (RIGHT - LEFT) * 16.0).round(),
                    ((BOTTOM - y.0) / (BOTTOM - TOP) * 10.0).round(),
                ]),
                _ => None,
            })
            .collect();
        assert_eq!(boxes, [[0.0, 4.0, 8.0], [4.0, 8.0, 2.0]], "the dearest first");
        assert_eq!(picture.rows[0], ["alice", "4", "8"]);
    }
}
