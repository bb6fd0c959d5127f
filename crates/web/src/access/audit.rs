//! `audit.log` in the data directory: who changed what, when, and from where; one JSON line each.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use axum::http::{Method, StatusCode};
use teia_base::{Clock, SystemClock};

use super::caller::Caller;

/// A log of this size is set aside, in place of the one that was set aside before.
const MOST_BYTES: u64 = 16 << 20;

/// Writes down changes.
#[derive(Debug)]
pub(crate) struct Audit {
    path: PathBuf,
    turn: Mutex<()>,
}

impl Audit {
    /// Of this data directory.
    pub(crate) fn of(root: &Path) -> Self {
        Self {
            path: root.join("audit.log"),
            turn: Mutex::default(),
        }
    }

    /// A change was asked for, and answered. What cannot be written down is in the program's log.
    pub(crate) fn note(
        &self,
        caller: &Caller,
        from: IpAddr,
        method: &Method,
        path: &str,
        status: StatusCode,
    ) {
        let line = serde_json::json!({
            "at": SystemClock.wall().to_string(),
            "token": caller.id,
            "name": caller.name,
            "role": caller.role,
            "from": from.to_string(),
            "method": method.as_str(),
            "path": path,
            "status": status.as_u16(),
        });
        tracing::info!(target: "teia_web::audit", %line, "a change was asked for");
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.append(&format!("{line}\n")) {
            tracing::warn!(%error, path = %self.path.display(), "a change was not written down");
        }
    }

    fn append(&self, line: &str) -> std::io::Result<()> {
        let is_full = fs::metadata(&self.path).is_ok_and(|known| known.len() >= MOST_BYTES);
        if is_full {
            fs::rename(&self.path, self.path.with_extension("log.1"))?;
        }
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path)?;
        file.write_all(line.as_bytes())
    }
}
