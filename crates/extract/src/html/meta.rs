//! `<meta>`: robots, description, language, refresh.

use teia_base::{LinkKind, Rel};

use super::attributes::Slot;
use super::page::Page;
use super::refresh;
use crate::fold::fold;

impl Page<'_, '_> {
    /// Reads the meta whose attributes are at hand.
    pub(super) fn meta(&mut self) {
        let Some(content) = self.attributes.get(Slot::Content) else {
            return;
        };
        if let Some(equivalent) = self.attributes.get(Slot::HttpEquiv) {
            let equivalent = equivalent.trim();
            if equivalent.eq_ignore_ascii_case("refresh") {
                self.refresh(&content);
            } else if equivalent.eq_ignore_ascii_case("content-language") {
                self.set_language(&content);
            }
        }
        let max = self.limits.title_bytes;
        if let Some(name) = self.attributes.get(Slot::Name) {
            self.extracted
                .robots
                .add_meta(&name, &content, self.source.robot_token);
            let name = name.trim();
            if name.eq_ignore_ascii_case("description") && self.extracted.description.is_empty() {
                self.extracted.description = fold(&content, max);
            } else if name.eq_ignore_ascii_case("og:description")
                && self.second_description.is_empty()
            {
                self.second_description = fold(&content, max);
            } else if name.eq_ignore_ascii_case("language") {
                self.set_language(&content);
            }
        }
        if let Some(property) = self.attributes.get(Slot::Property)
            && property.trim().eq_ignore_ascii_case("og:description")
            && self.second_description.is_empty()
        {
            self.second_description = fold(&content, max);
        }
    }

    fn refresh(&mut self, content: &str) {
        if !self.refreshed
            && let Some(reference) = refresh::reference(content)
        {
            self.refreshed = true;
            self.add(
                reference.to_owned().into(),
                LinkKind::Refresh,
                Rel::default(),
            );
        }
    }
}
