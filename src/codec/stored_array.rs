//! The stored bytes of arrays, read into columns: which bytes are elements, and the shape that these stand in. Driven by `column_builder`,
//! which knows what an element is.

use std::sync::Arc;

use arrow::array::{ArrayRef, ListArray, NullBufferBuilder};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{Field, FieldRef};

use super::stored_value::{NULL_ELEMENT, SHAPED, Stored, damaged};
use crate::types::{
    Dimension, ShapeBuilder, SqlType, array_column, element_count, item_field, read_shape, shape_length,
};
use crate::{Error, Result};

/// Takes an element.
type Put<'p> = &'p mut dyn FnMut(Stored<'_>) -> Result<()>;

/// The arrays of a column, but for their elements.
#[derive(Debug)]
pub(super) struct StoredArrays {
    field: FieldRef,
    /// Where the elements of each array end; 0 first.
    ends: Vec<i32>,
    nulls: NullBufferBuilder,
    shapes: ShapeBuilder,
    /// The dimensions that the column was declared with; 0: it is a vector's, a list alone.
    declared: usize,
}

impl StoredArrays {
    /// Of a type, with room for so many.
    pub(super) fn new(ty: &SqlType, element: &SqlType, rows: usize) -> StoredArrays {
        let field = match item_field(&ty.arrow_type()) {
            Some(field) => Arc::clone(field),
            None => Arc::new(Field::new_list_field(element.arrow_type(), true)),
        };
        let mut ends = Vec::with_capacity(rows + 1);
        ends.push(0);
        StoredArrays {
            field,
            ends,
            nulls: NullBufferBuilder::new(rows),
            shapes: ShapeBuilder::default(),
            declared: ty.declared_dimensions(),
        }
    }

    /// Appends an array: a count and then, for each element, its length and bytes; or a shape and then the elements. Errors: `Corrupt`.
    pub(super) fn append(&mut self, bytes: &[u8], put: Put<'_>) -> Result<()> {
        let (count, rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
        let count = u32::from_le_bytes(*count);
        if count == SHAPED {
            return self.append_shaped(rest, put);
        }
        if self.declared < 2 {
            let rest = put_elements(rest, count, put)?;
            no_more(rest)?;
            self.end_row(count as usize, None);
            return Ok(());
        }
        let mut lengths = Vec::with_capacity(self.declared);
        let elements = put_within(bytes, (self.declared, true), &mut lengths, put)?;
        let dimensions: Vec<Dimension> = lengths.into_iter().map(Dimension::of).collect();
        match elements {
            0 => self.end_row(0, None),
            count if element_count(&dimensions) == Some(count) => self.end_row(count, Some(&dimensions)),
            _ => return Err(damaged("arrays of several lengths within one")),
        }
        Ok(())
    }

    fn append_shaped(&mut self, bytes: &[u8], put: Put<'_>) -> Result<()> {
        let other = || damaged("an array of another shape than its elements");
        let (count, rest) = bytes.split_first().ok_or_else(short)?;
        let (shape, mut rest) = rest
            .split_at_checked(shape_length(usize::from(*count)))
            .ok_or_else(short)?;
        let mut elements = 0;
        while !rest.is_empty() {
            rest = put_elements(rest, 1, put)?;
            elements += 1;
        }
        let dimensions = read_shape(shape, elements).ok_or_else(other)?;
        self.end_row(elements, Some(&dimensions));
        Ok(())
    }

    /// Appends a NULL.
    pub(super) fn append_null(&mut self) {
        self.ends.push(self.last_end());
        self.nulls.append(false);
        self.shapes.append(None);
    }

    /// Ends an array of so many elements; `None`: it is one dimension from 1.
    pub(super) fn end_row(&mut self, elements: usize, shape: Option<&[Dimension]>) {
        self.ends.push(self.last_end() + elements as i32); // a batch holds far fewer elements
        self.nulls.append(true);
        self.shapes.append(shape);
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.nulls.len()
    }

    fn last_end(&self) -> i32 {
        self.ends.last().copied().unwrap_or_default()
    }

    /// The column, of these elements.
    pub(super) fn finish(mut self, elements: ArrayRef) -> ArrayRef {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.ends));
        let items = ListArray::new(self.field, offsets, elements, self.nulls.finish());
        match self.declared {
            0 => Arc::new(items),
            _ => array_column(items, self.shapes.finish()),
        }
    }
}

/// Puts so many elements, each a length and bytes: what stands behind them.
#[inline]
fn put_elements<'b>(bytes: &'b [u8], count: u32, put: Put<'_>) -> Result<&'b [u8]> {
    let mut rest = bytes;
    for _ in 0..count {
        let (length, after) = rest.split_first_chunk::<4>().ok_or_else(short)?;
        let length = u32::from_le_bytes(*length);
        if length == NULL_ELEMENT {
            put(Stored::Null)?;
            rest = after;
            continue;
        }
        let (element, after) = after.split_at_checked(length as usize).ok_or_else(short)?;
        put(Stored::Bytes(element))?;
        rest = after;
    }
    Ok(rest)
}

/// Puts the elements of arrays within one another, so many deep: how many there are. `lengths`: of the first array of each depth.
fn put_within(
    bytes: &[u8],
    (depth, is_first): (usize, bool),
    lengths: &mut Vec<usize>,
    put: Put<'_>,
) -> Result<usize> {
    let (count, mut rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
    let count = u32::from_le_bytes(*count);
    // Every array of a depth is as long as the first, which is read before those inside it.
    if is_first {
        lengths.push(count as usize);
    }
    if depth == 1 {
        no_more(put_elements(rest, count, put)?)?;
        return Ok(count as usize);
    }
    let mut elements = 0;
    for place in 0..count {
        let (length, after) = rest.split_first_chunk::<4>().ok_or_else(short)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (inner, after) = after.split_at_checked(length).ok_or_else(short)?;
        elements += put_within(inner, (depth - 1, is_first && place == 0), lengths, put)?;
        rest = after;
    }
    no_more(rest)?;
    Ok(elements)
}

fn no_more(rest: &[u8]) -> Result<()> {
    match rest.is_empty() {
        true => Ok(()),
        false => Err(damaged("an array with bytes behind its last element")),
    }
}

fn short() -> Error {
    damaged("an array that ends within an element")
}
