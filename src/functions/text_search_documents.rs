//! Functions that make tsvectors and tsqueries of documents and of what users write: to_tsvector, to_tsquery and their kin, and those that show
//! how a document is taken apart.

use arrow::array::ArrayRef;

use super::text_configuration::{Configuration, Words};
use super::text_parser::{KINDS, tokens};
use super::{Batch, FunctionDef, T};
use crate::system::Notice;
use crate::system::pg_catalog::CatalogContext;
use crate::types::CatalogType;
use crate::types::json_piece::{Kind, Piece};
use crate::types::text_search::{
    Lexeme, Operand, QueryNode, QueryStyle, TsQuery, TsVector, parse_query, phrase_of,
};
use crate::{Error, Result};

const V: T = T::TsVector;
const Q: T = T::TsQuery;
const C: T = T::Catalog(CatalogType::Regconfig);

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("to_tsvector", &[C, T::Text], V, |b| {
        b.map2(|name: &str, document: &str| vector_of(Configuration::named(name)?, document))
    }),
    FunctionDef::catalog("to_tsvector", &[T::Text], V, |b, catalog| {
        let configuration = current(catalog)?;
        b.map1(|document: &str| vector_of(configuration, document))
    }),
    FunctionDef::new("to_tsvector", &[C, T::Json], V, |b| {
        b.map2(|name: &str, json: &str| vector_of_json(Configuration::named(name)?, json, STRINGS))
    }),
    FunctionDef::new("to_tsvector", &[C, T::Jsonb], V, |b| {
        b.map2(|name: &str, json: &str| vector_of_json(Configuration::named(name)?, json, STRINGS))
    }),
    FunctionDef::catalog("to_tsvector", &[T::Json], V, |b, catalog| {
        let configuration = current(catalog)?;
        b.map1(|json: &str| vector_of_json(configuration, json, STRINGS))
    }),
    FunctionDef::catalog("to_tsvector", &[T::Jsonb], V, |b, catalog| {
        let configuration = current(catalog)?;
        b.map1(|json: &str| vector_of_json(configuration, json, STRINGS))
    }),
    FunctionDef::new("json_to_tsvector", &[C, T::Json, T::Jsonb], V, filtered_json),
    FunctionDef::new("jsonb_to_tsvector", &[C, T::Jsonb, T::Jsonb], V, filtered_json),
    FunctionDef::catalog("json_to_tsvector", &[T::Json, T::Jsonb], V, filtered_json_as_set),
    FunctionDef::catalog(
        "jsonb_to_tsvector",
        &[T::Jsonb, T::Jsonb],
        V,
        filtered_json_as_set,
    ),
    FunctionDef::new("to_tsquery", &[C, T::Text], Q, |b| queries(b, to_query)),
    FunctionDef::catalog("to_tsquery", &[T::Text], Q, |b, catalog| {
        queries_as_set(b, catalog, to_query)
    }),
    FunctionDef::new("plainto_tsquery", &[C, T::Text], Q, |b| queries(b, plain_query)),
    FunctionDef::catalog("plainto_tsquery", &[T::Text], Q, |b, catalog| {
        queries_as_set(b, catalog, plain_query)
    }),
    FunctionDef::new("phraseto_tsquery", &[C, T::Text], Q, |b| queries(b, phrase_query)),
    FunctionDef::catalog("phraseto_tsquery", &[T::Text], Q, |b, catalog| {
        queries_as_set(b, catalog, phrase_query)
    }),
    FunctionDef::new("websearch_to_tsquery", &[C, T::Text], Q, |b| {
        queries(b, web_query)
    }),
    FunctionDef::catalog("websearch_to_tsquery", &[T::Text], Q, |b, catalog| {
        queries_as_set(b, catalog, web_query)
    }),
    FunctionDef::catalog("@@", &[T::Text, Q], T::Bool, |b, catalog| {
        let configuration = current(catalog)?;
        b.map2(|document: &str, query: &str| {
            let vector = TsVector::new(configuration.words(document))?;
            Ok::<_, Error>(TsQuery::parse(query)?.matches(&vector))
        })
    }),
    FunctionDef::catalog("@@", &[T::Text, T::Text], T::Bool, |b, catalog| {
        let configuration = current(catalog)?;
        b.map2(|document: &str, query: &str| {
            let vector = TsVector::new(configuration.words(document))?;
            Ok::<_, Error>(plain_query(configuration, query)?.matches(&vector))
        })
    }),
    FunctionDef::catalog("get_current_ts_config", &[], C, |b, catalog| {
        let name = current(catalog)?.name();
        b.map0(|| name)
    }),
    // The columns of ts_parse and of ts_token_type.
    FunctionDef::new("ts_parse_kinds", &[T::Text, T::Text], T::Int4, |b| {
        b.map2(|parser: &str, document: &str| {
            check_parser(parser)?;
            let kinds = tokens(document).into_iter().map(|token| token.kind as i32);
            Ok::<_, Error>(kinds.collect::<Vec<i32>>())
        })
    })
    .array(T::Int4),
    FunctionDef::new("ts_parse_tokens", &[T::Text, T::Text], T::Text, |b| {
        b.map2(|parser: &str, document: &str| {
            check_parser(parser)?;
            let texts = tokens(document).into_iter().map(|token| token.text.to_string());
            Ok::<_, Error>(texts.collect::<Vec<String>>())
        })
    })
    .array(T::Text),
    FunctionDef::new("ts_token_type_numbers", &[T::Text], T::Int4, |b| {
        b.map1(|parser: &str| {
            check_parser(parser)?;
            Ok::<_, Error>((1..=KINDS.len() as i32).collect::<Vec<i32>>())
        })
    })
    .array(T::Int4),
    FunctionDef::new("ts_token_type_numbers", &[T::Oid], T::Int4, |b| {
        b.map1(|parser: i64| {
            check_parser_oid(parser)?;
            Ok::<_, Error>((1..=KINDS.len() as i32).collect::<Vec<i32>>())
        })
    })
    .array(T::Int4),
    FunctionDef::new("ts_token_type_names", &[T::Oid], T::Text, |b| {
        b.map1(|parser: i64| check_parser_oid(parser).map(|()| texts_of_kinds(|kind| kind.0)))
    })
    .array(T::Text),
    FunctionDef::new("ts_token_type_descriptions", &[T::Oid], T::Text, |b| {
        b.map1(|parser: i64| check_parser_oid(parser).map(|()| texts_of_kinds(|kind| kind.1)))
    })
    .array(T::Text),
    FunctionDef::new("ts_token_type_names", &[T::Text], T::Text, |b| {
        kinds(b, |kind| kind.0)
    })
    .array(T::Text),
    FunctionDef::new("ts_token_type_descriptions", &[T::Text], T::Text, |b| {
        kinds(b, |kind| kind.1)
    })
    .array(T::Text),
];

/// The configuration that default_text_search_config names. Errors: 42704.
pub(super) fn current(catalog: &CatalogContext) -> Result<Configuration> {
    Configuration::named(catalog.statement().settings.value("default_text_search_config"))
}

fn check_parser(name: &str) -> Result<()> {
    match name.strip_prefix("pg_catalog.").unwrap_or(name) {
        "default" => Ok(()),
        _ => Err(Error::UndefinedObject {
            kind: "text search parser",
            name: name.to_string(),
        }),
    }
}

/// The oid of the parser `default`.
const DEFAULT_PARSER: i64 = 3722;

fn check_parser_oid(oid: i64) -> Result<()> {
    match oid {
        DEFAULT_PARSER => Ok(()),
        _ => Err(Error::UndefinedObject {
            kind: "text search parser",
            name: oid.to_string(),
        }),
    }
}

fn texts_of_kinds(column: fn(&(&'static str, &'static str)) -> &'static str) -> Vec<String> {
    KINDS.iter().map(|kind| column(kind).to_string()).collect()
}

fn kinds(batch: &Batch, column: fn(&(&'static str, &'static str)) -> &'static str) -> Result<ArrayRef> {
    batch.map1(|parser: &str| {
        check_parser(parser)?;
        Ok::<_, Error>(texts_of_kinds(column))
    })
}

fn vector_of(configuration: Configuration, document: &str) -> Result<String> {
    Ok(TsVector::new(configuration.words(document))?.to_string())
}

/// Which parts of a JSON document have words.
#[derive(Debug, Clone, Copy, Default)]
struct JsonParts {
    strings: bool,
    numbers: bool,
    booleans: bool,
    keys: bool,
}

const STRINGS: JsonParts = JsonParts {
    strings: true,
    numbers: false,
    booleans: false,
    keys: false,
};

fn vector_of_json(configuration: Configuration, json: &str, parts: JsonParts) -> Result<String> {
    let mut words = Words::new(configuration);
    add_json(&mut words, Piece::new(json), parts);
    Ok(TsVector::new(words.list)?.to_string())
}

/// Adds the words of a piece; the text was checked for its depth when it became a value.
fn add_json(words: &mut Words, piece: Piece<'_>, parts: JsonParts) {
    match piece.kind() {
        Kind::Object => {
            for (key, value) in piece.members() {
                if parts.keys {
                    words.add_part(&key);
                }
                add_json(words, value, parts);
            }
        }
        Kind::Array => piece.items().for_each(|item| add_json(words, item, parts)),
        Kind::String if parts.strings => words.add_part(&piece.string().unwrap_or_default()),
        Kind::Number if parts.numbers => words.add_part(piece.text()),
        Kind::Boolean if parts.booleans => words.add_part(piece.text()),
        _ => {}
    }
}

/// What a filter of json_to_tsvector asks for. Errors: 22023.
fn parts_of(filter: &str) -> Result<JsonParts> {
    let wrong = |message: &str, hint: Option<&str>| Error::InvalidParameter {
        message: message.to_string(),
        hint: hint.map(str::to_string),
    };
    const CHOICES: &str = "Possible values are: \"string\", \"numeric\", \"boolean\", \"key\", and \"all\".";
    let filter = Piece::new(filter);
    let items: Vec<Piece<'_>> = match filter.kind() {
        Kind::Array => filter.items().collect(),
        Kind::Object => {
            return Err(wrong(
                "wrong flag type, only arrays and scalars are allowed",
                None,
            ));
        }
        _ => vec![filter],
    };
    let mut parts = JsonParts::default();
    for item in items {
        let Some(word) = item.string().filter(|_| item.kind() == Kind::String) else {
            return Err(wrong("flag array element is not a string", Some(CHOICES)));
        };
        match word.to_lowercase().as_str() {
            "string" => parts.strings = true,
            "numeric" => parts.numbers = true,
            "boolean" => parts.booleans = true,
            "key" => parts.keys = true,
            "all" => {
                parts = JsonParts {
                    strings: true,
                    numbers: true,
                    booleans: true,
                    keys: true,
                }
            }
            _ => {
                return Err(wrong(
                    &format!("wrong flag in flag array: \"{word}\""),
                    Some(CHOICES),
                ));
            }
        }
    }
    Ok(parts)
}

fn filtered_json(batch: &Batch) -> Result<ArrayRef> {
    batch.map3(|name: &str, json: &str, filter: &str| {
        vector_of_json(Configuration::named(name)?, json, parts_of(filter)?)
    })
}

fn filtered_json_as_set(batch: &Batch, catalog: &CatalogContext) -> Result<ArrayRef> {
    let configuration = current(catalog)?;
    batch.map2(|json: &str, filter: &str| vector_of_json(configuration, json, parts_of(filter)?))
}

type Reading = fn(Configuration, &str) -> Result<TsQuery>;

fn queries(batch: &Batch, read: Reading) -> Result<ArrayRef> {
    batch.map2(|name: &str, text: &str| Ok::<_, Error>(read(Configuration::named(name)?, text)?.to_string()))
}

/// By the session's configuration. A NOTICE tells of queries without words.
fn queries_as_set(batch: &Batch, catalog: &CatalogContext, read: Reading) -> Result<ArrayRef> {
    let configuration = current(catalog)?;
    batch.map1(|text: &str| {
        let query = read(configuration, text)?;
        if query.root.is_none() {
            catalog
                .statement()
                .notice(Notice::new("00000", without_words(text)));
        }
        Ok::<_, Error>(query.to_string())
    })
}

fn without_words(text: &str) -> String {
    match text.trim().is_empty() {
        true => format!("text-search query doesn't contain lexemes: \"{text}\""),
        false => "text-search query contains only stop words or doesn't contain lexemes, ignored".to_string(),
    }
}

/// The words of an operand, one behind the other.
fn words_in_a_row(words: Vec<Lexeme>, like: &Operand) -> Result<Option<QueryNode>> {
    let mut last = None;
    phrase_of(words.into_iter().map(|lexeme| {
        let place = lexeme.positions.first().map_or(0, |position| position.place);
        let distance = place.saturating_sub(last.replace(place).unwrap_or(place));
        let operand = Operand {
            word: lexeme.word,
            ..like.clone()
        };
        (distance, QueryNode::Word(operand))
    }))
}

fn to_query(configuration: Configuration, text: &str) -> Result<TsQuery> {
    parse_query(text, QueryStyle::Operators, &mut |operand| {
        words_in_a_row(configuration.words(&operand.word), &operand)
    })
}

fn web_query(configuration: Configuration, text: &str) -> Result<TsQuery> {
    parse_query(text, QueryStyle::Web, &mut |operand| {
        words_in_a_row(configuration.words(&operand.word), &operand)
    })
}

fn phrase_query(configuration: Configuration, text: &str) -> Result<TsQuery> {
    TsQuery::new(words_in_a_row(
        configuration.words(text),
        &Operand::any(String::new()),
    )?)
}

fn plain_query(configuration: Configuration, text: &str) -> Result<TsQuery> {
    let words = configuration.words(text).into_iter();
    let words = words.map(|lexeme| QueryNode::Word(Operand::any(lexeme.word)));
    TsQuery::new(words.reduce(QueryNode::and))
}
