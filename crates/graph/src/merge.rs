//! Several neighbouring layers into one segment; what is dead in them is left behind.

use hashbrown::HashMap;

use crate::GraphError;
use crate::chunk;
use crate::dictionary::Values;
use crate::host_links::HostLinks;
use crate::host_table::{Extents, label_of};
use crate::layer::Layer;
use crate::lists::{self, Lists};
use crate::memtable::Kills;
use crate::monotone::MonotoneMap;
use crate::segment::{Footer, write_kills};
use crate::union::{InLinks, Used, write_texts};

/// Writes the merged segment over these older layers; gives its length on disk.
pub(crate) fn merge(
    layers: &[Layer],
    older: &[Layer],
    mut out: chunk::Writer,
) -> Result<u64, GraphError> {
    let used = layers.iter().map(Used::of).collect::<Result<Vec<_>, _>>()?;
    let mut footer = Footer::default();
    let names = layers.iter().zip(&used);
    let names = names.map(|(layer, used)| (&layer.segment.names, used.names.clone()));
    let (extent, node_maps) = write_texts(&mut out, names, Values::None)?;
    footer.names = extent;
    let labels = layers.iter().zip(&used);
    let labels = labels.map(|(layer, used)| (&layer.segment.labels, used.labels.clone()));
    let (extent, label_maps) = write_texts(&mut out, labels, Values::None)?;
    footer.labels = extent;
    let nodes = u32::try_from(footer.names.count).unwrap_or(u32::MAX);

    write_out(
        &mut out,
        layers,
        &node_maps,
        &label_maps,
        nodes,
        &mut footer,
    )?;
    write_in(
        &mut out,
        layers,
        &used,
        (&node_maps, &label_maps),
        nodes,
        &mut footer,
    )?;
    footer.hosts = write_hosts(&mut out, layers)?;
    (footer.kills, footer.killed_segments) = write_kills(&mut out, &older_kills(layers, older)?)?;
    footer.write(out)
}

fn write_out(
    out: &mut chunk::Writer,
    layers: &[Layer],
    node_maps: &[MonotoneMap],
    label_maps: &[MonotoneMap],
    nodes: u32,
    footer: &mut Footer,
) -> Result<(), GraphError> {
    let mut writer = lists::Writer::new(out);
    let mut walks = Vec::new();
    for (layer, map) in layers.iter().zip(node_maps) {
        let mut walk = layer.segment.out.walk();
        let page = next_page(&mut walk, layer, map)?;
        walks.push((walk, page));
    }
    let mut labels = Vec::new();
    while let Some((page, index)) = walks
        .iter()
        .enumerate()
        .filter_map(|(index, (_, page))| page.map(|page| (page, index)))
        .min()
    {
        let (walk, next) = &mut walks[index];
        writer.begin(out, page)?;
        while let Some(target) = walk.list.step()? {
            rename(&walk.list.labels, &label_maps[index], &mut labels);
            writer.push(out, node_maps[index].get(target), &labels)?;
        }
        footer.links += writer.count();
        footer.pages += 1;
        writer.end(out, true)?;
        *next = next_page(walk, &layers[index], &node_maps[index])?;
    }
    footer.out = writer.finish(out, nodes)?;
    Ok(())
}

/// The new number of the next page that lives; a page lives in one layer only.
fn next_page(
    walk: &mut lists::Walk,
    layer: &Layer,
    map: &MonotoneMap,
) -> Result<Option<u32>, GraphError> {
    while walk.step()? {
        if !layer.dead.contains(walk.list.node()) {
            return Ok(Some(map.get(walk.list.node())));
        }
    }
    Ok(None)
}

fn write_in(
    out: &mut chunk::Writer,
    layers: &[Layer],
    used: &[Used],
    (node_maps, label_maps): (&[MonotoneMap], &[MonotoneMap]),
    nodes: u32,
    footer: &mut Footer,
) -> Result<(), GraphError> {
    let mut writer = lists::Writer::new(out);
    let mut links = InLinks::new(layers, used, node_maps)?;
    let mut labels = Vec::new();
    while let Some(node) = links.step()? {
        writer.begin(out, node)?;
        while let Some((source, index, own)) = links.source()? {
            rename(own, &label_maps[index], &mut labels);
            writer.push(out, source, &labels)?;
        }
        writer.end(out, false)?;
    }
    footer.inward = writer.finish(out, nodes)?;
    Ok(())
}

fn rename(labels: &[u32], map: &MonotoneMap, renamed: &mut Vec<u32>) {
    renamed.clear();
    renamed.extend(labels.iter().map(|label| map.get(*label)));
}

/// Adds up host tables; links that came to nothing are left out.
fn write_hosts(out: &mut chunk::Writer, layers: &[Layer]) -> Result<Extents, GraphError> {
    let names = layers.iter().map(|layer| (&layer.segment.hosts, None));
    let (names, maps) = write_texts(out, names, Values::Signed)?;
    let hosts = u32::try_from(names.count).unwrap_or(u32::MAX);
    let mut write = |lists: fn(&Layer) -> &Lists| {
        let mut writer = lists::Writer::new(out);
        let mut links = HostLinks::new(layers, &maps, lists)?;
        while let Some(host) = links.step()? {
            writer.begin(out, host)?;
            while let Some((other, count)) = links.other()? {
                if count != 0 {
                    writer.push(out, other, &[label_of(count)])?;
                }
            }
            writer.end(out, false)?;
        }
        writer.finish(out, hosts)
    };
    Ok(Extents {
        names,
        out: write(|layer| &layer.segment.host_out)?,
        inward: write(|layer| &layer.segment.host_in)?,
    })
}

/// Kills that are about segments which do not take part and are still there.
fn older_kills(layers: &[Layer], older: &[Layer]) -> Result<Kills, GraphError> {
    let mut all: HashMap<u64, Vec<u32>> = HashMap::new();
    for layer in layers {
        for (segment, nodes) in layer.segment.kills()? {
            if older.iter().any(|layer| layer.segment.number == segment) {
                all.entry(segment).or_default().extend(nodes);
            }
        }
    }
    let mut kills: Kills = all.into_iter().collect();
    kills.sort_unstable();
    for (_, nodes) in &mut kills {
        nodes.sort_unstable();
    }
    Ok(kills)
}
