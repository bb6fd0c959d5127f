//! Several layers as one graph: one numbering of their nodes, and their live links in its order.

use std::sync::Arc;

use crate::GraphError;
use crate::bits::Bits;
use crate::chunk;
use crate::dictionary::{self, Dictionary, Values};
use crate::layer::Layer;
use crate::lists::Walk;
use crate::merged_texts::MergedTexts;
use crate::monotone::MonotoneMap;

/// What of a layer's names and labels live pages still use; `None` means all of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Used {
    pub(crate) names: Option<Arc<Bits>>,
    pub(crate) labels: Option<Arc<Bits>>,
}

impl Used {
    /// Reads a layer's links, unless all of its pages live.
    pub(crate) fn of(layer: &Layer) -> Result<Self, GraphError> {
        if layer.dead.is_empty() {
            return Ok(Self::default());
        }
        let segment = &layer.segment;
        let (name_count, label_count) = (segment.names.count(), segment.labels.count());
        let (mut names, mut labels) = (Bits::default(), Bits::default());
        let mut walk = segment.out.walk();
        while walk.step()? {
            let page = walk.list.node();
            if layer.dead.contains(page) {
                continue;
            }
            names.insert(page, name_count);
            while let Some(target) = walk.list.step()? {
                names.insert(target, name_count);
                for label in &walk.list.labels {
                    labels.insert(*label, label_count);
                }
            }
        }
        Ok(Self {
            names: Some(Arc::new(names)),
            labels: Some(Arc::new(labels)),
        })
    }
}

/// Writes the texts of several dictionaries as one, their values added up; gives for each the new numbers of its own.
pub(crate) fn write_texts<'a>(
    out: &mut chunk::Writer,
    dictionaries: impl Iterator<Item = (&'a Dictionary, Option<Arc<Bits>>)> + Clone,
    values: Values,
) -> Result<(dictionary::Extent, Vec<MonotoneMap>), GraphError> {
    let most = dictionaries
        .clone()
        .map(|(d, _)| u64::from(d.count()))
        .sum();
    let mut maps: Vec<MonotoneMap> = dictionaries
        .clone()
        .map(|(dictionary, _)| MonotoneMap::new(dictionary.count(), most))
        .collect();
    let mut texts = MergedTexts::new(dictionaries.map(|(d, wanted)| (d.entries(), wanted)))?;
    let mut writer = dictionary::Writer::new(out, values);
    while texts.step()? {
        let number = writer.push(out, &texts.text, texts.value)?;
        for (input, own) in &texts.members {
            maps[*input].set(*own, number);
        }
    }
    Ok((writer.finish(out)?, maps))
}

/// Links into each node, from all layers: [`InLinks::step`] moves to the next node that has any
/// list, [`InLinks::source`] to the next live source of it.
#[derive(Debug)]
pub(crate) struct InLinks<'a> {
    inputs: Vec<InInput<'a>>,
    /// The inputs that have a list of the node.
    members: Vec<usize>,
    /// The input that gave the last source.
    given: Option<usize>,
}

/// A source's new number, its layer, and the labels of its links there.
pub(crate) type Source<'a> = (u32, usize, &'a [u32]);

#[derive(Debug)]
struct InInput<'a> {
    layer: &'a Layer,
    map: &'a MonotoneMap,
    names: Option<Arc<Bits>>,
    walk: Walk,
    node: Option<u32>,
    source: Option<u32>,
}

impl InInput<'_> {
    fn next_node(&mut self) -> Result<(), GraphError> {
        self.node = None;
        while self.walk.step()? {
            let node = self.walk.list.node();
            if self.names.as_ref().is_none_or(|names| names.contains(node)) {
                self.node = Some(self.map.get(node));
                break;
            }
        }
        Ok(())
    }

    fn next_source(&mut self) -> Result<(), GraphError> {
        self.source = None;
        while let Some(source) = self.walk.list.step()? {
            if !self.layer.dead.contains(source) {
                self.source = Some(self.map.get(source));
                break;
            }
        }
        Ok(())
    }
}

impl<'a> InLinks<'a> {
    pub(crate) fn new(
        layers: &'a [Layer],
        used: &[Used],
        maps: &'a [MonotoneMap],
    ) -> Result<Self, GraphError> {
        let mut inputs = Vec::new();
        for ((layer, used), map) in layers.iter().zip(used).zip(maps) {
            let mut input = InInput {
                layer,
                map,
                names: used.names.clone(),
                walk: layer.segment.inward.walk(),
                node: None,
                source: None,
            };
            input.next_node()?;
            inputs.push(input);
        }
        Ok(Self {
            inputs,
            members: Vec::new(),
            given: None,
        })
    }

    /// The next node that has a list in some layer; it may turn out to have no live source.
    pub(crate) fn step(&mut self) -> Result<Option<u32>, GraphError> {
        for member in self.members.drain(..) {
            self.inputs[member].next_node()?;
        }
        self.given = None;
        let Some(node) = self.inputs.iter().filter_map(|input| input.node).min() else {
            return Ok(None);
        };
        for (index, input) in self.inputs.iter_mut().enumerate() {
            if input.node == Some(node) {
                input.next_source()?;
                self.members.push(index);
            }
        }
        Ok(Some(node))
    }

    /// The next source of the node.
    #[inline]
    pub(crate) fn source(&mut self) -> Result<Option<Source<'_>>, GraphError> {
        if let Some(given) = self.given.take() {
            self.inputs[given].next_source()?;
        }
        let mut least: Option<(u32, usize)> = None;
        for index in &self.members {
            if let Some(source) = self.inputs[*index].source
                && least.is_none_or(|(other, _)| source < other)
            {
                least = Some((source, *index));
            }
        }
        let Some((source, index)) = least else {
            return Ok(None);
        };
        self.given = Some(index);
        Ok(Some((source, index, &self.inputs[index].walk.list.labels)))
    }
}
