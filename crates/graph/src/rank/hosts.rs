//! The graph of hosts: who links to whom, however often.

use std::path::Path;

use teia_base::Files;

use super::edges;
use crate::GraphError;
use crate::chunk::{self, ChunkCache, File};
use crate::dictionary::{self, Dictionary, Values};
use crate::host_table::{self, END};
use crate::layer::Layer;
use crate::merged_texts::MergedTexts;

/// Writes every host of these layers once, in order, to a file of their own.
pub(crate) fn write_names(
    files: &dyn Files,
    path: &Path,
    layers: &[Layer],
) -> Result<Dictionary, GraphError> {
    let mut out = chunk::Writer::create(files, path)?;
    let mut writer = dictionary::Writer::new(&out, Values::None);
    let mut left = Firsts::new(layers, |layer| &layer.segment.hosts_out)?;
    let mut right = Firsts::new(layers, |layer| &layer.segment.hosts_in)?;
    let (mut one, mut other) = (left.next()?, right.next()?);
    while let Some(least) = [&one, &other].into_iter().flatten().min().cloned() {
        writer.push(&mut out, &least, 0)?;
        if one.as_ref() == Some(&least) {
            one = left.next()?;
        }
        if other.as_ref() == Some(&least) {
            other = right.next()?;
        }
    }
    let extent = writer.finish(&mut out)?;
    out.finish()?;
    let file = File::open(files, path, &ChunkCache::new(8 << 20))?;
    Dictionary::new(&file, extent, Values::None)
}

/// Writes the edges between different hosts.
pub(crate) fn write_edges(
    writer: &mut edges::Writer,
    names: &Dictionary,
    layers: &[Layer],
) -> Result<(), GraphError> {
    let mut texts = merged(layers, |layer| &layer.segment.hosts_in)?;
    let mut target: Option<(Vec<u8>, u32)> = None;
    while texts.step()? {
        let (host, source) = host_table::parts(&texts.text);
        if texts.value <= 0 || host == source {
            continue;
        }
        if target.as_ref().is_none_or(|(name, _)| name != host) {
            let Some(number) = names.find(host)? else {
                continue;
            };
            writer.begin(number)?;
            target = Some((host.to_vec(), number));
        }
        if let Some(source) = names.find(source)? {
            writer.push(source)?;
        }
    }
    Ok(())
}

fn merged(layers: &[Layer], table: fn(&Layer) -> &Dictionary) -> Result<MergedTexts, GraphError> {
    MergedTexts::new(layers.iter().map(|layer| (table(layer).entries(), None)))
}

/// The first hosts of all keys that stand for something, each once.
struct Firsts {
    texts: MergedTexts,
    last: Option<Vec<u8>>,
}

impl Firsts {
    fn new(layers: &[Layer], table: fn(&Layer) -> &Dictionary) -> Result<Self, GraphError> {
        Ok(Self {
            texts: merged(layers, table)?,
            last: None,
        })
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, GraphError> {
        while self.texts.step()? {
            let (host, _) = host_table::parts(&self.texts.text);
            debug_assert!(!host.contains(&END), "keys are escaped");
            if self.texts.value > 0 && self.last.as_deref() != Some(host) {
                self.last = Some(host.to_vec());
                return Ok(self.last.clone());
            }
        }
        Ok(None)
    }
}
