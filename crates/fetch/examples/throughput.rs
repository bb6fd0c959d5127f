//! Processor time for one page of 24 KB over kept-alive loopback connections.
//!
//! `cargo run --release -p teia-fetch --example throughput [pages] [connections]`
//!
//! The server is a child process, so that the time measured is the fetcher's alone.
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use teia_base::{Outcome, Request, SystemClock};
use teia_fetch::{FetchConfig, Fetcher, HttpFetcher};

const PAGE: usize = 24 << 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next();
    if first.as_deref() == Some("serve") {
        return serve();
    }
    let pages: u64 = first
        .map_or(Ok(40_000), |text| text.parse())?
        .min(1_000_000);
    let connections: u64 = arguments
        .next()
        .map_or(Ok(16), |text| text.parse())?
        .clamp(1, 512);
    let mut server = Command::new(std::env::current_exe()?)
        .arg("serve")
        .stdout(Stdio::piped())
        .spawn()?;
    let mut port = [0; 6];
    server
        .stdout
        .take()
        .ok_or("no output")?
        .read_exact(&mut port)?;
    let port: u16 = std::str::from_utf8(&port)?.trim().parse()?;
    let result = measure(port, pages, connections);
    server.kill()?;
    server.wait()?;
    result
}

fn measure(port: u16, pages: u64, connections: u64) -> Result<(), Box<dyn std::error::Error>> {
    let config = FetchConfig {
        allow_private: true,
        resolve: vec!["*.test=127.0.0.1".to_owned()],
        ..FetchConfig::default()
    };
    let fetcher = Arc::new(HttpFetcher::new(config, Arc::new(SystemClock))?);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let (began, cpu) = (Instant::now(), processor_time());
    let good = Arc::new(AtomicU64::new(0));
    runtime.block_on(async {
        let tasks: Vec<_> = (0..connections)
            .map(|n| {
                let (fetcher, good) = (Arc::clone(&fetcher), Arc::clone(&good));
                tokio::spawn(async move {
                    let url: url::Url = format!("http://h{n}.test:{port}/page")
                        .parse()
                        .expect("a URL");
                    for _ in 0..pages / connections {
                        let exchange = fetcher.fetch(Request::get(url.clone())).await;
                        if exchange.outcome == Outcome::http(200)
                            && exchange.wire_bytes() > PAGE as u64
                        {
                            good.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await?;
        }
        Ok::<_, tokio::task::JoinError>(())
    })?;
    let good = good.load(Ordering::Relaxed);
    let (wall, cpu) = (began.elapsed(), processor_time() - cpu);
    let each = |time: Duration| {
        time.as_secs_f64() * 1e6 / u32::try_from(good.max(1)).map_or(1.0, f64::from)
    };
    println!(
        "{good} pages of {PAGE} bytes, {:.1} µs of processor each, {:.1} µs of wall time each",
        each(cpu),
        each(wall)
    );
    Ok(())
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Answers every request on every connection with the same page, one thread each.
fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    println!("{:>5}", listener.local_addr()?.port());
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {PAGE}\r\n\r\n");
    let answer: Arc<Vec<u8>> = Arc::new([head.as_bytes(), &vec![b'x'; PAGE]].concat());
    for stream in listener.incoming() {
        let (mut stream, answer) = (stream?, Arc::clone(&answer));
        std::thread::spawn(move || {
            let mut request = [0; 4096];
            while stream.read(&mut request).is_ok_and(|len| len > 0)
                && stream.write_all(&answer).is_ok()
            {}
        });
    }
    Ok(())
}
