//! Load control: when this machine hardly gives us processor time, no server is blamed for it.
//!
//! The quota is made by stopping and continuing the process, a tenth of the time awake: this needs no
//! control group and no privilege.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail loudly and say what it counted"
)]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use teia_testweb::{Listen, Server, WebConfig};

#[test]
fn with_a_tenth_of_the_processor_no_time_limit_is_our_own_fault() {
    let web = WebConfig {
        hosts: 20,
        pages_per_host: 60,
        latency: Duration::from_millis(20),
        ..WebConfig::default()
    };
    let server = Server::start(web, Listen::Names { port: 0 }).unwrap();
    let data = tempfile::tempdir().unwrap();
    let settings = data.path().join("settings.toml");
    // Limits so short that a late look at the clock would break them.
    std::fs::write(
        &settings,
        "[fetch]\nfirst-byte-timeout = \"60ms\"\nmin-rate-window = \"60ms\"\nconnect-timeout = \"60ms\"\n",
    )
    .unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_teia"))
        .args([
            "crawl",
            &server.web().front(0),
            "--scope",
            "suffix:.web.test",
            "--delay",
            "0s",
        ])
        .args([
            "--resolve",
            &format!("*.web.test={}", server.addr()),
            "--report",
            "json",
        ])
        .args([
            "--timeout",
            "2s",
            "--retries",
            "0",
            "--hosts",
            "20",
            "--config",
        ])
        .arg(&settings)
        .arg("--data")
        .arg(data.path().join("data"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let process = Pid::from_child(&child);
    let give_up = Instant::now() + Duration::from_secs(120);
    while child.try_wait().unwrap().is_none() && Instant::now() < give_up {
        let _ = kill_process(process, Signal::STOP);
        std::thread::sleep(Duration::from_millis(90));
        let _ = kill_process(process, Signal::CONT);
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = kill_process(process, Signal::CONT);
    let output = child.wait_with_output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    println!("{report}");
    let codes = report["codes"].as_object().unwrap();
    for code in ["-10", "-41", "-1", "-21"] {
        assert!(!codes.contains_key(code), "{code}: {codes:?}");
    }
    assert_eq!(report["reason"], "done");
    assert_eq!(report["codes"]["200"], 1200);
}
