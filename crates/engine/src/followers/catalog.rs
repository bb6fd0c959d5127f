//! The catalog as a follower.

use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;

use teia_base::Files;
use teia_base::journal::{Entry, EntryStream};
use teia_catalog::{Catalog, CatalogError, Identity, Position, Store};
use teia_fetch::{OwnService, refuse_own};

use super::follow::{Documents, Follower, Trouble};
use crate::directory::Layout;

/// Keeps a collection's rows in step with its journal.
#[derive(Debug)]
pub(super) struct Cataloguer {
    files: Arc<dyn Files>,
    layout: Layout,
    identity: Identity,
    store: Store,
    catalog: Option<Catalog>,
    /// The database itself, which nothing that is collected leads this process to.
    own: Vec<OwnService>,
}

impl Cataloguer {
    pub(super) fn new(files: Arc<dyn Files>, layout: Layout, key: u64, store: Store) -> Self {
        Self {
            identity: Identity::new(key, layout.name()),
            files,
            layout,
            store,
            catalog: None,
            own: Vec::new(),
        }
    }

    /// Looked up again whenever the database is opened: it may have moved.
    fn refuse_own(&mut self) {
        let Store::Postgres(url) = &self.store else {
            return;
        };
        let hosts = url.hosts();
        let found = hosts
            .iter()
            .filter_map(|(host, port)| (host.as_str(), *port).to_socket_addrs().ok());
        let found: Vec<SocketAddr> = found.flatten().collect();
        if found.is_empty() {
            // A name server that is away opens no door.
            return;
        }
        let everywhere = |at: &SocketAddr| {
            if at.ip().is_loopback() {
                // It may listen at the other addresses of this machine, too.
                SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), at.port())
            } else {
                *at
            }
        };
        self.own = found.iter().map(everywhere).map(refuse_own).collect();
    }

    /// Takes what is there away: a file that cannot be read as a whole, else the collection's rows.
    fn wipe(&self) -> Result<(), Trouble> {
        match (Catalog::remove(&self.store, &self.identity), &self.store) {
            (Err(error), Store::Sqlite(path)) if error.is_damage() => {
                // Rows of other collections go too; each comes again with that one's next run.
                for suffix in ["", "-wal", "-shm"] {
                    let mut name = path.clone().into_os_string();
                    name.push(suffix);
                    remove(&PathBuf::from(name)).map_err(|error| Trouble::of(&error, false))?;
                }
                Ok(())
            }
            (removed, _) => Ok(removed?),
        }
    }

    /// That the catalog was written from this journal, and from no other of the same name: one that
    /// was removed and begun anew, or is older than what a backup brought back.
    fn check(&self, position: Position) -> Result<(), Trouble> {
        if position.entry == 0 {
            return Ok(());
        }
        let journal = self.layout.journal();
        let files = Arc::clone(&self.files);
        let mut entries = EntryStream::open(files, &journal, position.entry, position.entry)?;
        let is_ours = match entries.next() {
            Some(entry) => entry?.wall == position.at,
            // It is ahead, and told so by whoever knows where the journal ends.
            None => true,
        };
        if is_ours {
            return Ok(());
        }
        Err(Trouble {
            is_damage: true,
            text: format!(
                "its entry {} is not the one that the journal has",
                position.entry
            ),
        })
    }

    fn catalog(&mut self) -> Result<&mut Catalog, Trouble> {
        self.catalog.as_mut().ok_or_else(|| Trouble {
            is_damage: false,
            text: "it is not open".to_owned(),
        })
    }
}

impl From<CatalogError> for Trouble {
    fn from(error: CatalogError) -> Self {
        Self::of(&error, error.is_damage())
    }
}

impl Follower for Cataloguer {
    const NAME: &'static str = "catalog";
    const SOURCE: &'static str = "journal";
    // A database elsewhere may be away for hours; when it is back, the journal has everything.
    const MOST_FAILURES: u32 = u32::MAX;

    fn open(&mut self, anew: bool) -> Result<u64, Trouble> {
        self.catalog = None;
        self.refuse_own();
        if anew {
            self.wipe()?;
        }
        let catalog = Catalog::open(&self.store, &self.identity)?;
        let position = catalog.position();
        self.check(position)?;
        self.catalog = Some(catalog);
        Ok(position.entry)
    }

    fn apply(&mut self, entry: &Entry, _documents: Documents<'_>) -> Result<(), Trouble> {
        Ok(self.catalog()?.apply(entry)?)
    }

    fn commit(&mut self, _position: u64) -> Result<(), Trouble> {
        Ok(self.catalog()?.commit()?)
    }
}

fn remove(path: &std::path::Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
