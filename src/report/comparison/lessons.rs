//! What the figures teach, in sentences. Floor 4: doors.

use super::words::{accepted, plain_span, short};
use super::{Comparison, Figures};
use crate::model::ModelSpec;

impl Comparison {
    /// The theory of slots beside what was observed; `None` if no semaphore was run.
    pub(in crate::report) fn theory(&self) -> Option<String> {
        let semaphore = self.rows.iter().find(|row| row.key == "semaphore")?;
        let slots = self.numbers.slots.get();
        let seen = self.of("semaphore")?;
        let means = seen.means.filter(|means| !means.latency.is_zero())?;
        if !seen.is_answered() {
            return None;
        }
        let theory = format!(
            "{slots} slots / {} = {}/s",
            plain_span(means.latency),
            short(f64_of(slots) / means.latency.as_secs_f64())
        );
        // Less than two rounds of all slots show no rate.
        if means.ended < slots.saturating_mul(2) {
            return Some(format!("{theory}."));
        }
        let observed = means.rate;
        let of_units = |api: &ModelSpec| api.limits.iter().any(|limit| limit.counts.is_units());
        let beside = match self.api().and_then(accepted) {
            Some(rate) if observed > rate => {
                format!(", {} times what the API accepts", short(observed / rate))
            }
            Some(_) if seen.refused > 0 && self.api().is_some_and(of_units) => String::new(),
            Some(_) if seen.refused > 0 => format!(
                ", on average within what the API accepts, yet {} of {} were refused",
                seen.refused, seen.sends
            ),
            Some(_) => ", within what the API accepts".to_owned(),
            None => String::new(),
        };
        Some(format!(
            "{theory}; {} was observed at {}/s{beside}.",
            semaphore.name,
            short(observed),
        ))
    }

    /// A sentence for each pair of disciplines that were both run and differ.
    pub(in crate::report) fn lessons(&self) -> Vec<String> {
        let all = [
            self.semaphore_or_rate(),
            self.processes(),
            self.early_or_late(),
            self.storm_or_retry(),
        ];
        all.into_iter().flatten().collect()
    }

    fn semaphore_or_rate(&self) -> Option<String> {
        let (semaphore, smooth) = (self.of("semaphore")?, self.of("qps")?);
        let (slots, rate) = (self.numbers.slots.get(), &self.numbers.rate);
        let of = |seen: &Figures| format!("{} of {}", seen.refused, seen.sends);
        if semaphore.refused == 0 {
            return None;
        }
        let lost = match smooth.refused {
            0 if smooth.ok == self.jobs.count => "loses none".to_owned(),
            0 => "is never refused".to_owned(),
            _ => format!("is refused {}", of(smooth)),
        };
        let pace = if smooth.finish > semaphore.finish {
            "slower"
        } else {
            "no slower"
        };
        Some(format!(
            "Semaphore({slots}) never looks at a clock: {} refused. qps {rate} is {pace} and {lost}.",
            of(semaphore)
        ))
    }

    fn processes(&self) -> Option<String> {
        let seen = self.of("processes")?;
        let row = self.rows.iter().find(|row| row.key == "processes")?;
        let times = seen.rate? / self.numbers.rate.per_second();
        (times > 2.0).then(|| {
            format!(
                "{}: none knows of the others. {} times the rate was sent, {} of {} refused.",
                row.name,
                short(times),
                seen.refused,
                seen.sends
            )
        })
    }

    fn early_or_late(&self) -> Option<String> {
        let (early, late) = (self.of("early")?, self.of("late")?);
        (early.most_in_long > late.most_in_long).then(|| {
            format!(
                "Permits taken at queueing aged while the sender stalled and left together: {} in 1 s; \
                 taken at the send: {}.",
                early.most_in_long, late.most_in_long
            )
        })
    }

    fn storm_or_retry(&self) -> Option<String> {
        let (storm, retry) = (self.of("storm")?, self.of("retry")?);
        let told = |seen: &Figures| {
            format!(
                "{} sends, {} of {} jobs ok",
                seen.sends, seen.ok, self.jobs.count
            )
        };
        (storm.refused > retry.refused).then(|| {
            format!(
                "Retries that bypass the limits: {}. Through the limits: {}.",
                told(storm),
                told(retry)
            )
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
fn f64_of(number: u64) -> f64 {
    number as f64
}
