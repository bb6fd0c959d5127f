//! The site of a host against the official cases of the public suffix list.

mod support;

use teia_base::Host;

#[test]
fn the_official_cases_hold() {
    let Some(cases) = support::shared("public-suffix/tests.txt") else {
        return;
    };
    let mut checked = 0;
    for line in cases
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with("//"))
    {
        let (input, expected) = line.split_once(' ').unwrap();
        // A leading dot is no host name; `null` is no input at all.
        let Some(host) = Host::parse(input).filter(|_| input != "null" && !input.starts_with('.'))
        else {
            assert_eq!(expected, "null", "{line}");
            continue;
        };
        // Where the list has no registrable domain, the host stands for itself.
        let expected = match expected {
            "null" => host.clone(),
            domain => Host::parse(domain).unwrap(),
        };
        assert_eq!(host.site(), expected.as_str(), "{line}");
        checked += 1;
    }
    assert!(checked > 60, "only {checked} cases were found");
    eprintln!("{checked} cases of the public suffix list hold");
}
