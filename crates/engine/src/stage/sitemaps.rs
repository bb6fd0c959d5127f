//! Sitemaps: files that name other files without end.

use teia_base::journal::Attempt;
use teia_base::{Flags, HostId, LinkKind};

use super::extract::Judged;
use crate::ring::Ring;

impl Ring {
    /// Counts a sitemap; what is left of its links when its host has given too many of them.
    ///
    /// An index may name an index, and a hostile one names a new one each time: neither their names
    /// nor their number tells it from an honest one until there are too many.
    pub(crate) fn links_of_sitemap(
        &mut self,
        host: HostId,
        mut links: Vec<Judged>,
        attempt: &mut Attempt,
    ) -> Vec<Judged> {
        let is_sitemap = |link: &Judged| link.record.kind == LinkKind::Sitemap;
        if !links.iter().any(is_sitemap) {
            return links;
        }
        let most = self.settings(host).run.sitemap_files;
        let files = self.sitemap_files.entry(host).or_default();
        *files = files.saturating_add(1);
        if *files > most {
            if *files - most == 1 {
                let name = attempt.url.normal().host_str();
                self.warn(format!(
                    "{name} has more than {most} sitemaps: the URLs in the others are left out in this run; `sitemap-files` in [run] allows more"
                ));
            }
            attempt.flags.add(Flags::PARSE_PARTIAL);
            links.retain(|link| !is_sitemap(link));
        }
        links
    }
}
