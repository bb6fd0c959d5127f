//! One file with everything that a viewer needs (WACZ 1.1.1): records, their index, a list of pages.
//!
//! ```text
//! archive/data.warc.gz   indexes/index.cdx   pages/pages.jsonl   datapackage.json   datapackage-digest.json
//! ```

use std::io::{self, BufReader, Read, Seek, Write};
use std::path::Path;

use data_encoding::HEXLOWER;
use libdeflater::Crc;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use teia_base::{DiskFiles, Timestamp};

use super::zip::Zip;
use super::{Exported, to_warc};
use crate::{ArchiveError, Captures, CdxEntry, index_warc};

const WARC: &str = "data.warc.gz";

/// Writes the captures that pass the filter as one WACZ file. `now` is when it was made.
///
/// The records are first written to a temporary file beside the system's others: their index says
/// where each lies.
pub fn wacz(
    captures: &Captures,
    filter: &dyn Fn(&CdxEntry) -> bool,
    (title, now): (&str, Timestamp),
    out: &mut dyn Write,
) -> Result<Exported, ArchiveError> {
    let scratch = tempfile::tempdir().map_err(ArchiveError::Export)?;
    let path = scratch.path().join(WARC);
    let mut file = io::BufWriter::new(std::fs::File::create(&path).map_err(ArchiveError::Export)?);
    let mut exported = to_warc::warc(captures, filter, &mut file)?;
    drop(file);
    let files = DiskFiles::existing(scratch.path());
    let (mut entries, _) = index_warc(&files, Path::new(WARC))?;
    entries.sort_by(|a, b| (&a.key, &a.timestamp).cmp(&(&b.key, &b.timestamp)));
    let index: String = entries.iter().map(CdxEntry::to_line).collect();
    let pages = pages(&entries);
    let write = || -> io::Result<u64> {
        let mut zip = Zip::new(out);
        let mut resources = Vec::new();
        let mut warc = BufReader::new(std::fs::File::open(&path)?);
        let part = Part::of(&format!("archive/{WARC}"), &mut warc)?;
        warc.rewind()?;
        part.add(&mut zip, &mut warc, &mut resources)?;
        for (name, text) in [("indexes/index.cdx", &index), ("pages/pages.jsonl", &pages)] {
            let part = Part::of(name, &mut text.as_bytes())?;
            part.add(&mut zip, &mut text.as_bytes(), &mut resources)?;
        }
        let package = json!({
            "profile": "data-package",
            "wacz_version": "1.1.1",
            "title": title,
            "created": now.to_string(),
            "software": concat!("Teia ", env!("CARGO_PKG_VERSION")),
            "resources": resources,
        });
        let package = format!("{package:#}\n");
        let part = Part::of("datapackage.json", &mut package.as_bytes())?;
        let digest = json!({ "path": "datapackage.json", "hash": part.hash });
        let digest = format!("{digest:#}\n");
        part.add(&mut zip, &mut package.as_bytes(), &mut Vec::new())?;
        let part = Part::of("datapackage-digest.json", &mut digest.as_bytes())?;
        part.add(&mut zip, &mut digest.as_bytes(), &mut Vec::new())?;
        zip.finish()
    };
    exported.bytes = write().map_err(ArchiveError::Export)?;
    Ok(exported)
}

/// The pages that a viewer offers: HTML that was answered well, each URL once.
fn pages(entries: &[CdxEntry]) -> String {
    let mut lines =
        vec![json!({ "format": "json-pages-1.0", "id": "pages", "title": "All pages" })];
    let mut last = "";
    for entry in entries {
        let is_page = entry.status == Some(200) && entry.mime.contains("html");
        if is_page && entry.url != last {
            let moment = entry.fetched().unwrap_or_default();
            lines.push(json!({ "url": entry.url, "ts": moment.to_string() }));
            last = &entry.url;
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// One file of the package.
struct Part {
    path: String,
    size: u64,
    crc: u32,
    hash: String,
}

impl Part {
    fn of(path: &str, content: &mut dyn Read) -> io::Result<Self> {
        let (mut crc, mut sha256, mut size) = (Crc::new(), Sha256::new(), 0);
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = content.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            crc.update(&buffer[..read]);
            sha256.update(&buffer[..read]);
            size += read as u64;
        }
        Ok(Self {
            path: path.to_owned(),
            size,
            crc: crc.sum(),
            hash: format!("sha256:{}", HEXLOWER.encode(&sha256.finalize())),
        })
    }

    fn add(
        &self,
        zip: &mut Zip<&mut dyn Write>,
        content: &mut dyn Read,
        resources: &mut Vec<Value>,
    ) -> io::Result<()> {
        zip.add(&self.path, self.size, self.crc, content)?;
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        resources.push(json!({
            "name": name, "path": self.path, "hash": self.hash, "bytes": self.size,
        }));
        Ok(())
    }
}
