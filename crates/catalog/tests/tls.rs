//! A catalog in PostgreSQL over TLS: with a certificate that is good for whoever knows its authority, and for nobody
//! else.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says why"
)]

#[path = "support/postgres.rs"]
mod postgres;

use std::path::Path;

use postgres::Postgres;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use teia_catalog::{Catalog, CatalogError, Identity, Store, StoreUrl};

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn open(postgres: &Postgres, host: &str, query: &str) -> Result<Catalog, CatalogError> {
    let url = format!(
        "postgres://teia@{host}:{}/postgres?{query}",
        postgres.port()
    );
    let store = Store::Postgres(StoreUrl::parse(&url).unwrap());
    Catalog::open(&store, &Identity::new(1, "birds"))
}

fn trusting(mode: &str, file: &Path) -> String {
    format!("sslmode={mode}&sslrootcert={}", file.display())
}

#[test]
fn tls_is_used_and_a_certificate_that_is_not_good_is_refused_with_what_to_do() {
    let ours = authority("Our own authority");
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &ours).unwrap();
    let started = Postgres::start_with_tls(
        "a catalog over TLS",
        &certificate.pem(),
        &key.serialize_pem(),
    );
    let Some(postgres) = started else { return };
    let folder = tempfile::tempdir().unwrap();
    let [good, other, none] =
        ["good.pem", "other.pem", "none.pem"].map(|it| folder.path().join(it));
    std::fs::write(&good, ours.pem()).unwrap();
    std::fs::write(&other, authority("Somebody else").pem()).unwrap();
    std::fs::write(&none, "nothing").unwrap();
    for mode in ["require", "verify-ca", "verify-full"] {
        let catalog = open(&postgres, "localhost", &trusting(mode, &good)).unwrap();
        let (mut reader, _) = catalog.into_reader().unwrap();
        let question =
            "SELECT ssl, version FROM pg_catalog.pg_stat_ssl WHERE pid = pg_backend_pid()";
        let rows = reader.ask(question).unwrap();
        assert_eq!(rows[0][0].as_deref(), Some("t"), "{mode}: {rows:?}");
        assert!(rows[0][1].as_deref().unwrap().starts_with("TLSv1."));
    }
    for (host, query, words) in [
        // An authority that has signed something else, or is not known at all.
        (
            "localhost",
            trusting("verify-full", &other),
            "sslrootcert=FILE",
        ),
        ("localhost", trusting("require", &other), "nobody whom"),
        (
            "localhost",
            "sslmode=verify-full".to_owned(),
            "sslrootcert=FILE",
        ),
        // Not insisted on, and still not believed.
        ("localhost", "sslmode=prefer".to_owned(), "nobody whom"),
        // A name that does not stand in it.
        ("127.0.0.1", trusting("verify-full", &good), "another name"),
        (
            "localhost",
            trusting("verify-full", &none),
            "no certificate in it",
        ),
        (
            "localhost",
            trusting("verify-full", &folder.path().join("missing.pem")),
            "missing.pem",
        ),
    ] {
        let error = open(&postgres, host, &query).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(words), "{query}: {said}");
    }
    // Only who says so goes without.
    open(&postgres, "localhost", "sslmode=disable").unwrap();
}

#[test]
fn a_server_without_tls_is_refused_where_tls_is_asked_for() {
    let Some(postgres) = Postgres::start("a catalog that insists on TLS") else {
        return;
    };
    // By its socket there is none.
    let url = format!("{}&sslmode=verify-full", postgres.url());
    let store = Store::Postgres(StoreUrl::parse(&url).unwrap());
    let error = Catalog::open(&store, &Identity::new(1, "birds")).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("TLS"), "{error}: {cause}");
}
