//! The lists that the library reads, beside those that the texts ask for.

use std::collections::BTreeMap;

use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, SegmentReader, TERMINATED};

use crate::config::IndexConfig;
use crate::entry::spelt_out;
use crate::language::Stemmer;
use crate::page::tests::document;
use crate::page::{Extras, Page};
use crate::schema::Fields;
use crate::store;
use crate::text::{fold, words};
use crate::writer::Writer;

const WORDS: [&str; 17] = [
    "a",
    "As",
    "as",
    "licitação",
    "Licitações",
    "LICITAÇÕES",
    "São",
    "sao",
    "internacionalizacao",
    "Internacionalização",
    "abcdefghijklmn",
    "abcdefghijklmno",
    "東京都",
    "c++",
    "the",
    "houses",
    "x",
];

/// Where each term stands, by number of the field.
type Lists = BTreeMap<(usize, String), Vec<u32>>;

fn expected(page: &Page) -> (Lists, [u32; 6]) {
    let stemmer = Stemmer::of(&page.stemmed_as);
    let (mut lists, mut lengths) = (Lists::new(), [0; 6]);
    let address = vec![spelt_out(&page.url)];
    let one = |text: &String| Vec::from_iter((!text.is_empty()).then(|| text.clone()));
    let fields = [
        one(&page.title),
        page.headings.clone(),
        one(&page.text),
        Vec::new(),
        one(&page.description),
        address,
    ];
    for (field, texts) in fields.iter().enumerate() {
        let mut position = 0;
        for text in texts.iter().filter(|text| !text.is_empty()) {
            for word in words(text) {
                let written = &text[word.start..word.end];
                for term in [Some(fold(written)), stemmer.term(written)]
                    .into_iter()
                    .flatten()
                {
                    lists.entry((field, term)).or_default().push(position);
                    lengths[field] += 1;
                }
                position += 1;
            }
            position += 1;
        }
    }
    (lists, lengths)
}

fn found(segment: &SegmentReader, fields: &Fields) -> Vec<Lists> {
    let mut lists = vec![Lists::new(); segment.max_doc() as usize];
    for (number, field) in fields.texts.into_iter().enumerate() {
        let index = segment.inverted_index(field).unwrap();
        let mut terms = index.terms().stream().unwrap();
        while let Some((term, info)) = terms.next() {
            let term = std::str::from_utf8(term).unwrap().to_owned();
            let option = IndexRecordOption::WithFreqsAndPositions;
            let mut postings = index.read_postings_from_terminfo(info, option).unwrap();
            let mut count = 0;
            while postings.doc() != TERMINATED {
                let mut positions = Vec::new();
                postings.positions(&mut positions);
                lists[postings.doc() as usize].insert((number, term.clone()), positions);
                postings.advance();
                count += 1;
            }
            assert_eq!(count, info.doc_freq, "{term}");
        }
    }
    lists
}

#[test]
fn every_form_and_stem_stands_where_its_word_does_and_no_other_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(folder.path(), IndexConfig::default()).unwrap();
    let mut chance = 7_u64;
    let mut draw = |below: usize| {
        chance = chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(chance >> 33).unwrap() % below
    };
    let mut text = |most: usize| -> String {
        let drawn = (0..draw(most)).map(|_| WORDS[draw(WORDS.len())]);
        drawn.collect::<Vec<_>>().join(" ")
    };
    for number in 0..300 {
        let url = format!("http://a.pt/{number}/casa-nova");
        // One is long enough that its entries have several hints.
        let mut document = document(&url, &text(if number == 100 { 3_000 } else { 60 }));
        document.title = text(4);
        document.description = text(6);
        document.headings = (0..3).map(|_| text(4)).collect();
        document.language = [Some("pt"), Some("en"), None][number % 3].map(str::to_owned);
        writer.add(&document, &Extras::default()).unwrap();
        if number == 120 || number == 121 {
            writer.commit(1).unwrap();
        }
    }
    writer.commit(2).unwrap();
    writer.close().unwrap();

    let (index, fields) = store::open(folder.path()).unwrap();
    let searcher = index.reader().unwrap().searcher();
    let mut pages = 0;
    for (ordinal, segment) in (0..).zip(searcher.segment_readers()) {
        let found = found(segment, &fields);
        for doc in segment.doc_ids_alive() {
            let at = tantivy::DocAddress::new(ordinal, doc);
            let page = store::page(&searcher, at).unwrap();
            let columns = segment.fast_fields();
            if columns.u64("alias_of").unwrap().first(doc).is_some() {
                assert!(found[doc as usize].is_empty(), "{}", page.url);
                continue;
            }
            pages += 1;
            let (lists, lengths) = expected(&page);
            assert_eq!(found[doc as usize], lists, "{}", page.url);
            for (field, length) in fields.texts.into_iter().zip(lengths) {
                let norms = segment.get_fieldnorms_reader(field).unwrap();
                let code = tantivy::fieldnorm::FieldNormReader::fieldnorm_to_id(length);
                assert_eq!(norms.fieldnorm_id(doc), code, "{} {field:?}", page.url);
            }
            for (field, key) in [
                (fields.url, page.url.as_str()),
                (fields.within, "a.pt"),
                (fields.kinds, "html"),
                (fields.language, page.language.as_str()),
            ] {
                let term = tantivy::Term::from_field_text(field, key);
                let holding = store::holding(&searcher, &term).unwrap();
                assert!(holding.contains(&at), "{} {key}", page.url);
            }
        }
    }
    assert!(pages > 250, "{pages}");
}
