//! Asks a running `testweb` for pages as fast as it can, and says how fast that was.
//!
//! ```text
//! testweb --literal --port 8901          in one terminal, then
//! cargo run --release -p teia-testweb --example load -- 8901 100000
//! ```
#![expect(clippy::print_stdout, reason = "an example speaks to its reader")]

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use teia_testweb::{Naming, Place, Web, WebConfig};

const CONNECTIONS: u32 = 32;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let port = arguments.next().unwrap_or_default().parse().unwrap_or(8901);
    let wanted: u32 = arguments
        .next()
        .unwrap_or_default()
        .parse()
        .unwrap_or(100_000);
    // The same description as the server's defaults, so that its URLs are known here.
    let web = Web::new(WebConfig::bench(200, 50_000), Naming::Literal { port });
    let mut connections = Vec::new();
    for host in 0..CONNECTIONS {
        connections.push((host, TcpStream::connect(web.host_name(host))?));
    }
    let (began, mut bytes, mut buffer) = (Instant::now(), 0, vec![0; 64 * 1024]);
    for round in 0..wanted / CONNECTIONS {
        // All connections are asked before any is read, so the server always has something to do.
        for (host, stream) in &mut connections {
            let url = web.url(*host, Place::Page(round % web.config().pages_per_host));
            let path = url.splitn(4, '/').last().unwrap_or_default();
            stream.write_all(format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())?;
        }
        for (_, stream) in &mut connections {
            bytes += receive(stream, &mut buffer)?;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{:.0} pages/s, {:.0} MB/s",
        f64::from(wanted) / seconds,
        bytes as f64 / seconds / 1e6
    );
    Ok(())
}

/// Reads one answer of known length.
fn receive(stream: &mut TcpStream, buffer: &mut [u8]) -> Result<usize, Box<dyn Error>> {
    let mut read = 0;
    loop {
        read += match stream.read(&mut buffer[read..])? {
            0 => return Err("the server closed the connection".into()),
            more => more,
        };
        let head = String::from_utf8_lossy(&buffer[..read.min(300)]);
        if let Some((head, _)) = head.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("Content-Length: "));
            if read >= head.len() + 4 + length.unwrap_or("0").parse::<usize>()? {
                return Ok(read);
            }
        }
    }
}
