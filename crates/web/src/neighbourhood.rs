//! The pages around a page, placed on a plane: who links here on the left, where it links on the right.
//!
//! Places come from a small simulation of springs (links pull, nodes push each other away), which is the
//! same every time for the same links.

use std::collections::{HashMap, HashSet};

use teia_base::CanonicalUrl;
use teia_graph::{RankFile, Snapshot};

use crate::WebError;
use crate::address::{Address, cut};

/// Neighbours that are drawn on each side.
const MOST_A_SIDE: usize = 60;
/// Links of a neighbour that are looked through for links between neighbours.
const MOST_LINKS: usize = 400;
/// Links that are drawn.
const MOST_EDGES: usize = 600;
/// Names that are always shown; the others appear under the pointer.
const NAMED: usize = 26;
const ROUNDS: usize = 220;

/// A drawing.
#[derive(Debug, Default)]
pub(crate) struct Map {
    /// The page itself first.
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
    /// Neighbours in all.
    pub(crate) known: u64,
    /// Filled in by the page that shows it.
    pub(crate) shown_of: String,
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) address: Address,
    pub(crate) label: String,
    pub(crate) kind: Kind,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) radius: f64,
    pub(crate) is_named: bool,
}

#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) is_main: bool,
    pub(crate) x1: f64,
    pub(crate) y1: f64,
    pub(crate) x2: f64,
    pub(crate) y2: f64,
}

/// How a page stands to the one in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Here,
    In,
    Out,
    Both,
}

impl Kind {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::In => "in",
            Self::Out => "out",
            Self::Both => "both",
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Here => "map.here",
            Self::In => "map.in",
            Self::Out => "map.out",
            Self::Both => "map.both",
        }
    }

    /// Where it is drawn to: left, right, or around the middle.
    fn side(self) -> f64 {
        match self {
            Self::In => -1.0,
            Self::Out => 1.0,
            Self::Here | Self::Both => 0.0,
        }
    }
}

impl Node {
    pub(crate) fn diamond(&self) -> String {
        let (x, y, r) = (self.x, self.y, self.radius * 1.2);
        format!(
            "M{x:.1} {:.1}L{:.1} {y:.1}L{x:.1} {:.1}L{:.1} {y:.1}z",
            y - r,
            x + r,
            y + r,
            x - r
        )
    }

    pub(crate) fn label_x(&self) -> f64 {
        let gap = self.radius + 5.0;
        rounded(if self.is_left() {
            self.x - gap
        } else {
            self.x + gap
        })
    }

    pub(crate) fn anchor(&self) -> &'static str {
        if self.is_left() { "end" } else { "start" }
    }

    fn is_left(&self) -> bool {
        self.kind == Kind::In || self.kind == Kind::Both && self.x < 0.0
    }
}

impl Map {
    /// Draws what surrounds a URL.
    pub(crate) fn draw(
        url: &CanonicalUrl,
        links: &Snapshot,
        ranks: Option<&RankFile>,
        is_hidden: impl Fn(&str) -> bool,
    ) -> Result<Self, WebError> {
        let incoming = links.in_links(url, 0, MOST_A_SIDE * 4)?;
        let outgoing = links.out_links(url, 0, MOST_A_SIDE * 4)?;
        let mut kinds: HashMap<String, Kind> = HashMap::new();
        for neighbour in &incoming.items {
            kinds.insert(neighbour.url.clone(), Kind::In);
        }
        for neighbour in outgoing.iter().flat_map(|listing| &listing.items) {
            let is_page = neighbour
                .labels
                .iter()
                .any(|label| !label.kind.is_requisite());
            if is_page {
                kinds
                    .entry(neighbour.url.clone())
                    .and_modify(|kind| *kind = Kind::Both)
                    .or_insert(Kind::Out);
            }
        }
        kinds.remove(url.as_str());
        kinds.retain(|other, _| !is_hidden(other));
        let mut chosen: Vec<(String, Kind, f64)> = Vec::new();
        for (other, kind) in kinds {
            let rank = ranks
                .map(|ranks| ranks.get(&CanonicalUrl::from_stored(&other)))
                .transpose()?
                .flatten()
                .map_or(0.0, |rank| rank.rank);
            chosen.push((other, kind, rank));
        }
        // The weightiest first; equal ones by name, so that the drawing stays the same.
        chosen.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
        let listed = |listing: &teia_graph::Listing<teia_graph::Neighbour>| {
            listing.total.saturating_sub(listing.items.len() as u64)
        };
        let unlisted = listed(&incoming) + outgoing.as_ref().map_or(0, listed);
        let known = chosen.len() as u64 + unlisted;
        let mut sides: HashMap<&'static str, usize> = HashMap::new();
        chosen.retain(|(_, kind, _)| {
            let count = sides.entry(kind.class()).or_default();
            *count += 1;
            *count <= MOST_A_SIDE
        });
        let most = chosen.iter().map(|(.., rank)| *rank).fold(0.0, f64::max);
        let mut nodes = vec![Node {
            label: label(url.as_str(), url),
            address: Address::new(url.as_str()),
            kind: Kind::Here,
            x: 0.0,
            y: 0.0,
            radius: 11.0,
            is_named: true,
        }];
        for (at, (other, kind, rank)) in chosen.iter().enumerate() {
            let weight = if most > 0.0 {
                (rank / most).sqrt()
            } else {
                0.0
            };
            nodes.push(Node {
                label: label(other, url),
                address: Address::new(other),
                kind: *kind,
                x: 0.0,
                y: 0.0,
                radius: rounded(4.0 + 5.0 * weight),
                is_named: at < NAMED,
            });
        }
        let mut map = Self {
            known,
            edges: edges(&nodes, links)?,
            nodes,
            shown_of: String::new(),
        };
        map.place();
        Ok(map)
    }

    pub(crate) fn shown(&self) -> u64 {
        self.nodes.len().saturating_sub(1) as u64
    }

    /// The part of the plane that holds everything, with room for names.
    pub(crate) fn view_box(&self) -> String {
        let fold = |pick: fn(&Node) -> f64, best: fn(f64, f64) -> f64| {
            self.nodes.iter().map(pick).fold(0.0, best)
        };
        let left = fold(|node| node.x, f64::min) - 210.0;
        let right = fold(|node| node.x, f64::max) + 210.0;
        let top = fold(|node| node.y, f64::min) - 30.0;
        let bottom = fold(|node| node.y, f64::max) + 30.0;
        format!("{left:.0} {top:.0} {:.0} {:.0}", right - left, bottom - top)
    }

    /// Lets the springs come to rest.
    fn place(&mut self) {
        let count = self.nodes.len();
        let mut places: Vec<(f64, f64)> = Vec::with_capacity(count);
        let mut along: HashMap<&'static str, usize> = HashMap::new();
        let totals = |class: &str| {
            self.nodes
                .iter()
                .filter(|node| node.kind.class() == class)
                .count()
        };
        for node in &self.nodes {
            let class = node.kind.class();
            let number = along.entry(class).or_default();
            *number += 1;
            let share = (*number as f64 - 0.5) / totals(class) as f64 - 0.5;
            let place = match node.kind {
                Kind::Here => (0.0, 0.0),
                Kind::Both => {
                    let angle = share * std::f64::consts::TAU;
                    (90.0 * angle.sin(), 150.0 * angle.cos())
                }
                kind => {
                    let height = totals(class) as f64 * 15.0;
                    let bow = 1.0 - (2.0 * share).powi(2) * 0.3;
                    (kind.side() * 240.0 * bow, share * height)
                }
            };
            places.push(place);
        }
        for round in 0..ROUNDS {
            let heat = 1.0 - round as f64 / ROUNDS as f64;
            let mut moves = vec![(0.0, 0.0); count];
            for a in 0..count {
                for b in a + 1..count {
                    // Names are wide: nodes keep more room above each other than beside.
                    let (dx, dy) = (places[a].0 - places[b].0, (places[a].1 - places[b].1) * 1.6);
                    let square = (dx * dx + dy * dy).max(9.0);
                    if square > 160_000.0 {
                        continue;
                    }
                    let push = 1_500.0 / square;
                    moves[a].0 += dx * push / 6.0;
                    moves[a].1 += dy * push / 6.0;
                    moves[b].0 -= dx * push / 6.0;
                    moves[b].1 -= dy * push / 6.0;
                }
            }
            for edge in &self.edges {
                let pull = if edge.is_main { 0.004 } else { 0.002 };
                let dx = places[edge.to].0 - places[edge.from].0;
                let dy = places[edge.to].1 - places[edge.from].1;
                moves[edge.from].0 += dx * pull;
                moves[edge.from].1 += dy * pull;
                moves[edge.to].0 -= dx * pull;
                moves[edge.to].1 -= dy * pull;
            }
            for (at, node) in self.nodes.iter().enumerate().skip(1) {
                let side = node.kind.side();
                if side != 0.0 {
                    moves[at].0 += (side * 230.0 - places[at].0) * 0.02;
                }
                let length = moves[at].0.hypot(moves[at].1).max(0.01);
                let step = length.min(14.0 * heat + 0.3);
                places[at].0 += moves[at].0 / length * step;
                places[at].1 += moves[at].1 / length * step;
            }
        }
        for (node, (x, y)) in self.nodes.iter_mut().zip(&places) {
            (node.x, node.y) = (rounded(*x), rounded(*y));
        }
        for edge in &mut self.edges {
            let (from, to) = (&self.nodes[edge.from], &self.nodes[edge.to]);
            let (dx, dy) = (to.x - from.x, to.y - from.y);
            let length = dx.hypot(dy).max(0.1);
            let (ux, uy) = (dx / length, dy / length);
            edge.x1 = rounded(from.x + ux * (from.radius + 1.0));
            edge.y1 = rounded(from.y + uy * (from.radius + 1.0));
            edge.x2 = rounded(to.x - ux * (to.radius + 3.0));
            edge.y2 = rounded(to.y - uy * (to.radius + 3.0));
        }
    }
}

/// Links between what is drawn; those of the page itself first.
fn edges(nodes: &[Node], links: &Snapshot) -> Result<Vec<Edge>, WebError> {
    let places: HashMap<&str, usize> = nodes
        .iter()
        .enumerate()
        .map(|(at, node)| (node.address.url.as_str(), at))
        .collect();
    let mut seen: HashSet<(usize, usize)> = HashSet::new();
    let mut edges = Vec::new();
    let mut add = |from: usize, to: usize| {
        if from != to && seen.insert((from, to)) && seen.len() <= MOST_EDGES {
            edges.push(Edge {
                from,
                to,
                is_main: from == 0 || to == 0,
                x1: 0.0,
                y1: 0.0,
                x2: 0.0,
                y2: 0.0,
            });
        }
    };
    for (at, node) in nodes.iter().enumerate().skip(1) {
        if matches!(node.kind, Kind::In | Kind::Both) {
            add(at, 0);
        }
        if matches!(node.kind, Kind::Out | Kind::Both) {
            add(0, at);
        }
    }
    for (at, node) in nodes.iter().enumerate().skip(1) {
        let url = CanonicalUrl::from_stored(&node.address.url);
        let listing = links.out_links(&url, 0, MOST_LINKS)?;
        for other in listing.iter().flat_map(|listing| &listing.items) {
            if let Some(&to) = places.get(other.url.as_str()) {
                add(at, to);
            }
        }
    }
    Ok(edges)
}

/// A short name: the path on the same host, else the host.
fn label(url: &str, centre: &CanonicalUrl) -> String {
    let address = Address::new(url);
    let is_same = CanonicalUrl::from_stored(url).host_str() == centre.host_str();
    let text = match address.steps.as_slice() {
        [] => address.host.clone(),
        steps if is_same => format!("/{}", steps.join("/")),
        steps => format!("{}/{}", address.host, steps.join("/")),
    };
    cut(&text, 34)
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
