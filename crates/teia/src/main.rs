//! The single binary: `teia`.

mod command;
mod demo;
mod show;

use std::process::ExitCode;

/// The system's allocator keeps what a burst of pages took; this one gives it back.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    give_memory_back();
    command::main()
}

/// What is freed is given back at once. By default it is kept until somebody frees again much later: the peak
/// of a fold was 640 MiB instead of 290, for no less work.
#[expect(
    unsafe_code,
    reason = "the allocator has no other way to be told, and the environment is read before anything of ours runs"
)]
fn give_memory_back() {
    /// `mi_option_purge_delay`, which the bindings do not name; `use_numa_nodes`, which they do, is the next one.
    const PURGE_DELAY: libmimalloc_sys::mi_option_t = libmimalloc_sys::mi_option_use_numa_nodes - 1;
    // SAFETY: it stores a number, and may be called at any time from any thread.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) }
}
