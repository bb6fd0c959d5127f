//! Digest login (RFC 7616): proves that we know a password without saying it.

use data_encoding::HEXLOWER;
use md5::Md5;
use sha2::{Digest, Sha256};

use super::challenge::Challenge;

/// Longest text that a server may make us repeat.
const TEXT_BYTES: usize = 4 << 10;

/// How texts are hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hash {
    Md5,
    Sha256,
}

/// A challenge that we can answer, and the answers given to it so far.
///
/// Invariant: no count is used twice with one nonce.
#[derive(Clone)]
pub(super) struct Session {
    realm: String,
    nonce: String,
    opaque: Option<String>,
    /// The algorithm as the server spells it, if it names one.
    algorithm: Option<String>,
    hash: Hash,
    /// Whether the secret is bound to nonce and client nonce (`-sess`).
    bound: bool,
    /// Whether `qop=auth` is spoken; without it, as RFC 2069 had it.
    quality: bool,
    hidden_user: bool,
    client_nonce: String,
    count: u32,
}

impl Session {
    /// Takes up a challenge; `None` where it asks for what we cannot do.
    pub(super) fn open(challenge: &Challenge, client_nonce: [u8; 16]) -> Option<Self> {
        let text = |name| challenge.get(name).filter(|text| text.len() <= TEXT_BYTES);
        let algorithm = challenge.get("algorithm");
        let (hash, bound) = match algorithm.unwrap_or("md5").to_ascii_lowercase().as_str() {
            "md5" => (Hash::Md5, false),
            "md5-sess" => (Hash::Md5, true),
            "sha-256" => (Hash::Sha256, false),
            "sha-256-sess" => (Hash::Sha256, true),
            _ => return None,
        };
        let quality = match challenge.get("qop") {
            None => false,
            Some(list) => {
                let has_auth = |word: &str| word.trim().eq_ignore_ascii_case("auth");
                list.split(',').any(has_auth).then_some(true)?
            }
        };
        Some(Self {
            realm: text("realm")?.to_owned(),
            nonce: text("nonce")?.to_owned(),
            opaque: match challenge.get("opaque") {
                Some(_) => Some(text("opaque")?.to_owned()),
                None => None,
            },
            algorithm: algorithm.map(str::to_owned),
            hash,
            bound,
            quality,
            hidden_user: challenge
                .get("userhash")
                .is_some_and(|value| value.eq_ignore_ascii_case("true")),
            client_nonce: HEXLOWER.encode(&client_nonce),
            count: 0,
        })
    }

    /// Whether the stronger hash is asked for.
    pub(super) fn is_strong(&self) -> bool {
        self.hash == Hash::Sha256
    }

    /// The value of `Authorization` for the next `GET` of this path and query.
    pub(super) fn answer(&mut self, user: &str, password: &str, target: &str) -> String {
        self.count += 1;
        let count = format!("{:08x}", self.count);
        let hash = |text: &str| self.hash.of(text);
        let mut secret = hash(&format!("{user}:{}:{password}", self.realm));
        if self.bound {
            secret = hash(&format!("{secret}:{}:{}", self.nonce, self.client_nonce));
        }
        let request = hash(&format!("GET:{target}"));
        let response = if self.quality {
            hash(&format!(
                "{secret}:{}:{count}:{}:auth:{request}",
                self.nonce, self.client_nonce
            ))
        } else {
            hash(&format!("{secret}:{}:{request}", self.nonce))
        };
        let shown = if self.hidden_user {
            hash(&format!("{user}:{}", self.realm))
        } else {
            user.to_owned()
        };
        let mut value = format!(
            "Digest username={}, realm={}, nonce={}, uri={}, response=\"{response}\"",
            quoted(&shown),
            quoted(&self.realm),
            quoted(&self.nonce),
            quoted(target)
        );
        if let Some(algorithm) = &self.algorithm {
            value.push_str(&format!(", algorithm={algorithm}"));
        }
        if let Some(opaque) = &self.opaque {
            value.push_str(&format!(", opaque={}", quoted(opaque)));
        }
        if self.quality || self.bound {
            value.push_str(&format!(", cnonce=\"{}\"", self.client_nonce));
        }
        if self.quality {
            value.push_str(&format!(", qop=auth, nc={count}"));
        }
        if self.hidden_user {
            value.push_str(", userhash=true");
        }
        value
    }
}

impl Hash {
    fn of(self, text: &str) -> String {
        match self {
            Self::Md5 => HEXLOWER.encode(&Md5::digest(text.as_bytes())),
            Self::Sha256 => HEXLOWER.encode(&Sha256::digest(text.as_bytes())),
        }
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::super::challenge::challenges;
    use super::*;

    fn session(fields: &str) -> Option<Session> {
        let challenge = challenges(&[format!("Digest {fields}")]).pop()?;
        let mut session = Session::open(&challenge, [0; 16])?;
        session.client_nonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ".to_owned();
        Some(session)
    }

    const REALM: &str = r#"realm="http-auth@example.org", qop="auth, auth-int", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#;

    /// The example of RFC 7616, 3.9.1.
    #[test]
    fn the_example_of_the_standard_is_answered() {
        for (algorithm, response) in [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            (
                "SHA-256",
                "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
            ),
        ] {
            let mut session = session(&format!("{REALM}, algorithm={algorithm}")).unwrap();
            let value = session.answer("Mufasa", "Circle of Life", "/dir/index.html");
            assert!(
                value.contains(&format!("response=\"{response}\"")),
                "{value}"
            );
            assert!(value.contains("qop=auth, nc=00000001"));
            assert!(!value.contains("Circle"));
            let next = session.answer("Mufasa", "Circle of Life", "/dir/index.html");
            assert!(next.contains("nc=00000002") && !next.contains(response));
        }
    }

    /// The example of RFC 2617, 3.5, without quality as RFC 2069 had it, and bound to its session.
    #[test]
    fn older_forms_are_answered_too() {
        let nonce = r#"realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093""#;
        let answer = |fields: &str| {
            let mut session = session(fields).unwrap();
            session.client_nonce = "0a4f113b".to_owned();
            session.answer("Mufasa", "Circle Of Life", "/dir/index.html")
        };
        assert!(answer(&format!("{nonce}, qop=auth")).contains("6629fae49393a05397450978507c4ef1"));
        assert!(answer(nonce).contains("670fd8c2df070c60b045671b8b24ff02"));
        // Computed with two independent clients' formula: H(H(u:r:p):nonce:cnonce).
        let bound = answer(&format!("{nonce}, qop=auth, algorithm=MD5-sess"));
        let secret = Hash::Md5.of(&format!(
            "{}:dcd98b7102dd2f0e8b11d0f600bfb0c093:0a4f113b",
            Hash::Md5.of("Mufasa:testrealm@host.com:Circle Of Life")
        ));
        let response = Hash::Md5.of(&format!(
            "{secret}:dcd98b7102dd2f0e8b11d0f600bfb0c093:00000001:0a4f113b:auth:{}",
            Hash::Md5.of("GET:/dir/index.html")
        ));
        assert!(bound.contains(&response), "{bound}");
    }

    #[test]
    fn what_we_cannot_do_is_left_alone() {
        assert!(session(r#"realm=x, nonce=y, qop="auth-int""#).is_none());
        assert!(session("realm=x, nonce=y, algorithm=SHA-512-256").is_none());
        assert!(session("realm=x").is_none());
        assert!(session(&format!("realm=x, nonce={}", "y".repeat(5000))).is_none());
    }
}
