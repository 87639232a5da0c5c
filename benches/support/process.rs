//! What the system says of a process that runs or has just ended (Linux: proc(5)).

use std::collections::BTreeMap;
use std::fs;
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// What the system charges CPU time in: `USER_HZ`, 100 on every Linux.
pub(crate) const TICKS_PER_SECOND: f64 = 100.0;

/// CPU time that a process has had, in ticks.
pub(crate) fn ticks(id: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // Behind the name, which may hold blanks: fields 14 and 15 are the times.
    let (_, fields) = stat.rsplit_once(')')?;
    let times = fields.split_whitespace().skip(11).take(2);
    Some(times.filter_map(|ticks| ticks.parse::<u64>().ok()).sum())
}

/// Name and CPU time of each thread that a process has now, by its number.
pub(crate) fn threads(id: u32) -> BTreeMap<u32, (String, Duration)> {
    let threads = fs::read_dir(format!("/proc/{id}/task"));
    let threads = threads.into_iter().flatten().filter_map(|thread| {
        let thread = thread.ok()?;
        let name = fs::read_to_string(thread.path().join("comm")).ok()?;
        let times = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let time = times.split(' ').next()?.parse().ok()?;
        let number = thread.file_name().to_str()?.parse().ok()?;
        let name = name.trim_end().to_owned();
        Some((number, (name, Duration::from_nanos(time))))
    });
    threads.collect()
}

/// What is resident now, in kB of 1000 bytes; `None` once the process has let go of its memory.
pub(crate) fn resident(id: u32) -> Option<u64> {
    memory(id, "VmRSS:")
}

/// The most that was ever resident, in kB of 1000 bytes.
pub(crate) fn most_resident(id: u32) -> Option<u64> {
    memory(id, "VmHWM:")
}

fn memory(id: u32, field: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024 / 1000)
}

/// Waits until a process is over, and leaves it so that its times can be read.
pub(crate) fn over(process: &Child, options: WaitIdOptions) -> bool {
    let who = WaitId::Pid(Pid::from_child(process));
    let ended = waitid(who, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | options);
    ended.expect("it is our child").is_some()
}
