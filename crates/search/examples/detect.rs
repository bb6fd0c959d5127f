//! The language of each line of standard input.
//!
//!     cargo run --release -p teia-search --example detect < lines.txt

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::io::{self, BufRead};

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let found = teia_search::detect(&line?);
        println!("{}\t{:.2}", found.language, found.confidence);
    }
    Ok(())
}
