//! What a `rel` says a link is for: in `<link>` and in the `Link:` header.

use teia_base::LinkKind;

/// The kind of a link with this `rel` and `as`; none where it names nothing to fetch, as
/// `preconnect` does, or a door for machines, as `pingback` does.
pub(crate) fn kind(rel: &str, destination: &str) -> Option<LinkKind> {
    let mut kind = None;
    for word in rel.split_ascii_whitespace() {
        let is = |names: &[&str]| names.iter().any(|name| word.eq_ignore_ascii_case(name));
        if is(&["canonical"]) {
            return Some(LinkKind::Canonical);
        }
        if is(&["stylesheet"]) {
            return Some(LinkKind::Style);
        }
        let found = if is(&["icon", "apple-touch-icon", "apple-touch-icon-precomposed"])
            || is(&[
                "mask-icon",
                "fluid-icon",
                "apple-touch-startup-image",
                "manifest",
            ]) {
            LinkKind::Icon
        } else if is(&["preload"]) {
            preload(destination)
        } else if is(&["modulepreload"]) {
            LinkKind::Script
        } else if is(&["image_src"]) {
            LinkKind::Image
        } else if is(&[
            "preconnect",
            "dns-prefetch",
            "pingback",
            "edituri",
            "wlwmanifest",
            "profile",
        ]) || is(&["nofollow", "noopener", "noreferrer", "shortcut", "external"])
        {
            continue;
        } else {
            LinkKind::Alternate
        };
        // The kinds a page needs to be shown win over those that name other pages.
        if kind.is_none() || found.is_requisite() {
            kind = Some(found);
        }
    }
    kind
}

fn preload(destination: &str) -> LinkKind {
    let is = |name: &str| destination.trim().eq_ignore_ascii_case(name);
    if is("style") {
        LinkKind::Style
    } else if is("script") || is("worker") {
        LinkKind::Script
    } else if is("image") {
        LinkKind::Image
    } else if is("video") || is("audio") || is("track") {
        LinkKind::Media
    } else if is("document") {
        LinkKind::Alternate
    } else {
        LinkKind::Icon
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_decide_in_any_case_and_order() {
        assert_eq!(kind("Canonical", ""), Some(LinkKind::Canonical));
        assert_eq!(kind("alternate stylesheet", ""), Some(LinkKind::Style));
        assert_eq!(kind("shortcut ICON", ""), Some(LinkKind::Icon));
        assert_eq!(kind("next", ""), Some(LinkKind::Alternate));
        assert_eq!(kind("preload", "Image"), Some(LinkKind::Image));
        assert_eq!(kind("dns-prefetch", ""), None);
        assert_eq!(kind("", ""), None);
    }
}
