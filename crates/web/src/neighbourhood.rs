//! The pages around a page, placed on a plane: who links here on the left, where it links on the right.
//!
//! The weightiest of each side stand in a column of their own, with room for their names; the others, nearer
//! to the middle, show theirs when one looks at them. The plane is always as wide as a page of ours, so that
//! a name has the size that it says, and the same links give the same drawing every time.

use std::collections::{HashMap, HashSet};

use teia_base::CanonicalUrl;
use teia_graph::{RankFile, Snapshot};

use crate::WebError;
use crate::address::{Address, cut};

/// Neighbours that are drawn on each side.
const MOST_A_SIDE: usize = 100;
/// Neighbours of each direction among which the weightiest are found.
const CANDIDATES: usize = 10_000;
/// Links of a neighbour that are looked through for links between neighbours.
const MOST_LINKS: usize = 400;
/// Links that are drawn.
const MOST_EDGES: usize = 600;
/// Names of each side that are always shown; the others appear when one looks at them, or comes nearer.
const NAMED_A_SIDE: usize = 16;
/// Those of them that are shown on a phone.
const NAMED_ON_A_PHONE: usize = 5;
/// How wide the plane is: about the width of the page in pixels.
const WIDTH: f64 = 1040.0;
/// From the middle to the column of names.
const COLUMN: f64 = 290.0;
/// Between two names.
const LINE: f64 = 38.0;
/// Between two nodes without.
const GAP: f64 = 25.0;

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
    /// The same for a phone.
    pub(crate) short_label: String,
    pub(crate) kind: Kind,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) radius: f64,
    pub(crate) naming: Naming,
}

/// When the name of a node is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    Always,
    /// Where there is room.
    OnWideScreens,
    WhenLookedAt,
}

impl Naming {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Always => " named first",
            Self::OnWideScreens => " named",
            Self::WhenLookedAt => "",
        }
    }
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
        self.x < 0.0
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
        let incoming = links.in_links(url, 0, CANDIDATES)?;
        let outgoing = links.out_links(url, 0, CANDIDATES)?;
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
        let mut found: Vec<(String, Kind, f64)> = Vec::new();
        for (other, kind) in kinds {
            let rank = ranks
                .map(|ranks| ranks.get(&CanonicalUrl::from_stored(&other)))
                .transpose()?
                .flatten()
                .map_or(0.0, |rank| rank.rank);
            found.push((other, kind, rank));
        }
        // The weightiest first; equal ones by name, so that the drawing stays the same.
        found.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
        let listed = |listing: &teia_graph::Listing<teia_graph::Neighbour>| {
            listing.total.saturating_sub(listing.items.len() as u64)
        };
        let unlisted = listed(&incoming) + outgoing.as_ref().map_or(0, listed);
        let known = found.len() as u64 + unlisted;
        let visible = found.into_iter().filter(|(other, ..)| !is_hidden(other));
        let sides = Sides::of(visible);
        let all = sides.left.iter().chain(&sides.right);
        let most = all.map(|(.., rank)| *rank).fold(0.0, f64::max);
        let mut nodes = vec![Node {
            label: label(url.as_str(), url, 34),
            short_label: label(url.as_str(), url, 16),
            address: Address::new(url.as_str()),
            kind: Kind::Here,
            x: 0.0,
            y: 0.0,
            radius: 11.0,
            naming: Naming::Always,
        }];
        for (side, neighbours) in [(-1.0, &sides.left), (1.0, &sides.right)] {
            let places = places(side, neighbours.len());
            for (at, ((other, kind, rank), (x, y))) in neighbours.iter().zip(places).enumerate() {
                let weight = if most > 0.0 {
                    (rank / most).sqrt()
                } else {
                    0.0
                };
                nodes.push(Node {
                    label: label(other, url, 32),
                    short_label: label(other, url, 10),
                    address: Address::new(other),
                    kind: *kind,
                    x,
                    y,
                    radius: rounded(4.0 + 5.0 * weight),
                    naming: match at {
                        0..NAMED_ON_A_PHONE => Naming::Always,
                        NAMED_ON_A_PHONE..NAMED_A_SIDE => Naming::OnWideScreens,
                        _ => Naming::WhenLookedAt,
                    },
                });
            }
        }
        let mut map = Self {
            known,
            edges: edges(&nodes, links)?,
            nodes,
            shown_of: String::new(),
        };
        map.tie();
        Ok(map)
    }

    pub(crate) fn shown(&self) -> u64 {
        self.nodes.len().saturating_sub(1) as u64
    }

    /// The part of the plane that holds everything, with room for names.
    pub(crate) fn view_box(&self) -> String {
        let heights = self.nodes.iter().map(|node| node.y.abs());
        let half = heights.fold(90.0, f64::max) + 40.0;
        format!(
            "{:.0} {:.0} {WIDTH:.0} {:.0}",
            -WIDTH / 2.0,
            -half,
            half * 2.0
        )
    }

    /// Lets each link begin and end at the edge of its nodes.
    fn tie(&mut self) {
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

/// Neighbours with their ranks, the weightiest first.
type Ranked = Vec<(String, Kind, f64)>;

/// Who stands left and who stands right.
struct Sides {
    left: Ranked,
    right: Ranked,
}

impl Sides {
    /// Those that link both ways stand where there is more room.
    fn of(neighbours: impl Iterator<Item = (String, Kind, f64)>) -> Self {
        let (both, single): (Ranked, Ranked) =
            neighbours.partition(|(_, kind, _)| *kind == Kind::Both);
        let (mut left, mut right): (Ranked, Ranked) = single
            .into_iter()
            .partition(|(_, kind, _)| *kind == Kind::In);
        for neighbour in both {
            let side = if left.len() <= right.len() {
                &mut left
            } else {
                &mut right
            };
            side.push(neighbour);
        }
        for side in [&mut left, &mut right] {
            side.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
            side.truncate(MOST_A_SIDE);
        }
        Self { left, right }
    }
}

/// Places for the neighbours of one side: those with names in a column that bends around the middle, the
/// weightiest at its half; the others in rows behind it.
fn places(side: f64, count: usize) -> Vec<(f64, f64)> {
    let named = count.min(NAMED_A_SIDE);
    // 0, 1, -1, 2, -2…: from the half of the column up and down.
    let step = |at: usize| {
        let far = at.div_ceil(2) as f64;
        if at.is_multiple_of(2) { -far } else { far }
    };
    let mut places = Vec::with_capacity(count);
    // An even number has no half.
    let shift = if named.is_multiple_of(2) { -0.5 } else { 0.0 };
    for at in 0..named {
        let line = step(at) + shift;
        let bend = 1.0 - 0.12 * (2.0 * line / NAMED_A_SIDE as f64).powi(2);
        places.push((rounded(side * COLUMN * bend), rounded(line * LINE)));
    }
    let height = (named as f64 - 1.0) * LINE;
    let lines = (1..).map(|lines: u32| f64::from(lines));
    let lines = lines
        .take_while(|lines| (lines - 1.0) * GAP <= height)
        .count()
        .max(1);
    for at in 0..count - named {
        let (row, line) = (at / lines, at % lines);
        let shift = if row.is_multiple_of(2) {
            0.0
        } else {
            GAP / 2.0
        };
        let y = step(line) * GAP + shift;
        let x = COLUMN - 56.0 - row as f64 * GAP * 0.9;
        places.push((rounded(side * x), rounded(y)));
    }
    places
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
fn label(url: &str, centre: &CanonicalUrl, letters: usize) -> String {
    let address = Address::new(url);
    let is_same = CanonicalUrl::from_stored(url).host_str() == centre.host_str();
    let text = match address.steps.as_slice() {
        [] => address.host.clone(),
        steps if is_same => format!("/{}", steps.join("/")),
        steps => format!("{}/{}", address.host, steps.join("/")),
    };
    cut(&text, letters)
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_hundred_neighbours_have_each_a_place_of_their_own() {
        for count in [0, 1, 2, 16, 17, 100] {
            let places = places(1.0, count);
            assert_eq!(places.len(), count);
            for (at, one) in places.iter().enumerate() {
                assert!(one.0 > 60.0 && one.0 <= COLUMN, "{one:?} of {count}");
                assert!(one.1.abs() <= LINE * NAMED_A_SIDE as f64 / 2.0 + GAP);
                for other in &places[..at] {
                    let apart = (one.0 - other.0).hypot(one.1 - other.1);
                    assert!(apart > 18.0, "{one:?} and {other:?} of {count}");
                }
            }
        }
    }

    #[test]
    fn the_weightiest_are_drawn_wherever_their_names_stand() {
        let many = (0..500).map(|number| {
            let kind = if number % 5 == 0 {
                Kind::Both
            } else {
                Kind::In
            };
            (
                format!("http://a.example/{number:03}"),
                kind,
                f64::from(number),
            )
        });
        let sides = Sides::of(many);
        assert_eq!((sides.left.len(), sides.right.len()), (100, 100));
        assert_eq!(sides.left[0].0, "http://a.example/499");
        assert_eq!(
            sides.right[0].0, "http://a.example/495",
            "of those that link both ways"
        );
    }
}
