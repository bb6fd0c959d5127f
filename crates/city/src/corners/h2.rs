//! HTTP/2.

use crate::corner::{Corner, Trick};
use crate::h2::H2Trick;

/// More connections than any test makes.
const ALWAYS: usize = usize::MAX;

/// The corners of this group.
pub(super) fn corners() -> Vec<Corner> {
    let corner = |id, name, trick, times| Corner {
        id,
        name,
        trick: Trick::H2(trick, times),
    };
    vec![
        corner("H2-01", "continuations", H2Trick::Continuations, 1),
        corner("H2-02", "cancel", H2Trick::Resets(8), 1),
        corner("H2-02", "refuse", H2Trick::Resets(7), 1),
        corner("H2-03", "ping", H2Trick::Flood(6), 1),
        corner("H2-03", "settings", H2Trick::Flood(4), 1),
        corner("H2-03", "window", H2Trick::Flood(8), 1),
        corner("H2-03", "priority", H2Trick::Flood(2), 1),
        corner("H2-04", "empty-data", H2Trick::EmptyData, 1),
        corner("H2-05", "stream-errors", H2Trick::StreamErrors, 1),
        corner("H2-06", "small", H2Trick::HeaderBomb(400), 1),
        corner("H2-06", "middle", H2Trick::HeaderBomb(30_000), 1),
        corner("H2-06", "large", H2Trick::HeaderBomb(100_000), 1),
        corner("H2-07", "many", H2Trick::ManyHeaders(40_000), 1),
        corner("H2-08", "push", H2Trick::Push, 1),
        corner("H2-09", "no-body", H2Trick::NoBody, 1),
        corner("H2-10", "twice", H2Trick::GoAway, 2),
        corner("H2-10", "always", H2Trick::GoAway, ALWAYS),
        corner("H2-11", "http1", H2Trick::SpeaksHttp1, ALWAYS),
        corner("H2-11", "http2", H2Trick::SpeaksHttp2, ALWAYS),
        corner("H2-12", "capital", H2Trick::CapitalName, 1),
        corner("H2-12", "connection", H2Trick::ConnectionField, 1),
        corner("H2-12", "no-status", H2Trick::NoStatus, 1),
        corner("H2-12", "two-statuses", H2Trick::TwoStatuses, 1),
        corner("H2-13", "no-streams", H2Trick::NoStreams, 1),
        corner("H2-13", "table", H2Trick::Setting(1, u32::MAX), 1),
        corner("H2-13", "frame-zero", H2Trick::Setting(5, 0), 1),
        corner(
            "H2-13",
            "frame-large",
            H2Trick::Setting(5, (1 << 24) - 1),
            1,
        ),
        corner("H2-13", "window", H2Trick::Setting(4, u32::MAX), 1),
        corner("H2-14", "short", H2Trick::ShortBody, 1),
        corner("H2-14", "long", H2Trick::LongBody, 1),
        corner("H2-14", "trailers", H2Trick::Trailers(20), 1),
        corner("H2-14", "many-trailers", H2Trick::Trailers(2_000), 1),
        corner("H2-14", "endless-trailers", H2Trick::EndlessTrailers, 1),
    ]
}
