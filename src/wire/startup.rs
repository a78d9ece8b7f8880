//! Start-up: requests for encryption (refused), cancel requests, the start-up packet and its answer.

use bytes::{Buf, Bytes};

use super::input::Input;
use super::message::violation;
use crate::error::utf8;
use crate::{Error, Result};

/// Longest start-up packet, as in PostgreSQL.
pub(super) const PACKET_BYTES_MAX: usize = 10_000;
/// Codes that stand where the protocol version would.
const CANCEL_REQUEST: u32 = 80_877_102;
const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
/// The newest minor version of protocol 3 that we speak.
const MINOR_MAX: u16 = 2;

/// What a new connection asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Encryption: the answer is the byte `N`, and then the client asks again.
    Encryption,
    /// To stop another session's statement.
    Cancel { process_id: i32, secret: Bytes },
    /// A session.
    Session(Startup),
}

/// A start-up packet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Startup {
    /// Minor version of protocol 3 that is spoken.
    pub(super) minor: u16,
    /// Something of the protocol was asked for that we do not have: NegotiateProtocolVersion must say what.
    pub(super) negotiate: bool,
    /// Options of the protocol that we do not have.
    pub(super) unknown_options: Vec<String>,
    pub(super) user: String,
    pub(super) database: String,
    /// Settings, those of `options` first.
    pub(super) settings: Vec<(String, String)>,
}

/// Reads one request; `None` when the client has closed the connection. Errors: 08P01, 0A000, 28000.
pub(super) async fn read_request(input: &mut Input) -> Result<Option<Request>> {
    let Some(packet) = input.startup_packet(PACKET_BYTES_MAX).await? else {
        return Ok(None);
    };
    decode(packet).map(Some)
}

/// Decodes the body of a packet, which has four bytes at least.
fn decode(mut packet: Bytes) -> Result<Request> {
    match packet.get_u32() {
        SSL_REQUEST | GSS_REQUEST => Ok(Request::Encryption),
        CANCEL_REQUEST if (8..=260).contains(&packet.len()) => Ok(Request::Cancel {
            process_id: packet.get_i32(),
            secret: packet,
        }),
        CANCEL_REQUEST => Err(violation("invalid length of cancel request packet")),
        version => decode_startup(version, &packet).map(Request::Session),
    }
}

fn decode_startup(version: u32, packet: &[u8]) -> Result<Startup> {
    let (major, minor) = ((version >> 16) as u16, version as u16);
    if major != 3 {
        let feature = format!("frontend protocol {major}.{minor}");
        let hint = Some(format!("The server supports 3.0 to 3.{MINOR_MAX}."));
        return Err(Error::FeatureNotSupported { feature, hint });
    }
    let mut startup = Startup {
        minor: minor.min(MINOR_MAX),
        negotiate: minor > MINOR_MAX,
        ..Startup::default()
    };
    let mut options = String::new();
    for (name, value) in pairs(packet)? {
        match name {
            "user" => startup.user = value.to_string(),
            "database" => startup.database = value.to_string(),
            "options" => options = value.to_string(),
            "replication" if matches!(value, "false" | "off" | "no" | "0") => {}
            "replication" => {
                return Err(Error::unsupported("replication", None));
            }
            name if name.starts_with("_pq_.") => {
                startup.negotiate = true;
                startup.unknown_options.push(name.to_string());
            }
            name => startup.settings.push((name.to_string(), value.to_string())),
        }
    }
    if startup.user.is_empty() {
        let message = "no PostgreSQL user name specified in startup packet".to_string();
        return Err(Error::InvalidAuthorization { message });
    }
    if startup.database.is_empty() {
        startup.database.clone_from(&startup.user);
    }
    startup.settings.splice(0..0, command_line_settings(&options)?);
    Ok(startup)
}

/// Names and values, each ended by a zero byte, and one zero byte at the end.
fn pairs(packet: &[u8]) -> Result<Vec<(&str, &str)>> {
    let terminator = || violation("invalid startup packet layout: expected terminator as last byte");
    let packet = packet.strip_suffix(b"\0").ok_or_else(terminator)?;
    if packet.is_empty() {
        return Ok(Vec::new());
    }
    let packet = packet.strip_suffix(b"\0").ok_or_else(terminator)?;
    let texts = packet
        .split(|byte| *byte == 0)
        .map(utf8::text)
        .collect::<Result<Vec<_>>>()?;
    if texts.len() % 2 != 0 || texts.chunks(2).any(|pair| pair[0].is_empty()) {
        return Err(terminator());
    }
    Ok(texts.chunks(2).map(|pair| (pair[0], pair[1])).collect())
}

/// Settings of a command line: `-c name=value`, `-cname=value`, `--name=value`. Errors: 42601.
fn command_line_settings(options: &str) -> Result<Vec<(String, String)>> {
    let mut settings = Vec::new();
    let mut words = split_words(options).into_iter();
    while let Some(word) = words.next() {
        let setting = if let Some(setting) = word.strip_prefix("--") {
            Some(setting.to_string())
        } else if word == "-c" {
            words.next()
        } else {
            word.strip_prefix("-c").map(str::to_string)
        };
        let invalid = || Error::Syntax {
            message: format!("invalid command-line argument for server process: {word}"),
            position: 0,
        };
        let setting = setting.ok_or_else(invalid)?;
        let (name, value) = setting.split_once('=').ok_or_else(invalid)?;
        settings.push((name.replace('-', "_"), value.to_string()));
    }
    Ok(settings)
}

/// Words between blanks; a backslash takes the next character as it stands.
fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => word.get_or_insert_default().extend(chars.next()),
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn startup(minor: u8, rest: &[u8]) -> Result<Request> {
        let mut packet = vec![0, 3, 0, minor];
        packet.extend_from_slice(rest);
        decode(packet.into())
    }

    fn session(minor: u8, rest: &[u8]) -> Startup {
        let Ok(Request::Session(startup)) = startup(minor, rest) else {
            unreachable!("a start-up packet");
        };
        startup
    }

    fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect()
    }

    #[test]
    fn settings_come_from_options_and_parameters() {
        let startup = session(
            0,
            b"user\0u\0options\0-c a.b=x\\ y --statement-timeout=5s\0DateStyle\0ISO\0\0",
        );
        assert_eq!((startup.user.as_str(), startup.database.as_str()), ("u", "u"));
        assert_eq!(
            startup.settings,
            owned(&[("a.b", "x y"), ("statement_timeout", "5s"), ("DateStyle", "ISO")])
        );
        assert!(!startup.negotiate);
    }

    #[test]
    fn versions_are_negotiated() {
        let newer = session(9, b"user\0u\0database\0d\0_pq_.x\0on\0\0");
        assert_eq!(
            (newer.minor, newer.negotiate, newer.unknown_options),
            (2, true, vec!["_pq_.x".to_string()])
        );
        let error = decode(Bytes::from_static(&[0, 2, 0, 0, 0])).unwrap_err();
        assert_eq!(
            (error.sqlstate(), error.to_string().as_str()),
            ("0A000", "frontend protocol 2.0 is not supported")
        );
    }

    #[test]
    fn bad_packets_are_errors() {
        assert_eq!(startup(0, b"user\0u").unwrap_err().sqlstate(), "08P01");
        assert_eq!(startup(0, b"user\0\0").unwrap_err().sqlstate(), "08P01");
        assert_eq!(startup(0, b"\0").unwrap_err().sqlstate(), "28000");
        assert_eq!(
            startup(0, b"user\0u\0options\0-z\0\0").unwrap_err().sqlstate(),
            "42601"
        );
        assert_eq!(startup(0, b"user\0\xff\0\0").unwrap_err().sqlstate(), "22021");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(packet in proptest::collection::vec(any::<u8>(), 4..64)) {
            let _ = decode(packet.into());
        }
    }
}
