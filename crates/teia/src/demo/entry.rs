//! Entries of the prose files under `text/`.
//!
//! ```text
//! # slug
//! key: value          until the first empty line
//!
//! a paragraph         one per line
//! - an item           of the entry's list
//! + a step            of its instructions
//! ```

/// One entry: a slug, its fields, its prose.
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// What its address ends with.
    pub(super) slug: &'static str,
    fields: Vec<(&'static str, &'static str)>,
    /// Paragraphs, in order.
    pub(super) paragraphs: Vec<&'static str>,
    /// Lines that began with `- `.
    pub(super) items: Vec<&'static str>,
    /// Lines that began with `+ `.
    pub(super) steps: Vec<&'static str>,
}

impl Entry {
    /// The value of a field; empty when the entry has no such field.
    pub(super) fn field(&self, key: &str) -> &'static str {
        self.fields
            .iter()
            .find(|(name, _)| *name == key)
            .map_or("", |(_, value)| value)
    }

    /// The entry's name, as people write it.
    pub(super) fn name(&self) -> &'static str {
        self.field("name")
    }

    /// The first sentence of the prose, for lists and descriptions.
    pub(super) fn gist(&self) -> &'static str {
        let Some(first) = self.paragraphs.first() else {
            return "";
        };
        first
            .match_indices(['.', '?'])
            .map(|(at, _)| &first[..=at])
            .find(|sentence| sentence.len() > 24)
            .unwrap_or(first)
    }
}

/// Reads a prose file.
pub(super) fn read(text: &'static str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut in_fields = false;
    for line in text.lines().map(str::trim_end) {
        if let Some(slug) = line.strip_prefix("# ") {
            entries.push(Entry {
                slug,
                ..Entry::default()
            });
            in_fields = true;
            continue;
        }
        let Some(entry) = entries.last_mut() else {
            continue;
        };
        if line.is_empty() {
            in_fields = false;
        } else if in_fields {
            entry.fields.extend(line.split_once(": "));
        } else if let Some(item) = line.strip_prefix("- ") {
            entry.items.push(item);
        } else if let Some(step) = line.strip_prefix("+ ") {
            entry.steps.push(step);
        } else {
            entry.paragraphs.push(line);
        }
    }
    entries
}

/// The entries whose slug begins with `prefix`, with the rest of the slug.
pub(super) fn under<'a>(entries: &'a [Entry], prefix: &str) -> Vec<(&'static str, &'a Entry)> {
    entries
        .iter()
        .filter_map(|entry| Some((entry.slug.strip_prefix(prefix)?, entry)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_fields_prose_items_and_steps() {
        let entries = read(
            "# a\nname: A\nkey: x\n\nOne sentence, long enough. Two.\n- i\n+ s\n\n# b\nname: B\n",
        );
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].field("key"), "x");
        assert_eq!(entries[0].gist(), "One sentence, long enough.");
        assert_eq!((entries[0].items.len(), entries[0].steps.len()), (1, 1));
        assert_eq!(entries[1].field("key"), "");
    }
}
