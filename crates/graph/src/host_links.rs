//! Links between hosts, added up over all layers, in one numbering of hosts.

use crate::GraphError;
use crate::host_table::links_of;
use crate::layer::Layer;
use crate::lists::{Lists, Walk};
use crate::monotone::MonotoneMap;

/// [`HostLinks::step`] moves to the next host that has a list, [`HostLinks::other`] to the next host
/// that it has links with, and their sum, which may be nothing.
#[derive(Debug)]
pub(crate) struct HostLinks<'a> {
    inputs: Vec<Input<'a>>,
}

#[derive(Debug)]
struct Input<'a> {
    map: &'a MonotoneMap,
    walk: Walk,
    host: Option<u32>,
    /// Whether the list is the one that is being read.
    member: bool,
    other: Option<u32>,
}

impl Input<'_> {
    fn next_host(&mut self) -> Result<(), GraphError> {
        let map = self.map;
        self.host = self.walk.step()?.then(|| map.get(self.walk.list.node()));
        Ok(())
    }

    fn next_other(&mut self) -> Result<(), GraphError> {
        self.other = self.walk.list.step()?.map(|other| self.map.get(other));
        Ok(())
    }
}

impl<'a> HostLinks<'a> {
    pub(crate) fn new(
        layers: &[Layer],
        maps: &'a [MonotoneMap],
        lists: fn(&Layer) -> &Lists,
    ) -> Result<Self, GraphError> {
        let mut inputs = Vec::new();
        for (layer, map) in layers.iter().zip(maps) {
            let mut input = Input {
                map,
                walk: lists(layer).walk(),
                host: None,
                member: false,
                other: None,
            };
            input.next_host()?;
            inputs.push(input);
        }
        Ok(Self { inputs })
    }

    pub(crate) fn step(&mut self) -> Result<Option<u32>, GraphError> {
        for input in self.inputs.iter_mut().filter(|input| input.member) {
            input.next_host()?;
        }
        let host = self.inputs.iter().filter_map(|input| input.host).min();
        for input in &mut self.inputs {
            input.member = host.is_some() && input.host == host;
            input.other = None;
            if input.member {
                input.next_other()?;
            }
        }
        Ok(host)
    }

    pub(crate) fn other(&mut self) -> Result<Option<(u32, i64)>, GraphError> {
        let Some(least) = self.inputs.iter().filter_map(|input| input.other).min() else {
            return Ok(None);
        };
        let mut links = 0;
        for input in &mut self.inputs {
            if input.other == Some(least) {
                links += links_of(&input.walk.list.labels);
                input.next_other()?;
            }
        }
        Ok(Some((least, links)))
    }
}
