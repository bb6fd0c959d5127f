//! How many hosts this machine can ask at once.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What a person chose, or what cores, memory and descriptors allow, at most 256.
pub fn hosts_at_once(chosen: Option<usize>) -> usize {
    let descriptors = raise_descriptors();
    // Each host holds a connection, perhaps an idle one beside it, perhaps a spool file.
    let by_descriptors = descriptors.saturating_sub(64) / 3;
    match chosen {
        Some(chosen) => chosen.clamp(1, by_descriptors.max(1)),
        None => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            (cores * 128).min(256).min(by_descriptors).max(1)
        }
    }
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
