//! Families of metrics, one after the other, as Prometheus' text form has them. Floor 4: doors.

use prometheus::TextEncoder;
use prometheus::proto::{
    Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType,
};

use super::cumulated::{BOUNDS, Cumulated};

/// The families so far; one without a sample is left out.
#[derive(Debug, Default)]
pub(super) struct Families(Vec<MetricFamily>);

/// What a family is called and what it tells.
pub(super) type Name<'a> = (&'a str, &'a str);

impl Families {
    /// The text, in which values of labels are escaped.
    pub(super) fn into_text(self) -> String {
        let text = TextEncoder::new().encode_to_string(&self.0);
        text.expect("every family has a name and a sample")
    }

    /// What only grows.
    pub(super) fn counter(&mut self, name: Name<'_>, value: f64) {
        self.add(
            name,
            MetricType::COUNTER,
            [counter(Metric::default(), value)],
        );
    }

    /// The same for each value of a label.
    pub(super) fn counters<L: AsRef<str>>(
        &mut self,
        name: Name<'_>,
        label: &str,
        values: impl IntoIterator<Item = (L, f64)>,
    ) {
        let values = values.into_iter();
        let metrics = values.map(|(own, value)| counter(labelled(label, own.as_ref()), value));
        self.add(name, MetricType::COUNTER, metrics);
    }

    /// What is so now.
    pub(super) fn gauge(&mut self, name: Name<'_>, value: f64) {
        self.add(name, MetricType::GAUGE, [gauge(Metric::default(), value)]);
    }

    /// That a label has this value now.
    pub(super) fn fact(&mut self, name: Name<'_>, label: &str, own: &str) {
        let metric = gauge(labelled(label, own), 1.0);
        self.add(name, MetricType::GAUGE, [metric]);
    }

    /// Times in seconds, for each value of a label.
    pub(super) fn histograms(
        &mut self,
        name: Name<'_>,
        label: &str,
        values: [(&str, Cumulated); 2],
    ) {
        let metrics = values.map(|(own, cumulated)| {
            let mut metric = labelled(label, own);
            metric.set_histogram(histogram(&cumulated));
            metric
        });
        self.add(name, MetricType::HISTOGRAM, metrics);
    }

    /// The same without a label.
    pub(super) fn histogram(&mut self, name: Name<'_>, cumulated: &Cumulated) {
        let mut metric = Metric::default();
        metric.set_histogram(histogram(cumulated));
        self.add(name, MetricType::HISTOGRAM, [metric]);
    }

    fn add(
        &mut self,
        (name, help): Name<'_>,
        kind: MetricType,
        metrics: impl IntoIterator<Item = Metric>,
    ) {
        let metrics: Vec<Metric> = metrics.into_iter().collect();
        if metrics.is_empty() {
            return;
        }
        let mut family = MetricFamily::default();
        family.set_name(name.to_owned());
        family.set_help(help.to_owned());
        family.set_field_type(kind);
        family.set_metric(metrics);
        self.0.push(family);
    }
}

fn labelled(name: &str, value: &str) -> Metric {
    let mut pair = LabelPair::default();
    pair.set_name(name.to_owned());
    pair.set_value(value.to_owned());
    Metric::from_label(vec![pair])
}

fn counter(mut metric: Metric, value: f64) -> Metric {
    let mut counter = Counter::default();
    counter.set_value(value);
    metric.set_counter(counter);
    metric
}

fn gauge(mut metric: Metric, value: f64) -> Metric {
    let mut gauge = Gauge::default();
    gauge.set_value(value);
    metric.set_gauge(gauge);
    metric
}

fn histogram(cumulated: &Cumulated) -> Histogram {
    let buckets = BOUNDS.into_iter().zip(cumulated.up_to);
    let buckets = buckets.map(|(bound, up_to)| {
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(bound.as_secs_f64());
        bucket.set_cumulative_count(up_to);
        bucket
    });
    let mut histogram = Histogram::default();
    histogram.set_bucket(buckets.collect());
    histogram.set_sample_count(cumulated.count);
    histogram.set_sample_sum(cumulated.sum.as_secs_f64());
    histogram
}
