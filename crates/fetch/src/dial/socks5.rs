//! SOCKS version 5 (RFC 1928), with user and password (RFC 1929); names are left to the proxy.

use std::net::IpAddr;

use teia_base::Outcome;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::proxy::broken;
use super::target::Target;
use crate::fault::Fault;

const VERSION: u8 = 5;
const NO_LOGIN: u8 = 0;
const PASSWORD: u8 = 2;

/// Asks for a connection to the target.
pub(super) async fn connect(
    stream: &mut TcpStream,
    target: &Target,
    login: Option<(&str, &str)>,
) -> Result<(), Fault> {
    let method = if login.is_some() { PASSWORD } else { NO_LOGIN };
    let chosen: [u8; 2] = ask(stream, &[VERSION, 1, method]).await?;
    match (chosen, login) {
        ([VERSION, NO_LOGIN], _) => {}
        ([VERSION, PASSWORD], Some((user, password))) => {
            let mut message = vec![1];
            push_short(&mut message, user)?;
            push_short(&mut message, password)?;
            let [_, status]: [u8; 2] = ask(stream, &message).await?;
            if status != 0 {
                return Err(failed("login refused"));
            }
        }
        _ => return Err(failed("no login method in common")),
    }
    let mut message = vec![VERSION, 1, 0];
    match target.literal {
        Some(IpAddr::V4(address)) => {
            message.push(1);
            message.extend(address.octets());
        }
        Some(IpAddr::V6(address)) => {
            message.push(4);
            message.extend(address.octets());
        }
        None => {
            message.push(3);
            push_short(&mut message, &target.host)?;
        }
    }
    message.extend(target.port.to_be_bytes());
    let [version, reply, _, kind]: [u8; 4] = ask(stream, &message).await?;
    if version != VERSION || reply != 0 {
        return Err(failed(&format!("reply {reply}")));
    }
    skip_bound_address(stream, kind).await
}

async fn skip_bound_address(stream: &mut TcpStream, kind: u8) -> Result<(), Fault> {
    let len = match kind {
        1 => 4,
        3 => usize::from(stream.read_u8().await.map_err(|error| broken(&error))?),
        4 => 16,
        _ => return Err(failed("unknown address type")),
    };
    let mut rest = [0; 255 + 2];
    stream
        .read_exact(&mut rest[..len + 2])
        .await
        .map_err(|error| broken(&error))?;
    Ok(())
}

async fn ask<const N: usize>(stream: &mut TcpStream, message: &[u8]) -> Result<[u8; N], Fault> {
    stream
        .write_all(message)
        .await
        .map_err(|error| broken(&error))?;
    let mut answer = [0; N];
    stream
        .read_exact(&mut answer)
        .await
        .map_err(|error| broken(&error))?;
    Ok(answer)
}

fn push_short(message: &mut Vec<u8>, text: &str) -> Result<(), Fault> {
    let len =
        u8::try_from(text.len()).map_err(|_| failed("name or login longer than 255 bytes"))?;
    message.push(len);
    message.extend_from_slice(text.as_bytes());
    Ok(())
}

fn failed(what: &str) -> Fault {
    Fault::new(Outcome::PROXY_FAILED, format!("socks: {what}"))
}
