//! A browser that Python drives, where there is one.
#![allow(dead_code, reason = "each test file uses its own part of the support")]

use std::ffi::OsString;
use std::process::Command;

/// The interpreter that can drive Chromium; without it, says which test is skipped and why.
pub(crate) fn python(test: &str) -> Option<OsString> {
    let Some(python) = std::env::var_os("TEIA_PYTHON") else {
        eprintln!("SKIPPED {test}: TEIA_PYTHON names no interpreter");
        return None;
    };
    let has = |module: &str| {
        Command::new(&python)
            .args(["-c", &format!("import {module}")])
            .output()
            .is_ok_and(|ended| ended.status.success())
    };
    let is_there = has("playwright")
        && has("axe_playwright_python")
        && Command::new("chromium").arg("--version").output().is_ok();
    if !is_there {
        eprintln!("SKIPPED {test}: no playwright or no chromium");
        return None;
    }
    Some(python)
}
