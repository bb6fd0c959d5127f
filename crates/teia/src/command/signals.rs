//! SIGINT and SIGTERM: the first commits and ends, the second ends at once, without loss of what was
//! committed.

use std::io;

use teia_engine::Control;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// From here on signals steer the run. They are heard on a thread of their own: the run's own may be
/// busy for long, with the journal of earlier runs for one.
pub(crate) fn listen(control: Control) -> io::Result<()> {
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
    std::thread::Builder::new()
        .name("teia-signals".to_owned())
        .spawn(move || runtime.block_on(obey(interrupt, terminate, &control)))?;
    Ok(())
}

async fn obey(mut interrupt: Signal, mut terminate: Signal, control: &Control) {
    for count in 0.. {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        if count > 0 {
            std::process::exit(130);
        }
        eprintln!(
            "stopping: what is under way is finished and committed (once more to stop at once)"
        );
        control.interrupt();
    }
}
