//! Ports that belong to other services, which a web page must not make us talk to.

/// The bad ports of the Fetch standard (<https://fetch.spec.whatwg.org/#port-blocking>), sorted.
const BAD: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

/// Whether browsers refuse to fetch from this port.
pub(crate) fn is_bad(port: u16) -> bool {
    BAD.binary_search(&port).is_ok()
}

/// Whether this is a port of the system that is not one of the web: only a person may name it, for one host.
pub(crate) fn is_reserved(port: u16) -> bool {
    port < 1024 && !matches!(port, 80 | 443)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_leaves_the_web_alone() {
        assert!(BAD.is_sorted());
        assert!(is_bad(25) && is_bad(6667) && is_bad(10080));
        assert!(
            ![80, 81, 443, 3128, 8000, 8080, 8443]
                .into_iter()
                .any(is_bad)
        );
        assert!([1, 81, 444, 873, 902, 1023].into_iter().all(is_reserved));
        assert!(![80, 443, 1024, 8000].into_iter().any(is_reserved));
    }
}
