//! `compare` for people: what each discipline holds still, and the same jobs at once. Floor 4: doors.

use std::fmt::Write as _;
use std::time::Duration;

use crate::units::{Cost, Rate, Tick, exact_span, nanos, show_span};

/// The numbers that all disciplines use.
#[derive(Debug, Clone)]
pub struct Numbers {
    /// Slots of the semaphores.
    pub slots: Cost,
    /// The rate of the limiters, and what the modelled API accepts in any window of its period.
    pub rate: Rate,
    /// Jobs that come at once.
    pub jobs: Cost,
    /// How long the modelled API takes.
    pub latency: Duration,
}

/// What was seen in virtual time.
#[derive(Debug)]
pub struct Comparison {
    /// What it was run with.
    pub numbers: Numbers,
    /// The latencies of the columns of `held`.
    pub latencies: Vec<Duration>,
    /// Semaphore, rate, both.
    pub held: Vec<Held>,
    /// Every discipline, all jobs at once.
    pub rows: Vec<Row>,
}

/// What one discipline does at several latencies.
#[derive(Debug)]
pub struct Held {
    /// The discipline.
    pub name: String,
    /// For each latency, sends per second and mean in flight.
    pub columns: Vec<(f64, f64)>,
}

/// What one discipline does with all jobs at once.
#[derive(Debug)]
pub struct Row {
    /// The discipline.
    pub name: String,
    /// The moments of all sends, in order.
    pub sends: Vec<Tick>,
    /// How many of them the modelled API refused.
    pub refused: u64,
}

impl Row {
    /// The most sends in any window `(t - span, t]`.
    pub fn most_in(&self, span: Duration) -> u64 {
        let mut from = 0;
        let counts = self.sends.iter().enumerate().map(|(nth, &at)| {
            while self.sends[from].after(span) <= at {
                from += 1;
            }
            nth - from + 1
        });
        counts.max().unwrap_or(0) as u64
    }

    /// The moment of the last send.
    pub fn last(&self) -> Tick {
        self.sends.last().copied().unwrap_or_default()
    }
}

/// Characters of the raster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    /// Blocks of growing height.
    Blocks,
    /// Plain ASCII.
    Ascii,
}

impl Marks {
    fn all(self) -> [char; 5] {
        match self {
            Self::Blocks => ['·', '▁', '▂', '▄', '█'],
            Self::Ascii => ['.', '-', '+', 'x', '#'],
        }
    }
}

/// Width of a cell of the raster.
const CELL: Duration = Duration::from_millis(50);
/// Cells of the raster.
const CELLS: usize = 40;
/// Width of the column of names.
const NAMES: usize = 31;

impl Comparison {
    /// The whole page.
    pub fn text(&self, marks: Marks) -> String {
        let mut page = String::new();
        self.write(&mut page, marks)
            .expect("a String takes everything");
        page
    }

    fn write(&self, out: &mut String, marks: Marks) -> std::fmt::Result {
        let Numbers {
            slots,
            rate,
            jobs,
            latency,
        } = &self.numbers;
        let (slots, jobs) = (slots.get(), jobs.get());
        let period = exact_span(rate.period);
        let window = match period.as_str() {
            "1s" => "second".to_owned(),
            "1m" => "minute".to_owned(),
            "1h" => "hour".to_owned(),
            _ => period,
        };
        writeln!(
            out,
            "{jobs} jobs at once. The modelled API answers in {} and accepts {} in any {window}. Nothing is sent.\n",
            plain_span(*latency),
            rate.count
        )?;
        self.write_held(out)?;
        let crossover = crossing(slots, rate);
        writeln!(
            out,
            "  They cross at {slots} slots / {} per second = {}: a faster API is held by QPS, a slower one by slots.\n",
            short(rate.per_second()),
            plain_span(crossover)
        )?;
        self.write_raster(out, marks)?;
        self.write_lesson(out)
    }

    fn write_held(&self, out: &mut String) -> std::fmt::Result {
        write!(
            out,
            "{:<46}",
            "WHAT EACH ONE HOLDS STILL    the API answers in"
        )?;
        for latency in &self.latencies {
            write!(out, "{:>10}", plain_span(*latency))?;
        }
        writeln!(out)?;
        let verdicts = [
            ["latency sets it", "held"],
            ["held", "latency sets it"],
            ["both bounded", ""],
        ];
        for (held, verdicts) in self.held.iter().zip(verdicts) {
            let both = verdicts[1].is_empty();
            for (figure, verdict) in verdicts
                .iter()
                .enumerate()
                .filter(|(nth, _)| *nth == 0 || !both)
            {
                let (name, label) = if figure == 0 {
                    (&*held.name, "sent/s")
                } else {
                    ("", "in flight")
                };
                write!(out, "  {name:<30}{label:>14} ")?;
                for column in &held.columns {
                    write!(
                        out,
                        "{:>10}",
                        short(if figure == 0 { column.0 } else { column.1 })
                    )?;
                }
                writeln!(out, "   {verdict}")?;
            }
        }
        Ok(())
    }

    fn write_raster(&self, out: &mut String, marks: Marks) -> std::fmt::Result {
        let steps = self.steps();
        let symbols = marks.all();
        let title = format!(
            "THE SAME {} JOBS AT {}",
            self.numbers.jobs.get(),
            plain_span(self.numbers.latency)
        );
        let cells = format!("sends per {}, first 2 s", plain_span(CELL));
        writeln!(
            out,
            "{title:<w$}{cells:<40}  most in    API      all",
            w = NAMES + 2
        )?;
        let mut legend = format!("  {} 0", symbols[0]);
        let mut from = 1;
        for (symbol, &to) in symbols[1..].iter().zip(&steps) {
            let range = if from == to {
                format!("{to}")
            } else {
                format!("{from}-{to}")
            };
            write!(legend, "  {symbol} {range}")?;
            from = to + 1;
        }
        write!(legend, "  {} {from}+", symbols[4])?;
        writeln!(
            out,
            "{legend:<w$}  any 1 s  said 429    sent",
            w = NAMES + 2 + CELLS
        )?;
        for row in &self.rows {
            let mut counts = [0u64; CELLS];
            for at in &row.sends {
                let cell = usize::try_from(at.0 / nanos(CELL)).unwrap_or(usize::MAX);
                if let Some(count) = counts.get_mut(cell) {
                    *count += 1;
                }
            }
            let raster: String = counts
                .iter()
                .map(
                    |&count| match steps.iter().position(|&step| count <= step) {
                        _ if count == 0 => symbols[0],
                        Some(step) => symbols[step + 1],
                        None => symbols[4],
                    },
                )
                .collect();
            writeln!(
                out,
                "  {:<NAMES$}{raster}{:>9}{:>10}{:>8.1} s",
                row.name,
                row.most_in(Duration::from_secs(1)),
                row.refused,
                row.last().since(Tick::ZERO).as_secs_f64() + 1e-9,
            )?;
        }
        writeln!(out)
    }

    /// The largest counts of the lower marks: 1, 4 and 10 at ten a second, in proportion above that.
    fn steps(&self) -> [u64; 3] {
        let rate = self.numbers.rate.per_second();
        let unit = std::iter::successors(Some(1u64), |unit| unit.checked_mul(10));
        let unit = unit
            .take_while(|&unit| f64_of(unit) * 10.0 <= rate.max(10.0))
            .last()
            .unwrap_or(1);
        [unit, 4 * unit, 10 * unit]
    }

    fn write_lesson(&self, out: &mut String) -> std::fmt::Result {
        let Numbers {
            slots,
            rate,
            jobs,
            latency,
        } = &self.numbers;
        let (slots, jobs) = (slots.get(), jobs.get());
        let theory = f64_of(slots) / latency.as_secs_f64();
        let (Some(held), Some(semaphore)) = (self.held.first(), self.rows.first()) else {
            return Ok(());
        };
        let observed = self
            .latencies
            .iter()
            .zip(&held.columns)
            .find(|(own, _)| *own == latency);
        let observed = observed.map_or(theory, |(_, column)| column.0);
        let times = observed / rate.per_second();
        let beside = if times >= 1.0 {
            format!("{} times what the API accepts", short(times))
        } else {
            "within what the API accepts".to_owned()
        };
        writeln!(
            out,
            "THEORY  {slots} slots / {} = {}/s; {} was observed at {}/s, {beside}.",
            plain_span(*latency),
            short(theory),
            semaphore.name,
            short(observed),
        )?;
        let smooth = self.held.get(1);
        let smooth = smooth.and_then(|held| self.rows.iter().find(|row| row.name == held.name));
        let lost = smooth.map_or(0, |row| row.refused);
        let lost = if lost == 0 {
            "none".to_owned()
        } else {
            lost.to_string()
        };
        let pace = if smooth.is_some_and(|row| row.last() > semaphore.last()) {
            "slower"
        } else {
            "no slower"
        };
        writeln!(
            out,
            "LESSON  Semaphore({slots}) never looks at a clock: {} of {jobs} refused. qps {rate} is {pace} and loses {lost}.",
            semaphore.refused,
        )
    }
}

fn crossing(slots: u64, rate: &Rate) -> Duration {
    Duration::try_from_secs_f64(f64_of(slots) / rate.per_second()).unwrap_or(Duration::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
fn f64_of(number: u64) -> f64 {
    number as f64
}

/// Two digits that matter, without zeros behind the point: `400`, `10`, `0.5`.
fn short(number: f64) -> String {
    if number >= 99.5 {
        return format!("{number:.0}");
    }
    let digits = usize::from(number < 9.95);
    let text = if number >= 0.095 || number == 0.0 {
        format!("{number:.digits$}")
    } else {
        format!("{number:.3}")
    };
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// `50 ms`, `2 s`.
fn plain_span(span: Duration) -> String {
    let text = show_span(span);
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!(
                "{} {unit}",
                number.trim_end_matches('0').trim_end_matches('.')
            )
        }
        Some(_) | None => text,
    }
}
