//! SIGINT and SIGTERM: the first commits and ends, the second ends at once, without loss of what was
//! committed.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use teia_engine::Control;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// From here on signals steer the run. They are heard on a thread of their own: the run's own may be
/// busy for long, with the journal of earlier runs for one.
pub(crate) fn listen(control: Control) -> io::Result<Listening> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (interrupt, terminate) = {
        let _within = runtime.enter();
        (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
        )
    };
    let is_over: Arc<AtomicBool> = Arc::default();
    std::thread::Builder::new()
        .name("teia-signals".to_owned())
        .spawn({
            let is_over = Arc::clone(&is_over);
            move || runtime.block_on(obey(interrupt, terminate, &control, &is_over))
        })?;
    Ok(Listening { is_over })
}

/// Signals steer a run as long as this lives; what comes after a run hears them by itself.
#[derive(Debug)]
pub(crate) struct Listening {
    is_over: Arc<AtomicBool>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
    }
}

async fn obey(
    mut interrupt: Signal,
    mut terminate: Signal,
    control: &Control,
    is_over: &AtomicBool,
) {
    for count in 0.. {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        if count > 0 {
            std::process::exit(130);
        }
        if is_over.load(Ordering::Acquire) {
            continue;
        }
        eprintln!(
            "stopping: what is under way is finished and committed (once more to stop at once)"
        );
        control.interrupt();
    }
}
