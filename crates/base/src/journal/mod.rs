//! The journal: what has happened. What it does not name has not.
//!
//! ```text
//! engine ──> Frame(Entry) ──> segment file ──sync──> followers (repository, index, graph, catalog)
//! ```
//!
//! A segment is `TEIAJRN1`, then frames: `TEIJ`, length (u32), checksum (u64), payload. The
//! checksum is xxh3 of the payload with the frame's offset as seed, so that a frame that was moved
//! or that lies in old noise is not taken for one. The payload is a [`Entry`] in postcard. An
//! entry is synced before the next one is written: bytes after the last whole frame of the last
//! segment are the torn end of one that never happened; a bad frame *before* a good one is damage.
//! Sealed segments are packed into `history/` when the journal has grown (see [`pack_segment`]).

mod entry;
mod pack;
mod salvage;
mod segment;
mod stream;

pub use entry::{
    Added, ArchivePosition, Attempt, Chain, Commit, Entry, Exclusion, Folded, HostUpdate,
    LinkRecord, LinkVerdict, Next, OF_ROBOTS, Quarantined, Record, Recovered, RecoveredUrl,
    Revisit, RunEnded, RunStarted, SeedRecord, UrlChange,
};
pub use pack::{all_segments, history_of, pack_segment};
pub use salvage::{Lost, salvage};
pub use segment::{
    JournalError, MAX_ENTRY_BYTES, SEGMENT_HEADER, Segment, SegmentEnd, closing, encode_frame,
    read_segment, segment_name, segments, walk_segment,
};
pub use stream::{EntryStream, walk};
