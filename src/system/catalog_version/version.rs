//! `CatalogVersion`: what the system catalogs say of one version of our catalog, made once for all statements that see it; and
//! `CatalogRows`: the rows of one relation, which can be found by the value of a column. The server keeps the versions that statements
//! asked for last ([`KnownVersions`]). Knows nothing of statements: what depends on one is made for it (`pg_catalog`).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, SortField};

use super::objects::Objects;
use crate::catalog::Catalog;
use crate::{Error, Result};

/// Versions that are kept: those of open transactions, and of blocks that change definitions.
const VERSIONS_MAX: usize = 16;

/// The versions of the catalog of which somebody asked last.
#[derive(Debug, Default)]
pub struct KnownVersions(Mutex<Vec<Arc<CatalogVersion>>>);

impl KnownVersions {
    /// That of a catalog, in a database of this name.
    pub(crate) fn version(&self, catalog: &Arc<Catalog>, database: &Arc<str>) -> Arc<CatalogVersion> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(version) = known.iter().find(|version| version.is_of(catalog, database)) {
            return Arc::clone(version);
        }
        known.retain(|version| version.catalog.strong_count() > 0);
        if known.len() >= VERSIONS_MAX {
            known.remove(0);
        }
        let version = Arc::new(CatalogVersion {
            catalog: Arc::downgrade(catalog),
            database: Arc::clone(database),
            objects: OnceLock::new(),
            relations: Mutex::default(),
        });
        known.push(Arc::clone(&version));
        version
    }
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct CatalogVersion {
    catalog: Weak<Catalog>,
    /// Rows of information_schema name it.
    database: Arc<str>,
    objects: OnceLock<Objects>,
    /// Rows of relations that were read, by oid and name (those of information_schema share an oid).
    relations: Mutex<HashMap<&'static str, Arc<CatalogRows>>>,
}

impl CatalogVersion {
    fn is_of(&self, catalog: &Arc<Catalog>, database: &str) -> bool {
        std::ptr::eq(self.catalog.as_ptr(), Arc::as_ptr(catalog)) && *self.database == *database
    }

    /// The objects of the catalog, which is this version's.
    pub(crate) fn objects(&self, catalog: &Catalog) -> &Objects {
        self.objects.get_or_init(|| Objects::new(catalog))
    }

    /// The rows of a relation, by its full name; `make` makes them once.
    pub(crate) fn rows(
        &self,
        relation: &'static str,
        make: impl FnOnce() -> Result<CatalogRows>,
    ) -> Result<Arc<CatalogRows>> {
        let mut relations = self.relations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rows) = relations.get(relation) {
            return Ok(Arc::clone(rows));
        }
        let rows = Arc::new(make()?);
        relations.insert(relation, Arc::clone(&rows));
        Ok(rows)
    }
}

/// The rows of a relation.
pub(crate) struct CatalogRows {
    rows: RecordBatch,
    /// For each column where its values stand, once somebody has looked for one; `None`: its type is not looked up.
    places: Vec<OnceLock<Option<Places>>>,
}

impl CatalogRows {
    pub(crate) fn new(rows: RecordBatch) -> CatalogRows {
        CatalogRows {
            places: rows.columns().iter().map(|_| OnceLock::new()).collect(),
            rows,
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> &RecordBatch {
        &self.rows
    }

    /// How many values a column has, by which rows can be found; 0: they cannot.
    pub(crate) fn values(&self, column: usize) -> usize {
        self.places(column).map_or(0, |places| places.firsts.len())
    }

    /// The rows that have one of the values in a column: pairs of the value's place and the row's, in the order of the values, then of
    /// the rows. No row has NULL. Errors: rows are not found by this column.
    pub(crate) fn find(&self, column: usize, values: &ArrayRef) -> Result<Vec<(u32, u32)>> {
        match self.places(column) {
            Some(places) => places.find(values),
            None => Err(Error::internal(
                "a column of the catalog that nothing leads through",
            )),
        }
    }

    /// For each value the first row that has it in a column. Errors: rows are not found by this column.
    pub(crate) fn firsts(&self, column: usize, values: &ArrayRef) -> Result<Vec<Option<u32>>> {
        match self.places(column) {
            Some(places) => places.firsts(values),
            None => Err(Error::internal(
                "a column of the catalog that nothing leads through",
            )),
        }
    }

    /// For each row the next that has the same value in a column; of a column that nothing leads through: the next of all.
    pub(crate) fn nexts(&self, column: Option<usize>) -> Arc<[Option<u32>]> {
        match column.and_then(|column| self.places(column)) {
            Some(places) => Arc::clone(&places.nexts),
            None => {
                let rows = self.rows.num_rows() as u32;
                (1..=rows).map(|next| (next < rows).then_some(next)).collect()
            }
        }
    }

    fn places(&self, column: usize) -> Option<&Places> {
        let places = self.places[column].get_or_init(|| Places::of(self.rows.column(column)));
        places.as_ref()
    }
}

impl fmt::Debug for CatalogRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows", self.rows.num_rows())
    }
}

/// Where the values of a column stand.
struct Places {
    converter: RowConverter,
    /// The first row of each value.
    firsts: HashMap<Box<[u8]>, u32>,
    /// For each row the next of the same value.
    nexts: Arc<[Option<u32>]>,
}

impl Places {
    /// `None`: values of its type may be equal and yet not alike, or nobody asks for them.
    fn of(column: &ArrayRef) -> Option<Places> {
        let is_looked_up = matches!(
            column.data_type(),
            DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::Utf8 | DataType::Boolean
        );
        if !is_looked_up {
            return None;
        }
        let converter = RowConverter::new(vec![SortField::new(column.data_type().clone())]).ok()?;
        let rows = converter.convert_columns(std::slice::from_ref(column)).ok()?;
        let mut firsts: HashMap<Box<[u8]>, u32> = HashMap::new();
        let mut nexts = vec![None; column.len()];
        for (at, value) in rows.iter().enumerate().rev() {
            if column.is_valid(at) {
                nexts[at] = firsts.insert(value.data().into(), at as u32);
            }
        }
        Some(Places {
            converter,
            firsts,
            nexts: nexts.into(),
        })
    }

    fn firsts(&self, values: &ArrayRef) -> Result<Vec<Option<u32>>> {
        let rows = self.converter.convert_columns(std::slice::from_ref(values));
        let rows = rows.map_err(Error::arrow)?;
        let first = |value: arrow::row::Row<'_>| self.firsts.get(value.data()).copied();
        Ok(rows.iter().map(first).collect())
    }

    fn find(&self, values: &ArrayRef) -> Result<Vec<(u32, u32)>> {
        let mut found = Vec::with_capacity(values.len());
        for (at, first) in self.firsts(values)?.into_iter().enumerate() {
            let mut next = first;
            while let Some(row) = next {
                found.push((at as u32, row));
                next = self.nexts[row as usize];
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, StringArray};
    use arrow::datatypes::{Field, Schema};

    use super::*;

    fn rows() -> CatalogRows {
        let schema = Schema::new(vec![
            Field::new("oid", DataType::Int64, true),
            Field::new("name", DataType::Utf8, true),
            Field::new("part", DataType::Float32, true),
        ]);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(vec![Some(7), Some(8), None, Some(7)])),
            Arc::new(StringArray::from(vec![Some(""), Some("a"), Some("b"), None])),
            Arc::new(arrow::array::Float32Array::from(vec![0.0, -0.0, 1.0, 2.0])),
        ];
        CatalogRows::new(RecordBatch::try_new(Arc::new(schema), columns).expect("columns fit"))
    }

    #[test]
    fn rows_are_found_by_the_values_of_a_column() {
        let rows = rows();
        let oids: ArrayRef = Arc::new(Int64Array::from(vec![Some(8), None, Some(7), Some(9)]));
        assert_eq!(rows.find(0, &oids).unwrap(), [(0, 1), (2, 0), (2, 3)]);
        let names: ArrayRef = Arc::new(StringArray::from(vec![Some(""), None, Some("b")]));
        assert_eq!(rows.find(1, &names).unwrap(), [(0, 0), (2, 2)]);
        assert_eq!((rows.values(0), rows.values(1)), (2, 3));
    }

    /// 0 and −0 are equal.
    #[test]
    fn nothing_leads_through_a_float() {
        let rows = rows();
        assert_eq!(rows.values(2), 0);
        assert!(rows.find(2, rows.all().column(2)).is_err());
    }
}
