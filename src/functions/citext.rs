//! The functions of the extension citext: what those of the same names do with text, in any case. The operators of citext need none of
//! their own: `query` makes text's of them.

use super::regexp::{every_match, first_match, refuse_global, replaced_by_flags, split};
use super::string::{position, translated};
use super::{FunctionDef, T};
use crate::types::letter_case::{lowercase, uppercase};
use crate::{Error, Result};

/// As `regexp` has it for text.
const TWO: &[T] = &[T::Citext, T::Citext];
const WITH_FLAGS: &[T] = &[T::Citext, T::Citext, T::Text];

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("regexp_match", TWO, T::Text, |b| {
        b.map2(|text, pattern| first_match(text, pattern, "i"))
    })
    .array(T::Text),
    FunctionDef::new("regexp_match", WITH_FLAGS, T::Text, |b| {
        b.map3(|text, pattern, flags| first_match(text, pattern, &any_case(flags)))
    })
    .array(T::Text),
    FunctionDef::rows("regexp_matches", TWO, T::TextArray, |b| {
        b.map2(|text, pattern| every_match(text, pattern, "i"))
    }),
    FunctionDef::rows("regexp_matches", WITH_FLAGS, T::TextArray, |b| {
        b.map3(|text, pattern, flags| every_match(text, pattern, &any_case(flags)))
    }),
    FunctionDef::new("regexp_replace", WITH_FLAGS, T::Text, |b| {
        b.map3(|text, pattern, new| replaced_by_flags((text, pattern, "i"), new, b.limits()))
    }),
    FunctionDef::new(
        "regexp_replace",
        &[T::Citext, T::Citext, T::Text, T::Text],
        T::Text,
        |b| {
            b.map4(|text, pattern, new, flags| {
                replaced_by_flags((text, pattern, &any_case(flags)), new, b.limits())
            })
        },
    ),
    FunctionDef::new("regexp_split_to_array", TWO, T::Text, |b| {
        b.map2(|text, pattern| split(text, pattern, "i"))
    })
    .array(T::Text),
    FunctionDef::new("regexp_split_to_array", WITH_FLAGS, T::Text, |b| {
        b.map3(|text, pattern, flags| {
            refuse_global(flags, "regexp_split_to_array", None)?;
            split(text, pattern, &any_case(flags))
        })
    })
    .array(T::Text),
    FunctionDef::rows("regexp_split_to_table", TWO, T::Text, |b| {
        b.map2(|text, pattern| split(text, pattern, "i"))
    }),
    FunctionDef::rows("regexp_split_to_table", WITH_FLAGS, T::Text, |b| {
        b.map3(|text, pattern, flags| {
            refuse_global(flags, "regexp_split_to_table", None)?;
            split(text, pattern, &any_case(flags))
        })
    }),
    FunctionDef::new("strpos", TWO, T::Int4, |b| {
        b.map2(|text: &str, part: &str| position(&lowercase(text), &lowercase(part)))
    })
    .bounded(),
    FunctionDef::new("replace", &[T::Citext, T::Citext, T::Citext], T::Text, |b| {
        b.map3(|text, part: &str, new| replaced_by_flags((text, &literal(part), "gi"), new, b.limits()))
    }),
    FunctionDef::new("split_part", &[T::Citext, T::Citext, T::Int4], T::Text, |b| {
        b.map3(split_part)
    })
    .bounded(),
    FunctionDef::new("translate", WITH_FLAGS, T::Text, |b| {
        b.map3(|text: &str, from: &str, to: &str| {
            translated(&translated(text, &lowercase(from), to), &uppercase(from), to)
        })
    }),
    FunctionDef::new("citext_cmp", TWO, T::Int4, |b| {
        b.map2(|a: &str, b: &str| lowercase(a).cmp(&lowercase(b)) as i32)
    })
    .bounded(),
];

/// The flags, with that for any case unless they say that case counts.
fn any_case(flags: &str) -> String {
    match flags.contains('c') {
        true => flags.to_string(),
        false => format!("{flags}i"),
    }
}

/// The pattern of nothing but a text.
fn literal(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        if !character.is_ascii_alphanumeric() && character != '_' {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// The part at a place, from 1; none where there is none, as the extension has it. Errors: those of the pattern.
fn split_part<'t>(text: &'t str, separator: &str, field: i32) -> Result<Option<&'t str>, Error> {
    let place = usize::try_from(field).ok().and_then(|field| field.checked_sub(1));
    let parts = split(text, &literal(separator), "i")?;
    Ok(place.and_then(|place| parts.get(place).copied()))
}
