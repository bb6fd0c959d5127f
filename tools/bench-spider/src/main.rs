//! The web of tools/bench_crawl.py by the `spider` crate: `bench-spider SEED`.
//!
//! Follows every link to every host, heeds robots.txt, keeps nothing.

use spider::website::Website;

#[tokio::main]
async fn main() {
    let Some(seed) = std::env::args().nth(1) else {
        eprintln!("bench-spider SEED");
        std::process::exit(2);
    };
    let mut website = Website::new(&seed);
    website
        .with_respect_robots_txt(true)
        .with_delay(0)
        .with_depth(0)
        .with_user_agent(Some("bench-spider"))
        .with_external_domains(Some(std::iter::once("*".to_owned())));
    website.crawl().await;
    println!("{}", website.get_links().len());
}
