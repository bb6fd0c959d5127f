//! The single binary: `teia`.

mod command;
mod demo;
mod show;

use std::process::ExitCode;

/// The system's allocator keeps what a burst of pages took; this one gives it back.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    command::main()
}
