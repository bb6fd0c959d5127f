//! What the library of the index makes of damaged files.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};

use crate::SearchError;

/// Reads the index. Its library looks at no check sums when it opens a file, and a wrong number in one may make it panic:
/// that says of the index what an error would, and of the program nothing.
pub(crate) fn guarded<T>(read: impl FnOnce() -> Result<T, SearchError>) -> Result<T, SearchError> {
    let outer = IS_READING.replace(true);
    let read = catch_unwind(AssertUnwindSafe(read));
    IS_READING.set(outer);
    read.unwrap_or_else(|panic| {
        let told = text_of(&*panic).unwrap_or("it did not say why");
        Err(SearchError::Damaged(told.to_owned()))
    })
}

thread_local! {
    static IS_READING: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic says only that an index is damaged: it comes from the library of the index, or from what reads one, and is told as an
/// error by whoever asked, or on a thread of the library.
pub fn is_of_index(panic: &PanicHookInfo<'_>) -> bool {
    let is_of_library = |file: &str| {
        ["/tantivy-", "/ownedbytes-"]
            .iter()
            .any(|library| file.contains(library))
    };
    IS_READING.get() || panic.location().is_some_and(|at| is_of_library(at.file()))
}

fn text_of(panic: &(dyn Any + Send)) -> Option<&str> {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_damage_and_says_what_it_said() {
        let read: Result<(), SearchError> = guarded(|| panic!("range end index 7"));
        let error = read.unwrap_err();
        assert!(error.is_damage() && error.to_string().contains("range end index 7"));
        assert_eq!(guarded(|| Ok(1)).unwrap(), 1);
    }
}
