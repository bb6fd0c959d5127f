//! Where the shared test data lies.

use std::path::PathBuf;

/// A file of the shared data; `None`, said loudly, where it is missing on this machine.
pub(crate) fn shared(path: &str) -> Option<String> {
    let shared = std::env::var_os("TEIA_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let file = shared.join("data").join(path);
    match std::fs::read_to_string(&file) {
        Ok(text) => Some(text),
        Err(error) => {
            eprintln!(
                "SKIPPED 1: shared data missing ({}: {error})",
                file.display()
            );
            None
        }
    }
}
