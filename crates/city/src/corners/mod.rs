//! Every corner, by group of the catalogue.

mod body;
mod h2;
mod http;
mod pages;
mod redir;
mod tls;

use crate::corner::Corner;

/// Every corner of the city.
pub fn all() -> Vec<Corner> {
    [
        http::corners(),
        body::corners(),
        redir::corners(),
        h2::corners(),
        tls::corners(),
        pages::corners(),
    ]
    .concat()
}

/// The corners of one row.
pub fn corners_of(id: &str) -> Vec<Corner> {
    let group = match id.split_once('-').map_or("", |(group, _)| group) {
        "HTTP" => http::corners(),
        "BODY" => body::corners(),
        "REDIR" => redir::corners(),
        "H2" => h2::corners(),
        "TLS" => tls::corners(),
        "HTML" | "MAP" | "ROB" | "TRAP" => pages::corners(),
        _ => Vec::new(),
    };
    group.into_iter().filter(|corner| corner.id == id).collect()
}

/// One corner of one row.
///
/// # Panics
/// Where there is none: a test names a corner that was never built.
pub fn corner(id: &str, name: &str) -> Corner {
    let found = corners_of(id)
        .into_iter()
        .find(|corner| corner.name == name);
    found.unwrap_or_else(|| panic!("the city has no corner {id} {name}"))
}
