//! The texts within values in binary form, for a client of another encoding than UTF-8: where they stand in arrays, rows and what text search
//! has, and how they are brought from one encoding into the other. `client_encoding` says which; knows no messages.

use bytes::Buf;

use crate::Result;
use crate::types::{CatalogType, SqlType};

/// Whether the binary form of a type holds text.
pub(super) fn holds_text(ty: &SqlType) -> bool {
    match ty {
        SqlType::Array(element) => holds_text(element),
        SqlType::Record(row) => row.fields.iter().any(|field| holds_text(&field.ty)),
        SqlType::Text
        | SqlType::Varchar(_)
        | SqlType::Char(_)
        | SqlType::Citext
        | SqlType::Name
        | SqlType::Json
        | SqlType::Jsonb
        | SqlType::TsVector
        | SqlType::TsQuery
        | SqlType::Enum(_)
        | SqlType::Unknown
        | SqlType::Catalog(
            CatalogType::JsonPath | CatalogType::Refcursor | CatalogType::Aclitem | CatalogType::NodeTree,
        ) => true,
        _ => false,
    }
}

/// The value with each of its texts as `recode` gives it. What is damaged stays as it is: whoever reads it says so. Errors: those of
/// `recode`.
pub(super) fn with_texts(
    value: &[u8],
    ty: &SqlType,
    recode: &impl Fn(&[u8]) -> Result<Vec<u8>>,
) -> Result<Vec<u8>> {
    if !holds_text(ty) {
        return Ok(value.to_vec());
    }
    let mut rest = value;
    let recoded = match ty {
        SqlType::Array(element) => array(&mut rest, element, recode)?,
        SqlType::Record(row) => {
            let types: Vec<&SqlType> = row.fields.iter().map(|field| &field.ty).collect();
            record(&mut rest, &types, recode)?
        }
        SqlType::TsVector => lexemes(&mut rest, recode)?,
        SqlType::TsQuery => query(&mut rest, recode)?,
        _ => return recode(value),
    };
    Ok(match recoded {
        Some(recoded) if rest.is_empty() => recoded,
        _ => value.to_vec(),
    })
}

/// So many bytes as they stand; `None`: there are fewer.
fn keep(rest: &mut &[u8], bytes: usize, out: &mut Vec<u8>) -> Option<()> {
    let (kept, behind) = rest.split_at_checked(bytes)?;
    out.extend_from_slice(kept);
    *rest = behind;
    Some(())
}

/// A number of four bytes as it stands.
fn number(rest: &mut &[u8], out: &mut Vec<u8>) -> Option<i32> {
    let number = rest.get(..4)?.get_i32();
    keep(rest, 4, out)?;
    Some(number)
}

/// A value behind its length, which is −1 for NULL.
fn item(
    rest: &mut &[u8],
    ty: &SqlType,
    recode: &impl Fn(&[u8]) -> Result<Vec<u8>>,
    out: &mut Vec<u8>,
) -> Result<Option<()>> {
    let Some(length) = rest.get(..4).map(|mut bytes| bytes.get_i32()) else {
        return Ok(None);
    };
    let Ok(bytes) = usize::try_from(length) else {
        return Ok(keep(rest, 4, out));
    };
    let Some((value, behind)) = rest[4..].split_at_checked(bytes) else {
        return Ok(None);
    };
    let value = with_texts(value, ty, recode)?;
    out.extend_from_slice(&(value.len() as i32).to_be_bytes());
    out.extend_from_slice(&value);
    *rest = behind;
    Ok(Some(()))
}

/// The number of dimensions, whether there are NULLs, the type of the elements, length and first number of each dimension; then the elements.
fn array(
    rest: &mut &[u8],
    element: &SqlType,
    recode: &impl Fn(&[u8]) -> Result<Vec<u8>>,
) -> Result<Option<Vec<u8>>> {
    let mut out = Vec::with_capacity(rest.len());
    let mut head = || {
        let dimensions = usize::try_from(number(rest, &mut out)?).ok()?;
        keep(rest, dimensions.checked_mul(8)?.checked_add(8)?, &mut out)
    };
    if head().is_none() {
        return Ok(None);
    }
    while !rest.is_empty() {
        if item(rest, element, recode, &mut out)?.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(out))
}

/// The number of columns, then the type and the value of each.
fn record(
    rest: &mut &[u8],
    types: &[&SqlType],
    recode: &impl Fn(&[u8]) -> Result<Vec<u8>>,
) -> Result<Option<Vec<u8>>> {
    let mut out = Vec::with_capacity(rest.len());
    if number(rest, &mut out).is_none() {
        return Ok(None);
    }
    for ty in types {
        if number(rest, &mut out).is_none() || item(rest, ty, recode, &mut out)?.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(out))
}

/// A text that ends with a zero byte.
fn ended(
    rest: &mut &[u8],
    recode: &impl Fn(&[u8]) -> Result<Vec<u8>>,
    out: &mut Vec<u8>,
) -> Result<Option<()>> {
    let Some(end) = rest.iter().position(|byte| *byte == 0) else {
        return Ok(None);
    };
    let (text, behind) = rest.split_at(end);
    out.extend_from_slice(&recode(text)?);
    *rest = behind;
    Ok(keep(rest, 1, out))
}

/// A tsvector: the number of its lexemes, then each, the number of its places and these.
fn lexemes(rest: &mut &[u8], recode: &impl Fn(&[u8]) -> Result<Vec<u8>>) -> Result<Option<Vec<u8>>> {
    let mut out = Vec::with_capacity(rest.len());
    if number(rest, &mut out).is_none() {
        return Ok(None);
    }
    while !rest.is_empty() {
        if ended(rest, recode, &mut out)?.is_none() {
            return Ok(None);
        }
        let places = rest.get(..2).map(|mut bytes| usize::from(bytes.get_u16()));
        let kept = places.and_then(|places| keep(rest, 2 + 2 * places, &mut out));
        if kept.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(out))
}

/// A tsquery: the number of its items, then each: 1, weights, whether it is a prefix, and a lexeme; or 2, an operator, and of a phrase (4) the
/// distance.
fn query(rest: &mut &[u8], recode: &impl Fn(&[u8]) -> Result<Vec<u8>>) -> Result<Option<Vec<u8>>> {
    let mut out = Vec::with_capacity(rest.len());
    if number(rest, &mut out).is_none() {
        return Ok(None);
    }
    while !rest.is_empty() {
        let kept = match **rest {
            [1, ..] => match keep(rest, 3, &mut out) {
                Some(()) => ended(rest, recode, &mut out)?,
                None => None,
            },
            [2, 4, ..] => keep(rest, 4, &mut out),
            [2, ..] => keep(rest, 2, &mut out),
            _ => None,
        };
        if kept.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(out))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn longer(text: &[u8]) -> Result<Vec<u8>> {
        Ok([b"<", text, b">"].concat())
    }

    fn array_of(items: &[Option<&[u8]>]) -> Vec<u8> {
        let mut bytes = vec![0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 25];
        bytes.extend((items.len() as i32).to_be_bytes());
        bytes.extend([0, 0, 0, 1]);
        for item in items {
            let length = item.map_or(-1, |item| item.len() as i32);
            bytes.extend(length.to_be_bytes());
            bytes.extend(item.unwrap_or_default());
        }
        bytes
    }

    #[test]
    fn each_text_of_an_array_is_recoded() {
        let texts = SqlType::array(SqlType::Text);
        let recoded = with_texts(&array_of(&[Some(b"a"), None, Some(b"")]), &texts, &longer);
        assert_eq!(recoded, Ok(array_of(&[Some(b"<a>"), None, Some(b"<>")])));
        let numbers = SqlType::array(SqlType::Int4);
        let given = array_of(&[Some(b"\0\0\0\x01")]);
        assert_eq!(with_texts(&given, &numbers, &longer), Ok(given));
    }

    #[test]
    fn lexemes_are_recoded_and_damage_stays() {
        let vector = b"\0\0\0\x01ab\0\0\x01\0\x07";
        let recoded = with_texts(vector, &SqlType::TsVector, &longer);
        assert_eq!(recoded, Ok(b"\0\0\0\x01<ab>\0\0\x01\0\x07".to_vec()));
        let query = b"\0\0\0\x03\x02\x04\0\x01\x01\0\0a\0\x01\0\x01b\0";
        let recoded = with_texts(query, &SqlType::TsQuery, &longer);
        let expected = b"\0\0\0\x03\x02\x04\0\x01\x01\0\0<a>\0\x01\0\x01<b>\0";
        assert_eq!(recoded, Ok(expected.to_vec()));
        let cut = &vector[..vector.len() - 1];
        assert_eq!(with_texts(cut, &SqlType::TsVector, &longer), Ok(cut.to_vec()));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            for ty in [SqlType::array(SqlType::Text), SqlType::TsVector, SqlType::TsQuery] {
                prop_assert!(with_texts(&bytes, &ty, &longer).is_ok());
            }
        }
    }
}
