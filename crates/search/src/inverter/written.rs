//! The lists of a segment, from what it gathered.

use std::ops::Range;

use tantivy::directory::Directory;
use tantivy::fieldnorm::{FieldNormReader, FieldNormsSerializer};
use tantivy::index::SegmentComponent;
use tantivy::postings::InvertedIndexSerializer;
use tantivy::schema::Field;
use tantivy::{DocId, Segment, TantivyError};

use super::segment::{GAP, Gathered, Key, Keys, Log};
use crate::schema::Fields;
use crate::text::fold_into;

/// Longer terms cannot be written.
const MAX_TERM_BYTES: usize = 65_530;

/// Writes the files of a segment's lists in place of the library's empty ones.
pub(super) fn write(
    segment: &Segment,
    fields: &Fields,
    mut gathered: Gathered,
) -> tantivy::Result<()> {
    for component in [
        SegmentComponent::Terms,
        SegmentComponent::Postings,
        SegmentComponent::Positions,
        SegmentComponent::FieldNorms,
    ] {
        let path = segment.relative_path(component);
        let failed = |error| TantivyError::SystemError(format!("{}: {error}", path.display()));
        segment.index().directory().delete(&path).map_err(failed)?;
    }
    let documents = gathered.documents as usize;
    let terms = Terms::of(&gathered);
    let mut lists = InvertedIndexSerializer::open(segment)?;
    let norms = segment.open_write(SegmentComponent::FieldNorms)?;
    let mut norms = FieldNormsSerializer::from_write(norms)?;
    for (field, log) in fields.texts.iter().zip(&mut gathered.logs) {
        let log = std::mem::take(log);
        let (lengths, total) = terms.lengths(&log, documents);
        norms.serialize_field(*field, &lengths)?;
        if total > 0 {
            write_words(&mut lists, *field, &terms, log, total)?;
        }
    }
    // The library wants a length for every field with terms, and reads none of these.
    for (field, entry) in segment.schema().fields() {
        if entry.is_indexed() && entry.has_fieldnorms() && !fields.texts.contains(&field) {
            norms.serialize_field(field, &vec![0; documents])?;
        }
    }
    norms.close()?;
    write_keys(&mut lists, gathered.keys)?;
    lists.close()?;
    Ok(())
}

/// All forms and stems of a segment's words, in order.
struct Terms {
    text: String,
    sorted: Vec<Term>,
    /// How many terms each word has: two, or one without a stem.
    counts: Vec<u8>,
}

/// A form or a stem of a word.
struct Term {
    /// How it begins, as a number that sorts alike: most comparisons need no more.
    head: u64,
    start: usize,
    length: u16,
    /// The word.
    number: u32,
}

impl Terms {
    fn of(gathered: &Gathered) -> Self {
        let words = gathered.words.len();
        let mut terms = Self {
            text: String::new(),
            sorted: Vec::with_capacity(2 * words),
            counts: Vec::with_capacity(words),
        };
        for number in 0..words {
            let number = u32::try_from(number).expect("they were numbered so");
            let (written, language) = gathered.words.word(number);
            let stemmer = gathered.languages[usize::from(language)];
            let start = terms.text.len();
            fold_into(written, &mut terms.text);
            terms.push(start, number);
            let stem = stemmer.term_of(written, &terms.text[start..]);
            terms.counts.push(1 + u8::from(stem.is_some()));
            if let Some(stem) = stem {
                let start = terms.text.len();
                terms.text.push_str(&stem);
                terms.push(start, number);
            }
        }
        let Self { text, sorted, .. } = &mut terms;
        let bytes = text.as_bytes();
        sorted.sort_unstable_by(|a, b| {
            let heads = a.head.cmp(&b.head);
            let whole = || bytes[a.range()].cmp(&bytes[b.range()]);
            heads.then_with(whole).then(a.number.cmp(&b.number))
        });
        terms
    }

    /// Notes the last letters of the text as a term of a word.
    fn push(&mut self, start: usize, number: u32) {
        let term = &self.text.as_bytes()[start..];
        let mut head = [0; 8];
        let length = term.len().min(8);
        head[..length].copy_from_slice(&term[..length]);
        self.sorted.push(Term {
            head: u64::from_be_bytes(head),
            start,
            // A word has at most 96 bytes, and no letter folds to more than a few dozen.
            length: u16::try_from(term.len()).expect("words are short"),
            number,
        });
    }

    /// Every term with the words that it is of.
    fn groups(&self) -> impl Iterator<Item = (&[u8], &[Term])> {
        let bytes = self.text.as_bytes();
        let groups = self
            .sorted
            .chunk_by(|a, b| a.head == b.head && bytes[a.range()] == bytes[b.range()]);
        groups.map(|group| (&bytes[group[0].range()], group))
    }

    /// The coded length of a field in each document, and the sum of all lengths. Forms and stems count.
    fn lengths(&self, log: &Log, documents: usize) -> (Vec<u8>, u64) {
        let mut lengths = vec![0; documents];
        let mut total = 0;
        for (doc, range) in log.texts() {
            let numbers = log.numbers[range].iter().filter(|number| **number != GAP);
            let length: u32 = numbers
                .map(|&number| u32::from(self.counts[number as usize]))
                .sum();
            lengths[doc as usize] = FieldNormReader::fieldnorm_to_id(length);
            total += u64::from(length);
        }
        (lengths, total)
    }
}

impl Term {
    fn range(&self) -> Range<usize> {
        self.start..self.start + usize::from(self.length)
    }
}

impl Log {
    /// The documents, and where their words are.
    fn texts(&self) -> impl Iterator<Item = (DocId, Range<usize>)> {
        let ends = self.starts.iter().skip(1).map(|(_, start)| *start);
        let ends = ends.chain([self.numbers.len()]);
        let starts = self.starts.iter();
        starts
            .zip(ends)
            .map(|((doc, start), end)| (*doc, *start..end))
    }
}

/// Where the words of a field stand, sorted by word: numbers of entries of its log.
struct Places {
    places: Vec<u32>,
    /// Where those of each word end.
    ends: Vec<u32>,
}

impl Places {
    /// Two passes over the log: how many there are of each word, then each to its place.
    fn of(log: &Log, words: usize) -> Self {
        let mut ends = vec![0_u32; words];
        let mut count = 0;
        for &number in log.numbers.iter().filter(|number| **number != GAP) {
            ends[number as usize] += 1;
            count += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            // The beginning for now: it moves to the end while places are filled.
            sum += std::mem::replace(end, sum);
        }
        let mut places = vec![0; count];
        for (entry, &number) in (0..).zip(&log.numbers) {
            if number != GAP {
                let at = &mut ends[number as usize];
                places[*at as usize] = entry;
                *at += 1;
            }
        }
        Self { places, ends }
    }

    fn of_word(&self, number: u32) -> &[u32] {
        let number = number as usize;
        let before = number.checked_sub(1);
        let start = before.map_or(0, |before| self.ends[before]);
        &self.places[start as usize..self.ends[number] as usize]
    }
}

/// Of which document an entry of a log is.
struct Owners {
    /// For every [`STEP`] entries, the place in `starts` of the document that has the first of them.
    hints: Vec<u32>,
    /// Each document, and its first entry; the end of the log.
    starts: Vec<(DocId, u32)>,
}

/// Entries of a log from one hint to the next: fewer than most texts have.
const STEP: usize = 128;

impl Owners {
    fn of(log: &Log) -> Self {
        let entry = |at: usize| u32::try_from(at).expect("a log is bounded by memory");
        let starts = log.starts.iter().map(|&(doc, start)| (doc, entry(start)));
        let mut starts: Vec<(DocId, u32)> = starts.collect();
        starts.push((DocId::MAX, entry(log.numbers.len())));
        let mut hints = Vec::with_capacity(log.numbers.len() / STEP + 1);
        let mut owner = 0;
        for at in (0..log.numbers.len()).step_by(STEP) {
            while starts[owner + 1].1 as usize <= at {
                owner += 1;
            }
            hints.push(entry(owner));
        }
        Self { hints, starts }
    }

    /// The document of an entry, its first entry, and the first one that is not its.
    fn of_entry(&self, entry: u32) -> (DocId, Range<u32>) {
        let mut owner = self.hints[entry as usize / STEP] as usize;
        while self.starts[owner + 1].1 <= entry {
            owner += 1;
        }
        let (doc, start) = self.starts[owner];
        (doc, start..self.starts[owner + 1].1)
    }
}

fn write_words(
    lists: &mut InvertedIndexSerializer,
    field: Field,
    terms: &Terms,
    log: Log,
    total: u64,
) -> tantivy::Result<()> {
    let places = Places::of(&log, terms.counts.len());
    let owners = Owners::of(&log);
    drop(log);
    let mut field = lists.new_field(field, total, None)?;
    let (mut together, mut distances) = (Vec::new(), Vec::new());
    for (term, group) in terms.groups() {
        let mut found = match group {
            [one] => places.of_word(one.number),
            several => {
                together.clear();
                for one in several {
                    together.extend(places.of_word(one.number));
                }
                // Runs that are in order: sorting merges them.
                together.sort();
                &together[..]
            }
        };
        if found.is_empty() {
            continue;
        }
        // In how many documents it is, counts for nothing without lengths.
        field.new_term(term, 0, true)?;
        while let Some(&first) = found.first() {
            let (doc, range) = owners.of_entry(first);
            let mut last = range.start;
            distances.clear();
            let own = found.iter().take_while(|&&entry| entry < range.end);
            distances.extend(own.map(|&entry| entry - std::mem::replace(&mut last, entry)));
            found = &found[distances.len()..];
            let frequency = u32::try_from(distances.len()).expect("a part of a log");
            field.write_doc(doc, frequency, &distances);
        }
        field.close_term()?;
    }
    field.close()?;
    Ok(())
}

fn write_keys(lists: &mut InvertedIndexSerializer, keys: Keys) -> tantivy::Result<()> {
    let Keys { bytes, mut found } = keys;
    let bytes_of = |key: &Key| &bytes[key.start..key.end];
    found.retain(|key| key.end - key.start <= MAX_TERM_BYTES);
    found.sort_unstable_by(|a, b| {
        let fields = a.field.cmp(&b.field);
        let keys = || bytes_of(a).cmp(bytes_of(b));
        fields.then_with(keys).then(a.doc.cmp(&b.doc))
    });
    for own in found.chunk_by(|a, b| a.field == b.field) {
        let field = Field::from_field_id(own[0].field);
        let mut list = lists.new_field(field, own.len() as u64, None)?;
        for group in own.chunk_by(|a, b| bytes_of(a) == bytes_of(b)) {
            list.new_term_without_freq(bytes_of(&group[0]))?;
            for once in group.chunk_by(|a, b| a.doc == b.doc) {
                list.write_doc(once[0].doc, 0, &[]);
            }
            list.close_term()?;
        }
        list.close()?;
    }
    Ok(())
}
