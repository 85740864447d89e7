//! Writes metrics in OpenMetrics text.

use std::fmt;

use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeLabelSet, MetricEncoder,
};
use prometheus_client::metrics::MetricType;

use crate::model::Kind;

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

/// The label of a kind of slots.
pub(super) fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Map => "map",
        Kind::Reduce => "reduce",
    }
}
