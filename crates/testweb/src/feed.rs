//! The sitemap and the RSS feed of a host.

use crate::place::{Place, push};
use crate::web::Web;

impl Web {
    pub(crate) fn write_sitemap(&self, host: u32, out: &mut Vec<u8>) {
        push(out, &["<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"]);
        push(
            out,
            &["<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"],
        );
        self.each_link(host, Place::Sitemap, |link| {
            push(out, &["<url><loc>"]);
            self.naming.write_origin(host, out);
            self.write_href(host, link, "&amp;", out);
            push(out, &["</loc></url>\n"]);
        });
        push(out, &["</urlset>\n"]);
    }

    pub(crate) fn write_feed(&self, host: u32, out: &mut Vec<u8>) {
        push(
            out,
            &[
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss version=\"2.0\"><channel>\n<title>",
            ],
        );
        push(
            out,
            &[
                &self.host_name(host),
                "</title>\n<link>",
                &self.front(host),
                "</link>\n",
            ],
        );
        push(out, &["<description>Últimas páginas</description>\n"]);
        self.each_link(host, Place::Feed, |link| {
            push(
                out,
                &[
                    "<item><title>",
                    &self.marker(host, link.place),
                    "</title><link>",
                ],
            );
            self.naming.write_origin(host, out);
            self.write_href(host, link, "&amp;", out);
            push(out, &["</link></item>\n"]);
        });
        push(out, &["</channel></rss>\n"]);
    }
}
