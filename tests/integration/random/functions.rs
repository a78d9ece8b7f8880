//! Calls of every function and operator that PostgreSQL's catalogs and Keyspan's both name, over values at the edges of their types, some
//! over what others give. Each must give what PostgreSQL gives, or fail with its SQLSTATE.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::{number, run};
use crate::client::{Protocol, TextClient};
use crate::postgresql::Database;
use crate::server::TestServer;

/// Calls, unless `KEYSPAN_RANDOM_STATEMENTS` says how many.
const CALLS: usize = 600;
/// Differences that are shown.
const SHOWN: usize = 25;

/// Types with values of theirs.
const VALUES: [(&str, &[&str]); 36] = [
    ("boolean", &["true", "false"]),
    ("smallint", &["0", "1", "-1", "7", "32767", "-32768"]),
    (
        "integer",
        &["0", "1", "2", "3", "-1", "5", "10", "2147483647", "-2147483648"],
    ),
    (
        "bigint",
        &[
            "0",
            "1",
            "3",
            "-7",
            "64",
            "9223372036854775807",
            "-9223372036854775808",
        ],
    ),
    (
        "real",
        &["0", "1.5", "-2.25", "NaN", "Infinity", "1e-30", "3.4e38"],
    ),
    (
        "double precision",
        &[
            "0",
            "-0",
            "0.5",
            "1.5",
            "-2.25",
            "100",
            "NaN",
            "-Infinity",
            "1e300",
            "1e-300",
        ],
    ),
    (
        "numeric",
        &[
            "0",
            "1",
            "-1.50",
            "2.5",
            "3.14159",
            "1e20",
            "NaN",
            "Infinity",
            "-99999999999.999",
            "0.0000001",
        ],
    ),
    (
        "text",
        &[
            "",
            "a",
            "abc",
            "Hello World",
            "  x  ",
            "é中文",
            "a,b,c",
            "10",
            "{1,2}",
            "%d",
            "A1b2",
            "2024-01-02",
            "[1,2]",
            "x=1",
        ],
    ),
    ("character varying", &["", "abc", "Zz", "  y"]),
    ("character", &["", "a", "ab "]),
    ("name", &["", "utf8", "pg_class"]),
    ("bytea", &["", "\\x00", "\\x616263", "\\xff00ff", "abc"]),
    (
        "date",
        &[
            "2024-01-01",
            "2024-02-29",
            "1969-12-31",
            "infinity",
            "0001-01-01 BC",
            "4714-11-24 BC",
        ],
    ),
    (
        "time without time zone",
        &["00:00", "12:34:56.789", "24:00", "23:59:59.999999"],
    ),
    ("time with time zone", &["00:00+00", "12:34:56-08", "24:00+15:59"]),
    (
        "timestamp without time zone",
        &[
            "2024-01-01 00:00",
            "2024-02-29 12:34:56.789",
            "1969-12-31 23:59:59",
            "infinity",
            "0044-03-15 BC",
        ],
    ),
    (
        "timestamp with time zone",
        &[
            "2024-01-01 00:00+00",
            "2024-03-31 01:30+01",
            "-infinity",
            "1900-01-01 00:00:00+00",
        ],
    ),
    (
        "interval",
        &[
            "0",
            "1 day",
            "-1 mon 2 days",
            "24:00:00",
            "1 year 2 mons 3 days 04:05:06.789",
            "-00:00:01",
        ],
    ),
    (
        "uuid",
        &[
            "00000000-0000-0000-0000-000000000000",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        ],
    ),
    (
        "json",
        &[
            "{}",
            "{\"a\": 1, \"b\": [1, {\"c\": null}]}",
            "[1, \"x\", true]",
            "null",
            "\"s\"",
            "1.50",
            "{\"a\":1,\"a\":2}",
        ],
    ),
    (
        "jsonb",
        &[
            "{}",
            "{\"a\": 1, \"b\": [1, {\"c\": null}]}",
            "[1, \"x\", true]",
            "null",
            "\"s\"",
            "1.50",
            "[]",
        ],
    ),
    (
        "jsonpath",
        &["$", "$.a", "$.b[*]", "strict $.x", "$[*] ? (@ > 0)", "$.b[1].c"],
    ),
    (
        "inet",
        &[
            "127.0.0.1",
            "10.1.2.3/8",
            "::1",
            "2001:db8::/32",
            "192.168.0.0/16",
        ],
    ),
    ("cidr", &["10.0.0.0/8", "192.168.1.0/24", "::/0", "2001:db8::/32"]),
    ("macaddr", &["08:00:2b:01:02:03", "ff:ff:ff:ff:ff:ff"]),
    (
        "macaddr8",
        &["08:00:2b:01:02:03:04:05", "00:00:00:00:00:00:00:00"],
    ),
    ("money", &["0", "1.50", "-3.999", "92233720368547758.07"]),
    ("bit", &["0", "1"]),
    ("bit varying", &["", "101", "1111000011110000"]),
    ("int4range", &["empty", "[1,5)", "(,3]", "[2,)", "(,)", "[3,3]"]),
    ("numrange", &["empty", "[1.5,2.5]", "(0,1)", "(,10)"]),
    (
        "daterange",
        &["empty", "[2024-01-01,2024-02-01)", "[2024-01-15,)"],
    ),
    ("int4multirange", &["{}", "{[1,3),[5,9)}", "{(,)}", "{[2,6]}"]),
    ("tsvector", &["", "a:1 b:2,3A c", "'hello':1 'world':2B"]),
    (
        "tsquery",
        &["", "a", "a & b", "a <-> b", "!a | c:*", "'hello' & !'x'"],
    ),
    ("oid", &["0", "1259", "4294967295"]),
];

/// What stands for anyelement, anyarray, anyrange and anymultirange of one call.
const FAMILIES: [[&str; 4]; 4] = [
    ["integer", "integer[]", "int4range", "int4multirange"],
    ["text", "text[]", "", ""],
    ["numeric", "numeric[]", "numrange", ""],
    ["date", "date[]", "daterange", ""],
];

/// Arrays of the families.
const ARRAYS: [(&str, &[&str]); 4] = [
    ("integer[]", &["{}", "{1,2,3}", "{3,NULL,1}", "{2147483647}"]),
    (
        "text[]",
        &["{}", "{a,b}", "{b,NULL,\"\",\"x y\"}", "{\"{\",\"\\\"\"}"],
    ),
    ("numeric[]", &["{}", "{1.5,NaN}", "{0.10,NULL}"]),
    ("date[]", &["{}", "{2024-01-01,infinity}"]),
];

/// Functions that tell of the server, of time or of chance, or whose cost is without bound; and what is known to differ: more than one
/// dimension, zones beyond a day, "char" of a number, intervals and addresses that overflow, the order of
/// tsquery.
const LEFT_OUT: &str = "^(pg_.*|random|setseed|now|.*timestamp|timeofday|current_.*|version|inet_.*|txid_.*|gen_random_uuid|nextval|setval|lastval|
    |currval|lo_.*|lo.*|set_config|has_.*|row_security_active|query_to.*|table_to.*|schema_to.*|database_to.*|cursor_to.*|ts_stat|ts_debug
    |ts_token_type|ts_parse|xml.*|xpath.*|.*_hash.*|hash.*|.*(send|recv|_in|_out|in|out|sel|typmod.*|support|cmp|_ops)|to_reg.*
    |format_type|col_description|obj_description|shobj_description|age|statement_.*|transaction_.*|clock_.*|repeat|bt.*|gin.*|gist.*|spg.*|brin.*
    |regclass|getdatabaseencoding|width_bucket|mxid_age|session_user|user|oidvector.*|int4_avg.*|.*_accum.*|.*_combine|.*_serialize|.*_deserialize
    |.*_final.*|.*_inv|.*_transfn.*|.*_trans.*|convert.*|binary_upgrade.*|suppress.*|.*recognize.*|.*larger|.*smaller|.*_sortsupport|in_range
    |numeric_.*|ri_.*|RI_.*|unique_key_recheck|array_agg.*|array_fill|.*up|.*populate_record.*|char|timezone|sind|@@@|make_interval|inetmi.*|datetimetz_pl|ts_headline|tsquery_[lg].*|right|cotd|timestamptz|generate_series|string_agg.*|json_.*agg.*|jsonb_.*agg.*|pclose|popen|path.*|poly.*|box.*|circle.*|line.*|lseg.*|point.*)$";

struct Routine {
    name: String,
    arguments: Vec<String>,
    result: String,
    is_operator: bool,
}

struct Calls {
    random: StdRng,
    routines: Vec<Routine>,
}

/// The names of the routines with their arguments and results: what stands in both catalogs.
async fn routines(keyspan: &mut TextClient, postgresql: &mut TextClient) -> Vec<Routine> {
    let pattern: String = LEFT_OUT.split_whitespace().collect();
    let of_type = |oid: &str| format!("format_type({oid}, NULL)");
    let arguments = "array_to_string(ARRAY(SELECT format_type(x, NULL) FROM unnest(p.proargtypes) x), ';')";
    let functions = format!(
        "SELECT p.proname, {arguments}, {}, 'f' FROM pg_proc p
         WHERE p.pronamespace = 11 AND p.prokind = 'f' AND p.provolatile <> 'v' AND p.provariadic = 0 AND NOT p.proretset AND p.proname !~ '{pattern}'",
        of_type("p.prorettype")
    );
    let operators = format!(
        "SELECT o.oprname, CASE WHEN o.oprleft = 0 THEN '' ELSE {} || ';' END || {}, {}, 'o' FROM pg_operator o
         WHERE o.oprnamespace = 11 AND o.oprcode::oid <> 0 AND o.oprname !~ '{pattern}'
           AND NOT (o.oprleft = 'tsquery'::regtype AND o.oprname ~ '^[<>]=?$')
           AND NOT (o.oprleft = 'inet'::regtype AND o.oprname = '-')",
        of_type("o.oprleft"),
        of_type("o.oprright"),
        of_type("o.oprresult")
    );
    let sql = format!("SELECT * FROM ({functions} UNION ALL {operators}) r ORDER BY 1, 2, 3, 4");
    let mut rows = Vec::new();
    for client in [keyspan, postgresql] {
        let reply = client
            .run(&sql, Protocol::Simple)
            .await
            .expect("the catalogs can be read");
        rows.push(reply.rows);
    }
    let [ours, theirs] = <[_; 2]>::try_from(rows).expect("two were asked");
    let known = |name: &str| {
        let mut all = VALUES.iter().chain(&ARRAYS).map(|(known, _)| *known);
        all.any(|known| known == name) || family_place(name).is_some()
    };
    let both = theirs.into_iter().filter(|row| ours.contains(row));
    let routines = both.filter_map(|row| {
        let [name, arguments, result, kind] = <[_; 4]>::try_from(row).ok()?;
        let arguments: Vec<String> = arguments?
            .split(';')
            .filter(|part| !part.is_empty())
            .map(str::to_string)
            .collect();
        let is_known = arguments.iter().all(|argument| known(argument));
        is_known.then_some(Routine {
            name: name?,
            arguments,
            result: result?,
            is_operator: kind.as_deref() == Some("o"),
        })
    });
    routines.collect()
}

/// Which of a family's types a pseudo-type stands for.
fn family_place(name: &str) -> Option<usize> {
    let places: [&[&str]; 4] = [
        &[
            "anyelement",
            "anynonarray",
            "anycompatible",
            "anycompatiblenonarray",
            "\"any\"",
        ],
        &["anyarray", "anycompatiblearray"],
        &["anyrange", "anycompatiblerange"],
        &["anymultirange", "anycompatiblemultirange"],
    ];
    places.iter().position(|names| names.contains(&name))
}

impl Calls {
    /// A value of the type: mostly a constant, or what a routine gives. `None`: there is none.
    fn value(&mut self, ty: &str, depth: u32) -> Option<String> {
        if self.random.random_bool(0.05) {
            return Some(format!("NULL::{ty}"));
        }
        if depth > 0 && self.random.random_bool(0.3) {
            let giving: Vec<usize> = (0..self.routines.len())
                .filter(|at| self.routines[*at].result == ty)
                .collect();
            if let Some(at) = giving.choose(&mut self.random) {
                return self.call(*at, depth - 1);
            }
        }
        let (_, values) = VALUES.iter().chain(&ARRAYS).find(|(name, _)| *name == ty)?;
        let value = values.choose(&mut self.random)?;
        Some(format!("'{}'::{ty}", value.replace('\'', "''")))
    }

    fn call(&mut self, at: usize, depth: u32) -> Option<String> {
        let family = FAMILIES.choose(&mut self.random)?;
        let arguments = self.routines[at].arguments.clone();
        let mut values = Vec::new();
        for argument in &arguments {
            let ty = family_place(argument).map_or(argument.as_str(), |place| family[place]);
            values.push(self.value(ty, depth)?);
        }
        let routine = &self.routines[at];
        Some(match (routine.is_operator, values.as_slice()) {
            (true, [right]) => format!("({} {right})", routine.name),
            (true, [left, right]) => format!("({left} {} {right})", routine.name),
            _ => format!("{}({})", quoted(&routine.name), values.join(", ")),
        })
    }
}

/// Names that the grammar takes for something else must be quoted.
fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// Whether two answers are the same but for the last digits of floats.
fn is_same(ours: &[Vec<Option<String>>], theirs: &[Vec<Option<String>>]) -> bool {
    let close = |ours: &str, theirs: &str| match (ours.parse::<f64>(), theirs.parse::<f64>()) {
        (Ok(a), Ok(b)) if ours.len() > 14 => (a - b).abs() <= a.abs().max(b.abs()) * 1e-14,
        _ => false,
    };
    let cells = |rows: &[Vec<Option<String>>]| rows.iter().flatten().cloned().collect::<Vec<_>>();
    let (ours, theirs) = (cells(ours), cells(theirs));
    ours.len() == theirs.len()
        && ours.iter().zip(&theirs).all(|pair| match pair {
            (Some(ours), Some(theirs)) => ours == theirs || close(ours, theirs),
            (ours, theirs) => ours == theirs,
        })
}

/// What is different, if something is.
async fn difference(clients: [&mut TextClient; 2], sql: &str) -> Option<String> {
    let mut answers = Vec::new();
    for client in clients {
        let reply = client.run(sql, Protocol::Simple).await;
        answers.push(
            reply
                .map(|reply| reply.rows)
                .map_err(|error| (error.sqlstate, error.message)),
        );
    }
    let same = match (&answers[0], &answers[1]) {
        (Err((ours, _)), _) if ours == "XX000" => false,
        // What operators, casts and aggregates are made of stands in the catalogs and cannot be called by its name here.
        (Err((ours, message)), _) if ours == "42883" && message.starts_with("function") => true,
        (Ok(ours), Ok(theirs)) => is_same(ours, theirs),
        // Which arguments are computed before a NULL among them decides is open.
        (Ok(rows), Err(_)) | (Err(_), Ok(rows)) => rows.iter().flatten().all(Option::is_none),
        // And which of several faults is met first.
        (Err(_), Err(_)) => true,
    };
    (!same).then(|| {
        format!(
            "{sql};\n  keyspan: {:?}\n  postgresql: {:?}",
            answers[0], answers[1]
        )
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn random_calls_give_what_postgresql_gives() {
    let Some((database, mut postgresql)) = Database::with_client("functions").await else {
        return;
    };
    let server = TestServer::start("memory").await;
    let mut keyspan = server.connect_text().await;
    for client in [&mut keyspan, &mut postgresql] {
        run(
            client,
            "SET timezone = 'Europe/Berlin'; SET statement_timeout = '5s'",
        )
        .await;
    }
    let routines = routines(&mut keyspan, &mut postgresql).await;
    assert!(routines.len() > 800, "{} routines", routines.len());
    let seed = number("KEYSPAN_RANDOM_SEED").unwrap_or(1);
    let count = number("KEYSPAN_RANDOM_STATEMENTS").map_or(CALLS, |count| count as usize);
    let mut calls = Calls {
        random: StdRng::seed_from_u64(seed),
        routines,
    };
    let (mut differences, mut asked) = (Vec::new(), 0);
    while asked < count {
        let at = calls.random.random_range(0..calls.routines.len());
        let Some(call) = calls.call(at, 2) else { continue };
        asked += 1;
        let sql = format!("SELECT {call} LIMIT 20");
        differences.extend(difference([&mut keyspan, &mut postgresql], &sql).await);
        if differences.len() >= SHOWN {
            break;
        }
    }
    assert!(
        differences.is_empty(),
        "seed {seed}, {asked} calls:\n{}",
        differences.join("\n")
    );
    database.drop().await;
    server.stop().await;
}
