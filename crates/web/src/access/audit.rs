//! `audit.log` in the data directory: who changed what, when, and from where; one JSON line each, with a check sum
//! as its last field (`teia_engine::checked_line`).

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use axum::http::{Method, StatusCode};
use teia_base::{Clock, SystemClock};
use teia_engine::{checked_line, damaged_lines};

use super::caller::Caller;

/// A log of this size is set aside, in place of the one that was set aside before.
const MOST_BYTES: u64 = 16 << 20;

/// The fields of a line, as they were before it had a check sum.
const FIELDS: &[&str] = &[
    "at", "token", "name", "role", "from", "method", "path", "status",
];

/// What is damaged in the log of a data directory, and in the one that was set aside: each file and line, with what is
/// wrong there.
pub fn damaged_audit(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for name in ["audit.log.1", "audit.log"] {
        match fs::read(root.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => found.push(format!("{name} cannot be read: {error}")),
            Ok(content) => found.extend(
                damaged_lines(&content, FIELDS)
                    .iter()
                    .map(|damaged| format!("{name}, line {}: {}", damaged.line, damaged.what)),
            ),
        }
    }
    found
}

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
        if let Err(error) = self.append(&checked_line(&line.to_string())) {
            tracing::warn!(%error, path = %self.path.display(), "a change was not written down");
        }
    }

    fn append(&self, line: &str) -> io::Result<()> {
        let is_full = fs::metadata(&self.path).is_ok_and(|known| known.len() >= MOST_BYTES);
        if is_full {
            fs::rename(&self.path, self.path.with_extension("log.1"))?;
        }
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path)?;
        // What a killed process left of a line ends there.
        let mut last = [b'\n'];
        if let Some(at) = file.metadata()?.len().checked_sub(1) {
            file.read_exact_at(&mut last, at)?;
        }
        let begin = if last == [b'\n'] { "" } else { "\n" };
        file.write_all(format!("{begin}{line}").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_changed_is_found_and_one_that_was_cut_or_is_old_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let audit = Audit::of(folder.path());
        let old = r#"{"at":"x","from":"::1","method":"PUT","name":null,"path":"/api","role":null,"status":200,"token":null}"#;
        let path = folder.path().join("audit.log");
        fs::write(&path, format!("{old}\n{}", &old[..20])).unwrap();
        let line = checked_line(old);
        audit.append(&line).unwrap();
        audit.append(&line).unwrap();
        assert_eq!(damaged_audit(folder.path()), [""; 0]);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 4, "{text}");
        let at = text.rfind("/api").unwrap();
        fs::write(&path, format!("{}/apj{}", &text[..at], &text[at + 4..])).unwrap();
        let found = damaged_audit(folder.path());
        assert_eq!(found, ["audit.log, line 4: its check sum differs"]);
    }
}
