//! What stands beside the main text of a page: menus, heads and feet, lists of links, and what is not to be
//! quoted. Found while the page is read, without a tree.
//!
//! ```text
//! start, end tags ──> regions (nav, aside, …; data-nosnippet)  ──┐
//! borders of blocks ──> runs of blocks that are nearly all links ┴──> margins of the text
//! ```
//!
//! An element counts as open until as many of its name have ended as began; a navigation that is never ended is
//! none, and ends where the main text begins.

use teia_base::{Margin, MarginKind};

use super::tag::Tag;
use crate::markup::key;

/// Margins of each kind that are kept for a page.
const MOST: usize = 256;
/// Links of which a list of links has at least so many.
const FEW_LINKS: usize = 3;

/// The margins of a page while it is read. Places are lengths of its text so far.
#[derive(Debug, Default)]
pub(super) struct Margins {
    found: Vec<Margin>,
    navigation: Option<Region>,
    unquoted: Option<Region>,
    /// Open `<main>` and `<article>`: a head or foot in there is that of the text.
    mains: usize,
    block: Block,
    run: Option<Run>,
}

/// An element that is open.
#[derive(Debug)]
struct Region {
    name: u64,
    depth: usize,
    start: usize,
}

/// Text between two borders of blocks.
#[derive(Debug, Default)]
struct Block {
    start: usize,
    links: usize,
    link_bytes: usize,
}

/// Blocks in a row that are mostly links; bars between them are no text of their own.
#[derive(Debug)]
struct Run {
    start: usize,
    end: usize,
    links: usize,
}

impl Margins {
    /// A start tag, with what its attributes say.
    #[inline]
    pub(super) fn start(&mut self, tag: Tag, name: u64, role: &str, is_unquoted: bool, at: usize) {
        for region in [&mut self.navigation, &mut self.unquoted] {
            if let Some(region) = region
                && region.name == name
            {
                region.depth += 1;
            }
        }
        if tag != Tag::Block && tag != Tag::Inline {
            return;
        }
        let begins = |name| Region {
            name,
            depth: 1,
            start: at,
        };
        let can_be_unquoted = const { [key("span"), key("div"), key("section")] };
        if is_unquoted && self.unquoted.is_none() && can_be_unquoted.contains(&name) {
            self.unquoted = Some(begins(name));
        }
        let is_main = const { [key("main"), key("article")] }.contains(&name);
        if is_main {
            self.mains += 1;
            self.navigation = None;
        }
        let is_frame = const { [key("header"), key("footer")] }.contains(&name);
        let is_navigation = const { [key("nav"), key("aside")] }.contains(&name)
            || is_frame && self.mains == 0
            || !role.is_empty() && is_navigation_role(role);
        if is_navigation && self.navigation.is_none() {
            self.navigation = Some(begins(name));
        }
    }

    /// An end tag.
    #[inline]
    pub(super) fn end(&mut self, tag: Tag, name: u64, at: usize) {
        if tag == Tag::Block && const { [key("main"), key("article")] }.contains(&name) {
            self.mains = self.mains.saturating_sub(1);
        }
        if let Some(start) = ended(&mut self.navigation, name) {
            self.add(MarginKind::Navigation, start, at);
        }
        if let Some(start) = ended(&mut self.unquoted, name) {
            self.add(MarginKind::Unquoted, start, at);
        }
    }

    /// The text of a link in the block that is open.
    #[inline]
    pub(super) fn link(&mut self, start: usize, at: usize) {
        self.block.links += 1;
        self.block.link_bytes += at.saturating_sub(start.max(self.block.start));
    }

    /// The border of a block; where the text of a link is open, from where.
    #[inline]
    pub(super) fn border(&mut self, open_link: Option<usize>, at: usize) {
        let bytes = at.saturating_sub(self.block.start);
        if bytes == 0 {
            return;
        }
        if let Some(start) = open_link {
            self.link(start, at);
        }
        let block = std::mem::take(&mut self.block);
        self.block.start = at;
        if block.link_bytes * 5 < bytes * 3 {
            self.end_run();
            return;
        }
        let run = self.run.get_or_insert(Run {
            start: block.start,
            end: at,
            links: 0,
        });
        run.end = at;
        run.links += block.links;
    }

    /// The text was cut to this length.
    pub(super) fn truncate(&mut self, length: usize) {
        let end = narrow(length);
        self.found.retain_mut(|margin| {
            margin.to = margin.to.min(end);
            margin.from < margin.to
        });
        self.block.start = self.block.start.min(length);
        if let Some(run) = &mut self.run {
            run.start = run.start.min(length);
            run.end = run.end.min(length);
        }
        for region in [&mut self.navigation, &mut self.unquoted]
            .into_iter()
            .flatten()
        {
            region.start = region.start.min(length);
        }
    }

    /// All of them, by where they begin.
    pub(super) fn finish(mut self, length: usize) -> Vec<Margin> {
        self.border(None, length);
        self.end_run();
        // Rather too little is quoted than too much.
        if let Some(open) = self.unquoted.take() {
            self.add(MarginKind::Unquoted, open.start, length);
        }
        self.truncate(length);
        self.found.sort_by_key(|margin| (margin.from, margin.to));
        self.found
    }

    fn end_run(&mut self) {
        if let Some(run) = self.run.take()
            && run.links >= FEW_LINKS
        {
            self.add(MarginKind::Navigation, run.start, run.end);
        }
    }

    fn add(&mut self, kind: MarginKind, from: usize, to: usize) {
        if from >= to {
            return;
        }
        let mut same = self.found.iter_mut().filter(|margin| margin.kind == kind);
        if same.by_ref().count() < MOST {
            let (from, to) = (narrow(from), narrow(to));
            self.found.push(Margin { from, to, kind });
        } else if kind == MarginKind::Unquoted
            && let Some(last) = self.found.iter_mut().rfind(|margin| margin.kind == kind)
        {
            last.to = narrow(to);
        }
    }
}

/// Where a region began that ends with this tag.
fn ended(region: &mut Option<Region>, name: u64) -> Option<usize> {
    let open = region.as_mut().filter(|open| open.name == name)?;
    open.depth -= 1;
    let start = open.start;
    if open.depth > 0 {
        return None;
    }
    *region = None;
    Some(start)
}

fn is_navigation_role(role: &str) -> bool {
    let roles = [
        "navigation",
        "banner",
        "contentinfo",
        "complementary",
        "search",
    ];
    let role = role.trim();
    roles.iter().any(|known| role.eq_ignore_ascii_case(known))
}

fn narrow(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
