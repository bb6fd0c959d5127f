//! `tokens.toml` in the data directory: who may manage, with which role. Only hashes of tokens are kept.
//!
//! Its first line is a comment with the first 16 digits of the SHA-256 of the rest: a file that is damaged lets nobody in.
//! One without that line is valid, so that a person may change it by hand.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use data_encoding::{BASE32_NOPAD, HEXLOWER};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use teia_base::{Clock, SystemClock, Timestamp};

use crate::WebError;

/// How every token begins.
const MARK: &str = "teia_";
/// How the first line of the file begins.
const CHECK: &str = "# check ";
/// How its second one does, and the first before there was a check.
const HEAD: &str = "# Who may manage this directory. ";
/// Tokens that a directory may have.
const MOST: usize = 1_000;

/// What a token allows; each role allows what those before it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// To look at everything.
    Viewer,
    /// To start, pause, resume and stop runs, and to change a run under way.
    Operator,
    /// To change collections, tokens and removals.
    Admin,
}

impl Role {
    /// All of them, the least first.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Operator, Self::Admin];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }

    /// The role of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// A token, as it is kept: nobody can log in with this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// A short name that is never given twice.
    pub id: String,
    /// What a person calls it.
    pub name: String,
    /// What it allows.
    pub role: Role,
    /// When it was made.
    pub created: String,
    /// Until when it counts; without it, until it is removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// SHA-256 of the token, in hexadecimal.
    #[serde(rename = "sha256")]
    hash: String,
}

impl Token {
    fn counts(&self, now: Timestamp) -> bool {
        let Some(expires) = &self.expires else {
            return true;
        };
        // A moment that cannot be read is over.
        Timestamp::parse(expires).is_some_and(|moment| moment > now)
    }
}

/// A token that was just made. The secret is known to nobody else, and is not kept.
#[derive(Clone)]
pub struct NewToken {
    /// What is kept.
    pub token: Token,
    /// What its owner sends: `teia_…`.
    pub secret: String,
}

impl std::fmt::Debug for NewToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewToken")
            .field("token", &self.token)
            .field("secret", &"***")
            .finish()
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default)]
    token: Vec<Token>,
}

/// The tokens of a data directory. What another process changes is noticed at once.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    held: Mutex<Option<(Stamp, Arc<Vec<Token>>)>>,
}

/// What the file looks like: its number, its length, when it changed.
type Stamp = (u64, u64, i64, i64);

impl Tokens {
    /// Of this data directory.
    pub fn of(root: &Path) -> Self {
        Self {
            path: root.join("tokens.toml"),
            held: Mutex::default(),
        }
    }

    /// All of them, as they are now; none where there is no file.
    pub fn list(&self) -> Result<Arc<Vec<Token>>, WebError> {
        let known = match fs::metadata(&self.path) {
            Ok(known) => known,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arc::default()),
            Err(error) => return Err(self.failed("read")(error)),
        };
        if known.mode() & 0o077 != 0 {
            return Err(WebError::OpenTokens {
                path: self.path.clone(),
            });
        }
        let stamp = (known.ino(), known.len(), known.mtime(), known.mtime_nsec());
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((seen, tokens)) = &*held
            && *seen == stamp
        {
            return Ok(Arc::clone(tokens));
        }
        let bytes = fs::read(&self.path).map_err(self.failed("read"))?;
        let tokens = Arc::new(self.parse(bytes)?);
        *held = Some((stamp, Arc::clone(&tokens)));
        Ok(tokens)
    }

    fn parse(&self, bytes: Vec<u8>) -> Result<Vec<Token>, WebError> {
        let bad = |before: &[u8], what: &str| WebError::BadTokens {
            path: self.path.clone(),
            line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
            message: what.to_owned(),
        };
        let text = String::from_utf8(bytes).map_err(|error| {
            let end = error.utf8_error().valid_up_to();
            bad(&error.as_bytes()[..end], "it is no text")
        })?;
        let content: Content = toml::from_str(&text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start.min(text.len()));
            bad(&text.as_bytes()[..at], error.message())
        })?;
        // An empty file is none that was written, either.
        let has_something = !content.token.is_empty() || text.contains(HEAD);
        if is_as_written(&text) && has_something {
            Ok(content.token)
        } else {
            Err(WebError::DamagedTokens {
                path: self.path.clone(),
            })
        }
    }

    /// The token of which this is the secret, if it counts.
    pub(crate) fn find(&self, secret: &str) -> Result<Option<Token>, WebError> {
        if !secret.starts_with(MARK) || secret.len() > 128 {
            return Ok(None);
        }
        // Hashes are compared, and whoever cannot make one at will learns nothing from how long it takes.
        let hash = hash_of(secret);
        self.counting(|token| token.hash == hash)
    }

    /// The token with this id, if it counts.
    pub(crate) fn with_id(&self, id: &str) -> Result<Option<Token>, WebError> {
        self.counting(|token| token.id == id)
    }

    fn counting(&self, wanted: impl Fn(&Token) -> bool) -> Result<Option<Token>, WebError> {
        let now = SystemClock.wall();
        let tokens = self.list()?;
        let found = tokens.iter().find(|token| wanted(token));
        Ok(found.filter(|token| token.counts(now)).cloned())
    }

    /// Makes the first one, for an admin, where there is none yet.
    pub fn first(&self) -> Result<Option<NewToken>, WebError> {
        let _turn = self.turn()?;
        if self.path.exists() {
            return Ok(None);
        }
        self.put(&[], "admin", Role::Admin, None).map(Some)
    }

    /// Makes one more.
    pub fn add(
        &self,
        name: &str,
        role: Role,
        lasts: Option<Duration>,
    ) -> Result<NewToken, WebError> {
        let is_name = |text: &str| {
            let count = text.chars().count();
            (1..=64).contains(&count) && !text.chars().any(char::is_control)
        };
        if !is_name(name) {
            return Err(WebError::TokenName);
        }
        let _turn = self.turn()?;
        let tokens = self.list()?;
        if tokens.len() >= MOST {
            return Err(WebError::ManyTokens { most: MOST });
        }
        self.put(&tokens, name, role, lasts)
    }

    /// Removes one, by its id; says whether it was there.
    pub fn remove(&self, id: &str) -> Result<bool, WebError> {
        let _turn = self.turn()?;
        let tokens = self.list()?;
        let rest: Vec<Token> = tokens
            .iter()
            .filter(|token| token.id != id)
            .cloned()
            .collect();
        let was_there = rest.len() < tokens.len();
        if was_there {
            self.write(rest)?;
        }
        Ok(was_there)
    }

    fn put(
        &self,
        before: &[Token],
        name: &str,
        role: Role,
        lasts: Option<Duration>,
    ) -> Result<NewToken, WebError> {
        let text = |bytes: &[u8]| BASE32_NOPAD.encode(bytes).to_ascii_lowercase();
        let secret = format!("{MARK}{}", text(&rand::random::<[u8; 32]>()));
        let now = SystemClock.wall();
        let token = Token {
            id: text(&rand::random::<[u8; 5]>()),
            name: name.to_owned(),
            role,
            created: now.to_string(),
            expires: lasts.map(|lasts| now.plus(lasts).to_string()),
            hash: hash_of(&secret),
        };
        let mut all = before.to_vec();
        all.push(token.clone());
        self.write(all)?;
        Ok(NewToken { token, secret })
    }

    /// One writer at a time, also over processes.
    fn turn(&self) -> Result<File, WebError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let folder = File::open(folder).map_err(self.failed("write"))?;
        flock(&folder, FlockOperation::LockExclusive)
            .map_err(|error| self.failed("write")(error.into()))?;
        Ok(folder)
    }

    /// Whole or not at all, and for nobody else's eyes from the first byte on.
    fn write(&self, token: Vec<Token>) -> Result<(), WebError> {
        let content = Content { token };
        let text = toml::to_string(&content).expect("plain structs and strings become TOML");
        let text = format!(
            "{HEAD}`teia token new`, `list` and `remove` change it; tokens themselves are not kept, only what they hash to.\n\n{text}"
        );
        let text = format!("{CHECK}{}\n{text}", check_of(&text));
        let aside = self.path.with_extension("toml.new");
        let write = || {
            let _ = fs::remove_file(&aside);
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&aside)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&aside, &self.path)?;
            let folder = self.path.parent().unwrap_or(Path::new("."));
            File::open(folder)?.sync_all()
        };
        write().map_err(self.failed("write"))
    }

    fn failed(&self, attempt: &'static str) -> impl FnOnce(io::Error) -> WebError {
        let path = self.path.clone();
        move |source| WebError::Tokens {
            attempt,
            path,
            source,
        }
    }
}

/// Whether it is what its first line says, or has no such line.
fn is_as_written(text: &str) -> bool {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    match first.strip_prefix(CHECK) {
        Some(check) => check == check_of(rest),
        // Something else stands where the check stood.
        None => !rest.starts_with(HEAD),
    }
}

fn check_of(text: &str) -> String {
    let mut hash = hash_of(text);
    hash.truncate(16);
    hash
}

fn hash_of(secret: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(secret.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_found_by_its_secret_alone_and_only_its_hash_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::of(folder.path());
        assert!(tokens.list().unwrap().is_empty());
        let first = tokens.first().unwrap().unwrap();
        assert!(first.secret.starts_with("teia_") && first.secret.len() == 57);
        assert!(tokens.first().unwrap().is_none(), "it is made once");
        let second = tokens.add("dash board", Role::Viewer, None).unwrap();
        assert_ne!(first.secret, second.secret);
        let text = fs::read_to_string(folder.path().join("tokens.toml")).unwrap();
        for new in [&first, &second] {
            assert!(!text.contains(&new.secret[5..]), "{text}");
            assert!(!format!("{new:?}").contains(&new.secret[5..]));
            let found = tokens.find(&new.secret).unwrap().unwrap();
            assert_eq!(found, new.token);
        }
        for wrong in [
            "",
            "teia_",
            "teia_x",
            &first.token.hash,
            &first.secret[..56],
        ] {
            assert_eq!(tokens.find(wrong).unwrap(), None, "{wrong}");
        }
        assert!(tokens.remove(&second.token.id).unwrap());
        assert!(!tokens.remove(&second.token.id).unwrap());
        assert_eq!(tokens.find(&second.secret).unwrap(), None);
        // Another process, another view, the same file.
        let other = Tokens::of(folder.path());
        let third = other.add("x", Role::Operator, None).unwrap();
        assert!(tokens.find(&third.secret).unwrap().is_some());
    }

    #[test]
    fn a_file_that_is_damaged_anywhere_lets_nobody_in_and_one_without_a_check_is_valid() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        let new = Tokens::of(folder.path()).first().unwrap().unwrap();
        let good = fs::read(&path).unwrap();
        let found = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            Tokens::of(folder.path()).find(&new.secret)
        };
        assert!(found(&good).unwrap().is_some());
        for at in 0..good.len() {
            for bit in [0, 3, 5] {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                let told = found(&bad).unwrap_err().to_string();
                assert!(told.contains("tokens.toml"), "{at} {bit}: {told}");
            }
        }
        for end in 0..good.len() {
            assert!(found(&good[..end]).is_err(), "{end}");
        }
        let text = String::from_utf8(good).unwrap();
        let told = found(text.replace("role = ", "role : ").as_bytes());
        let told = told.unwrap_err().to_string();
        assert!(told.contains("line 7"), "{told}");
        let old = text.split_once('\n').unwrap().1;
        assert!(found(old.as_bytes()).unwrap().is_some());
    }

    #[test]
    fn the_file_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::of(folder.path());
        let new = tokens.first().unwrap().unwrap();
        let path = folder.path().join("tokens.toml");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = tokens.find(&new.secret).unwrap_err().to_string();
        assert!(error.contains("chmod 600"), "{error}");
    }

    #[test]
    fn a_token_whose_time_is_over_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::of(folder.path());
        let over = tokens
            .add("over", Role::Admin, Some(Duration::ZERO))
            .unwrap();
        assert_eq!(tokens.find(&over.secret).unwrap(), None);
        assert_eq!(tokens.with_id(&over.token.id).unwrap(), None);
        let day = Duration::from_secs(86_400);
        let good = tokens.add("good", Role::Admin, Some(day)).unwrap();
        assert!(tokens.find(&good.secret).unwrap().is_some());
        for name in ["", "a\nb", &"x".repeat(65)] {
            assert!(tokens.add(name, Role::Viewer, None).is_err(), "{name}");
        }
    }
}
