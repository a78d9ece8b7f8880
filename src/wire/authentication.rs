//! Whether a client is who it says: nothing is asked where the server trusts whoever reaches it (`keyspan.authentication = trust`), else that
//! he knows the password of a role that may log in, by SCRAM-SHA-256. Called between start-up and session.

use bytes::{Buf, Bytes};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::startup::Authentication;

use super::input::Input;
use super::message::violation;
use super::output::Output;
use super::startup::Startup;
use crate::session::Databases;
use crate::system::{SCRAM_SHA_256, ScramExchange, now_us};
use crate::{Error, Result};

/// The longest message of an exchange.
const MESSAGE_BYTES_MAX: usize = 16 << 10;

/// Errors: 28000 for a role that may not log in, 28P01, 08P01; the store's.
pub(super) async fn authenticate(
    input: &mut Input,
    output: &mut Output,
    databases: &Databases,
    startup: &Startup,
) -> Result<()> {
    let role = databases.role(&startup.user).await?;
    if role.as_ref().is_some_and(|role| !role.login) {
        return Err(Error::InvalidAuthorization {
            message: format!("role \"{}\" is not permitted to log in", startup.user),
        });
    }
    if !databases.asks_for_passwords() {
        return Ok(());
    }
    let is_valid = |until: Option<i64>| until.is_none_or(|until| now_us() < until);
    let role = role.filter(|role| is_valid(role.valid_until));
    let verifier = role.as_ref().and_then(|role| role.password.as_deref());
    let known = exchange(input, output, &startup.user, verifier).await?;
    match known {
        true => Ok(()),
        false => Err(Error::InvalidPassword {
            user: startup.user.clone(),
        }),
    }
}

/// Whether the client knows the password of this verifier. Errors: 08P01.
async fn exchange(
    input: &mut Input,
    output: &mut Output,
    user: &str,
    verifier: Option<&str>,
) -> Result<bool> {
    let mechanisms = vec![SCRAM_SHA_256.to_string()];
    tell(output, Authentication::SASL(mechanisms)).await?;
    let first = first_message(next_message(input).await?)?;
    let Some((answer, exchange)) = ScramExchange::begin(user, verifier, &first) else {
        return Err(violation("malformed SCRAM message"));
    };
    tell(output, Authentication::SASLContinue(answer.into())).await?;
    let last = next_message(input).await?;
    match exchange.end(&last) {
        Some(answer) => {
            tell(output, Authentication::SASLFinal(answer.into())).await?;
            Ok(true)
        }
        None => Ok(false),
    }
}

async fn tell(output: &mut Output, message: Authentication) -> Result<()> {
    output.message(&PgWireBackendMessage::Authentication(message))?;
    output.drain().await
}

/// What the client answers. Errors: 08P01 for another message; the client may be gone.
async fn next_message(input: &mut Input) -> Result<Bytes> {
    match input.frame(MESSAGE_BYTES_MAX).await? {
        Some(frame) if frame.kind == b'p' => Ok(frame.body),
        Some(_) => Err(violation("expected SASL response")),
        None => Err(Error::ClientGone),
    }
}

/// The data of SASLInitialResponse: behind the mechanism's name and the length. Errors: 08P01.
fn first_message(mut body: Bytes) -> Result<Bytes> {
    let malformed = || violation("malformed SASL message");
    let end = body.iter().position(|byte| *byte == 0).ok_or_else(malformed)?;
    let name = body.split_to(end);
    body.advance(1);
    if *name != *SCRAM_SHA_256.as_bytes() {
        return Err(violation(
            "client selected an invalid SASL authentication mechanism",
        ));
    }
    if body.remaining() < 4 {
        return Err(malformed());
    }
    let length = body.get_i32();
    match usize::try_from(length) == Ok(body.remaining()) {
        true => Ok(body),
        false => Err(malformed()),
    }
}
