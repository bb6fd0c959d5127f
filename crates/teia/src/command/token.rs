//! `teia token …`: who may manage a data directory through `teia serve`.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Subcommand;
use serde_json::json;
use teia_base::measure::parse_duration;
use teia_engine::Directory;
use teia_web::{Role, Tokens, WebError};

use super::Usage;
use super::place::Place;
use crate::show::outln;

/// What can be done with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum Do {
    /// Make a token, and print it this once
    New {
        /// What to call it
        #[arg(value_name = "NAME")]
        name: String,
        /// What it allows: viewer (look), operator (and start, pause, stop), admin (and everything else)
        #[arg(long, value_name = "ROLE", default_value = "viewer", value_parser = parse_role)]
        role: Role,
        /// How long it counts; without it, until it is removed
        #[arg(long, value_name = "DUR", value_parser = parse_duration)]
        expires: Option<Duration>,
        /// As JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: Place,
    },
    /// The tokens there are; they themselves are not kept
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Take a token back, at once and with its sessions
    Remove {
        /// Its id, as `teia token list` shows it
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        place: Place,
    },
}

fn parse_role(text: &str) -> Result<Role, String> {
    Role::of_name(text)
        .ok_or_else(|| format!("there is no role `{text}`; write viewer, operator or admin"))
}

impl Do {
    /// Where it works.
    pub(crate) fn place(&self) -> Place {
        let (Self::New { place, .. } | Self::List { place, .. } | Self::Remove { place, .. }) =
            self;
        place.clone()
    }
}

/// Does it.
pub(crate) fn token(what: &Do) -> Result<ExitCode> {
    match what {
        Do::New {
            name,
            role,
            expires,
            json,
            place,
        } => {
            let directory = Directory::create(&place.data)?;
            let made = Tokens::of(directory.root()).add(name, *role, *expires);
            let made = made.map_err(|error| match error {
                WebError::TokenName => Usage(error.to_string()).into(),
                error => anyhow::Error::from(error),
            })?;
            if *json {
                let token = &made.token;
                outln!(
                    "{}",
                    json!({ "id": token.id, "name": token.name, "role": token.role, "expires": token.expires, "token": made.secret })
                )?;
            } else {
                outln!("{}", made.secret)?;
                eprintln!(
                    "This token ({}, {}) is shown this once. Log in with it, or send it with requests: Authorization: Bearer TOKEN",
                    made.token.id,
                    made.token.role.name()
                );
            }
        }
        Do::List { json, place } => {
            let directory = Directory::open(&place.data)?;
            let tokens = Tokens::of(directory.root()).list()?;
            if *json {
                let rows: Vec<_> = tokens
                    .iter()
                    .map(|token| json!({ "id": token.id, "name": token.name, "role": token.role, "created": token.created, "expires": token.expires }))
                    .collect();
                outln!("{}", json!({ "tokens": rows }))?;
            } else if tokens.is_empty() {
                outln!("There is no token yet; `teia serve` makes the first one.")?;
            }
            for token in tokens.iter().filter(|_| !*json) {
                let until = token.expires.as_deref();
                let until = until.map_or(String::new(), |until| format!(", until {until}"));
                let (id, role) = (&token.id, token.role.name());
                outln!(
                    "{id}  {role:<8}  {} (made {}{until})",
                    token.name,
                    token.created
                )?;
            }
        }
        Do::Remove { id, place } => {
            let directory = Directory::open(&place.data)?;
            if !Tokens::of(directory.root()).remove(id)? {
                let list = place.command(&["token", "list"]);
                return Err(Usage(format!(
                    "there is no token `{id}`; `{list}` shows their ids"
                ))
                .into());
            }
            outln!("The token {id} counts no more.")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
