//! Inputs that are kept: what once broke something here, or breaks others.

use std::io;
use std::path::{Path, PathBuf};

/// The kept inputs of a target, by name.
pub fn corpus_of(target: &str) -> io::Result<Vec<(String, Vec<u8>)>> {
    let folder = folder_of(target);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut kept = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        kept.push((name.into_owned(), std::fs::read(&path)?));
    }
    kept.sort();
    Ok(kept)
}

/// Keeps an input that broke something; returns where.
pub fn keep(target: &str, input: &[u8]) -> io::Result<PathBuf> {
    let folder = folder_of(target);
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{:016x}", name_of(input)));
    std::fs::write(&path, input)?;
    Ok(path)
}

fn folder_of(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target)
}

/// FNV-1a: only a file name.
fn name_of(input: &[u8]) -> u64 {
    input.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
