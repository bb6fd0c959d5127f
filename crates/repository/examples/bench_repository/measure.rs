//! What a cycle costs, as the system counts it.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// What was spent so far, by this process or another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    at: Instant,
    cpu: Duration,
    read: u64,
    written: u64,
    device_read: u64,
    device_written: u64,
}

/// What one cycle cost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) wall: f64,
    pub(crate) cpu: f64,
    /// Bytes asked of and given to the system, whether or not they reached the device.
    pub(crate) read: f64,
    pub(crate) written: f64,
    /// Bytes that the device moved.
    pub(crate) device: f64,
}

impl Spent {
    pub(crate) fn now(other: Option<u32>) -> Self {
        let clock = clock_gettime(ClockId::ProcessCPUTime);
        let mut cpu = Duration::new(
            u64::try_from(clock.tv_sec).unwrap(),
            u32::try_from(clock.tv_nsec).unwrap(),
        );
        let mut io = io_of("self");
        if let Some(pid) = other {
            cpu += cpu_of(pid);
            let theirs = io_of(&pid.to_string());
            for (mine, theirs) in io.iter_mut().zip(theirs) {
                *mine += theirs;
            }
        }
        Self {
            at: Instant::now(),
            cpu,
            read: io[0],
            written: io[1],
            device_read: io[2],
            device_written: io[3],
        }
    }

    pub(crate) fn since(self, before: Self) -> Cost {
        let megabytes = |now: u64, then: u64| now.saturating_sub(then) as f64 / 1e6;
        Cost {
            wall: self.at.duration_since(before.at).as_secs_f64(),
            cpu: (self.cpu - before.cpu).as_secs_f64(),
            read: megabytes(self.read, before.read),
            written: megabytes(self.written, before.written),
            device: megabytes(
                self.device_read + self.device_written,
                before.device_read + before.device_written,
            ),
        }
    }
}

impl Cost {
    /// As the fields of a record.
    pub(crate) fn json(&self) -> String {
        format!(
            "\"wall\":{:.4},\"cpu\":{:.4},\"read_mb\":{:.2},\"written_mb\":{:.2},\"device_mb\":{:.2}",
            self.wall, self.cpu, self.read, self.written, self.device
        )
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.wall += other.wall;
        self.cpu += other.cpu;
        self.read += other.read;
        self.written += other.written;
        self.device += other.device;
    }

    pub(crate) fn over(self, cycles: usize) -> Self {
        let cycles = cycles.max(1) as f64;
        Self {
            wall: self.wall / cycles,
            cpu: self.cpu / cycles,
            read: self.read / cycles,
            written: self.written / cycles,
            device: self.device / cycles,
        }
    }
}

/// Seconds of CPU of this thread.
pub(crate) fn thread_cpu() -> f64 {
    let clock = clock_gettime(ClockId::ThreadCPUTime);
    clock.tv_sec as f64 + clock.tv_nsec as f64 / 1e9
}

fn io_of(process: &str) -> [u64; 4] {
    let text = std::fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
            .unwrap_or(0)
    };
    [
        field("rchar:"),
        field("wchar:"),
        field("read_bytes:"),
        field("write_bytes:"),
    ]
}

fn cpu_of(pid: u32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after = text.rsplit_once(')').map_or("", |(_, after)| after);
    let ticks: u64 = after
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}

/// Forgets the highest memory so far, of this process and another one.
pub(crate) fn reset_peak(other: Option<u32>) {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    if let Some(pid) = other {
        let _ = std::fs::write(format!("/proc/{pid}/clear_refs"), "5");
    }
}

/// The highest memory since then, in MiB.
pub(crate) fn peak_mib(pid: Option<u32>) -> f64 {
    let process = pid.map_or("self".to_owned(), |pid| pid.to_string());
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    text.lines()
        .find_map(|line| {
            line.strip_prefix("VmHWM:")?
                .trim()
                .strip_suffix(" kB")?
                .trim()
                .parse::<f64>()
                .ok()
        })
        .unwrap_or(0.0)
        / 1024.0
}

/// Bytes of the files below a folder.
pub(crate) fn bytes_below(folder: &std::path::Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => bytes_below(&entry.path()),
            Ok(found) => found.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Drops the files below a folder from the system's cache; no other file.
pub(crate) fn drop_cache(folder: &std::path::Path) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.path().is_dir() {
            drop_cache(&entry.path());
        } else if let Ok(file) = std::fs::File::open(entry.path()) {
            // Only what is on the disk can be dropped.
            let _ = file.sync_data();
            let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
        }
    }
}
