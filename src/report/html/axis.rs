//! Axes of pictures: where a value lies, and which values are told. Floor 4: doors.

/// Room beside the end of an axis: half of a value that is told there.
pub(super) const SIDE: f64 = 24.0;

/// From values to places.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axis {
    /// The values at both ends.
    least: f64,
    most: f64,
    /// Their places.
    from: f64,
    to: f64,
    kind: Kind,
}

/// What has the same length everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A difference.
    Even,
    /// A ratio; both ends are above zero.
    Log,
}

impl Axis {
    /// From `least` to `most`, which is more, at these places.
    pub(super) fn new(kind: Kind, (least, most): (f64, f64), (from, to): (f64, f64)) -> Self {
        Self {
            least,
            most,
            from,
            to,
            kind,
        }
    }

    /// The place of a value; those beyond the ends are at the ends.
    pub(super) fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.least, self.most);
        let part = match self.kind {
            Kind::Even => (value - self.least) / (self.most - self.least),
            Kind::Log => (value / self.least).ln() / (self.most / self.least).ln(),
        };
        self.from + (self.to - self.from) * part
    }

    /// Values that are told, at most about so many.
    pub(super) fn ticks(&self, about: f64) -> Vec<f64> {
        match self.kind {
            Kind::Even => self.even(about),
            Kind::Log => self.decades(about),
        }
    }

    fn even(&self, about: f64) -> Vec<f64> {
        let rough = (self.most - self.least) / about;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = steps.into_iter().find(|step| *step >= rough * 0.999);
        let step = step.unwrap_or(rough);
        let first = (self.least / step).ceil();
        let ticks = (0..=100).map(|nth| (first + f64::from(nth)) * step);
        ticks
            .take_while(|tick| *tick <= self.most * (1.0 + 1e-9))
            .collect()
    }

    fn decades(&self, about: f64) -> Vec<f64> {
        let [first, last] = [self.least, self.most].map(f64::log10);
        let room = (last - first) * 3.0 <= about;
        let within: &[f64] = if room { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let every = ((last - first) / about).ceil().max(1.0);
        let decades = (0..60).map(|nth| first.floor() + f64::from(nth) * every);
        let decades = decades.take_while(|decade| *decade <= last);
        let ticks =
            decades.flat_map(|decade| within.iter().map(move |one| one * 10_f64.powf(decade)));
        let inside = |tick: &f64| *tick >= self.least * 0.999 && *tick <= self.most * 1.001;
        ticks.filter(inside).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let even = Axis::new(Kind::Even, (0.0, 93.0), (0.0, 1.0));
        assert_eq!(even.ticks(5.0), [0.0, 20.0, 40.0, 60.0, 80.0]);
        let log = Axis::new(Kind::Log, (0.9, 150.0), (0.0, 1.0));
        assert_eq!(log.ticks(4.0), [1.0, 10.0, 100.0]);
        assert_eq!(log.ticks(8.0), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        let wide = Axis::new(Kind::Log, (1e-6, 1e9), (0.0, 1.0));
        assert!(wide.ticks(5.0).len() <= 6, "{:?}", wide.ticks(5.0));
    }

    #[test]
    fn equal_ratios_are_equally_long_and_what_is_beyond_is_at_the_end() {
        let log = Axis::new(Kind::Log, (1.0, 100.0), (0.0, 200.0));
        assert!((log.at(10.0) - 100.0).abs() < 1e-9);
        assert!(log.at(1e9) <= 200.0 && log.at(0.0) >= 0.0);
        let down = Axis::new(Kind::Even, (0.0, 10.0), (100.0, 0.0));
        assert!((down.at(2.5) - 75.0).abs() < 1e-9);
    }
}
