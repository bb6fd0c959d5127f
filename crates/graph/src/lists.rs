//! Neighbours of each node, with the labels of the links between them, in one direction.
//!
//! ```text
//! group of 32 nodes:  lists, one after the other; then the trailer:
//!                     per node 0 (no list), or length + 1 (varint) and number of neighbours (varint)
//! directory:          per group the offset of its trailer (u64)
//! list:               per neighbour  step << 1 | same (varint); unless same: labels
//! labels:             per label      label << 1 | more (varint); after the first, steps
//! ```
//!
//! Neighbours grow: the first step is from the node itself (zigzag), each other from the one before
//! it, less one. `same` says: one label, and it is the first one of the neighbour before (at first,
//! label 0). Trailers come last so that a list of any length is written without being held.

use std::sync::Arc;

use crate::GraphError;
use crate::chunk::{self, Cursor, File};
use crate::varint;

const GROUP: u32 = 32;

/// Where lists lie in their file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) start: u64,
    pub(crate) directory: u64,
}

/// Writes lists; nodes come in order, and those without a list are passed over.
#[derive(Debug)]
pub(crate) struct Writer {
    extent: Extent,
    directory: Vec<u64>,
    trailer: Vec<u8>,
    /// The node after the last one that the trailer speaks of.
    next: u32,
    list: Open,
    bytes: Vec<u8>,
}

/// The list that is being written.
#[derive(Debug, Default)]
struct Open {
    node: u32,
    start: u64,
    count: u64,
    previous: u32,
    label: u32,
}

impl Writer {
    pub(crate) fn new(out: &chunk::Writer) -> Self {
        Self {
            extent: Extent {
                start: out.offset(),
                directory: 0,
            },
            directory: Vec::new(),
            trailer: Vec::new(),
            next: 0,
            list: Open::default(),
            bytes: Vec::new(),
        }
    }

    /// Begins the list of a node after all before it.
    pub(crate) fn begin(&mut self, out: &mut chunk::Writer, node: u32) -> Result<(), GraphError> {
        self.pass_to(out, node)?;
        self.list = Open {
            node,
            start: out.offset(),
            ..Open::default()
        };
        Ok(())
    }

    /// Adds a neighbour after all before it, with its labels, which grow too.
    pub(crate) fn push(
        &mut self,
        out: &mut chunk::Writer,
        neighbour: u32,
        labels: &[u32],
    ) -> Result<(), GraphError> {
        let list = &mut self.list;
        let step = if list.count == 0 {
            varint::zigzag(i64::from(neighbour) - i64::from(list.node))
        } else {
            u64::from(neighbour - list.previous - 1)
        };
        let same = *labels == [list.label];
        self.bytes.clear();
        varint::put(&mut self.bytes, step << 1 | u64::from(same));
        if !same {
            let mut before = 0;
            for (index, label) in labels.iter().enumerate() {
                let more = u64::from(index + 1 < labels.len());
                varint::put(&mut self.bytes, u64::from(label - before) << 1 | more);
                before = *label;
            }
        }
        list.label = labels.first().copied().unwrap_or(0);
        list.previous = neighbour;
        list.count += 1;
        out.put(&self.bytes)
    }

    /// Ends the list. `keep_empty`: whether a list of nothing is a list all the same.
    pub(crate) fn end(
        &mut self,
        out: &mut chunk::Writer,
        keep_empty: bool,
    ) -> Result<(), GraphError> {
        let list = &self.list;
        if list.count > 0 || keep_empty {
            varint::put(&mut self.trailer, out.offset() - list.start + 1);
            varint::put(&mut self.trailer, list.count);
            self.next += 1;
            if self.next.is_multiple_of(GROUP) {
                self.end_group(out)?;
            }
        }
        Ok(())
    }

    /// Neighbours so far in the list that is being written.
    pub(crate) fn count(&self) -> u64 {
        self.list.count
    }

    pub(crate) fn finish(
        mut self,
        out: &mut chunk::Writer,
        nodes: u32,
    ) -> Result<Extent, GraphError> {
        self.pass_to(out, nodes)?;
        if !self.next.is_multiple_of(GROUP) {
            self.end_group(out)?;
        }
        self.extent.directory = out.offset();
        for offset in &self.directory {
            out.put(&offset.to_le_bytes())?;
        }
        Ok(self.extent)
    }

    fn pass_to(&mut self, out: &mut chunk::Writer, node: u32) -> Result<(), GraphError> {
        debug_assert!(node >= self.next, "nodes come in order");
        while self.next < node {
            self.trailer.push(0);
            self.next += 1;
            if self.next.is_multiple_of(GROUP) {
                self.end_group(out)?;
            }
        }
        Ok(())
    }

    fn end_group(&mut self, out: &mut chunk::Writer) -> Result<(), GraphError> {
        self.directory.push(out.offset());
        out.put(&self.trailer)?;
        self.trailer.clear();
        Ok(())
    }
}

/// Lists that are only read.
#[derive(Debug, Clone)]
pub(crate) struct Lists {
    file: Arc<File>,
    extent: Extent,
    nodes: u32,
}

impl Lists {
    pub(crate) fn new(file: &Arc<File>, extent: Extent, nodes: u32) -> Self {
        Self {
            file: Arc::clone(file),
            extent,
            nodes,
        }
    }

    /// The list of a node, if it has one.
    pub(crate) fn list(&self, node: u32) -> Result<Option<List>, GraphError> {
        let (trailer, heads) = self.trailer(node / GROUP)?;
        let index = (node % GROUP) as usize;
        let Some(Some((_, count))) = heads.get(index) else {
            return Ok(None);
        };
        let after: u64 = heads[index..].iter().flatten().map(|(len, _)| len).sum();
        let Some(start) = trailer.checked_sub(after) else {
            return Err(self.file.damaged(trailer, "a list begins before its file"));
        };
        let cursor = Cursor::cached(&self.file, start);
        Ok(Some(List::new(cursor, node, *count, self.nodes)))
    }

    /// All lists, to be read to the end.
    pub(crate) fn walk(&self) -> Walk {
        let cursor = Cursor::streaming(&self.file, self.extent.start);
        Walk {
            lists: self.clone(),
            list: List::new(cursor, 0, 0, self.nodes),
            start: self.extent.start,
            heads: Vec::new(),
            next: 0,
        }
    }

    /// Offset of a group's trailer, and its heads (length and count).
    fn trailer(&self, group: u32) -> Result<(u64, Vec<Head>), GraphError> {
        let place = self.extent.directory + u64::from(group) * 8;
        let offset = self.file.read_u64(place)?;
        let mut cursor = Cursor::cached(&self.file, offset);
        let nodes = GROUP.min(self.nodes.saturating_sub(group * GROUP));
        let mut heads = Vec::with_capacity(nodes as usize);
        for _ in 0..nodes {
            heads.push(match cursor.varint()?.checked_sub(1) {
                Some(len) if len <= self.file.len() => Some((len, cursor.varint()?)),
                Some(_) => return Err(cursor.damaged("a list is longer than its file")),
                None => None,
            });
        }
        Ok((offset, heads))
    }
}

/// Length of a node's list in bytes and in neighbours, if it has one.
type Head = Option<(u64, u64)>;

/// Lists in the order of their nodes. [`Walk::step`] moves to the next, which then is in `list`.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) list: List,
    lists: Lists,
    /// Where the next list begins.
    start: u64,
    /// What is left of the group's heads, the last first.
    heads: Vec<Head>,
    next: u32,
}

impl Walk {
    /// Moves to the next node that has a list; what is unread of the last one is passed over.
    pub(crate) fn step(&mut self) -> Result<bool, GraphError> {
        loop {
            while let Some(head) = self.heads.pop() {
                let node = self.next;
                self.next += 1;
                if let Some((len, count)) = head {
                    self.list.restart(node, count, self.start);
                    self.start += len;
                    return Ok(true);
                }
            }
            if self.next >= self.lists.nodes {
                return Ok(false);
            }
            let (trailer, mut heads) = self.lists.trailer(self.next / GROUP)?;
            let lengths: u64 = heads.iter().flatten().map(|(len, _)| len).sum();
            let Some(start) = trailer.checked_sub(lengths) else {
                let file = &self.lists.file;
                return Err(file.damaged(trailer, "a list begins before its file"));
            };
            self.start = start;
            heads.reverse();
            self.heads = heads;
        }
    }
}

/// The neighbours of one node. [`List::step`] moves to the next; its labels then are in `labels`.
#[derive(Debug)]
pub(crate) struct List {
    cursor: Cursor,
    node: u32,
    nodes: u32,
    count: u64,
    left: u64,
    previous: u32,
    pub(crate) labels: Vec<u32>,
    /// The first label of the neighbour before.
    label: u32,
}

impl List {
    fn new(cursor: Cursor, node: u32, count: u64, nodes: u32) -> Self {
        Self {
            cursor,
            node,
            nodes,
            count,
            left: count,
            previous: 0,
            labels: Vec::new(),
            label: 0,
        }
    }

    fn restart(&mut self, node: u32, count: u64, start: u64) {
        self.cursor.seek(start);
        self.node = node;
        self.count = count;
        self.left = count;
        self.label = 0;
    }

    /// Whose it is.
    pub(crate) fn node(&self) -> u32 {
        self.node
    }

    /// How many neighbours it has, read or not.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The next neighbour.
    #[inline]
    pub(crate) fn step(&mut self) -> Result<Option<u32>, GraphError> {
        if self.left == 0 {
            return Ok(None);
        }
        let head = self.cursor.varint()?;
        let step = head >> 1;
        let neighbour = if self.left == self.count {
            i64::from(self.node).checked_add(varint::unzigzag(step))
        } else {
            i64::try_from(step)
                .ok()
                .and_then(|step| step.checked_add(i64::from(self.previous) + 1))
        };
        let neighbour = neighbour
            .and_then(|neighbour| u32::try_from(neighbour).ok())
            .filter(|neighbour| *neighbour < self.nodes)
            .ok_or_else(|| self.cursor.damaged("a link leads to no node"))?;
        self.labels.clear();
        if head & 1 == 1 {
            self.labels.push(self.label);
        } else {
            self.read_labels()?;
        }
        self.label = self.labels[0];
        self.previous = neighbour;
        self.left -= 1;
        Ok(Some(neighbour))
    }

    fn read_labels(&mut self) -> Result<(), GraphError> {
        let mut label = 0u32;
        loop {
            let head = self.cursor.varint()?;
            label = u32::try_from(head >> 1)
                .ok()
                .and_then(|step| label.checked_add(step))
                .ok_or_else(|| self.cursor.damaged("a link has no label"))?;
            self.labels.push(label);
            if head & 1 == 0 {
                return Ok(());
            }
        }
    }
}
