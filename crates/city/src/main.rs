//! `city`: opens every corner of the hostile city on loopback, says where, and waits.

use std::io::Write;

use anyhow::Result;
use teia_city::{Authority, Data, Door, NameServer, Question, Record, Reply, all};

#[tokio::main]
async fn main() -> Result<()> {
    let authority = Authority::new()?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "authority {}", authority.path().display())?;
    let names = NameServer::start(loopback).await?;
    writeln!(
        out,
        "name server {} (every name leads to this machine)",
        names.address()
    )?;
    for corner in all() {
        let door = Door::open(&corner, &authority).await?;
        writeln!(out, "{} {} {}", corner.id, corner.name, door.url("/"))?;
    }
    writeln!(out, "Ctrl-C closes the city.")?;
    out.flush()?;
    tokio::signal::ctrl_c().await?;
    Ok(())
}

fn loopback(question: &Question) -> Reply {
    let here = Data::A([127, 0, 0, 1].into());
    let records = question
        .is_a()
        .then(|| Record::new(&question.name, 60, here));
    Reply::Records(records.into_iter().collect())
}
