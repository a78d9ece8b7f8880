//! `CatalogRead`: which rows of a relation of the catalog are read: all, or those that a condition leads to. Read by general plans
//! (`catalog_table`) and by short statements.

use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::concat;
use arrow::datatypes::SchemaRef;

use crate::logical::evaluable::is_evaluable;
use crate::logical::placeholder::Constants;
use crate::logical::{equality, whole_text};
use crate::system::pg_catalog::{CatalogContext, CatalogRows, Definition};
use crate::tree::{Column, Expr, RowSchema, fold_constants_in, lit};
use crate::types::take_rows;
use crate::{Error, Result};

/// A column of a relation, and what it equals one of.
#[derive(Debug, Clone)]
pub(super) struct KnownValues {
    column: usize,
    values: Vec<Expr>,
}

impl KnownValues {
    /// What a condition says: `column = value`, `column IN (value, …)` or `column ~ '^(value)$'`. `None`: something else. `position`: of a column in
    /// `schema`, which is the relation's.
    pub(super) fn of(
        condition: &Expr,
        position: impl Fn(&Column) -> Option<usize>,
        schema: &SchemaRef,
    ) -> Option<KnownValues> {
        let column_of = |expr: &Expr| match expr {
            Expr::Column(column) => position(column),
            _ => None,
        };
        let (column, values) = match condition {
            Expr::InList(list) if !list.negated => (column_of(&list.expr)?, list.list.clone()),
            Expr::ScalarFunction(call) => {
                let [own, pattern @ ..] = call.args.as_slice() else {
                    return None;
                };
                (column_of(own)?, vec![lit(whole_text(call.name(), pattern)?)])
            }
            condition => {
                let mut sides = equality(condition)?.into_iter();
                sides.find_map(|(own, value)| Some((column_of(own)?, vec![value.clone()])))?
            }
        };
        let ty = schema.field(column).data_type();
        let is_known = |value: &Expr| {
            let own_type = value.get_type(&RowSchema::empty());
            value.column_refs().is_empty()
                && is_evaluable(value)
                && !value.is_volatile()
                && own_type.is_ok_and(|own| own == *ty)
        };
        values
            .iter()
            .all(is_known)
            .then_some(KnownValues { column, values })
    }

    /// The values as the run has them. `None`: one cannot be told before rows are read, or fails then.
    fn values(&self, catalogs: &CatalogContext, constants: &Constants) -> Option<ArrayRef> {
        let value = |value: &Expr| {
            let value = constants.replace(value.clone()).ok()?;
            match fold_constants_in(value, catalogs).ok()? {
                Expr::Literal(value, _) => value.to_array().ok(),
                _ => None,
            }
        };
        let values: Vec<ArrayRef> = self.values.iter().map(value).collect::<Option<_>>()?;
        let values: Vec<_> = values.iter().map(AsRef::as_ref).collect();
        concat(&values).ok()
    }
}

/// What is read of a relation.
#[derive(Debug, Clone)]
pub(super) struct CatalogRead {
    pub(super) relation: &'static Definition,
    /// What leads to its rows.
    pub(super) known: Vec<KnownValues>,
    /// The columns that it gives.
    pub(super) columns: Vec<usize>,
}

impl CatalogRead {
    /// The rows as a statement sees them: all, or those that one of the known columns leads to, and which one. The one with the most
    /// values leads to the fewest rows. Errors: the store's.
    pub(super) async fn rows(
        &self,
        catalogs: &CatalogContext,
        constants: &Constants,
    ) -> Result<(RecordBatch, Option<usize>)> {
        let rows = catalogs.rows(self.relation, &self.columns).await?;
        let all = rows.all().project(&self.columns).map_err(Error::arrow)?;
        let known = self.known.iter().enumerate();
        let known = known.map(|(at, known)| (rows.values(known.column), at));
        let leading = known.filter(|(values, _)| *values > 0).max();
        let Some((_, at)) = leading else {
            return Ok((all, None));
        };
        let known = &self.known[at];
        let Some(values) = known.values(catalogs, constants) else {
            return Ok((all, None));
        };
        let places = places(&rows, known.column, &values)?;
        let found = take_rows(&all, &places).map_err(Error::arrow)?;
        Ok((found, Some(at)))
    }
}

/// Where rows stand that have one of the values in a column, each once.
fn places(rows: &CatalogRows, column: usize, values: &ArrayRef) -> Result<UInt32Array> {
    let found = rows.find(column, values)?;
    let mut places: Vec<u32> = found.into_iter().map(|(_, row)| row).collect();
    places.sort_unstable();
    places.dedup();
    Ok(places.into())
}
