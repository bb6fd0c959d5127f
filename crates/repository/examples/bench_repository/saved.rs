//! A store that is left as it is, and gone on with in another process: a long fill can be done in
//! parts, and what is measured then begins on a quiet machine.

use std::fs;
use std::path::{Path, PathBuf};

use crate::generator::Generator;
use crate::stores::{Contender, NewUrls};

/// Where the state of a store is.
pub(crate) fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.state"))
}

/// Writes down how far generator and store are.
pub(crate) fn save(path: &Path, generator: &Generator, total: NewUrls, store: &dyn Contender) {
    let (mut numbers, hosts) = generator.save();
    numbers.extend([total.count, total.checksum, total.at_once]);
    numbers.extend(store.save());
    let mut bytes = (numbers.len() as u64).to_le_bytes().to_vec();
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes.extend(hosts.iter().flat_map(|urls| urls.to_le_bytes()));
    fs::write(path, bytes).unwrap();
}

/// Goes on with what was written down.
pub(crate) fn load(path: &Path, store: &mut dyn Contender) -> (Generator, NewUrls) {
    let bytes = fs::read(path).unwrap();
    let (words, _) = bytes.as_chunks::<8>();
    let count = u64::from_le_bytes(words[0]) as usize;
    let numbers: Vec<u64> = words[1..=count]
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .collect();
    let (hosts, _) = bytes[8 * (count + 1)..].as_chunks::<4>();
    let hosts = hosts.iter().map(|urls| u32::from_le_bytes(*urls)).collect();
    let total = NewUrls {
        count: numbers[4],
        checksum: numbers[5],
        at_once: numbers[6],
    };
    store.load(&numbers[7..]);
    (Generator::load(&numbers[..4], hosts), total)
}
