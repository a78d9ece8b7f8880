//! SCRAM-SHA-256: what a password is kept as, and the exchange by which a client shows that it knows it. The mechanism is `pgwire`'s;
//! verifiers are written as PostgreSQL writes them, so that those of its dumps are taken as they are.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pgwire::api::auth::sasl::scram::{
    ScramSecret, ScramServerAuth, ScramServerAuthWaitingForClientFinal, gen_salted_password,
};
use sha2::{Digest, Sha256};

/// The mechanism's name.
pub const SCRAM_SHA_256: &str = "SCRAM-SHA-256";
/// How often a password is hashed: PostgreSQL's number.
const ITERATIONS: usize = 4096;
const SALT_BYTES: usize = 16;

/// What a password is kept as: `SCRAM-SHA-256$iterations:salt$stored:server`. One that is kept so already, or as `md5…`, is taken as it is.
pub fn scram_verifier(password: &str) -> String {
    if parse(password).is_some() || is_md5(password) {
        return password.to_string();
    }
    let salt: [u8; SALT_BYTES] = rand::random();
    let salted = gen_salted_password(password, &salt, ITERATIONS);
    write(&ScramSecret::verifier_from_salted_password(
        salt.to_vec(),
        salted,
        ITERATIONS,
    ))
}

fn is_md5(text: &str) -> bool {
    text.strip_prefix("md5")
        .is_some_and(|hash| hash.len() == 32 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn write(secret: &ScramSecret) -> String {
    match secret {
        ScramSecret::Verifier {
            salt,
            iterations,
            stored_key,
            server_key,
        } => {
            let [salt, stored, server] = [salt, stored_key, server_key].map(|bytes| STANDARD.encode(bytes));
            format!("{SCRAM_SHA_256}${iterations}:{salt}${stored}:{server}")
        }
        ScramSecret::SaltedPassword { .. } => String::new(),
    }
}

/// A verifier as it is kept.
fn parse(text: &str) -> Option<ScramSecret> {
    let rest = text.strip_prefix(SCRAM_SHA_256)?.strip_prefix('$')?;
    let (iterations, rest) = rest.split_once(':')?;
    let (salt, keys) = rest.split_once('$')?;
    let (stored, server) = keys.split_once(':')?;
    let [salt, stored_key, server_key] = [salt, stored, server].map(|text| STANDARD.decode(text).ok());
    Some(ScramSecret::Verifier {
        salt: salt?,
        iterations: iterations.parse().ok().filter(|count| *count > 0)?,
        stored_key: stored_key.filter(|key| key.len() == 32)?,
        server_key: server_key.filter(|key| key.len() == 32)?,
    })
}

/// What the salts are made of that nobody's password has.
static NOBODYS_SECRET: LazyLock<[u8; 32]> = LazyLock::new(rand::random);

/// The salt that is told for a name without a password: the same each time, as that of a role with one. Another after a start of the
/// server, which PostgreSQL keeps it over: nothing of it is on disk.
fn nobodys_salt(name: &str) -> Vec<u8> {
    let hash = Sha256::new()
        .chain_update(*NOBODYS_SECRET)
        .chain_update(name)
        .finalize();
    hash.iter().take(SALT_BYTES).copied().collect()
}

/// An exchange with a client.
#[derive(Debug)]
pub struct ScramExchange {
    waiting: ScramServerAuthWaitingForClientFinal,
    /// Whether there is a password to know: where there is none the exchange goes on, so that nobody learns who has one, and fails.
    may_succeed: bool,
}

impl ScramExchange {
    /// Answers the client's first message, for a role of this name with this verifier. `None`: the message is none of the mechanism's.
    pub fn begin(name: &str, verifier: Option<&str>, first: &[u8]) -> Option<(String, ScramExchange)> {
        let known = verifier.and_then(parse);
        let may_succeed = known.is_some();
        let secret = known.unwrap_or_else(|| {
            let salt = nobodys_salt(name);
            ScramSecret::verifier_from_salted_password(salt.clone(), salt, ITERATIONS)
        });
        let begun = ScramServerAuth::new().on_client_first_message_with_secret(first, secret);
        let (answer, waiting) = begun.ok()?;
        Some((answer, ScramExchange { waiting, may_succeed }))
    }

    /// Answers the client's last message; `None`: it does not know the password.
    pub fn end(self, last: &[u8]) -> Option<String> {
        let answer = self.waiting.on_client_final_message(last).ok()?;
        self.may_succeed.then_some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobodys_salt_stays_as_it_is() {
        let told = |name: &str| {
            let (answer, _) = ScramExchange::begin(name, None, b"n,,n=,r=nonce").unwrap();
            let salt = answer.split(',').find(|part| part.starts_with("s="));
            salt.unwrap().to_string()
        };
        assert_eq!(told("a"), told("a"));
        assert_ne!(told("a"), told("b"));
        assert_eq!(told("a").len(), 2 + 24, "16 bytes");
    }

    #[test]
    fn a_verifier_is_postgresqls_and_stays_as_it_is() {
        let verifier = scram_verifier("secret");
        assert!(verifier.starts_with("SCRAM-SHA-256$4096:"), "{verifier}");
        assert!(!verifier.contains("secret"));
        assert_ne!(verifier, scram_verifier("secret"), "each has a salt of its own");
        assert_eq!(scram_verifier(&verifier), verifier);
        let md5 = "md5a3556571e93b0d20722ba62be61e8c2d";
        assert_eq!(scram_verifier(md5), md5);
        // RFC 7677's example, as PostgreSQL keeps it.
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let salted = gen_salted_password("pencil", &salt, 4096);
        assert_eq!(
            write(&ScramSecret::verifier_from_salted_password(salt, salted, 4096)),
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
        );
        for damaged in [
            "SCRAM-SHA-256$0:AAAA$AAAA:AAAA",
            "SCRAM-SHA-256$4096:AAAA$AAAA:AAAA",
            "SCRAM-SHA-256$4096",
            "md5x",
        ] {
            assert_ne!(scram_verifier(damaged), damaged);
        }
    }
}
