//! The two formats of `/metrics`, the text format of Prometheus and OpenMetrics for scrapers that ask for it, and their writer.

use std::fmt;

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeLabelSet, MetricEncoder,
};
use prometheus_client::metrics::MetricType;

use crate::model::Kind;

const OPEN_METRICS: &str = "application/openmetrics-text";
/// The versions of OpenMetrics that say what ours says.
const OPEN_METRICS_VERSIONS: [&str; 2] = ["1.0.0", "0.0.1"];
const TEXT_VERSION: &str = "0.0.4";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetricsFormat {
    /// What every scraper reads.
    PrometheusText,
    OpenMetrics,
}

struct MediaRange<'a> {
    name: &'a str,
    version: Option<&'a str>,
    /// Thousandths.
    quality: u32,
}

impl MetricsFormat {
    /// OpenMetrics if the caller names it and prefers nothing else; a `*` does not name it.
    pub(super) fn accepted_by(headers: &HeaderMap) -> Self {
        let headers = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let ranges: Vec<MediaRange<'_>> = headers.flat_map(|value| value.split(',')).map(MediaRange::parse).collect();
        let open_metrics = quality(&ranges, OPEN_METRICS, &OPEN_METRICS_VERSIONS).unwrap_or(0);
        let text = ["text/plain", "text/*", "*/*"].iter().find_map(|name| quality(&ranges, name, &[TEXT_VERSION]));
        if open_metrics > 0 && open_metrics >= text.unwrap_or(0) { Self::OpenMetrics } else { Self::PrometheusText }
    }

    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::PrometheusText => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    pub(super) fn of_open_metrics(self, text: String) -> String {
        match self {
            Self::PrometheusText => prometheus_text(&text),
            Self::OpenMetrics => text,
        }
    }
}

/// How much the caller wants this media type in one of these versions; `None` where no range is of it.
fn quality(ranges: &[MediaRange<'_>], name: &str, versions: &[&str]) -> Option<u32> {
    let is_version = |range: &&MediaRange<'_>| range.version.is_none_or(|version| versions.contains(&version));
    let of_type = ranges.iter().filter(|range| range.name.eq_ignore_ascii_case(name)).filter(is_version);
    of_type.map(|range| range.quality).max()
}

/// The text format names a counter as its sample is named, and has no end mark.
fn prometheus_text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len() + open_metrics.len() / 8);
    let mut help = "";
    for line in open_metrics.lines().filter(|line| *line != "# EOF") {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ').map_or("", |(_, help)| help);
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            let suffix = if kind == "counter" { "_total" } else { "" };
            text += &format!("# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}\n");
        } else {
            text += line;
            text.push('\n');
        }
    }
    text
}

impl<'a> MediaRange<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let mut range = Self { name: parts.next().unwrap_or_default(), version: None, quality: 1_000 };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            let value = value.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                "version" => range.version = Some(value),
                "q" => range.quality = thousandths(value),
                _ => {}
            }
        }
        range
    }
}

/// A quality from 0 to 1; anything else wants nothing.
fn thousandths(quality: &str) -> u32 {
    let quality: f64 = quality.parse().unwrap_or(0.0);
    if (0.0..=1.0).contains(&quality) { (quality * 1_000.0).round() as u32 } else { 0 }
}

/// Writes metrics one after the other. Names end in their unit.
pub(super) struct MetricWriter<'a>(pub(super) DescriptorEncoder<'a>);

impl MetricWriter<'_> {
    fn metric<'s>(&'s mut self, name: &'s str, help: &str, kind: MetricType) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.0.encode_descriptor(name, help, None, kind)
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str, value: impl EncodeGaugeValue) -> fmt::Result {
        self.metric(name, help, MetricType::Gauge)?.encode_gauge(&value)
    }

    pub(super) fn gauges<L: EncodeLabelSet, V: EncodeGaugeValue>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, V)>,
    ) -> fmt::Result {
        let mut metric = self.metric(name, help, MetricType::Gauge)?;
        values.into_iter().try_for_each(|(labels, value)| metric.encode_family(&labels)?.encode_gauge(&value))
    }

    /// The encoder adds `_total` to the name.
    pub(super) fn counter(&mut self, name: &str, help: &str, value: impl EncodeCounterValue) -> fmt::Result {
        count_in(&mut self.metric(name, help, MetricType::Counter)?, value)
    }

    pub(super) fn counters<L: EncodeLabelSet, V: EncodeCounterValue>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, V)>,
    ) -> fmt::Result {
        let mut metric = self.metric(name, help, MetricType::Counter)?;
        values.into_iter().try_for_each(|(labels, value)| count_in(&mut metric.encode_family(&labels)?, value))
    }

    pub(super) fn histogram(&mut self, name: &str, help: &str, (sum, count, classes): &HistogramValues) -> fmt::Result {
        let mut metric = self.metric(name, help, MetricType::Histogram)?;
        metric.encode_histogram::<[(String, String); 0]>(*sum, *count, classes, None)
    }

    pub(super) fn histograms<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, HistogramValues)>,
    ) -> fmt::Result {
        let mut metric = self.metric(name, help, MetricType::Histogram)?;
        values.into_iter().try_for_each(|(labels, (sum, count, classes))| {
            let mut family = metric.encode_family(&labels)?;
            family.encode_histogram::<[(String, String); 0]>(sum, count, &classes, None)
        })
    }
}

/// A histogram: its sum, its number of values, and the numbers of its classes with their upper bounds.
pub(super) type HistogramValues = (f64, u64, Vec<(f64, u64)>);

/// Writes a counter without an exemplar.
fn count_in(metric: &mut MetricEncoder<'_>, value: impl EncodeCounterValue) -> fmt::Result {
    metric.encode_counter::<[(String, String); 0], _, u64>(&value, None)
}

pub(super) fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Map => "map",
        Kind::Reduce => "reduce",
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn accepted(values: &[&'static str]) -> MetricsFormat {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(ACCEPT, HeaderValue::from_static(value));
        }
        MetricsFormat::accepted_by(&headers)
    }

    #[test]
    fn open_metrics_is_for_those_that_name_it() {
        use MetricsFormat::{OpenMetrics, PrometheusText};
        // As Prometheus sends it.
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,\
                          text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        let cases: [(&[&'static str], MetricsFormat); 17] = [
            (&[], PrometheusText),
            (&["*/*"], PrometheusText),
            (&["application/*"], PrometheusText),
            (&["text/plain"], PrometheusText),
            (&["text/plain; version=0.0.4"], PrometheusText),
            (&["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"], PrometheusText),
            (&["application/json"], PrometheusText),
            (&["nonsense;;q=,"], PrometheusText),
            (&[prometheus], OpenMetrics),
            (&["application/openmetrics-text"], OpenMetrics),
            (&["Application/OpenMetrics-Text; Version=\"1.0.0\"; charset=utf-8"], OpenMetrics),
            (&["application/openmetrics-text, */*;q=0.1"], OpenMetrics),
            (&["text/plain;q=0.4", "application/openmetrics-text;q=0.5"], OpenMetrics),
            (&["text/plain;q=0.6, application/openmetrics-text;q=0.5"], PrometheusText),
            (&["application/openmetrics-text;q=0, text/plain;q=0"], PrometheusText),
            (&["application/openmetrics-text;version=2.0.0, text/plain;q=0.3"], PrometheusText),
            (&["application/openmetrics-text;q=7, */*;q=0.1"], PrometheusText),
        ];
        for (values, expected) in cases {
            assert_eq!(accepted(values), expected, "{values:?}");
        }
    }

    #[test]
    fn counters_are_named_as_their_samples_and_nothing_marks_the_end() {
        let open_metrics = "# HELP a_slots Slots of all\n# TYPE a_slots gauge\na_slots{kind=\"map\"} 4\n\
                            # HELP a_beats Beats taken\n# TYPE a_beats counter\na_beats_total 7\n# EOF\n";
        let expected = "# HELP a_slots Slots of all\n# TYPE a_slots gauge\na_slots{kind=\"map\"} 4\n\
                        # HELP a_beats_total Beats taken\n# TYPE a_beats_total counter\na_beats_total 7\n";
        assert_eq!(MetricsFormat::PrometheusText.of_open_metrics(open_metrics.to_owned()), expected);
        assert_eq!(MetricsFormat::OpenMetrics.of_open_metrics(open_metrics.to_owned()), open_metrics);
    }
}
