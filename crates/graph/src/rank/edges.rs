//! Links by target, in a file of their own for as long as ranks are computed.
//!
//! ```text
//! per node: per source (they grow) a step + 1 (varint), the first one from the node (zigzag); then 0
//! ```

use std::path::Path;
use std::sync::Arc;

use teia_base::Files;

use crate::GraphError;
use crate::chunk::{self, ChunkCache, Cursor, File};
use crate::varint;

/// Writes edges; nodes come in order, and those without sources are passed over.
#[derive(Debug)]
pub(crate) struct Writer {
    out: chunk::Writer,
    next: u32,
    previous: u32,
    first: bool,
    /// Links out of each node.
    degrees: Vec<u32>,
    links: u64,
    bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn create(files: &dyn Files, path: &Path, nodes: u32) -> Result<Self, GraphError> {
        Ok(Self {
            out: chunk::Writer::create(files, path)?,
            next: 0,
            previous: 0,
            first: true,
            degrees: vec![0; nodes as usize],
            links: 0,
            bytes: Vec::with_capacity(1 << 12),
        })
    }

    /// Begins the sources of a node after all before it.
    pub(crate) fn begin(&mut self, node: u32) -> Result<(), GraphError> {
        // Each node's list ends with a zero, also where nothing came before it.
        while self.next < node {
            self.bytes.push(0);
            self.next += 1;
        }
        self.first = true;
        self.previous = node;
        self.flush(1 << 12)
    }

    /// Adds a source after all before it.
    #[inline]
    pub(crate) fn push(&mut self, source: u32) -> Result<(), GraphError> {
        let step = i64::from(source) - i64::from(self.previous);
        let step = if self.first {
            varint::zigzag(step) + 1
        } else {
            step.unsigned_abs()
        };
        varint::put(&mut self.bytes, step);
        self.first = false;
        self.previous = source;
        if let Some(degree) = self.degrees.get_mut(source as usize) {
            *degree += 1;
        }
        self.links += 1;
        self.flush(1 << 12)
    }

    pub(crate) fn finish(mut self, files: &dyn Files, path: &Path) -> Result<Edges, GraphError> {
        let nodes = u32::try_from(self.degrees.len()).unwrap_or(u32::MAX);
        self.begin(nodes)?;
        self.flush(0)?;
        self.out.finish()?;
        Ok(Edges {
            file: File::open(files, path, &ChunkCache::new(0))?,
            degrees: self.degrees,
            links: self.links,
        })
    }

    fn flush(&mut self, above: usize) -> Result<(), GraphError> {
        if self.bytes.len() > above {
            self.out.put(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }
}

/// Edges that are only read, from the first to the last, again and again.
#[derive(Debug)]
pub(crate) struct Edges {
    file: Arc<File>,
    pub(crate) degrees: Vec<u32>,
    pub(crate) links: u64,
}

impl Edges {
    pub(crate) fn nodes(&self) -> u32 {
        u32::try_from(self.degrees.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn walk(&self) -> Sources {
        Sources {
            cursor: Cursor::streaming(&self.file, 0),
        }
    }
}

/// Sources, node by node.
#[derive(Debug)]
pub(crate) struct Sources {
    cursor: Cursor,
}

impl Sources {
    /// Calls with each source of the next node, which is this one.
    #[inline]
    pub(crate) fn each(&mut self, node: u32, mut f: impl FnMut(u32)) -> Result<(), GraphError> {
        let Some(first) = self.cursor.varint()?.checked_sub(1) else {
            return Ok(());
        };
        let first = i64::from(node).checked_add(varint::unzigzag(first));
        let mut source = first
            .and_then(|first| u32::try_from(first).ok())
            .ok_or_else(|| self.cursor.damaged("a link comes from no node"))?;
        loop {
            f(source);
            match self.cursor.varint_u32()? {
                0 => return Ok(()),
                step => {
                    source = source
                        .checked_add(step)
                        .ok_or_else(|| self.cursor.damaged("a link comes from no node"))?;
                }
            }
        }
    }
}
