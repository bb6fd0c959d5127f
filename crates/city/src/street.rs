//! Plain HTTP: the trick at `/`, honest pages elsewhere.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::corner::Site;
use crate::door::Seen;
use crate::step::Step;

/// Longest request head that is read.
const HEAD_BYTES: usize = 64 << 10;

/// What a corner of plain HTTP plays.
pub(crate) struct Play {
    robots: Option<Vec<u8>>,
    site: Option<Site>,
    answers: Vec<Vec<Step>>,
    next: AtomicUsize,
    seen: Arc<Seen>,
}

impl Play {
    /// Plays these answers at `/`.
    pub(crate) fn new(answers: Vec<Vec<Step>>, seen: Arc<Seen>) -> Self {
        Self {
            robots: None,
            site: None,
            answers,
            next: AtomicUsize::new(0),
            seen,
        }
    }

    pub(crate) fn with_robots(mut self, robots: Vec<u8>) -> Self {
        self.robots = Some(robots);
        self
    }

    pub(crate) fn with_site(mut self, site: Site) -> Self {
        self.site = Some(site);
        self
    }

    /// Serves until the runtime ends.
    pub(crate) async fn serve(self, listener: TcpListener) {
        let play = Arc::new(self);
        while let Ok((stream, _)) = listener.accept().await {
            play.seen.connections.fetch_add(1, Ordering::SeqCst);
            let play = Arc::clone(&play);
            tokio::spawn(async move {
                // Who is misled leaves; that is what the corner is for.
                let _ = play.converse(stream).await;
                play.seen.closed.fetch_add(1, Ordering::SeqCst);
            });
        }
    }

    async fn converse(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        // So that what went out is about what was taken.
        socket2::SockRef::from(&stream).set_send_buffer_size(64 << 10)?;
        while let Some(head) = read_head(&mut stream).await? {
            let path = path_of(&head).to_owned();
            self.seen.request(head);
            if let (Some(robots), "/robots.txt") = (&self.robots, path.as_str()) {
                stream.write_all(robots).await?;
                continue;
            }
            let of_site = self.site.as_ref().and_then(|site| site.answer(&path));
            if let Some(steps) = of_site {
                self.perform(&mut stream, &steps).await?;
                continue;
            }
            if let Some(answer) = honest(&path) {
                stream.write_all(answer.as_bytes()).await?;
                continue;
            }
            let n = self.next.fetch_add(1, Ordering::SeqCst);
            let last = self.answers.len().checked_sub(1);
            let Some(last) = last else { return Ok(()) };
            self.perform(&mut stream, &self.answers[n.min(last)])
                .await?;
        }
        Ok(())
    }

    async fn perform(&self, stream: &mut TcpStream, steps: &[Step]) -> io::Result<()> {
        for step in steps {
            if matches!(step, Step::Reset) {
                // Closing with a linger of zero sends RST.
                socket2::SockRef::from(&*stream).set_linger(Some(std::time::Duration::ZERO))?;
            }
            step.perform(stream, &self.seen.sent).await?;
        }
        Ok(())
    }
}

/// The honest answer for a path that is none of the trick's.
pub(crate) fn honest(path: &str) -> Option<String> {
    let (status, body) = match path {
        "/robots.txt" => ("404 Not Found", String::new()),
        "/" => return None,
        "/next" => ("200 OK", page("next", "<a href=\"/last\">last</a>")),
        "/last" => ("200 OK", page("last", "")),
        _ if path.starts_with("/trick") => return None,
        _ => ("404 Not Found", page("nothing here", "")),
    };
    Some(format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ))
}

fn page(title: &str, links: &str) -> String {
    format!("<!doctype html><title>{title}</title><p>An honest page of the city: {title}. {links}")
}

/// One request head; none at the end of the connection.
pub(crate) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<String>> {
    let mut head = Vec::with_capacity(1024);
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > HEAD_BYTES || stream.read(&mut byte).await? == 0 {
            return Ok(None);
        }
        head.push(byte[0]);
    }
    Ok(Some(String::from_utf8_lossy(&head).into_owned()))
}

pub(crate) fn path_of(head: &str) -> &str {
    head.split(' ').nth(1).unwrap_or("/")
}

/// Answers as a site does on one connection until it ends, and honestly where it has no answer.
pub(crate) async fn be_site(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    site: &Site,
    seen: &Seen,
) -> io::Result<()> {
    while let Some(head) = read_head(stream).await? {
        let path = path_of(&head).to_owned();
        seen.request(head);
        let honest = || vec![Step::say(honest(&path).unwrap_or_default())];
        for step in site.answer(&path).unwrap_or_else(honest) {
            step.perform(stream, &seen.sent).await?;
        }
        stream.flush().await?;
    }
    Ok(())
}

/// Answers honestly on one connection until it ends, whatever is asked for.
pub(crate) async fn be_honest(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    seen: &Seen,
) -> io::Result<()> {
    while let Some(head) = read_head(stream).await? {
        let path = path_of(&head).to_owned();
        seen.request(head);
        let path = if path == "/robots.txt" {
            "/robots.txt"
        } else {
            "/next"
        };
        let answer = honest(path).unwrap_or_default();
        stream.write_all(answer.as_bytes()).await?;
        stream.flush().await?;
    }
    Ok(())
}
