//! A message: what it says, and how it is signed.

use serde_json::Value;
use sha2::{Digest, Sha256};
use teia_base::Timestamp;

/// Something that is told, the same to every receiver.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) event: &'static str,
    pub(super) run: u32,
    pub(super) at: Timestamp,
    /// The JSON that is sent, as it is sent.
    pub(super) body: String,
}

impl Message {
    /// With what every message has; `more` is what this one has besides.
    pub(super) fn new(
        (key, collection): (u64, &str),
        (event, run, number): (&'static str, u32, u64),
        at: Timestamp,
        mut more: Value,
    ) -> Self {
        let moment = at.to_rfc3339_micros();
        let name = format!("{key} {collection} {run} {event} {number} {moment}");
        let mut id = hex(&Sha256::digest(name));
        id.truncate(32);
        more["id"] = id.clone().into();
        more["type"] = event.into();
        more["time"] = moment.into();
        more["collection"] = collection.into();
        more["run"] = run.into();
        Self {
            id,
            event,
            run,
            at,
            body: more.to_string(),
        }
    }
}

/// What proves that a body comes from here, and when it was sent: `v1=` and the HMAC-SHA256 of `SECONDS.BODY`.
pub(super) fn signature(secret: &str, seconds: i64, body: &str) -> String {
    let signed = format!("{seconds}.{body}");
    format!("v1={}", hex(&hmac(secret.as_bytes(), signed.as_bytes())))
}

/// HMAC-SHA256 (RFC 2104).
fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; 64];
    if key.len() > block.len() {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new()
        .chain_update(block.map(|byte| byte ^ 0x36))
        .chain_update(message)
        .finalize();
    Sha256::new()
        .chain_update(block.map(|byte| byte ^ 0x5c))
        .chain_update(inner)
        .finalize()
        .into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_rfc_4231() {
        for (key, message, expected) in [
            (
                &[0x0b; 20][..],
                &b"Hi There"[..],
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                &b"Jefe"[..],
                &b"what do ya want for nothing?"[..],
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131][..],
                &b"Test Using Larger Than Block-Size Key - Hash Key First"[..],
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            assert_eq!(hex(&hmac(key, message)), expected);
        }
    }
}
