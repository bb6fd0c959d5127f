//! How many hosts this machine can ask at once.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What a host may cost in memory while it is asked: buffers, a page being read, its records.
const HOST_BYTES: usize = 4 << 20;

/// What a person chose, or what cores, memory and descriptors allow, at most 256.
pub fn hosts_at_once(chosen: Option<usize>) -> usize {
    let descriptors = free_descriptors();
    match chosen {
        // Each holds a connection; the last quarter is for idle ones and for spool files.
        Some(chosen) => chosen.clamp(1, (descriptors / 4 * 3).max(1)),
        None => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            let by_memory = memory_bytes() / HOST_BYTES;
            (cores * 128)
                .min(256)
                .min(descriptors / 3)
                .min(by_memory)
                .max(1)
        }
    }
}

/// Idle connections that descriptors allow beside so many busy ones.
pub(crate) fn idle_connections(wanted: usize, hosts: usize) -> usize {
    wanted.min(a_third_beside(hosts))
}

/// Hosts that may let us wait beside those that are asked at once. They hold a connection, and next to no
/// memory or work. Where a person chose a number, that is the number.
pub(crate) fn waiting_hosts(chosen: Option<usize>) -> usize {
    match chosen {
        Some(_) => 0,
        None => a_third_beside(hosts_at_once(None)),
    }
}

/// Pages that may wait for the slow lane. Long ones may lie in spool files, which get a half of that third.
pub(crate) fn lane_pages(slack: usize, hosts: Option<usize>) -> usize {
    let files = a_third_beside(hosts_at_once(hosts)) / 2;
    (slack * 16).min(files).max(slack)
}

/// A third of the descriptors that so many hosts leave: for idle connections, for hosts that let us wait,
/// or for spool files.
fn a_third_beside(hosts: usize) -> usize {
    free_descriptors().saturating_sub(hosts) / 3
}

/// Connections of people and programs that may be served at once: a quarter of the descriptors at most, so that fetching and
/// the files of collections have theirs, however many come.
pub fn connections_served(wanted: usize) -> usize {
    wanted.min(beside_files() / 4).max(1)
}

/// What fetching may have open: a quarter is for those who are served.
fn free_descriptors() -> usize {
    beside_files() / 4 * 3
}

/// What may be open beside the files of collections.
fn beside_files() -> usize {
    raise_descriptors().saturating_sub(64)
}

/// Memory that the system could give us now; plenty where it does not say.
fn memory_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<usize>().ok());
    kilobytes.map_or(usize::MAX, |kilobytes| kilobytes.saturating_mul(1024))
}

/// Raises the soft limit of open files to the hard one; returns what may be open.
fn raise_descriptors() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(1 << 20).min(1 << 20);
    if limit.current.is_some_and(|current| current < most) {
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(most),
                maximum: limit.maximum,
            },
        );
    }
    let current = getrlimit(Resource::Nofile).current.unwrap_or(most);
    usize::try_from(current).unwrap_or(1 << 20)
}
