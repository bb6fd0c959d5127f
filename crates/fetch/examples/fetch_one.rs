//! Fetches one URL and says what became of it.
//!
//! `cargo run -p teia-fetch --example fetch_one [URL]`; without a URL it fetches a page from a
//! small server of its own.
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use teia_base::{Request, SystemClock};
use teia_fetch::{DecodeLimits, FetchConfig, Fetcher, HttpFetcher, decode};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = match std::env::args().nth(1) {
        Some(url) => url,
        None => own_page()?,
    };
    let request = Request::get(url.parse()?);
    let fetcher = HttpFetcher::new(FetchConfig::default(), Arc::new(SystemClock))?;
    // A private address given by hand is allowed, with its port, and no other.
    if let (Some(host), Some(port)) = (request.url.host_str(), request.url.port_or_known_default())
    {
        fetcher.allow_host(host, port);
    }
    let exchange = fetcher.fetch(request).await;
    println!(
        "{} {}",
        exchange.outcome,
        exchange.detail.as_deref().unwrap_or_default()
    );
    println!(
        "{:?} from {:?}, {:?}",
        exchange.protocol, exchange.remote, exchange.times
    );
    if let Some(response) = &exchange.response {
        let decoded = decode(response, &DecodeLimits::default());
        println!("{}", String::from_utf8_lossy(response.head.as_bytes()));
        println!(
            "{} bytes on the wire, {} decoded",
            exchange.wire_bytes(),
            decoded.bytes.len()
        );
    }
    Ok(())
}

/// Serves one page once.
fn own_page() -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/", listener.local_addr()?);
    std::thread::spawn(move || -> std::io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        let _ = stream.read(&mut [0; 4096])?;
        stream.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 12\r\n\r\n<p>Hello</p>",
        )
    });
    Ok(url)
}
