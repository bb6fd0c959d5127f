//! The attributes of one start tag that mean something to extraction.

use std::borrow::Cow;

use crate::Limits;
use crate::markup::{Scanner, decode_attribute, key};

macro_rules! slots {
    ($($slot:ident $name:literal,)*) => {
        /// An attribute, as far as it matters here.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Slot { $($slot,)* }

        const SLOTS: usize = [$(Slot::$slot,)*].len();

        #[inline]
        fn slot(name: u64) -> Option<Slot> {
            match name {
                $(name if name == const { key($name) } => Some(Slot::$slot),)*
                _ => None,
            }
        }
    };
}

slots! {
    Href "href",
    Src "src",
    Rel "rel",
    Style "style",
    Alt "alt",
    Title "title",
    Srcset "srcset",
    Name "name",
    Content "content",
    Property "property",
    Type "type",
    HttpEquiv "http-equiv",
    As "as",
    Action "action",
    Method "method",
    Data "data",
    Poster "poster",
    Background "background",
    Lang "lang",
    XmlLang "xml:lang",
    XlinkHref "xlink:href",
    DataSrc "data-src",
    DataSrcset "data-srcset",
    Imagesrcset "imagesrcset",
    Srcdoc "srcdoc",
    Encoding "encoding",
    Color "color",
    Face "face",
    Size "size",
    Role "role",
    DataNosnippet "data-nosnippet",
    Hidden "hidden",
}

/// Values of the known attributes, undecoded; of several with one name the first.
#[derive(Debug)]
pub(super) struct Attributes<'a> {
    present: u32,
    values: [&'a str; SLOTS],
}

impl<'a> Attributes<'a> {
    pub(super) fn new() -> Self {
        Self {
            present: 0,
            values: [""; SLOTS],
        }
    }

    /// Reads those of the tag at which the scanner stands, to its end.
    #[inline]
    pub(super) fn read(&mut self, scanner: &mut Scanner<'a>, limits: &Limits) {
        self.present = 0;
        let mut count = 0;
        while let Some(attribute) = scanner.next_attribute() {
            count += 1;
            let Some(slot) = slot(attribute.name.key) else {
                continue;
            };
            let bit = 1 << slot as u32;
            if self.present & bit == 0 && count <= limits.attrs_per_tag {
                self.present |= bit;
                self.values[slot as usize] = attribute.value;
            }
        }
    }

    /// Whether there is none to look at.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// Whether the tag has it, perhaps empty.
    #[inline]
    pub(super) fn has(&self, slot: Slot) -> bool {
        self.present & 1 << slot as u32 != 0
    }

    /// The value as written.
    #[inline]
    pub(super) fn raw(&self, slot: Slot) -> Option<&'a str> {
        self.has(slot).then(|| self.values[slot as usize])
    }

    /// The value with its character references replaced.
    #[inline]
    pub(super) fn get(&self, slot: Slot) -> Option<Cow<'a, str>> {
        self.raw(slot).map(decode_attribute)
    }
}
