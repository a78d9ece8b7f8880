//! Clients that speak other encodings than UTF-8: bytes in, bytes out, in both protocols, as PostgreSQL has them where one is there.

use std::net::{SocketAddr, ToSocketAddrs};

use crate::postgresql;
use crate::protocol::{Message, Raw};
use crate::server::TestServer;

/// The texts within values in binary form, and back.
async fn texts_within(raw: &mut Raw, text: &[u8]) -> Vec<Message> {
    let element = [(text.len() as u32).to_be_bytes().as_slice(), text].concat();
    let array = [
        b"\0\0\0\x01\0\0\0\0\0\0\0\x19\0\0\0\x02\0\0\0\x01".as_slice(),
        &element,
        &element,
    ]
    .concat();
    raw.send(
        'P',
        b"\0SELECT $1::text[] AS a, ($1::text[])::varchar[] AS b, ROW(1, ($1::text[])[1], $1::text[]) AS c, length(($1::text[])[2])\0\0\0",
    )
    .await;
    let bind = [
        b"\0\0\0\x01\0\x01\0\x01".as_slice(),
        &(array.len() as u32).to_be_bytes(),
        &array,
        b"\0\x01\0\x01",
    ];
    raw.send('B', &bind.concat()).await;
    raw.execute(0).await;
    raw.send('S', b"").await;
    raw.until('Z').await
}

/// A conversation with one server; what it answers, message by message.
async fn conversation(
    addr: SocketAddr,
    user: &str,
    database: &str,
    encoding: &str,
    text: &[u8],
) -> Vec<Message> {
    let mut raw = Raw::open(addr).await;
    let settings = format!("user\0{user}\0database\0{database}\0client_encoding\0{encoding}\0\0");
    raw.startup(0, settings.as_bytes()).await;
    let greeted = raw.until('Z').await;
    let mut answers: Vec<Message> = greeted
        .into_iter()
        .filter(|message| message.kind == 'S' && message.body.starts_with(b"client_encoding\0"))
        .collect();
    let quoted = [b"'".as_slice(), text, b"'"].concat();
    let named = [b"\"".as_slice(), text, b"\""].concat();
    let queries = [
        [
            b"SELECT ".as_slice(),
            &quoted,
            b" AS ",
            &named,
            b", length(",
            &quoted,
            b"), 7, NULL, ARRAY[",
            &quoted,
            b"]",
        ]
        .concat(),
        [b"SELECT ".as_slice(), &named].concat(),
        b"SELECT pg_client_encoding()".to_vec(),
        b"SELECT chr(1046) || chr(8364)".to_vec(),
        b"SELECT '\xff\xff'".to_vec(),
        [
            b"SELECT octet_length(convert_to(".as_slice(),
            &quoted,
            b", 'UTF8'))",
        ]
        .concat(),
        b"SET client_encoding = 'UTF8'".to_vec(),
        b"SELECT chr(1046) || chr(8364)".to_vec(),
    ];
    for query in &queries[..6] {
        raw.send('Q', &[query, b"\0".as_slice()].concat()).await;
        answers.extend(raw.until('Z').await);
    }
    // The same as parameters, in text and in binary; the results in both, too.
    for format in [0_u8, 1] {
        raw.send('P', b"\0SELECT $1::text AS a, $2::varchar AS b\0\0\0")
            .await;
        let length = (text.len() as u32).to_be_bytes();
        let parameter = [length.as_slice(), text].concat();
        let bind = [
            b"\0\0\0\x01\0".as_slice(),
            &[format],
            b"\0\x02",
            &parameter,
            &parameter,
            b"\0\x02\0\0\0\x01",
        ];
        raw.send('B', &bind.concat()).await;
        raw.send('D', b"P\0").await;
        raw.execute(0).await;
        raw.send('S', b"").await;
        answers.extend(raw.until('Z').await);
    }
    answers.extend(texts_within(&mut raw, text).await);
    for query in &queries[6..] {
        raw.send('Q', &[query, b"\0".as_slice()].concat()).await;
        answers.extend(raw.until('Z').await);
    }
    answers
}

/// What of an answer must be the same: of errors the code and the message.
fn essence(messages: &[Message]) -> Vec<(char, Vec<u8>)> {
    let essence = |message: &Message| match message.kind {
        'E' => {
            let fields = message.body.split(|byte| *byte == 0);
            let kept: Vec<&[u8]> = fields
                .filter(|field| matches!(field.first(), Some(b'C' | b'M')))
                .collect();
            (message.kind, kept.join(&b' '))
        }
        kind => (kind, message.body.clone()),
    };
    messages.iter().map(essence).collect()
}

#[tokio::test]
async fn texts_come_and_go_in_the_clients_encoding() {
    let server = TestServer::start("memory").await;
    let cases: [(&str, &[u8]); 9] = [
        ("LATIN1", b"caf\xe9 \xa4"),
        ("latin-9", b"caf\xe9 \xa4"),
        ("WIN1252", b"\x80 \x93x\x94"),
        ("windows-1251", b"\xcf\xf0\xe8\xe2\xe5\xf2"),
        ("KOI8R", b"\xf0\xd2\xc9\xd7\xc5\xd4"),
        ("SJIS", b"\x93\xfa\x96\x7b\x8c\xea"),
        ("EUC_JP", b"\xc6\xfc\xcb\xdc\xb8\xec"),
        ("GBK", b"\xd6\xd0\xce\xc4"),
        ("UTF8", "naïve €".as_bytes()),
    ];
    let admin = postgresql::admin();
    for (encoding, text) in cases {
        let answers = conversation(server.addr(), "test", "test", encoding, text).await;
        let mut rows = answers.iter().filter(|message| message.kind == 'D');
        // Two bytes are characters of some encodings, and two characters are in some.
        assert!((7..=9).contains(&rows.clone().count()), "{encoding}: {answers:?}");
        let holds = |message: &&Message| message.body.windows(text.len()).any(|window| window == text);
        assert_eq!(rows.clone().filter(holds).count(), 4, "{encoding}: {answers:?}");
        let last = rows.next_back().expect("there are some");
        assert!(last.body.ends_with("Ж€".as_bytes()), "{encoding}");
        let Some(admin) = &admin else { continue };
        let addr = admin
            .addr
            .to_socket_addrs()
            .expect("an address")
            .next()
            .expect("one");
        let expected = conversation(addr, &admin.user, &admin.database, encoding, text).await;
        assert_eq!(essence(&answers), essence(&expected), "{encoding}");
    }
}
