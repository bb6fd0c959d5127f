//! The links of a file, as Teia finds them: `links FILE BASE-URL`.

#![expect(clippy::print_stdout, reason = "that is what it is for")]

use teia_extract::{Extractors, Source};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(base)) = (arguments.next(), arguments.next()) else {
        // Without arguments it shows a small page, so that it can be tried at once.
        let url = "https://example.org/".parse()?;
        let page =
            Extractors::default().extract(&Source::new(&url, b"<p>See <a href=birds>birds</a>."));
        println!("{page:#?}");
        return Ok(());
    };
    let body = std::fs::read(file)?;
    let url = base.parse()?;
    let page = Extractors::default().extract(&Source::new(&url, &body));
    println!("title    {}", page.title);
    println!("charset  {}", page.charset.unwrap_or("none"));
    println!("text     {} bytes", page.text.len());
    for link in &page.links {
        println!("{:9}  {}  {}", link.kind.name(), link.url, link.anchor);
    }
    Ok(())
}
