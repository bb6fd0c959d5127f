//! The city's own name server, over UDP and TCP on one port.
//!
//! A message is a header of twelve bytes, the question, and records (RFC 1035, 4).

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

/// Longest answer over UDP; longer ones are cut and asked for again over TCP.
const UDP_BYTES: usize = 1232;
const HEADER: usize = 12;

const A: u16 = 1;
const CNAME: u16 = 5;
const AAAA: u16 = 28;
const SOA: u16 = 6;
/// NXDOMAIN.
const NO_SUCH_NAME: u8 = 3;

/// A question, and how it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The name in small letters, without final dot.
    pub name: String,
    /// 1 for A, 28 for AAAA, 5 for CNAME.
    pub kind: u16,
    /// Whether it came over TCP.
    pub tcp: bool,
}

impl Question {
    /// Asks for IPv4 addresses.
    pub fn is_a(&self) -> bool {
        self.kind == A
    }
}

/// What the server says to a question.
#[derive(Clone, Debug)]
pub enum Reply {
    /// These records, in order.
    Records(Vec<Record>),
    /// This error: 1 FORMERR, 2 SERVFAIL, 3 NXDOMAIN, 5 REFUSED.
    Error(u8),
    /// NXDOMAIN, to be believed for so many seconds.
    Missing(u32),
    /// Nothing at all.
    Silence,
    /// This reply, later.
    Late(Duration, Box<Self>),
    /// "There is more", whichever way it is asked.
    Cut,
    /// These bytes after the identifier, whatever they mean.
    Garbage(Vec<u8>),
}

/// One record.
#[derive(Clone, Debug)]
pub struct Record {
    /// Whose it is.
    pub name: String,
    /// Seconds that it holds.
    pub ttl: u32,
    /// What it says.
    pub data: Data,
}

/// What a record says.
#[derive(Clone, Debug)]
pub enum Data {
    /// An address.
    A(Ipv4Addr),
    /// An address.
    Aaaa(Ipv6Addr),
    /// Another name.
    Alias(String),
}

impl Record {
    /// A record.
    pub fn new(name: &str, ttl: u32, data: Data) -> Self {
        Self {
            name: name.to_owned(),
            ttl,
            data,
        }
    }
}

/// Decides what to say.
pub trait Zone: Send + Sync + 'static {
    /// The reply to one question.
    fn reply(&self, question: &Question) -> Reply;
}

impl<F: Fn(&Question) -> Reply + Send + Sync + 'static> Zone for F {
    fn reply(&self, question: &Question) -> Reply {
        self(question)
    }
}

/// A name server on loopback; it answers for as long as its runtime runs.
#[derive(Clone)]
pub struct NameServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Question>>>,
}

impl NameServer {
    /// Starts one.
    pub async fn start(zone: impl Zone) -> Result<Self> {
        let (udp, tcp) = pair().await?;
        let server = Self {
            address: tcp.local_addr()?,
            asked: Arc::default(),
        };
        let desk = Arc::new(Desk {
            zone: Box::new(zone),
            asked: Arc::clone(&server.asked),
        });
        tokio::spawn(serve_udp(Arc::new(udp), Arc::clone(&desk)));
        tokio::spawn(async move {
            while let Ok((stream, _)) = tcp.accept().await {
                tokio::spawn(serve_tcp(stream, Arc::clone(&desk)));
            }
        });
        Ok(server)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it was asked, in order.
    pub fn asked(&self) -> Vec<Question> {
        self.asked.lock().expect("no holder panics").clone()
    }
}

impl fmt::Debug for NameServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NameServer")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

struct Desk {
    zone: Box<dyn Zone>,
    asked: Arc<Mutex<Vec<Question>>>,
}

impl Desk {
    /// The answer to a message; none where nothing is to be said.
    async fn answer(&self, message: &[u8], tcp: bool) -> Option<Vec<u8>> {
        let (question, end) = read_question(message, tcp)?;
        let mut reply = self.zone.reply(&question);
        self.asked.lock().expect("no holder panics").push(question);
        while let Reply::Late(wait, later) = reply {
            tokio::time::sleep(wait).await;
            reply = *later;
        }
        write_answer(&message[..2], &message[HEADER..end], &reply, tcp)
    }
}

/// One port for both ways.
async fn pair() -> io::Result<(UdpSocket, TcpListener)> {
    loop {
        let tcp = TcpListener::bind("127.0.0.1:0").await?;
        // Another process may hold the same port for UDP.
        if let Ok(udp) = UdpSocket::bind(tcp.local_addr()?).await {
            return Ok((udp, tcp));
        }
    }
}

async fn serve_udp(socket: Arc<UdpSocket>, desk: Arc<Desk>) {
    let mut buffer = [0; 4096];
    while let Ok((len, from)) = socket.recv_from(&mut buffer).await {
        let (message, socket, desk) = (
            buffer[..len].to_vec(),
            Arc::clone(&socket),
            Arc::clone(&desk),
        );
        tokio::spawn(async move {
            if let Some(answer) = desk.answer(&message, false).await {
                let _ = socket.send_to(&answer, from).await;
            }
        });
    }
}

async fn serve_tcp(mut stream: TcpStream, desk: Arc<Desk>) {
    while let Ok(len) = stream.read_u16().await {
        let mut message = vec![0; usize::from(len)];
        if stream.read_exact(&mut message).await.is_err() {
            return;
        }
        let Some(answer) = desk.answer(&message, true).await else {
            continue;
        };
        let Ok(len) = u16::try_from(answer.len()) else {
            return;
        };
        let whole = [len.to_be_bytes().to_vec(), answer].concat();
        if stream.write_all(&whole).await.is_err() {
            return;
        }
    }
}

/// The question, and where it ends.
fn read_question(message: &[u8], tcp: bool) -> Option<(Question, usize)> {
    let mut at = HEADER;
    let mut labels = Vec::new();
    loop {
        let len = usize::from(*message.get(at)?);
        at += 1;
        if len == 0 {
            break;
        }
        labels.push(String::from_utf8_lossy(message.get(at..at + len)?).to_ascii_lowercase());
        at += len;
    }
    let kind = u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?]);
    let question = Question {
        name: labels.join("."),
        kind,
        tcp,
    };
    (message.len() >= at + 4).then_some((question, at + 4))
}

fn write_answer(id: &[u8], question: &[u8], reply: &Reply, tcp: bool) -> Option<Vec<u8>> {
    let (mut code, mut cut, mut records) = (0, false, Vec::new());
    let (mut count, mut authorities) = (0_u16, 0_u16);
    match reply {
        Reply::Silence | Reply::Late(..) => return None,
        Reply::Garbage(bytes) => return Some([id, bytes].concat()),
        Reply::Error(error) => code = *error,
        Reply::Missing(ttl) => {
            (code, authorities) = (NO_SUCH_NAME, 1);
            records = write_authority(*ttl);
        }
        Reply::Cut => cut = true,
        Reply::Records(list) => {
            for record in list {
                records.extend(write_record(record));
                count += 1;
            }
        }
    }
    if !tcp && HEADER + question.len() + records.len() > UDP_BYTES {
        (cut, count, authorities) = (true, 0, 0);
        records.clear();
    }
    let mut answer = id.to_vec();
    answer.push(0x81 | if cut { 0x02 } else { 0 });
    answer.push(0x80 | code);
    answer.extend([0, 1]);
    answer.extend(count.to_be_bytes());
    answer.extend(authorities.to_be_bytes());
    answer.extend([0; 2]);
    answer.extend(question);
    answer.extend(records);
    Some(answer)
}

fn write_record(record: &Record) -> Vec<u8> {
    let (kind, data) = match &record.data {
        Data::A(address) => (A, address.octets().to_vec()),
        Data::Aaaa(address) => (AAAA, address.octets().to_vec()),
        Data::Alias(name) => (CNAME, write_name(name)),
    };
    let mut bytes = write_name(&record.name);
    bytes.extend(kind.to_be_bytes());
    bytes.extend(1_u16.to_be_bytes());
    bytes.extend(record.ttl.to_be_bytes());
    bytes.extend(u16::try_from(data.len()).unwrap_or(0).to_be_bytes());
    bytes.extend(data);
    bytes
}

/// Who speaks for the zone, and for how long its "there is none" holds (RFC 2308, 3).
fn write_authority(ttl: u32) -> Vec<u8> {
    let mut data = [write_name("ns.test"), write_name("host.test")].concat();
    for number in [1, 3600, 600, 86_400, ttl] {
        data.extend(number.to_be_bytes());
    }
    let mut bytes = write_name("test");
    bytes.extend(SOA.to_be_bytes());
    bytes.extend(1_u16.to_be_bytes());
    bytes.extend(ttl.to_be_bytes());
    bytes.extend(u16::try_from(data.len()).unwrap_or(0).to_be_bytes());
    bytes.extend(data);
    bytes
}

fn write_name(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in name.split('.').filter(|label| !label.is_empty()) {
        bytes.push(u8::try_from(label.len()).unwrap_or(0));
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    bytes
}
