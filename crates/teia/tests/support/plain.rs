//! A few fixed answers on loopback, for what the test web does not have.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A server of fixed answers. Its thread ends with the test.
#[derive(Debug)]
pub(crate) struct Plain {
    pub(crate) addr: SocketAddr,
    paths: Arc<Mutex<Vec<String>>>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Plain {
    /// Answers each path with the status and HTML that the function gives; of a redirect, the text
    /// is where it leads.
    pub(crate) fn start(answer: impl Fn(&str) -> (u16, String) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let paths = Arc::new(Mutex::new(Vec::new()));
        let asked = Arc::clone(&paths);
        let heads = Arc::new(Mutex::new(Vec::new()));
        let said = Arc::clone(&heads);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                // What is no HTTP, a TLS greeting for one, is hung up on.
                let served = stream.ok().and_then(|stream| serve(&stream, &answer));
                if let Some((path, head)) = served {
                    asked.lock().unwrap().push(path);
                    said.lock().unwrap().push(head);
                }
            }
        });
        Self { addr, paths, heads }
    }

    /// The fields of every request so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// The URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// The paths asked for so far, robots.txt apart.
    pub(crate) fn paths(&self) -> Vec<String> {
        let paths = self.paths.lock().unwrap();
        paths
            .iter()
            .filter(|path| *path != "/robots.txt")
            .cloned()
            .collect()
    }
}

/// Answers one request; its path and its fields.
fn serve(
    mut stream: &TcpStream,
    answer: &impl Fn(&str) -> (u16, String),
) -> Option<(String, String)> {
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let mut head = BufReader::new(stream);
    let mut line = Vec::new();
    head.read_until(b'\n', &mut line).ok()?;
    let path = String::from_utf8(line)
        .ok()?
        .strip_prefix("GET ")?
        .split(' ')
        .next()?
        .to_owned();
    let mut fields = String::new();
    while head.read_line(&mut fields).ok()? > 2 {}
    let (status, body) = answer(&path);
    let length = body.len();
    let location = if (300..400).contains(&status) {
        format!("Location: {body}\r\n")
    } else {
        String::new()
    };
    write!(stream, "HTTP/1.1 {status} Some\r\n{location}Content-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}").ok()?;
    Some((path, fields))
}
