//! A PostgreSQL of a test's own: a cluster in a temporary directory, reached by a socket in it.
#![allow(dead_code, reason = "each test file uses its own part of the support")]

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A server; it is ended, and everything it wrote removed, when it is dropped.
#[derive(Debug)]
pub(crate) struct Postgres {
    folder: TempDir,
    programs: PathBuf,
    /// Whom it runs as: it refuses to run as root.
    user: Option<(u32, u32)>,
    server: Option<Child>,
    /// Where it listens besides its socket, with TLS.
    port: Option<u16>,
}

impl Postgres {
    /// A running server; `None`, and a line that says so, where PostgreSQL is not installed.
    pub(crate) fn start(what: &str) -> Option<Self> {
        let mut this = Self::prepare(what)?;
        this.run();
        Some(this)
    }

    /// The same on loopback, with TLS and this certificate and its key, in PEM.
    pub(crate) fn start_with_tls(what: &str, certificate: &str, key: &str) -> Option<Self> {
        let mut this = Self::prepare(what)?;
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            let path = this.data().join(name);
            std::fs::write(&path, text).unwrap();
            // It refuses a key that others may read.
            std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            if let Some((user, group)) = this.user {
                chown(&path, Some(user), Some(group)).unwrap();
            }
        }
        // It cannot ask for any port: one that is free now is free a moment later too, nearly always.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        this.port = Some(free.local_addr().unwrap().port());
        drop(free);
        this.run();
        Some(this)
    }

    /// Where it listens with TLS.
    pub(crate) fn port(&self) -> u16 {
        self.port.unwrap()
    }

    /// A cluster that does not run yet.
    fn prepare(what: &str) -> Option<Self> {
        let Some(programs) = programs() else {
            println!(
                "SKIPPED {what} with PostgreSQL: there is no initdb; `./dev setup` installs it"
            );
            return None;
        };
        let user = match rustix::process::geteuid().is_root() {
            true => match somebody() {
                Some(user) => Some(user),
                None => {
                    println!(
                        "SKIPPED {what} with PostgreSQL: it refuses root, and there is nobody else"
                    );
                    return None;
                }
            },
            false => None,
        };
        // Not below a home directory that others cannot enter, and short: it is part of a socket's name.
        let folder = tempfile::Builder::new()
            .prefix("pg")
            .tempdir_in("/tmp")
            .unwrap();
        if let Some((user, group)) = user {
            chown(folder.path(), Some(user), Some(group)).unwrap();
        }
        let this = Self {
            folder,
            programs,
            user,
            server: None,
            port: None,
        };
        let made = this
            .command("initdb")
            .args(["-U", "teia", "-A", "trust", "-E", "UTF8", "--no-sync", "-D"])
            .arg(this.data())
            .output()
            .unwrap();
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        Some(this)
    }

    /// The address of its one database.
    pub(crate) fn url(&self) -> String {
        format!(
            "postgres://teia@/postgres?host={}",
            self.folder.path().display()
        )
    }

    /// Where its socket lies.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts it, with what it has.
    pub(crate) fn run(&mut self) {
        let log = std::fs::File::create(self.folder.path().join("log")).unwrap();
        let mut command = self.command("postgres");
        command
            .arg("-D")
            .arg(self.data())
            .arg("-k")
            .arg(self.folder.path());
        for setting in ["fsync=off", "shared_buffers=16MB", "max_connections=20"] {
            command.args(["-c", setting]);
        }
        match self.port {
            Some(port) => {
                command.args(["-c", "listen_addresses=127.0.0.1", "-c", "ssl=on"]);
                command.args(["-p", &port.to_string()]);
            }
            None => {
                command.args(["-c", "listen_addresses="]);
            }
        }
        let server = command
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.server = Some(server);
        let until = Instant::now() + Duration::from_secs(60);
        while !self.is_ready() {
            assert!(Instant::now() < until, "{}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends it as a power cut would, from the view of its clients.
    pub(crate) fn cut(&mut self) {
        let Some(mut server) = self.server.take() else {
            return;
        };
        let id = Pid::from_raw(i32::try_from(server.id()).unwrap()).unwrap();
        // Its own "immediate": no connection is ended kindly, and nothing is written any more.
        let _ = kill_process(id, Signal::QUIT);
        let _ = server.wait();
    }

    fn is_ready(&self) -> bool {
        let mut command = self.command("pg_isready");
        command.arg("-q").arg("-h").arg(self.folder.path());
        if let Some(port) = self.port {
            command.args(["-p", &port.to_string()]);
        }
        command.status().unwrap().success()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command
            .current_dir(self.folder.path())
            .env("LC_ALL", "C.UTF-8");
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.cut();
    }
}

/// Where the programs are: Debian keeps them apart, by version.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let mut folders: Vec<PathBuf> = versions
        .flatten()
        .map(|version| version.path().join("bin"))
        .collect();
    folders.sort();
    folders.reverse();
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&path));
    let has_all = |folder: &&PathBuf| {
        let has = |name: &str| folder.join(name).exists();
        has("initdb") && has("postgres") && has("pg_isready")
    };
    folders.iter().find(has_all).cloned()
}

/// Somebody who is not root: number and group.
fn somebody() -> Option<(u32, u32)> {
    let users = std::fs::read_to_string(Path::new("/etc/passwd")).ok()?;
    ["postgres", "nobody"].iter().find_map(|name| {
        let line = users
            .lines()
            .find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        let user = fields.next()?.parse().ok()?;
        Some((user, fields.next()?.parse().ok()?))
    })
}
