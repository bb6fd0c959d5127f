//! Redirects, cookies and logins.

use crate::corner::{Corner, Trick};
use crate::step::Step;

/// The corners of this group.
pub(super) fn corners() -> Vec<Corner> {
    let to = |location: &str| moved(&format!("Location: {location}\r\n"));
    let mut corners = vec![
        Corner::says("REDIR-01", "self", to("/")),
        Corner::says("REDIR-02", "pair", to("/trick-b")),
        Corner::http("REDIR-06", "plain", vec![Step::say(to("/next"))]),
        Corner::says("REDIR-08", "long", to(&format!("/{}", "x".repeat(100_000)))),
        Corner::says(
            "REDIR-08",
            "megabyte",
            to(&format!("/{}", "x".repeat(1 << 20))),
        ),
        Corner::says(
            "REDIR-14",
            "many",
            answer(
                &(0..400)
                    .map(|n| format!("Set-Cookie: c{n}={}; Path=/\r\n", "v".repeat(200)))
                    .collect::<String>(),
            ),
        ),
        Corner::says(
            "REDIR-14",
            "thousands",
            answer(
                &(0..10_000)
                    .map(|n| format!("Set-Cookie: c{n}=v; Path=/\r\n"))
                    .collect::<String>(),
            ),
        ),
        Corner::says(
            "REDIR-14",
            "large",
            answer(&format!(
                "Set-Cookie: large={}; Path=/\r\n",
                "v".repeat(100_000)
            )),
        ),
        Corner::says(
            "REDIR-15",
            "foreign",
            answer(
                "Set-Cookie: a=1; Domain=test\r\nSet-Cookie: b=1; Domain=city.test.\r\nSet-Cookie: c=1; Domain=elsewhere.test\r\nSet-Cookie: __Host-d=1; Path=/\r\nSet-Cookie: __Secure-e=1\r\nSet-Cookie: good=1; Path=/\r\n",
            ),
        ),
        Corner::says(
            "REDIR-16",
            "wall",
            moved("Location: /\r\nSet-Cookie: seen=1; Path=/\r\n"),
        ),
        Corner::says(
            "REDIR-18",
            "long",
            unauthorized(&format!(
                "WWW-Authenticate: Digest realm=\"{}\"\r\n",
                "r".repeat(100_000)
            )),
        ),
        Corner::says(
            "REDIR-18",
            "megabyte",
            unauthorized(&format!(
                "WWW-Authenticate: Digest realm=\"{}\"\r\n",
                "r".repeat(1 << 20)
            )),
        ),
        Corner::says(
            "REDIR-18",
            "malformed",
            unauthorized(
                "WWW-Authenticate: Digest realm=\"open, nonce=, =,,, qop==\"\\\r\nWWW-Authenticate: \r\n",
            ),
        ),
        Corner::says(
            "REDIR-19",
            "alternative",
            answer(
                "Strict-Transport-Security: max-age=99999999\r\nAlt-Svc: h3=\"127.0.0.1:1\", h2=\"127.0.0.1:1\"; ma=86400\r\n",
            ),
        ),
        Corner {
            id: "REDIR-11",
            name: "flip",
            trick: Trick::Http(vec![
                vec![Step::say(to("/next"))],
                vec![Step::say(to("/last"))],
            ]),
        },
    ];
    for (name, location) in [
        ("file", "file:///etc/passwd"),
        ("ftp", "ftp://ftp.test/"),
        ("smb", "smb://server/share"),
        ("data", "data:text/html,hello"),
        ("javascript", "javascript:alert(1)"),
        ("gopher", "gopher://gopher.test/"),
    ] {
        corners.push(Corner::says("REDIR-05", name, to(location)));
    }
    for (name, location) in [
        ("private", "http://10.0.0.1/"),
        ("loopback", "http://127.0.0.1:9/"),
        ("local", "http://localhost:1024/"),
        ("link-local", "http://169.254.1.1/"),
        ("metadata", "http://169.254.169.254/latest/meta-data/"),
        ("six", "http://[::ffff:10.0.0.1]/"),
    ] {
        corners.push(Corner::says("REDIR-04", name, to(location)));
    }
    for (name, fields) in [
        ("missing", ""),
        ("empty", "Location: \r\n"),
        ("two", "Location: /next\r\nLocation: /last\r\n"),
        ("controls", "Location: /ne\u{1}xt\r\n"),
        ("path", "Location: next\r\n"),
        ("query", "Location: ?query\r\n"),
        ("protocol", "Location: //elsewhere.test/path\r\n"),
        ("fragment", "Location: #top\r\n"),
        ("unreadable", "Location: http://[::1\r\n"),
    ] {
        corners.push(Corner::says("REDIR-07", name, moved(fields)));
    }
    for (name, refresh) in [
        ("zero", "0; url=/next"),
        ("negative", "-1; url=/next"),
        ("huge", "99999999999; url=/next"),
        ("no-url", "5"),
        ("quoted", "0; url='/next'"),
        ("unclosed", "0; url=\"/next"),
        ("soon", "30; url=/next"),
        ("late", "31; url=/next"),
    ] {
        corners.push(Corner::says(
            "REDIR-12",
            name,
            answer(&format!("Refresh: {refresh}\r\n")),
        ));
    }
    for (name, scheme) in [
        ("basic", "Basic realm=\"x\""),
        ("digest", "Digest realm=\"x\", nonce=\"y\", qop=\"auth\""),
        ("ntlm", "NTLM"),
        ("negotiate", "Negotiate"),
    ] {
        corners.push(Corner::says(
            "REDIR-17",
            name,
            unauthorized(&format!("WWW-Authenticate: {scheme}\r\n")),
        ));
    }
    corners
}

fn moved(fields: &str) -> String {
    format!("HTTP/1.1 302 Found\r\n{fields}Content-Length: 0\r\n\r\n")
}

fn unauthorized(fields: &str) -> String {
    format!("HTTP/1.1 401 Unauthorized\r\n{fields}Content-Length: 0\r\n\r\n")
}

fn answer(fields: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{fields}Content-Length: 5\r\n\r\nhello")
}
