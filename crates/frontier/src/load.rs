//! How many hosts are asked at once: fewer when this machine cannot keep up.

use std::time::Duration;

/// The number of hosts at once. It sinks when our own work runs late, before our waiting could
/// make a server's deadline expire, and recovers when it no longer does (TCP's old rule: halve
/// fast, grow slowly).
#[derive(Clone, Debug)]
pub struct HostLimit {
    most: usize,
    now: f64,
    late: Duration,
}

impl HostLimit {
    /// At most `most` hosts at once, and so many at the start. Our own work must not use up the
    /// shortest time limit that a server has: a twentieth of it is a sign of pressure.
    pub fn new(most: usize, shortest_limit: Duration) -> Self {
        let late = (shortest_limit / 20).clamp(Duration::from_millis(50), Duration::from_secs(1));
        Self {
            most: most.max(1),
            now: most_as_f64(most.max(1)),
            late,
        }
    }

    /// Hosts that may be asked at once now.
    pub fn get(&self) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 1 and `most`"
        )]
        let now = self.now as usize;
        now.clamp(1, self.most)
    }

    /// At most so many from now on.
    pub fn set_most(&mut self, most: usize) {
        self.most = most.max(1);
        self.now = most_as_f64(self.most);
    }

    /// The most that may be asked at once.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Tells how late the loop woke up, and how full the queue before the workers is (0 to 1).
    pub fn observe(&mut self, late: Duration, queue_fill: f64) {
        if late > self.late || queue_fill > 0.9 {
            self.now = (self.now * 0.7).max(1.0);
        } else if late < self.late / 4 && queue_fill < 0.5 {
            self.now = (self.now + (self.now * 0.05).max(1.0)).min(most_as_f64(self.most));
        }
    }
}

fn most_as_f64(most: usize) -> f64 {
    f64::from(u32::try_from(most).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sinks_under_pressure_and_recovers() {
        let mut limit = HostLimit::new(256, Duration::from_secs(2));
        for _ in 0..20 {
            limit.observe(Duration::from_millis(400), 0.0);
        }
        assert_eq!(limit.get(), 1);
        for _ in 0..200 {
            limit.observe(Duration::ZERO, 0.0);
        }
        assert_eq!(limit.get(), 256);
    }
}
