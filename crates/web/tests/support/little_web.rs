//! A few pages on loopback, as a test wants them.
#![allow(dead_code, reason = "each test file uses its own part of the support")]

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// No answer takes longer, unless something is broken.
const LIMIT: Duration = Duration::from_secs(30);

/// A page of the little web: type and further header lines, and the body.
type Page = (String, Vec<u8>);

/// Pages by path, on loopback. What is not there is a 404. A page can be changed while it runs.
pub(crate) struct LittleWeb {
    pub(crate) address: SocketAddr,
    pages: Arc<Mutex<HashMap<String, Page>>>,
    answered: Arc<AtomicUsize>,
}

impl LittleWeb {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let pages: Arc<Mutex<HashMap<String, Page>>> = Arc::default();
        let shared = Arc::clone(&pages);
        let answered: Arc<AtomicUsize> = Arc::default();
        let counted = Arc::clone(&answered);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let pages = Arc::clone(&shared);
                counted.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || drop(answer(stream, &pages)));
            }
        });
        Self {
            address,
            pages,
            answered,
        }
    }

    /// Connections so far.
    pub(crate) fn answered(&self) -> usize {
        self.answered.load(Ordering::SeqCst)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn put(&self, path: &str, head: &str, body: impl AsRef<[u8]>) {
        let page = (head.to_owned(), body.as_ref().to_vec());
        self.pages.lock().unwrap().insert(path.to_owned(), page);
    }

    pub(crate) fn html(&self, path: &str, body: &str) {
        self.put(path, "Content-Type: text/html; charset=utf-8", body);
    }
}

fn answer(mut stream: TcpStream, pages: &Mutex<HashMap<String, Page>>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(LIMIT))?;
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > 16 << 10 || stream.read(&mut byte)? == 0 {
            return Ok(());
        }
        head.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let path = text.split(' ').nth(1).unwrap_or("/").to_owned();
    let page = pages.lock().unwrap().get(&path).cloned();
    let (status, (head, body)) = match page {
        Some(page) if page.0.contains("Location:") => ("302 Found", page),
        Some(page) => ("200 OK", page),
        None => (
            "404 Not Found",
            ("Content-Type: text/plain".to_owned(), b"nothing".to_vec()),
        ),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)
}
