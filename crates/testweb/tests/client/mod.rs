//! A tiny blocking HTTP client and a naive crawl, to see the web as others see it.
#![expect(
    clippy::unwrap_used,
    reason = "test code; what fails here fails the test"
)]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use url::Url;

/// A connection to the server.
#[derive(Debug)]
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    /// Without chunks, still compressed.
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self {
            stream: BufReader::new(TcpStream::connect(address).unwrap()),
        }
    }

    /// One request on this connection; `None` when it was closed instead of answered.
    pub(crate) fn get(&mut self, host: &str, path: &str, headers: &str) -> Option<Response> {
        self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: naive\r\n{headers}\r\n"
        ));
        self.receive(true)
    }

    pub(crate) fn send(&mut self, bytes: &str) {
        self.stream.get_mut().write_all(bytes.as_bytes()).unwrap();
    }

    pub(crate) fn receive(&mut self, with_body: bool) -> Option<Response> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut headers = BTreeMap::new();
        loop {
            line.clear();
            self.stream.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            headers.insert(name.to_lowercase(), value.to_owned());
        }
        let mut body = Vec::new();
        if !with_body || status == 304 {
            // No body follows.
        } else if headers.contains_key("transfer-encoding") {
            loop {
                line.clear();
                self.stream.read_line(&mut line).unwrap();
                let size = usize::from_str_radix(line.trim_end(), 16).unwrap();
                let from = body.len();
                body.resize(from + size, 0);
                self.stream.read_exact(&mut body[from..]).unwrap();
                self.stream.read_exact(&mut [0; 2]).unwrap();
                if size == 0 {
                    break;
                }
            }
        } else {
            body.resize(headers["content-length"].parse().unwrap(), 0);
            self.stream.read_exact(&mut body).unwrap();
        }
        Some(Response {
            status,
            headers,
            body,
        })
    }
}

/// Every URL reached by plain links and redirects, with its depth; asks each failing page again.
pub(crate) fn crawl(
    seed: &str,
    allowed: impl Fn(&Url) -> bool,
    to: impl Fn(&Url) -> SocketAddr,
) -> BTreeMap<String, u32> {
    let mut depths = BTreeMap::from([(seed.to_owned(), 0)]);
    let mut queue = VecDeque::from([(Url::parse(seed).unwrap(), 0)]);
    let mut clients: BTreeMap<String, Client> = BTreeMap::new();
    while let Some((url, depth)) = queue.pop_front() {
        let authority = url[url::Position::BeforeHost..url::Position::AfterPort].to_owned();
        let response = loop {
            let client = clients
                .entry(authority.clone())
                .or_insert_with(|| Client::connect(to(&url)));
            match client.get(&authority, &url[url::Position::BeforePath..], "") {
                Some(response) if response.status != 503 => break response,
                Some(_) => {}
                None => drop(clients.remove(&authority)),
            }
        };
        let mut found = BTreeSet::new();
        let mut next = depth + 1;
        if let Some(location) = response.headers.get("location") {
            found.insert(url.join(location).unwrap());
            next = depth;
        }
        let text = String::from_utf8_lossy(&response.body);
        let robots = response
            .headers
            .get("x-robots-tag")
            .map_or("", String::as_str);
        let says = |word: &str| {
            robots.contains(word) || text.contains(&format!("name=\"robots\" content=\"{word}\""))
        };
        let html = response
            .headers
            .get("content-type")
            .is_some_and(|kind| kind.starts_with("text/html"));
        if html && !says("nofollow") && !says("none") {
            for part in text.split("<a href=\"").skip(1) {
                let (href, rest) = part.split_once('"').unwrap();
                if !rest.starts_with(" rel=\"nofollow\"") {
                    found.insert(url.join(&href.replace("&amp;", "&")).unwrap());
                }
            }
        }
        for target in found {
            if allowed(&target)
                && depths
                    .get(target.as_str())
                    .is_none_or(|known| *known > next)
            {
                depths.insert(target.to_string(), next);
                if next == depth {
                    queue.push_front((target, next));
                } else {
                    queue.push_back((target, next));
                }
            }
        }
    }
    depths
}
