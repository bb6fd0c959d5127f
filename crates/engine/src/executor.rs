//! Who runs a crawl: this machine, or nobody, to see whether all is well.

use std::future::Future;
use std::pin::Pin;

use crate::EngineError;
use crate::control::Control;
use crate::crawl::Crawl;
use crate::report::{EndReason, Report};

/// Runs the ring: here, or across machines. Called once for each run.
///
/// [`ThisMachine`] is the usual one; [`DryRun`] checks everything and fetches nothing.
pub trait Executor: Send + Sync + 'static {
    /// Runs a crawl to its end.
    fn run(
        &self,
        crawl: Crawl,
    ) -> Pin<Box<dyn Future<Output = Result<Report, EngineError>> + Send>>;
}

/// The ring on this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThisMachine;

impl Executor for ThisMachine {
    fn run(
        &self,
        crawl: Crawl,
    ) -> Pin<Box<dyn Future<Output = Result<Report, EngineError>> + Send>> {
        Box::pin(crawl.run())
    }
}

/// Checks settings and seeds, opens everything, and fetches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct DryRun;

impl Executor for DryRun {
    fn run(
        &self,
        crawl: Crawl,
    ) -> Pin<Box<dyn Future<Output = Result<Report, EngineError>> + Send>> {
        Box::pin(async move {
            // As a signal ends a run, not as a person does: a pause that was left stays.
            crawl.control.interrupt();
            let (ring, inbox, crew) = crawl.start()?;
            let mut report = Box::pin(ring.run(inbox)).await?;
            // The followers are not interrupted: they take in what was committed before.
            crew.finish(EndReason::Stopped, Control::default()).await;
            report.reason = EndReason::Stopped;
            Ok(report)
        })
    }
}
