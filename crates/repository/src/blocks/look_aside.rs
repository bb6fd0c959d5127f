//! Looks at hosts with very many URLs, on a thread of their own: a look at ten million rows takes seconds, and
//! whoever asks has others to serve meanwhile. It comes back; until then nothing of that host is handed out, so
//! that the order stays what it is.
//!
//! ```text
//! window ──> nothing is chosen, and the host is large ──> on the thread ──> kept aside ──> window
//!                                    └──> another one is looked at: ask again
//! ```
//!
//! One look at a time: each takes some tens of megabytes.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::block::Disk;
use super::error::StoreError;
use super::key::host_hash;
use super::look_plan::{Found, Plan};
use super::page::Unpacker;
use super::store::Store;
use super::window::{OwnedOrder, Part, Slot, WindowOrder};

/// A look that goes on beside everything else.
#[derive(Debug)]
pub(crate) struct Aside {
    slot: Slot,
    /// It goes on behind what was chosen before, and that was given up meanwhile.
    is_outdated: bool,
    /// Taken when it is over.
    running: Option<JoinHandle<Looked>>,
}

type Looked = (Plan, Result<Found, StoreError>);

struct Job {
    host: String,
    plan: Plan,
    order: OwnedOrder,
    disk: Arc<Disk>,
    epochs: Vec<(u64, u32)>,
}

impl Job {
    fn run(self) -> Looked {
        let order = self.order.as_order();
        let mut unpacker = Unpacker::default();
        let found = self.plan.run(
            &self.host,
            order,
            &self.disk,
            &self.epochs,
            None,
            &mut unpacker,
        );
        (self.plan, found)
    }
}

impl Aside {
    fn is_over(&self) -> bool {
        self.running.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // Nothing is written after its owner is gone.
        if let Some(running) = self.running.take() {
            let _ = running.join();
        }
    }
}

impl Store {
    /// Whether URLs of a host are being chosen beside everything else, or will be: ask again in a moment.
    pub fn is_looking(&self, part: Part, host: &str) -> bool {
        let hash = host_hash(self.disk.config.key, host.as_bytes());
        self.looks_aside(Slot { hash, part })
    }

    /// Whether a host has so many rows that it is looked at on a thread of its own.
    pub fn is_large(&self, rows: u64) -> bool {
        rows > self.disk.config.look_rows
    }

    pub(crate) fn looks_aside(&self, slot: Slot) -> bool {
        let running = self.aside.as_ref();
        running.is_some_and(|aside| aside.slot == slot) || self.put_off.contains(&slot)
    }

    /// Begins a look, unless another one is under way: then it is planned anew when the host is asked for again.
    pub(crate) fn look_aside(&mut self, host: &str, plan: Plan, order: WindowOrder<'_>) {
        let slot = plan.slot;
        if self.aside.is_some() {
            self.put_off.insert(slot);
            return;
        }
        let job = Job {
            host: host.to_owned(),
            plan,
            order: order.to_owned(),
            disk: Arc::clone(&self.disk),
            epochs: self.epochs.clone(),
        };
        let thread = std::thread::Builder::new().name("teia-look".to_owned());
        match thread.spawn(move || job.run()) {
            Ok(running) => {
                self.aside = Some(Aside {
                    slot,
                    is_outdated: false,
                    running: Some(running),
                });
            }
            Err(_) => {
                self.put_off.insert(slot);
            }
        }
    }

    /// What was chosen of a host is given up: a look that goes on behind it would leave something out.
    pub(crate) fn outdate_aside(&mut self, slot: Slot) {
        if let Some(aside) = self.aside.as_mut().filter(|aside| aside.slot == slot) {
            aside.is_outdated = true;
        }
    }

    /// Takes in what was looked at meanwhile; whoever asks for this host now is no longer put off.
    pub(crate) fn hear_aside(&mut self, asked: Slot) -> Result<(), StoreError> {
        self.put_off.remove(&asked);
        let Some(mut aside) = self.aside.take_if(|aside| aside.is_over()) else {
            return Ok(());
        };
        let looked = aside.running.take().map(JoinHandle::join);
        // One that panicked is as if it had never begun.
        let Some(Ok((plan, found))) = looked else {
            return Ok(());
        };
        if aside.is_outdated && plan.goes_on() {
            if let Ok(mut found) = found {
                found.remove(&self.disk);
            }
            return Ok(());
        }
        self.finish_look(plan, found)?;
        Ok(())
    }
}
