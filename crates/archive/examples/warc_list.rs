//! Lists the captures of a WARC file, as index lines, and says what is damaged.
//!
//! `cargo run --release -p teia-archive --example warc_list -- FILE.warc.gz`

use std::io::Write;
use std::path::Path;

use teia_archive::index_warc;
use teia_base::DiskFiles;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(argument) = std::env::args().nth(1) else {
        return Err("say which file: warc_list FILE.warc.gz".into());
    };
    let path = Path::new(&argument);
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let name = path.file_name().ok_or("a file, not a directory")?;
    let (mut entries, damages) = index_warc(&DiskFiles::existing(directory), Path::new(name))?;
    entries.sort_by_key(teia_archive::CdxEntry::to_line);
    let mut out = std::io::stdout().lock();
    for entry in entries {
        out.write_all(entry.to_line().as_bytes())?;
    }
    for damage in damages {
        eprintln!("damaged at byte {}: {}", damage.offset, damage.what);
    }
    Ok(())
}
