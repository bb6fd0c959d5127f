//! Between a client and PostgreSQL: now and then a connection ends at a COMMIT, before the server has heard
//! of it, or when its answer is on its way back.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

/// The socket's name is PostgreSQL's own.
const SOCKET: &str = ".s.PGSQL.5432";

pub(crate) struct CutProxy {
    folder: TempDir,
    commits: Arc<AtomicUsize>,
}

impl CutProxy {
    /// In front of the server whose socket lies there.
    pub(crate) fn start(server: &Path) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("cut")
            .tempdir_in("/tmp")
            .unwrap();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let (server, commits) = (server.join(SOCKET), Arc::new(AtomicUsize::new(0)));
        let counter = Arc::clone(&commits);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (server, commits) = (server.clone(), Arc::clone(&counter));
                std::thread::spawn(move || converse(client, &server, &commits));
            }
        });
        Self { folder, commits }
    }

    pub(crate) fn url(&self) -> String {
        let folder: PathBuf = self.folder.path().to_owned();
        format!("postgres://teia@/postgres?host={}", folder.display())
    }

    /// Commits that were seen, those that were cut among them.
    pub(crate) fn commits(&self) -> usize {
        self.commits.load(Ordering::SeqCst)
    }
}

fn converse(mut client: UnixStream, server: &Path, commits: &AtomicUsize) {
    let Ok(mut server) = UnixStream::connect(server) else {
        return;
    };
    let (mut back, mut answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let cut = Arc::new(AtomicUsize::new(0));
    let is_cut = Arc::clone(&cut);
    let answering = std::thread::spawn(move || {
        let mut buffer = [0; 16 << 10];
        while let Ok(read @ 1..) = answers.read(&mut buffer) {
            // The answer to the commit: it has happened, and nobody hears of it.
            if is_cut.load(Ordering::SeqCst) == 1 || back.write_all(&buffer[..read]).is_err() {
                break;
            }
        }
        let _ = back.shutdown(std::net::Shutdown::Both);
    });
    let mut buffer = [0; 16 << 10];
    while let Ok(read @ 1..) = client.read(&mut buffer) {
        let says = &buffer[..read];
        if says.windows(6).any(|word| word == b"COMMIT") {
            match commits.fetch_add(1, Ordering::SeqCst) % 4 {
                1 => cut.store(1, Ordering::SeqCst),
                3 => break,
                _ => {}
            }
        }
        if server.write_all(says).is_err() {
            break;
        }
    }
    let _ = server.shutdown(std::net::Shutdown::Both);
    let _ = client.shutdown(std::net::Shutdown::Both);
    let _ = answering.join();
}
