//! Answers of HTTP/1, read by the real fetcher from a real socket: head, framing, chunks, trailers.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use teia_base::{Exchange, Request, SystemClock};
use teia_fetch::{FetchConfig, Fetcher as _, HttpFetcher};
use tokio::runtime::Runtime;

use super::{Target, hold, texts};

pub(super) const COOKIES: Target = Target {
    name: "cookies",
    words: &[
        "Set-Cookie: ",
        "; Domain=",
        "; Path=/",
        "; Path=/a/b",
        "; Secure",
        "; HttpOnly",
        "; Max-Age=0",
        "; Max-Age=99999999999999999999",
        "; Expires=Wed, 21 Oct 2065 07:28:00 GMT",
        "; SameSite=None",
        "__Host-a=1",
        "__Secure-a=1",
        "a=",
        "=b",
        "\"",
        "com",
        "127.0.0.1",
        "\r\n",
        ";;;",
    ],
    inputs_in_tests: 500,
    examples: || {
        texts(&[
            "Set-Cookie: a=1; Path=/\r\nSet-Cookie: b=\"2\"; Max-Age=100\r\n",
            "Set-Cookie: __Host-x=y; Secure; Path=/\r\nSet-Cookie: c=3; Domain=127.0.0.1\r\n",
        ])
    },
    read: |input| {
        let served = SERVED.as_ref().map_err(Clone::clone)?;
        let answer = [
            b"HTTP/1.1 200 OK\r\n".as_slice(),
            input,
            b"\r\nContent-Length: 0\r\n\r\n",
        ]
        .concat();
        for _ in 0..2 {
            served.fetch(&answer);
        }
        // Whatever it is told, it asks with a head of few lines, and little in it.
        let request = locked(&served.asked).clone();
        let text = String::from_utf8_lossy(&request);
        let cookies: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("Cookie"))
            .collect();
        hold(cookies.len() <= 1, || format!("{cookies:?}"))?;
        let len = cookies.first().map_or(0, |line| line.len());
        hold(len <= (8 << 10) + 8, || format!("{len} bytes of cookies"))?;
        hold(text.matches("\r\n\r\n").count() == 1, || text.to_string())?;
        hold(!text.replace("\r\n", "").contains(['\r', '\n']), || {
            text.to_string()
        })
    },
};

pub(super) const HTTP: Target = Target {
    name: "http",
    words: &[
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.0 ",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n",
        "\r\n",
        "\n",
        "\r",
        ":",
        " ",
        "\t",
        "Content-Length: 5\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Content-Length: 0\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: identity\r\n",
        "Connection: close\r\n",
        "Content-Type: text/html\r\n",
        "5\r\nhello\r\n",
        "0\r\n\r\n",
        "ffffffffffffffff\r\n",
        ";name=\"value\"",
        "Trailer: x\r\n",
        "\0",
    ],
    inputs_in_tests: 3_000,
    examples: || {
        texts(&[
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n006 \r\n world\r\n0\r\nTrailer: x\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.0 200\r\nX: folded\r\n  line\r\n\r\nuntil the end",
            "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n",
            "HTTP/1.1 301 Moved\r\nLocation: /elsewhere\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        ])
    },
    read: |input| {
        let served = SERVED.as_ref().map_err(Clone::clone)?;
        check(&served.fetch(input), input)
    },
};

/// One outcome, and nothing in it that was not sent.
fn check(exchange: &Exchange, sent: &[u8]) -> Result<(), String> {
    hold(!exchange.outcome.name().is_empty(), || {
        format!("{:?}", exchange.outcome)
    })?;
    hold(exchange.junk.len() <= sent.len(), || {
        format!("{} bytes of {}", exchange.junk.len(), sent.len())
    })?;
    let Some(response) = &exchange.response else {
        return Ok(());
    };
    let head = response.head.as_bytes();
    let whole = head.len() as u64 + response.body.len();
    hold(whole <= sent.len() as u64, || {
        format!("{whole} bytes of {} are the answer", sent.len())
    })?;
    let at = sent.windows(head.len()).any(|part| part == head.as_ref());
    hold(at, || format!("a head that nobody sent: {head:?}"))?;
    let mut before = 0;
    for range in response.payload().ranges() {
        let is_good = before <= range.start && range.start <= range.end;
        hold(is_good && range.end <= response.body.len(), || {
            format!("{range:?} of a body of {}", response.body.len())
        })?;
        before = range.end;
    }
    for (name, _) in response.head.fields() {
        hold(!name.is_empty(), || "a field without a name".to_owned())?;
    }
    Ok(())
}

/// A server that sends what it is told, and the fetcher that asks it.
struct Served {
    next: Arc<Mutex<Vec<u8>>>,
    /// The last request, as it came.
    asked: Arc<Mutex<Vec<u8>>>,
    address: SocketAddr,
    asking: Mutex<(Runtime, HttpFetcher)>,
}

static SERVED: LazyLock<Result<Served, String>> =
    LazyLock::new(|| Served::start().map_err(|error| format!("cannot serve: {error}")));

impl Served {
    fn start() -> Result<Self, Box<dyn std::error::Error>> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let next: Arc<Mutex<Vec<u8>>> = Arc::default();
        let told = Arc::clone(&next);
        let asked: Arc<Mutex<Vec<u8>>> = Arc::default();
        let heard = Arc::clone(&asked);
        std::thread::Builder::new()
            .name("fuzz-http".to_owned())
            .spawn(move || {
                for visitor in listener.incoming().flatten() {
                    let answer = locked(&told).clone();
                    // Whoever has heard enough goes away, and that is no failure.
                    if let Ok(request) = serve(visitor, &answer) {
                        *locked(&heard) = request;
                    }
                }
            })?;
        let config = FetchConfig {
            allowed: vec![(address.ip(), address.port())],
            // Each input is an answer of its own, on a connection of its own.
            max_idle_connections: 0,
            native_roots: false,
            cookies: true,
            ..FetchConfig::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let fetcher = {
            let _inside = runtime.enter();
            HttpFetcher::new(config, Arc::new(SystemClock))?
        };
        Ok(Self {
            next,
            asked,
            address,
            asking: Mutex::new((runtime, fetcher)),
        })
    }

    fn fetch(&self, input: &[u8]) -> Exchange {
        let asking = locked(&self.asking);
        *locked(&self.next) = input.to_vec();
        let url = format!("http://{}/", self.address);
        let url = url.parse().expect("an address makes a URL");
        asking.0.block_on(asking.1.fetch(Request::get(url)))
    }
}

fn serve(mut visitor: TcpStream, answer: &[u8]) -> std::io::Result<Vec<u8>> {
    // The request is read to its end: what is left unread would reset the connection under the answer.
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.ends_with(b"\r\n\r\n") {
        match visitor.read(&mut buffer)? {
            0 => return Ok(request),
            read => request.extend_from_slice(&buffer[..read]),
        }
    }
    visitor.write_all(answer)?;
    visitor.shutdown(Shutdown::Write)?;
    Ok(request)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
