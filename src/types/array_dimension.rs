//! `Dimension`: how long an array is in each direction, and where it begins to count there. Elements stand in one row, those of the
//! last dimension next to each other; most arrays have one dimension that counts from 1 and are called plain, of which nothing is kept.

/// Dimensions that an array has at most; PostgreSQL's.
pub const DIMENSIONS_MAX: usize = 6;
/// The most elements of an array; PostgreSQL's.
pub const ELEMENTS_MAX: usize = 134_217_727;
/// What a dimension takes in [`put_shape`].
const DIMENSION_BYTES: usize = 8;

/// One dimension of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dimension {
    /// How many there are in it, 1 at least.
    pub length: i32,
    /// The first subscript.
    pub lower: i32,
}

impl Dimension {
    /// One that counts from 1.
    pub fn of(length: usize) -> Dimension {
        Dimension {
            length: i32::try_from(length).unwrap_or(i32::MAX),
            lower: 1,
        }
    }

    /// The last subscript.
    pub fn upper(&self) -> i32 {
        self.lower.saturating_add(self.length - 1)
    }
}

/// Whether dimensions are one from 1.
pub fn is_plain(dimensions: &[Dimension]) -> bool {
    matches!(dimensions, [] | [Dimension { lower: 1, .. }])
}

/// How many elements dimensions have; `None`: more than an array may have.
pub fn element_count(dimensions: &[Dimension]) -> Option<usize> {
    let mut lengths = dimensions
        .iter()
        .map(|dimension| usize::try_from(dimension.length).ok());
    let count = lengths.try_fold(1_usize, |all, length| all.checked_mul(length?));
    match dimensions {
        [] => Some(0),
        _ => count.filter(|count| *count <= ELEMENTS_MAX),
    }
}

/// Appends dimensions as columns and rows hold them: of each its length and its first subscript, LE.
pub fn put_shape(out: &mut Vec<u8>, dimensions: &[Dimension]) {
    for dimension in dimensions {
        out.extend_from_slice(&dimension.length.to_le_bytes());
        out.extend_from_slice(&dimension.lower.to_le_bytes());
    }
}

/// How many bytes they take.
pub fn shape_length(dimensions: usize) -> usize {
    dimensions * DIMENSION_BYTES
}

/// Reads them back, of an array of so many elements. `None`: it cannot be of these.
pub fn read_shape(bytes: &[u8], elements: usize) -> Option<Vec<Dimension>> {
    let (dimensions, rest) = bytes.as_chunks::<DIMENSION_BYTES>();
    if !rest.is_empty() || dimensions.len() > DIMENSIONS_MAX {
        return None;
    }
    let word = |bytes: &[u8]| bytes.first_chunk().map(|word| i32::from_le_bytes(*word));
    let read = |bytes: &[u8; DIMENSION_BYTES]| {
        let (length, lower) = (word(bytes)?, word(&bytes[4..])?);
        let is_one = length > 0 && lower.checked_add(length - 1).is_some();
        is_one.then_some(Dimension { length, lower })
    };
    let dimensions = dimensions.iter().map(read).collect::<Option<Vec<_>>>()?;
    (element_count(&dimensions) == Some(elements)).then_some(dimensions)
}

/// Appends the text of an array: its bounds where one is not 1, then its elements in braces, each as `put` appends it.
pub fn put_array(out: &mut Vec<u8>, dimensions: &[Dimension], mut put: impl FnMut(&mut Vec<u8>, usize)) {
    if dimensions.iter().any(|dimension| dimension.lower != 1) {
        for dimension in dimensions {
            out.extend_from_slice(format!("[{}:{}]", dimension.lower, dimension.upper()).as_bytes());
        }
        out.push(b'=');
    }
    match dimensions {
        [] => out.extend_from_slice(b"{}"),
        dimensions => put_braces(out, dimensions, &mut 0, &mut put),
    }
}

/// Appends elements within one another as the dimensions have it.
fn put_braces(
    out: &mut Vec<u8>,
    dimensions: &[Dimension],
    next: &mut usize,
    put: &mut impl FnMut(&mut Vec<u8>, usize),
) {
    let Some((dimension, inner)) = dimensions.split_first() else {
        put(out, *next);
        *next += 1;
        return;
    };
    out.push(b'{');
    for place in 0..dimension.length {
        if place > 0 {
            out.push(b',');
        }
        put_braces(out, inner, next, put);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_read_back_where_it_fits() {
        let shape = [Dimension { length: 2, lower: -1 }, Dimension::of(3)];
        let mut bytes = Vec::new();
        put_shape(&mut bytes, &shape);
        assert_eq!(read_shape(&bytes, 6).as_deref(), Some(&shape[..]));
        assert_eq!(read_shape(&bytes, 5), None);
        assert_eq!(read_shape(&bytes[..12], 2), None);
    }
}
