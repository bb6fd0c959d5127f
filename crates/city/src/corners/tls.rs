//! TLS.

use crate::certificates::Blemish;
use crate::corner::{Corner, Trick};
use crate::step::Step;
use crate::tls::TlsTrick;

/// The corners of this group.
pub(super) fn corners() -> Vec<Corner> {
    let corner = |id, name, trick| Corner {
        id,
        name,
        trick: Trick::Tls(trick, 1),
    };
    let shows = |id, name, blemish| corner(id, name, TlsTrick::Certificate(blemish));
    let bytes = |id, name, steps| corner(id, name, TlsTrick::Bytes(steps));
    let alert = |version: u8, code: u8| Step::Say(vec![21, 3, version, 0, 2, 2, code]);
    // A hello of TLS 1.0 that chooses RC4; SSLv3 differs in its version only.
    let hello = |version: u8| {
        let mut hello = vec![22, 3, version, 0, 42, 2, 0, 0, 38, 3, version];
        hello.extend([7; 32]);
        hello.extend([0, 0, 5, 0]);
        vec![Step::Say(hello), Step::silence()]
    };
    vec![
        shows("TLS-01", "expired", Blemish::Expired),
        shows("TLS-01", "not-yet", Blemish::NotYetValid),
        shows("TLS-02", "other", Blemish::OtherName),
        shows("TLS-02", "subject", Blemish::NameInSubjectOnly),
        shows("TLS-02", "wildcard", Blemish::DeepWildcard),
        shows("TLS-03", "self-signed", Blemish::SelfSigned),
        shows("TLS-03", "unknown", Blemish::UnknownAuthority),
        shows("TLS-03", "gap", Blemish::MissingIntermediate),
        bytes("TLS-04", "alert", vec![alert(1, 70), Step::Close]),
        bytes("TLS-04", "tls10", hello(1)),
        bytes("TLS-04", "tls11", hello(2)),
        bytes("TLS-04", "ssl3", hello(0)),
        corner("TLS-05", "requires", TlsTrick::RequiresName),
        bytes("TLS-05", "rejects", vec![alert(3, 112), Step::Close]),
        bytes("TLS-06", "silent", vec![Step::silence()]),
        bytes(
            "TLS-06",
            "half",
            vec![
                Step::Say(vec![22, 3, 3, 0, 200, 2, 0, 0, 196]),
                Step::silence(),
            ],
        ),
        shows("TLS-07", "long-chain", Blemish::LongChain),
        bytes("TLS-07", "ten-mebibytes", large_certificate()),
        shows("TLS-08", "maze", Blemish::Maze),
        shows("TLS-08", "constraint", Blemish::NameConstraint),
        corner("TLS-09", "staple", TlsTrick::BadStaple),
        bytes(
            "TLS-10",
            "alerts",
            vec![Step::Endless([21, 3, 3, 0, 2, 1, 90].repeat(100))],
        ),
        bytes(
            "TLS-10",
            "empty",
            vec![Step::Endless([22, 3, 3, 0, 0].repeat(100))],
        ),
        bytes(
            "TLS-10",
            "ccs",
            vec![Step::Endless([20, 3, 3, 0, 1, 1].repeat(100))],
        ),
        bytes(
            "TLS-11",
            "plain",
            vec![
                Step::say("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
                Step::Close,
            ],
        ),
        corner("TLS-12", "asks", TlsTrick::AsksForCertificate),
        corner("TLS-12", "demands", TlsTrick::DemandsCertificate),
        corner("TLS-13", "ticket", TlsTrick::LargeTicket),
        Corner {
            id: "TLS-13",
            name: "early",
            trick: Trick::Tls(TlsTrick::EarlyData, 3),
        },
    ]
}

/// The hello of an honest server of TLS 1.2, then a message with certificates of 10 MiB.
fn large_certificate() -> Vec<Step> {
    const PIECE: u16 = 16 << 10;
    let record = |payload: &[u8]| {
        let len = u16::try_from(payload.len()).unwrap_or(PIECE).to_be_bytes();
        [&[22, 3, 3], &len[..], payload].concat()
    };
    let mut hello = vec![2, 0, 0, 38, 3, 3];
    hello.extend([7; 32]);
    // No session, ECDHE_RSA_WITH_AES_128_GCM_SHA256, no compression.
    hello.extend([0, 0xc0, 0x2f, 0]);
    let begins = [11, 0xa0, 0, 0, 0x9f, 0xff, 0xfd];
    vec![
        Step::Say(record(&hello)),
        Step::Say(record(&begins)),
        Step::Repeat(record(&vec![0; usize::from(PIECE)]), 640),
        Step::silence(),
    ]
}
