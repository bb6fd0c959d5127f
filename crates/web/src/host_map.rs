//! The link map of hosts: the largest hosts on a circle, and the links between them as curves.

use std::collections::{HashMap, HashSet};
use std::f64::consts::TAU;

use teia_graph::Snapshot;

use crate::WebError;
use crate::address::{cut, escape};

/// Links of a host that are looked through.
const MOST_NEIGHBOURS: usize = 2_000;
/// Curves that are drawn, the strongest.
const MOST_CURVES: usize = 200;
const RADIUS: f64 = 200.0;
/// Letters of a name beside its dot.
const LETTERS: usize = 26;

/// A drawing of hosts.
#[derive(Debug, Default)]
pub(crate) struct HostMap {
    pub(crate) dots: Vec<Dot>,
    pub(crate) curves: Vec<Curve>,
    /// From the middle to the edges: names need room.
    pub(crate) half: u32,
    /// Pixels below which its names are too small to be read.
    pub(crate) narrowest: u32,
    /// What is said of it to those who do not see it.
    pub(crate) told: String,
}

/// A host.
#[derive(Debug)]
pub(crate) struct Dot {
    pub(crate) host: String,
    pub(crate) label: String,
    pub(crate) href: String,
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) radius: String,
    /// Degrees by which its name is turned, so that all of them are read from the middle.
    pub(crate) turn: String,
    /// On the left side names end at their dots.
    pub(crate) is_left: bool,
    pub(crate) is_chosen: bool,
}

/// Links from one host to another.
#[derive(Debug)]
pub(crate) struct Curve {
    pub(crate) path: String,
    pub(crate) width: String,
    pub(crate) told: String,
    pub(crate) is_chosen: bool,
}

/// So many links lead from one host to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Between {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) links: u64,
}

/// Links between these hosts, those of a host to itself left out, the strongest first.
pub(crate) fn between(links: &Snapshot, hosts: &[String]) -> Result<Vec<Between>, WebError> {
    let known: HashSet<&str> = hosts.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    for from in hosts {
        for other in links.host_out_links(from, 0, MOST_NEIGHBOURS)?.items {
            if other.host != *from && known.contains(other.host.as_str()) {
                found.push(Between {
                    from: from.clone(),
                    to: other.host,
                    links: other.links,
                });
            }
        }
    }
    found.sort_by(|a, b| {
        let names = (&a.from, &a.to).cmp(&(&b.from, &b.to));
        b.links.cmp(&a.links).then(names)
    });
    Ok(found)
}

impl HostMap {
    /// Places hosts, each with the number of its pages, and draws what is between them.
    pub(crate) fn draw(
        hosts: &[(String, u64)],
        between: &[Between],
        (collection, chosen): (&str, &str),
    ) -> Self {
        let most = hosts.iter().map(|host| host.1).max().unwrap_or(1).max(1);
        let mut places: HashMap<&str, (f64, f64)> = HashMap::new();
        let mut dots = Vec::new();
        for (at, (host, pages)) in hosts.iter().enumerate() {
            let angle = TAU * at as f64 / hosts.len() as f64 - TAU / 4.0;
            let (x, y) = (RADIUS * angle.cos(), RADIUS * angle.sin());
            places.insert(host, (x, y));
            let is_left = x < -0.001;
            let degrees = angle.to_degrees() + if is_left { 180.0 } else { 0.0 };
            dots.push(Dot {
                label: cut(host, LETTERS),
                href: format!(
                    "/map?collection={}&host={}",
                    escape(collection),
                    escape(host)
                ),
                x: number(x),
                y: number(y),
                radius: number(3.0 + 6.0 * (*pages as f64 / most as f64).sqrt()),
                turn: number(degrees),
                is_left,
                is_chosen: host == chosen,
                host: host.clone(),
            });
        }
        let strongest = between.first().map_or(1, |first| first.links).max(1);
        let mut curves: Vec<Curve> = between
            .iter()
            .filter(|one| chosen.is_empty() || one.from == chosen || one.to == chosen)
            .take(MOST_CURVES)
            .filter_map(|one| {
                let (x1, y1) = places.get(one.from.as_str())?;
                let (x2, y2) = places.get(one.to.as_str())?;
                // Bent towards the middle; there and back on two sides of it.
                let (bend_x, bend_y) = (0.075 * (y1 - y2), 0.075 * (x2 - x1));
                Some(Curve {
                    path: format!(
                        "M{} {}Q{} {} {} {}",
                        number(*x1),
                        number(*y1),
                        number(bend_x),
                        number(bend_y),
                        number(*x2),
                        number(*y2)
                    ),
                    width: number(0.6 + 4.0 * (one.links as f64 / strongest as f64).sqrt()),
                    told: format!("{} → {}: {}", one.from, one.to, one.links),
                    is_chosen: !chosen.is_empty(),
                })
            })
            .collect();
        // The strongest above the others.
        curves.reverse();
        let longest = dots.iter().map(|dot| dot.label.chars().count()).max();
        let longest = u32::try_from(longest.unwrap_or(0)).unwrap_or(0);
        // On a phone a letter is 20 high and some 10 wide (manage.css), and is to be 11 pixels high at least.
        let half = 225 + 10 * longest;
        Self {
            dots,
            curves,
            half,
            narrowest: (2 * half * 11).div_ceil(20),
            told: String::new(),
        }
    }
}

fn number(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_lie_on_a_circle_and_links_lead_between_them() {
        let hosts: Vec<(String, u64)> = (0..7).map(|at| (format!("h{at}.test"), at)).collect();
        let between = vec![
            Between {
                from: "h1.test".to_owned(),
                to: "h2.test".to_owned(),
                links: 90,
            },
            Between {
                from: "h3.test".to_owned(),
                to: "elsewhere.test".to_owned(),
                links: 5,
            },
        ];
        let map = HostMap::draw(&hosts, &between, ("a b", ""));
        assert_eq!((map.dots.len(), map.curves.len()), (7, 1));
        let first = &map.dots[0];
        assert_eq!((first.x.as_str(), first.y.as_str()), ("0.0", "-200.0"));
        assert_eq!(map.dots[1].href, "/map?collection=a%20b&host=h1.test");
        let chosen = HostMap::draw(&hosts, &between, ("a", "h5.test"));
        assert!(chosen.curves.is_empty() && chosen.dots[5].is_chosen);
        assert!(HostMap::draw(&[], &[], ("a", "")).dots.is_empty());
    }
}
