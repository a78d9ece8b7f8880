//! The Arrow arrays that carry SQL arrays: a struct of the items, a list, and of the shape, bytes of `put_shape` that are NULL where an
//! array has one dimension from 1. What is gathered within a plan (the items of an aggregate) is a list alone, and so are the catalogs'
//! vectors; whoever reads takes both.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryBuilder, ListArray, StructArray, new_null_array,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, FieldRef, Fields};

use super::array_dimension::{Dimension, is_plain, put_shape, read_shape};

/// The names of the struct's columns; those of a row are called otherwise.
const ITEMS: &str = "items";
const SHAPE: &str = "shape";

/// The Arrow type of arrays whose items are carried by a field.
pub(super) fn array_carrier(item: DataType) -> DataType {
    let items = DataType::List(Arc::new(Field::new_list_field(item, true)));
    DataType::Struct(Fields::from(vec![
        Field::new(ITEMS, items, true),
        Field::new(SHAPE, DataType::Binary, true),
    ]))
}

/// The field of the items, of what carries arrays: the struct, or a list alone.
pub fn item_field(carrier: &DataType) -> Option<&FieldRef> {
    match carrier {
        DataType::List(item) => Some(item),
        DataType::Struct(columns) => match columns.as_ref() {
            [items, shape] if items.name() == ITEMS && shape.name() == SHAPE => item_field(items.data_type()),
            _ => None,
        },
        _ => None,
    }
}

/// The items of each array. Whether an array is NULL, the array itself tells.
pub fn items_of(array: &dyn Array) -> Option<&ListArray> {
    match array.data_type() {
        DataType::List(_) => array.as_list_opt(),
        carrier => item_field(carrier).and_then(|_| array.as_struct_opt()?.column(0).as_list_opt()),
    }
}

/// The items of each array, NULL where that is.
pub fn lists_of(array: &dyn Array) -> Option<ListArray> {
    let lists = items_of(array)?;
    let nulls = NullBuffer::union(array.nulls(), lists.nulls());
    let (field, offsets, values, _) = lists.clone().into_parts();
    Some(ListArray::new(field, offsets, values, nulls))
}

/// The shapes of arrays: `None` where none has one.
pub fn shapes_of(array: &dyn Array) -> Option<&BinaryArray> {
    item_field(array.data_type())?;
    let shapes = array.as_struct_opt()?.column(1).as_binary_opt::<i32>()?;
    (shapes.null_count() < shapes.len()).then_some(shapes)
}

/// The dimensions of the array in a row that is not NULL. `None`: it is carried by none.
pub fn dimensions_at(array: &dyn Array, row: usize) -> Option<Vec<Dimension>> {
    dimensions_in(items_of(array)?, shapes_of(array), row)
}

/// The same, of the columns of a carrier.
pub fn dimensions_in(items: &ListArray, shapes: Option<&BinaryArray>, row: usize) -> Option<Vec<Dimension>> {
    let length = usize::try_from(items.value_length(row)).ok()?;
    match shapes.filter(|shapes| shapes.is_valid(row)) {
        Some(shapes) => read_shape(shapes.value(row), length),
        None if length == 0 => Some(Vec::new()),
        None => Some(vec![Dimension::of(length)]),
    }
}

/// The arrays of these items in these shapes, which are as many. `None`: each is one dimension from 1.
pub fn array_column(items: ListArray, shapes: Option<BinaryArray>) -> ArrayRef {
    let shapes: ArrayRef = match shapes {
        Some(shapes) => Arc::new(shapes),
        None => new_null_array(&DataType::Binary, items.len()),
    };
    let nulls = items.nulls().cloned();
    let fields = Fields::from(vec![
        Field::new(ITEMS, items.data_type().clone(), true),
        Field::new(SHAPE, DataType::Binary, true),
    ]);
    Arc::new(StructArray::new(fields, vec![Arc::new(items), shapes], nulls))
}

/// Gathers the shapes of a column's arrays, of which most have none.
#[derive(Debug, Default)]
pub struct ShapeBuilder {
    rows: usize,
    /// `None`: so far each array is one dimension from 1.
    shapes: Option<BinaryBuilder>,
}

impl ShapeBuilder {
    /// Appends the shape of the next array; `None`: it is one dimension from 1, or NULL.
    pub fn append(&mut self, shape: Option<&[Dimension]>) {
        let shape = shape.filter(|dimensions| !is_plain(dimensions));
        let rows = self.rows;
        self.rows += 1;
        if shape.is_none() && self.shapes.is_none() {
            return;
        }
        let shapes = self.shapes.get_or_insert_with(|| {
            let mut shapes = BinaryBuilder::new();
            (0..rows).for_each(|_| shapes.append_null());
            shapes
        });
        shapes.append_option(shape.map(|dimensions| {
            let mut bytes = Vec::new();
            put_shape(&mut bytes, dimensions);
            bytes
        }));
    }

    /// The shapes; `None`: there are none.
    pub fn finish(self) -> Option<BinaryArray> {
        self.shapes.map(|mut shapes| shapes.finish())
    }
}
