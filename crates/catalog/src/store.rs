//! Where a catalog lies, and how its address is written without giving a password away.

use std::fmt;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use tokio_postgres::config::Host;

use crate::CatalogError;

/// The variable that holds the password of a catalog in PostgreSQL.
pub const PASSWORD_VARIABLE: &str = "TEIA_CATALOG_PASSWORD";

/// The setting that names authorities.
const ROOTS: &str = "sslrootcert=";

/// Where a catalog lies.
#[derive(Clone, Debug)]
pub enum Store {
    /// A file of SQLite.
    Sqlite(PathBuf),
    /// A database of PostgreSQL; its tables are in the schema `teia`.
    Postgres(StoreUrl),
}

impl Store {
    /// A file that nobody else sees, and that is gone when it is closed.
    pub fn temporary() -> Self {
        // SQLite's own way to say so.
        Self::Sqlite(PathBuf::new())
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) if path.as_os_str().is_empty() => write!(f, "a temporary file"),
            Self::Sqlite(path) => write!(f, "{}", path.display()),
            Self::Postgres(url) => write!(f, "{url}"),
        }
    }
}

/// The address of a database: `postgres://user@host/database`. A password in it lives in memory
/// only: [`StoreUrl::without_password`] is what may be written down, and what is printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoreUrl(String);

impl StoreUrl {
    /// Takes an address of PostgreSQL that can be one.
    pub fn parse(text: &str) -> Result<Self, CatalogError> {
        let url = Self(text.to_owned());
        url.config()?;
        Ok(url)
    }

    /// As given, password included.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it holds a password.
    pub fn has_password(&self) -> bool {
        self.without_password() != *self
    }

    /// The same address without its password.
    #[must_use]
    pub fn without_password(&self) -> Self {
        let Some((scheme, rest)) = self.0.split_once("://") else {
            // Whatever it is: nothing behind a word that names a password is repeated.
            let until = self.0.find("password").unwrap_or(self.0.len());
            return Self(self.0[..until].to_owned());
        };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let authority = match authority.rsplit_once('@') {
            Some((login, host)) => {
                let user = login.split(':').next().unwrap_or_default();
                format!("{user}@{host}")
            }
            None => authority.to_owned(),
        };
        let path = match path.split_once('?') {
            Some((path, query)) => {
                let kept: Vec<&str> = query
                    .split('&')
                    .filter(|part| !part.starts_with("password"))
                    .collect();
                match kept.as_slice() {
                    [] => path.to_owned(),
                    kept => format!("{path}?{}", kept.join("&")),
                }
            }
            None => path.to_owned(),
        };
        Self(format!("{scheme}://{authority}{path}"))
    }

    /// The hosts on which the database may be, by name or address, with the port of each.
    pub fn hosts(&self) -> Vec<(String, u16)> {
        let Ok(config) = self.config() else {
            return Vec::new();
        };
        let named = config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => Some(name.clone()),
            _ => None,
        });
        let ports = config.get_ports();
        // One port is for all of them.
        let port = |at: usize| ports.get(at).or(ports.first()).copied().unwrap_or(5432);
        let named = named.enumerate();
        let mut all: Vec<(String, u16)> = named
            .filter_map(|(at, name)| Some((name?, port(at))))
            .collect();
        let addresses = config.get_hostaddrs().iter().enumerate();
        all.extend(addresses.map(|(at, address)| (address.to_string(), port(at))));
        all
    }

    /// The file with the authorities that are trusted instead of the system's: `sslrootcert`, as other programs
    /// write it.
    pub(crate) fn authority(&self) -> Option<PathBuf> {
        let (_, query) = self.0.split_once('?')?;
        let written = query.split('&').find_map(|part| part.strip_prefix(ROOTS))?;
        let decoded = percent_decode_str(written).decode_utf8_lossy();
        (!decoded.is_empty()).then(|| PathBuf::from(decoded.into_owned()))
    }

    /// The address without what the client does not know. Certificates are checked whenever there is TLS, so the
    /// modes that ask for it only insist on TLS.
    fn for_client(&self) -> String {
        let Some((address, query)) = self.0.split_once('?') else {
            return self.0.clone();
        };
        let parts: Vec<&str> = query
            .split('&')
            .filter(|part| !part.starts_with(ROOTS))
            .map(|part| match part {
                "sslmode=verify-full" | "sslmode=verify-ca" => "sslmode=require",
                part => part,
            })
            .collect();
        match parts.as_slice() {
            [] => address.to_owned(),
            parts => format!("{address}?{}", parts.join("&")),
        }
    }

    /// What the client reads from it; a password that it lacks is taken from the environment.
    pub(crate) fn config(&self) -> Result<tokio_postgres::Config, CatalogError> {
        let wrong = |reason: String| CatalogError::Url {
            url: self.to_string(),
            reason,
        };
        if !self.0.starts_with("postgres://") && !self.0.starts_with("postgresql://") {
            return Err(wrong("it does not begin with postgres://".to_owned()));
        }
        let mut config: tokio_postgres::Config = self
            .for_client()
            .parse()
            .map_err(|error: tokio_postgres::Error| wrong(with_causes(&error)))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(wrong("it names no host".to_owned()));
        }
        if config.get_password().is_none()
            && let Ok(password) = std::env::var(PASSWORD_VARIABLE)
        {
            config.password(password);
        }
        Ok(config)
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.without_password().0)
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &str, written: &str) {
        let url = StoreUrl::parse(given).unwrap();
        assert_eq!(url.without_password().as_str(), written);
        assert_eq!(url.to_string(), written);
        assert_eq!(format!("{url:?}"), written);
        assert_eq!(url.has_password(), given != written);
    }

    #[test]
    fn a_password_is_never_written() {
        check("postgres://h/db", "postgres://h/db");
        check("postgres://ann@h:5433/db", "postgres://ann@h:5433/db");
        check("postgresql://ann:se%40cret@h/db", "postgresql://ann@h/db");
        check("postgres://ann:a@b@h/db", "postgres://ann@h/db");
        check(
            "postgres://ann:x@/db?host=/run/pg&port=1",
            "postgres://ann@/db?host=/run/pg&port=1",
        );
        check(
            "postgres://h/db?password=x&sslmode=require",
            "postgres://h/db?sslmode=require",
        );
        check("postgres://h/db?password=x", "postgres://h/db");
    }

    #[test]
    fn ways_to_check_certificates_are_understood() {
        for (query, mode, authority) in [
            ("sslmode=verify-full", "Require", None),
            ("sslmode=verify-ca&connect_timeout=3", "Require", None),
            (
                "sslrootcert=/etc/my%20ca.pem&sslmode=require",
                "Require",
                Some("/etc/my ca.pem"),
            ),
            ("sslrootcert=ca.pem", "Prefer", Some("ca.pem")),
            ("sslmode=disable", "Disable", None),
        ] {
            let url = StoreUrl::parse(&format!("postgres://h/db?{query}")).unwrap();
            let config = url.config().unwrap();
            assert_eq!(format!("{:?}", config.get_ssl_mode()), mode, "{query}");
            assert_eq!(url.authority(), authority.map(PathBuf::from), "{query}");
        }
        assert!(StoreUrl::parse("postgres://h/db?sslmode=verify").is_err());
    }

    #[test]
    fn where_the_database_is_can_be_told() {
        let check = |url: &str, expected: &[(&str, u16)]| {
            let hosts = StoreUrl::parse(url).unwrap().hosts();
            let hosts: Vec<_> = hosts.iter().map(|(host, port)| (&**host, *port)).collect();
            assert_eq!(hosts, expected, "{url}");
        };
        check("postgres://h/db", &[("h", 5432)]);
        check("postgres://h:1,i:2/db", &[("h", 1), ("i", 2)]);
        check("postgres:///db?host=/run/pg", &[]);
        check(
            "postgres://h:6/db?hostaddr=127.0.0.1",
            &[("h", 6), ("127.0.0.1", 6)],
        );
    }

    #[test]
    fn what_is_no_address_is_refused_and_its_password_not_repeated() {
        for (text, reason) in [
            ("mysql://ann:secret@h/db", "begin with postgres://"),
            ("postgres:///db", "no host"),
            ("host=h password=secret", "begin with postgres://"),
            ("postgres://ann:secret@h/db?no-such=1", "no-such"),
            ("postgres://ann:secret@h:x/db", "port"),
        ] {
            let error = StoreUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
