//! Media types by number: a crawl meets few of them, and many URLs of each.

use std::collections::HashMap;

use super::store::Store;

/// The list of media types. It only grows, and goes with the manifest: a row that names a number
/// counts from a manifest on that has it.
#[derive(Debug, Default)]
pub(crate) struct MediaTypes {
    names: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u16>,
}

/// What hostile servers make up is not kept beyond so many, nor when it is longer.
const MOST: usize = 4096;
const LONGEST: usize = 100;

impl MediaTypes {
    pub(crate) fn new(names: Vec<Box<str>>) -> Self {
        let numbers = names.iter().cloned().zip(1..).collect();
        Self { names, numbers }
    }

    pub(crate) fn names(&self) -> &[Box<str>] {
        &self.names
    }

    /// The number of a type; 0 for none, and for those that are not kept.
    pub(crate) fn number(&mut self, name: Option<&str>) -> u16 {
        let Some(name) = name else { return 0 };
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        if self.names.len() >= MOST || name.len() > LONGEST || name.is_empty() {
            return 0;
        }
        self.names.push(name.into());
        let number = u16::try_from(self.names.len()).expect("there are few");
        self.numbers.insert(name.into(), number);
        number
    }
}

impl Store {
    /// The name of a media type, from [`Visited::media_type`](super::Visited::media_type).
    pub fn media_type(&self, number: u16) -> Option<&str> {
        let at = usize::from(number).checked_sub(1)?;
        self.media_types.names().get(at).map(|name| &**name)
    }

    /// The number of a media type, as [`Visited::media_type`](super::Visited::media_type) has it.
    pub fn media_type_number(&mut self, name: Option<&str>) -> u16 {
        self.media_types.number(name)
    }
}
