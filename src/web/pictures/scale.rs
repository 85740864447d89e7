//! Scales: values to places in a picture, and round values for marks.

/// A scale from values to units of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    /// The values at the edges of the plot.
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) px_from: f64,
    pub(super) px_to: f64,
}

impl Scale {
    pub(super) fn new((from, to): (f64, f64), (px_from, px_to): (f64, f64)) -> Self {
        let to = if to > from { to } else { from + 1.0 };
        Self { from, to, px_from, px_to }
    }

    pub(super) fn px(&self, value: f64) -> f64 {
        self.px_from + (value - self.from) / (self.to - self.from) * (self.px_to - self.px_from)
    }

    #[cfg(test)]
    pub(super) fn value(&self, px: f64) -> f64 {
        self.from + (px - self.px_from) / (self.px_to - self.px_from) * (self.to - self.from)
    }
}

/// The next round value from a largest one on: 1, 2 or 5 times a power of ten.
pub(super) fn round_up(largest: f64) -> f64 {
    if largest.is_nan() || largest <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(largest.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= largest * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// A value without needless digits.
pub(super) fn value_text(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub(super) fn axis_text(value: f64) -> String {
    match value {
        _ if value >= 1e6 => format!("{}M", value_text(value / 1e6)),
        _ if value >= 1e4 => format!("{}k", value_text(value / 1e3)),
        _ => value_text(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_values_and_scales_go_both_ways() {
        let rounded = [0.0, 0.3, 1.0, 2.1, 5.0, 7.0, 11.0, 120.0].map(round_up);
        assert_eq!(rounded, [1.0, 0.5, 1.0, 5.0, 5.0, 10.0, 20.0, 200.0]);
        let scale = Scale::new((10.0, 30.0), (200.0, 0.0));
        assert_eq!((scale.px(10.0), scale.px(20.0), scale.px(30.0), scale.value(50.0)), (200.0, 100.0, 0.0, 25.0));
        assert_eq!(value_text(0.5), "0.5");
        assert_eq!([5_000.0, 25_000.0, 500_000.0, 2_500_000.0].map(axis_text), ["5000", "25k", "500k", "2.5M"]);
    }
}
