//! Functions and operators of tsvector and tsquery, which come as their texts (`types::text_search`). What makes them of documents stands in
//! `text_search_documents`.

use std::sync::Arc;

use arrow::array::ArrayRef;

use super::{Batch, Body, FunctionDef, T};
use crate::types::text_search::{
    DEFAULT_WEIGHTS, DISTANCE_MAX, Lexeme, Position, QueryNode, TsQuery, TsVector, Weight, check_length,
    out_of_distance, rank, rank_by_covers,
};
use crate::types::{RecordType, SqlType, Value};
use crate::{Error, Result};

const V: T = T::TsVector;
const Q: T = T::TsQuery;

/// A tsvector or tsquery as bytes that compare as it does.
pub(super) const TEXT_SEARCH_ORDER: Body = Body::Batch(|batch| {
    let ty = batch.arguments[0].clone();
    batch.map1(move |text: &str| order_key(text, &ty))
});

/// Bytes that compare as the values of such texts do.
pub(super) fn order_key(text: &str, ty: &SqlType) -> Result<Vec<u8>> {
    Ok(match ty {
        SqlType::TsQuery => TsQuery::parse(text)?.order_key(),
        _ => TsVector::parse(text)?.order_key(),
    })
}

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("@@", &[V, Q], T::Bool, |b| b.map2(matches)),
    FunctionDef::new("@@", &[Q, V], T::Bool, |b| {
        b.map2(|query: &str, vector: &str| matches(vector, query))
    }),
    FunctionDef::new("||", &[V, V], V, |b| {
        b.map2(|a: &str, b: &str| {
            Ok::<_, Error>(TsVector::parse(a)?.concat(&TsVector::parse(b)?)?.to_string())
        })
    }),
    FunctionDef::new("||", &[Q, Q], Q, |b| joined(b, QueryNode::or)),
    FunctionDef::new("&&", &[Q, Q], Q, |b| joined(b, QueryNode::and)),
    FunctionDef::new("!!", &[Q], Q, |b| b.map1(negated)),
    FunctionDef::new("<->", &[Q, Q], Q, |b| b.map2(|a: &str, b: &str| phrase(a, b, 1))),
    FunctionDef::new("tsquery_phrase", &[Q, Q], Q, |b| {
        b.map2(|a: &str, b: &str| phrase(a, b, 1))
    }),
    FunctionDef::new("tsquery_phrase", &[Q, Q, T::Int4], Q, |b| b.map3(phrase)),
    FunctionDef::new("ts_rewrite", &[Q, Q, Q], Q, |b| {
        b.map3(|query: &str, target: &str, substitute: &str| {
            let (target, substitute) = (TsQuery::parse(target)?, TsQuery::parse(substitute)?);
            Ok::<_, Error>(
                TsQuery::parse(query)?
                    .rewritten(&target, &substitute)?
                    .to_string(),
            )
        })
    }),
    FunctionDef::new("@>", &[Q, Q], T::Bool, |b| b.map2(contains)),
    FunctionDef::new("<@", &[Q, Q], T::Bool, |b| {
        b.map2(|a: &str, b: &str| contains(b, a))
    }),
    FunctionDef::new("length", &[V], T::Int4, |b| {
        b.map1(|vector: &str| Ok::<_, Error>(count(TsVector::parse(vector)?.lexemes().len())))
    }),
    FunctionDef::new("strip", &[V], V, |b| {
        b.map1(|vector: &str| {
            changed(vector, |lexeme| {
                Some(Lexeme {
                    word: lexeme.word.clone(),
                    positions: Vec::new(),
                })
            })
        })
    }),
    FunctionDef::new("setweight", &[V, T::Char], V, |b| {
        b.map2(|vector: &str, weight: &str| weighted(vector, weight, None))
    }),
    FunctionDef::new("setweight", &[V, T::Char, T::TextArray], V, |b| {
        b.map3(|vector: &str, weight: &str, words: Vec<Option<&str>>| {
            let words: Vec<&str> = words.into_iter().flatten().collect();
            weighted(vector, weight, Some(&words))
        })
    }),
    FunctionDef::new("ts_delete", &[V, T::Text], V, |b| {
        b.map2(|vector: &str, word: &str| {
            changed(vector, |lexeme| (lexeme.word != word).then(|| lexeme.clone()))
        })
    }),
    FunctionDef::new("ts_delete", &[V, T::TextArray], V, |b| {
        b.map2(|vector: &str, words: Vec<Option<&str>>| {
            let words: Vec<&str> = words.into_iter().flatten().collect();
            changed(vector, |lexeme| {
                (!words.contains(&lexeme.word.as_str())).then(|| lexeme.clone())
            })
        })
    }),
    FunctionDef::new("ts_filter", &[V, T::CharArray], V, |b| b.map2(filtered)),
    FunctionDef::new("array_to_tsvector", &[T::TextArray], V, |b| b.map1(of_array)),
    FunctionDef::new("tsvector_to_array", &[V], T::TextArray, |b| b.map1(words)),
    FunctionDef::rows("unnest", &[V], T::AnyRecord, |b| {
        b.map1(|vector: &str| {
            let vector = TsVector::parse(vector)?;
            Ok::<_, Error>(vector.lexemes().iter().map(row_of).collect::<Vec<Value>>())
        })
    })
    .computed(|_, _| SqlType::array(SqlType::Record(Arc::new(row_type())))),
    FunctionDef::new("numnode", &[Q], T::Int4, |b| {
        b.map1(|query: &str| {
            let query = TsQuery::parse(query)?;
            Ok::<_, Error>(count(query.root.as_ref().map_or(0, QueryNode::count)))
        })
    }),
    FunctionDef::new("querytree", &[Q], T::Text, |b| b.map1(query_tree)),
    FunctionDef::new("ts_rank", &[V, Q], T::Float4, |b| {
        b.map2(|v: &str, q: &str| ranked(rank, &[], v, q, 0))
    }),
    FunctionDef::new("ts_rank", &[V, Q, T::Int4], T::Float4, |b| {
        b.map3(|v: &str, q: &str, by: i32| ranked(rank, &[], v, q, by))
    }),
    FunctionDef::new("ts_rank", &[T::RealArray, V, Q], T::Float4, |b| {
        b.map3(|w: Vec<Option<f32>>, v: &str, q: &str| ranked(rank, &weights_of(w)?, v, q, 0))
    }),
    FunctionDef::new("ts_rank", &[T::RealArray, V, Q, T::Int4], T::Float4, |b| {
        b.map4(|w: Vec<Option<f32>>, v: &str, q: &str, by: i32| ranked(rank, &weights_of(w)?, v, q, by))
    }),
    FunctionDef::new("ts_rank_cd", &[V, Q], T::Float4, |b| {
        b.map2(|v: &str, q: &str| ranked(rank_by_covers, &[], v, q, 0))
    }),
    FunctionDef::new("ts_rank_cd", &[V, Q, T::Int4], T::Float4, |b| {
        b.map3(|v: &str, q: &str, by: i32| ranked(rank_by_covers, &[], v, q, by))
    }),
    FunctionDef::new("ts_rank_cd", &[T::RealArray, V, Q], T::Float4, |b| {
        b.map3(|w: Vec<Option<f32>>, v: &str, q: &str| ranked(rank_by_covers, &weights_of(w)?, v, q, 0))
    }),
    FunctionDef::new("ts_rank_cd", &[T::RealArray, V, Q, T::Int4], T::Float4, |b| {
        b.map4(|w: Vec<Option<f32>>, v: &str, q: &str, by: i32| {
            ranked(rank_by_covers, &weights_of(w)?, v, q, by)
        })
    }),
];

fn count(of: usize) -> i32 {
    i32::try_from(of).unwrap_or(i32::MAX)
}

fn matches(vector: &str, query: &str) -> Result<bool> {
    Ok(TsQuery::parse(query)?.matches(&TsVector::parse(vector)?))
}

fn changed(vector: &str, change: impl FnMut(&Lexeme) -> Option<Lexeme>) -> Result<String> {
    Ok(TsVector::parse(vector)?.changed(change).to_string())
}

/// Two queries as one; of one that has no words the other stays.
fn joined(batch: &Batch, join: fn(QueryNode, QueryNode) -> QueryNode) -> Result<ArrayRef> {
    batch.map2(move |a: &str, b: &str| {
        let root = match (TsQuery::parse(a)?.root, TsQuery::parse(b)?.root) {
            (Some(a), Some(b)) => Some(join(a, b)),
            (a, b) => a.or(b),
        };
        Ok::<_, Error>(TsQuery::new(root)?.to_string())
    })
}

fn negated(query: &str) -> Result<String> {
    let root = TsQuery::parse(query)?.root;
    Ok(TsQuery::new(root.map(|root| QueryNode::Not(Box::new(root))))?.to_string())
}

/// Errors: 22023.
fn phrase(a: &str, b: &str, distance: i32) -> Result<String> {
    let distance = u16::try_from(distance)
        .ok()
        .filter(|distance| *distance <= DISTANCE_MAX);
    let distance = distance.ok_or_else(out_of_distance)?;
    let root = match (TsQuery::parse(a)?.root, TsQuery::parse(b)?.root) {
        (Some(a), Some(b)) => Some(QueryNode::phrase(a, b, distance)),
        (a, b) => a.or(b),
    };
    Ok(TsQuery::new(root)?.to_string())
}

/// Whether the first has all words of the second.
fn contains(whole: &str, part: &str) -> Result<bool> {
    let (whole, part) = (TsQuery::parse(whole)?, TsQuery::parse(part)?);
    let words = |query: &TsQuery| -> Vec<String> {
        let operands = query.root.as_ref().map(QueryNode::operands).unwrap_or_default();
        operands.into_iter().map(|operand| operand.word.clone()).collect()
    };
    let all = words(&whole);
    Ok(words(&part).iter().all(|word| all.contains(word)))
}

/// Items that are no NULLs. Errors: 22004.
fn present<'a>(items: Vec<Option<&'a str>>, message: &str) -> Result<Vec<&'a str>> {
    let items: Option<Vec<&str>> = items.into_iter().collect();
    items.ok_or_else(|| Error::DataException {
        state: "22004",
        message: message.to_string(),
    })
}

/// Errors: XX000 in PostgreSQL, 22023 here.
fn weight_of(letter: &str) -> Result<Weight> {
    let mut letters = letter.chars();
    let first = letters.next();
    first
        .and_then(Weight::of_letter)
        .ok_or_else(|| Error::InvalidParameter {
            message: format!("unrecognized weight: \"{letter}\""),
            hint: Some("Weights are A, B, C and D.".to_string()),
        })
}

fn weighted(vector: &str, weight: &str, words: Option<&[&str]>) -> Result<String> {
    let weight = weight_of(weight)?;
    changed(vector, |lexeme| {
        let is_meant = words.is_none_or(|words| words.contains(&lexeme.word.as_str()));
        let positions = lexeme.positions.iter().map(|position| Position {
            place: position.place,
            weight: if is_meant { weight } else { position.weight },
        });
        Some(Lexeme {
            word: lexeme.word.clone(),
            positions: positions.collect(),
        })
    })
}

/// The places of some weights; words without any go.
fn filtered(vector: &str, weights: Vec<Option<&str>>) -> Result<String> {
    let weights = present(weights, "weight array may not contain nulls")?;
    let weights: Vec<Weight> = weights.into_iter().map(weight_of).collect::<Result<_>>()?;
    changed(vector, |lexeme| {
        let kept = lexeme
            .positions
            .iter()
            .filter(|position| weights.contains(&position.weight));
        let positions: Vec<Position> = kept.copied().collect();
        (!positions.is_empty()).then(|| Lexeme {
            word: lexeme.word.clone(),
            positions,
        })
    })
}

/// Words without places. Errors: 22004, 2200F, 54000.
fn of_array(words: Vec<Option<&str>>) -> Result<String> {
    let words = present(words, "lexeme array may not contain nulls")?;
    let mut lexemes = Vec::with_capacity(words.len());
    for word in words {
        if word.is_empty() {
            return Err(Error::DataException {
                state: "2200F",
                message: "lexeme array may not contain empty strings".to_string(),
            });
        }
        check_length(word)?;
        lexemes.push(Lexeme {
            word: word.to_string(),
            positions: Vec::new(),
        });
    }
    Ok(TsVector::new(lexemes)?.to_string())
}

fn words(vector: &str) -> Result<Vec<String>> {
    let vector = TsVector::parse(vector)?;
    Ok(vector
        .lexemes()
        .iter()
        .map(|lexeme| lexeme.word.clone())
        .collect())
}

/// The type of the rows that unnest makes of a vector.
fn row_type() -> RecordType {
    let array = |item| SqlType::array(item);
    RecordType::anonymous([
        ("lexeme".to_string(), SqlType::Text),
        ("positions".to_string(), array(SqlType::Int2)),
        ("weights".to_string(), array(SqlType::Text)),
    ])
}

/// A word, its places and their weights; NULLs for one without any.
fn row_of(lexeme: &Lexeme) -> Value {
    let list = |item: fn(&Position) -> Value| match lexeme.positions.is_empty() {
        true => Value::Null,
        false => Value::Array(lexeme.positions.iter().map(item).collect()),
    };
    Value::Record(vec![
        Value::Text(lexeme.word.clone()),
        list(|position| Value::Int(i64::from(position.place))),
        list(|position| Value::Text(position.weight.letter().to_string())),
    ])
}

/// What an index could be asked for: `T` for everything.
fn query_tree(query: &str) -> Result<String> {
    Ok(match TsQuery::parse(query)?.root {
        None => String::new(),
        Some(root) => match root.indexable() {
            Some(root) => TsQuery::new(Some(root))?.to_string(),
            None => "T".to_string(),
        },
    })
}

type Rank = fn(&[f32; 4], &TsVector, &TsQuery, i32) -> f32;

fn ranked(rank: Rank, weights: &[f32], vector: &str, query: &str, by: i32) -> Result<f32> {
    let weights: [f32; 4] = weights.try_into().unwrap_or(DEFAULT_WEIGHTS);
    Ok(rank(
        &weights,
        &TsVector::parse(vector)?,
        &TsQuery::parse(query)?,
        by,
    ))
}

/// The weights of D, C, B and A; those below zero are the usual ones. Errors: 2202E, 22004, 22023.
fn weights_of(items: Vec<Option<f32>>) -> Result<Vec<f32>> {
    let fault = |state, message: &str| {
        Err(Error::DataException {
            state,
            message: message.to_string(),
        })
    };
    if items.len() < DEFAULT_WEIGHTS.len() {
        return fault("2202E", "array of weight is too short");
    }
    if items.contains(&None) {
        return fault("22004", "array of weight must not contain nulls");
    }
    let weights: Vec<f32> = items
        .into_iter()
        .flatten()
        .zip(DEFAULT_WEIGHTS)
        .map(|(weight, usual)| if weight >= 0.0 { weight } else { usual })
        .collect();
    match weights.iter().any(|weight| *weight > 1.0) {
        true => fault("22023", "weight out of range"),
        false => Ok(weights),
    }
}
