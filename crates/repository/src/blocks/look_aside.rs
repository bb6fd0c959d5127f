//! Looks at hosts with very many URLs, on a thread of their own: a look at ten million rows takes seconds, and
//! whoever asks has others to serve meanwhile. It comes back; until then nothing of that host is handed out, so
//! that the order stays what it is.
//!
//! ```text
//! window ──> nothing is chosen, and the host is large ──> planned ──> on the thread ──> kept aside ──> window
//! ```
//!
//! One look at a time: each takes some tens of megabytes.

use std::fmt;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::block::Disk;
use super::error::StoreError;
use super::key::host_hash;
use super::look::{Found, Plan};
use super::page::Unpacker;
use super::store::Store;
use super::window::{OwnedOrder, Part, Slot, WindowOrder};

/// A look that goes on beside everything else, or will.
#[derive(Debug)]
pub(crate) struct Aside {
    slot: Slot,
    /// It goes on behind what was chosen before, and that was given up meanwhile.
    is_outdated: bool,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Planned(Box<Job>),
    Running(JoinHandle<Looked>),
    Over,
}

type Looked = (Plan, Result<Found, StoreError>);

struct Job {
    host: String,
    plan: Plan,
    order: OwnedOrder,
    disk: Arc<Disk>,
    epochs: Vec<(u64, u32)>,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
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

impl Drop for Aside {
    fn drop(&mut self) {
        // Nothing is written after its owner is gone.
        if let Work::Running(running) = std::mem::replace(&mut self.work, Work::Over) {
            let _ = running.join();
        }
    }
}

impl Store {
    /// Whether URLs of a host are being chosen beside everything else: ask again in a moment.
    pub fn is_looking(&self, part: Part, host: &str) -> bool {
        let hash = host_hash(self.disk.config.key, host.as_bytes());
        self.looks_aside(Slot { hash, part })
    }

    pub(crate) fn looks_aside(&self, slot: Slot) -> bool {
        self.aside.iter().any(|aside| aside.slot == slot)
    }

    pub(crate) fn look_aside(&mut self, host: &str, plan: Plan, order: WindowOrder<'_>) {
        self.aside.push(Aside {
            slot: plan.slot,
            is_outdated: false,
            work: Work::Planned(Box::new(Job {
                host: host.to_owned(),
                plan,
                order: order.to_owned(),
                disk: Arc::clone(&self.disk),
                epochs: self.epochs.clone(),
            })),
        });
        self.begin_aside();
    }

    /// What was chosen of a host is given up: a look that goes on behind it would leave something out.
    pub(crate) fn outdate_aside(&mut self, slot: Slot) {
        for aside in &mut self.aside {
            aside.is_outdated |= aside.slot == slot;
        }
    }

    /// Takes in what was looked at meanwhile, and begins the next look.
    pub(crate) fn hear_asides(&mut self) -> Result<(), StoreError> {
        let is_over = |aside: &Aside| matches!(&aside.work, Work::Running(it) if it.is_finished());
        while let Some(at) = self.aside.iter().position(is_over) {
            let mut aside = self.aside.remove(at);
            let Work::Running(running) = std::mem::replace(&mut aside.work, Work::Over) else {
                continue;
            };
            // One that panicked is as if it had never begun.
            let Ok((plan, found)) = running.join() else {
                continue;
            };
            if aside.is_outdated && plan.goes_on() {
                if let Ok(mut found) = found {
                    found.remove(&self.disk);
                }
                continue;
            }
            self.finish_look(plan, found)?;
        }
        self.begin_aside();
        Ok(())
    }

    fn begin_aside(&mut self) {
        let is_running = |aside: &Aside| matches!(aside.work, Work::Running(_));
        if self.aside.iter().any(is_running) {
            return;
        }
        let Some(aside) = self.aside.first_mut() else {
            return;
        };
        if let Work::Planned(job) = std::mem::replace(&mut aside.work, Work::Over) {
            let thread = std::thread::Builder::new().name("teia-look".to_owned());
            match thread.spawn(move || job.run()) {
                Ok(running) => aside.work = Work::Running(running),
                // Without a thread it is planned anew when the host is asked for again.
                Err(_) => drop(self.aside.remove(0)),
            }
        }
    }
}
