//! What the tests of the web side share: a small hostile web, its collection, and the server over it.
#![allow(dead_code, reason = "each test file uses its own part of the support")]

pub(crate) mod client;
pub(crate) mod filling;
mod little_web;
pub(crate) mod many;

pub(crate) use little_web::LittleWeb;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use teia_base::{DiskFiles, Seed};
use teia_engine::{
    CollectionConfig, Control, Crawl, Directory, Executor, Layout, Parts, ThisMachine,
};
use teia_web::{Library, Role, Site, Tokens, WebConfig};
use tempfile::TempDir;

/// No answer takes longer, unless something is broken.
const LIMIT: Duration = Duration::from_secs(30);

/// Crawls the web from its first page into a collection, and indexes it.
pub(crate) fn collect(root: &Path, web: &LittleWeb, collection: &str) {
    collect_only(root, web, collection);
    filling::refill(root, collection);
}

/// The same without index and graph.
pub(crate) fn collect_only(root: &Path, web: &LittleWeb, collection: &str) {
    collect_with(root, web, collection, |_| {});
}

/// The same with other settings.
pub(crate) fn collect_with(
    root: &Path,
    web: &LittleWeb,
    collection: &str,
    change: impl FnOnce(&mut CollectionConfig),
) {
    let directory = Directory::create(root).unwrap();
    let mut config = CollectionConfig::default();
    config.politeness.delay = Duration::ZERO;
    config.run.retries = 0;
    config.run.alias_pages = 0;
    config.traps.enabled = false;
    config.run.disk_reserve = Some(0);
    config.fetch.allow_private = true;
    config.seeds = vec![web.url("/")];
    change(&mut config);
    let crawl = Crawl {
        files: Arc::new(DiskFiles::new(root).unwrap()),
        root: root.to_owned(),
        key: directory.key(),
        layout: Layout::new(collection).unwrap(),
        seeds: vec![Seed::parse(&web.url("/")).unwrap().unwrap()],
        config,
        save: true,
        parts: Parts::default(),
        control: Control::default(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(ThisMachine.run(crawl)).unwrap();
}

/// A data directory and the server over it; the server ends with it.
pub(crate) struct Served {
    pub(crate) folder: TempDir,
    pub(crate) address: SocketAddr,
    end: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Served {
    pub(crate) fn new(folder: TempDir, config: WebConfig) -> Self {
        let (end, ended) = tokio::sync::oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let library = Library::open(folder.path()).unwrap();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                let end = async { drop(ended.await) };
                teia_web::serve(listener, Site::new(library, config), end)
                    .await
                    .unwrap();
            });
        });
        Self {
            folder,
            address: told.recv().unwrap(),
            end: Some(end),
            thread: Some(thread),
        }
    }

    /// A crawled, indexed, served little web.
    pub(crate) fn of(web: &LittleWeb) -> Self {
        let folder = tempfile::tempdir().unwrap();
        collect(folder.path(), web, "default");
        Self::new(folder, WebConfig::default())
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[])
    }

    /// One request, its path sent as it is.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send(method, path, headers, b"")
    }

    /// The same with a body.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        // A server that has refused does not read the rest.
        let _ = stream.write_all(body);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        Answer::parse(&bytes)
    }

    /// Makes a token in the served directory.
    pub(crate) fn token(&self, role: Role) -> String {
        let tokens = Tokens::of(self.folder.path());
        tokens.add(role.name(), role, None).unwrap().secret
    }

    /// A request with a token, and a body in JSON where there is one.
    pub(crate) fn api(&self, token: &str, method: &str, path: &str, body: &str) -> Answer {
        let bearer = format!("Bearer {token}");
        let mut headers = vec![("Authorization", bearer.as_str())];
        if !body.is_empty() {
            headers.push(("Content-Type", "application/json"));
        }
        self.send(method, path, &headers, body.as_bytes())
    }

    /// Logs in as a browser does; the cookie, and the token that its forms carry.
    pub(crate) fn log_in(&self, token: &str) -> (String, String) {
        let answer = self.form("/login", &[], &format!("token={token}&next=/login"));
        assert_eq!(answer.status, 303, "{}", answer.text());
        let cookie = answer.header("set-cookie").unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let page = self.ask("GET", "/login", &[("Cookie", &cookie)]).text();
        let (_, rest) = page.split_once("name=\"csrf\" value=\"").unwrap();
        let csrf = rest.split('"').next().unwrap().to_owned();
        (cookie, csrf)
    }

    /// Sends a form.
    pub(crate) fn form(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut all = vec![("Content-Type", "application/x-www-form-urlencoded")];
        all.extend(headers);
        self.send("POST", path, &all, body.as_bytes())
    }

    /// The newest copy of a URL: its time.
    pub(crate) fn newest(&self, url: &str) -> String {
        let answer = self.get(&format!("/timegate/{url}"));
        assert_eq!(answer.status, 302, "{url}: {}", answer.text());
        answer
            .header("location")
            .unwrap()
            .split('/')
            .nth(2)
            .unwrap()
            .to_owned()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.end.take());
        let _ = self.thread.take().unwrap().join();
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap_or(bytes.len());
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        let mut body = bytes.get(end + 4..).unwrap_or_default().to_vec();
        if head
            .to_ascii_lowercase()
            .contains("transfer-encoding: chunked")
        {
            body = unchunked(&body);
        }
        Self { status, head, body }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known
                .eq_ignore_ascii_case(name)
                .then(|| value.trim().to_owned())
        })
    }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") {
        let size =
            usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap().trim(), 16).unwrap();
        if size == 0 {
            break;
        }
        body.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 2 + size + 2..];
    }
    body
}
