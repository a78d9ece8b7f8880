//! The kinds of relations that are made of one other, or of none.

use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};

use super::column::{Column, RelationAlias};
use super::constructors::union_schema;
use super::expr::{Expr, OrderKey};
use super::plan::Plan;
use super::row_schema::{RowSchema, RowSchemaRef};
use super::table_source::TableSource;
use crate::{Error, Result};

/// What a relation of the statement's, a table or another, gives.
#[derive(Debug, Clone)]
pub struct TableScan {
    /// What the plan calls it.
    pub table_name: RelationAlias,
    /// The relation.
    pub source: Arc<dyn TableSource>,
    /// The columns that are read, of those that it has; `None`: all.
    pub projection: Option<Vec<usize>>,
    /// These columns.
    pub projected_schema: RowSchemaRef,
    /// Conditions that it is asked.
    pub filters: Vec<Expr>,
    /// So many rows are enough.
    pub fetch: Option<usize>,
}

impl TableScan {
    /// All of a relation, under this name.
    pub fn new(table_name: RelationAlias, source: Arc<dyn TableSource>) -> TableScan {
        let schema: SchemaRef = source.schema();
        TableScan {
            projected_schema: Arc::new(RowSchema::of_relation(table_name.clone(), &schema)),
            table_name,
            source,
            projection: None,
            filters: Vec::new(),
            fetch: None,
        }
    }

    /// Only these of the columns that it has.
    pub fn with_projection(self, projection: Vec<usize>) -> TableScan {
        let schema = self.source.schema();
        let fields = projection.iter().map(|at| {
            let field = Arc::clone(&schema.fields()[*at]);
            (Some(self.table_name.clone()), field)
        });
        TableScan {
            projected_schema: Arc::new(RowSchema::new(fields.collect())),
            projection: Some(projection),
            ..self
        }
    }
}

impl PartialEq for TableScan {
    fn eq(&self, other: &TableScan) -> bool {
        self.table_name == other.table_name
            && self.projection == other.projection
            && self.projected_schema == other.projected_schema
            && self.filters == other.filters
            && self.fetch == other.fetch
            && self.source.reads_as(&*other.source)
    }
}

impl Eq for TableScan {}

impl std::hash::Hash for TableScan {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.table_name.hash(state);
        self.projection.hash(state);
        self.filters.hash(state);
        self.fetch.hash(state);
    }
}

/// What is computed of rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Projection {
    /// A column each.
    pub expr: Vec<Expr>,
    /// The rows.
    pub input: Arc<Plan>,
    /// The columns.
    pub schema: RowSchemaRef,
}

impl Projection {
    /// Errors: an expression does not fit the rows.
    pub fn try_new(expr: Vec<Expr>, input: Arc<Plan>) -> Result<Projection> {
        let fields = expr.iter().map(|expr| expr.to_field(input.schema()));
        let schema = Arc::new(RowSchema::new(fields.collect::<Result<_>>()?));
        Ok(Projection { expr, input, schema })
    }

    /// The columns of the rows, as these: by their places, whatever their names. Both are as many.
    pub fn of_columns(input: Arc<Plan>, schema: RowSchemaRef) -> Projection {
        let columns = input.schema().columns().into_iter().map(Expr::Column);
        Projection {
            expr: columns.collect(),
            input,
            schema,
        }
    }

    /// The same where the columns are known.
    pub fn with_schema(expr: Vec<Expr>, input: Arc<Plan>, schema: RowSchemaRef) -> Projection {
        Projection { expr, input, schema }
    }
}

/// Rows in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sort {
    /// The order.
    pub expr: Vec<OrderKey>,
    /// The rows.
    pub input: Arc<Plan>,
    /// So many of them are enough.
    pub fetch: Option<usize>,
}

/// Some of the rows, as they come.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Limit {
    /// So many are left out first.
    pub skip: Option<Box<Expr>>,
    /// Then so many are given.
    pub fetch: Option<Box<Expr>>,
    /// The rows.
    pub input: Arc<Plan>,
}

/// A count of LIMIT or OFFSET.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowCount {
    /// A number.
    Known(usize),
    /// There is none.
    None,
    /// It is not known yet.
    Open,
}

impl Limit {
    /// How many are left out.
    pub fn skip_count(&self) -> RowCount {
        match count(self.skip.as_deref()) {
            RowCount::None => RowCount::Known(0),
            known => known,
        }
    }

    /// How many are given.
    pub fn fetch_count(&self) -> RowCount {
        count(self.fetch.as_deref())
    }
}

fn count(expr: Option<&Expr>) -> RowCount {
    use super::ScalarValue;
    match expr {
        None => RowCount::None,
        Some(Expr::Literal(ScalarValue::Int64(Some(rows)), _)) => {
            usize::try_from(*rows).map_or(RowCount::Open, RowCount::Known)
        }
        Some(Expr::Literal(value, _)) if value.is_null() => RowCount::None,
        Some(_) => RowCount::Open,
    }
}

/// Rows with what window functions say of each.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Window {
    /// The rows.
    pub input: Arc<Plan>,
    /// The functions, in one order of the rows.
    pub window_expr: Vec<Expr>,
    /// The columns of the rows, then one a function.
    pub schema: RowSchemaRef,
}

impl Window {
    /// Errors: a function does not fit the rows.
    pub fn try_new(window_expr: Vec<Expr>, input: Arc<Plan>) -> Result<Window> {
        let given = RowSchema::new(
            window_expr
                .iter()
                .map(|expr| expr.to_field(input.schema()))
                .collect::<Result<_>>()?,
        );
        Ok(Window {
            schema: Arc::new(input.schema().join(&given)),
            input,
            window_expr,
        })
    }
}

/// A relation under a name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SubqueryAlias {
    /// The relation.
    pub input: Arc<Plan>,
    /// Its name.
    pub alias: RelationAlias,
    /// Its columns.
    pub schema: RowSchemaRef,
}

impl SubqueryAlias {
    /// Columns of one name are told apart. Errors: none but of a bug.
    pub fn try_new(input: Arc<Plan>, alias: impl Into<RelationAlias>) -> Result<SubqueryAlias> {
        let (alias, input) = (alias.into(), with_unlike_names(input)?);
        let schema = RowSchema::of_relation(alias.clone(), input.schema().inner());
        Ok(SubqueryAlias {
            schema: Arc::new(schema),
            input,
            alias,
        })
    }
}

/// The relation, of whose columns of one name the second is called `name:1`.
fn with_unlike_names(input: Arc<Plan>) -> Result<Arc<Plan>> {
    let schema = input.schema();
    let mut names = std::collections::HashSet::new();
    if schema.fields().iter().all(|field| names.insert(field.name())) {
        return Ok(input);
    }
    let mut taken: Vec<String> = Vec::new();
    let mut outputs = Vec::new();
    for (relation, field) in schema.iter() {
        let column = Expr::Column(Column::from((relation, field)));
        let mut name = field.name().clone();
        let mut number = 0;
        while taken.contains(&name) {
            number += 1;
            name = format!("{}:{number}", field.name());
        }
        outputs.push(match number {
            0 => column,
            _ => column.alias_qualified(relation.cloned(), &name),
        });
        taken.push(name);
    }
    Ok(Arc::new(Plan::Projection(Projection::try_new(outputs, input)?)))
}

/// Rows that are computed of nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Values {
    /// The columns.
    pub schema: RowSchemaRef,
    /// The rows.
    pub values: Vec<Vec<Expr>>,
}

/// The rows of several relations.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Union {
    /// The relations.
    pub inputs: Vec<Arc<Plan>>,
    /// The columns.
    pub schema: RowSchemaRef,
}

impl Union {
    /// Errors: the relations have not as many columns.
    pub fn try_new(inputs: Vec<Arc<Plan>>) -> Result<Union> {
        let schema = Arc::new(union_schema(&inputs)?);
        Ok(Union { inputs, schema })
    }
}

/// Rows whose arrays become a row an item; several arrays go side by side.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Unnest {
    /// The rows.
    pub input: Arc<Plan>,
    /// The columns with arrays.
    pub columns: Vec<Column>,
    /// The columns, items in the places of arrays.
    pub schema: RowSchemaRef,
}

impl Unnest {
    /// Errors: there is no such column, or it has no arrays.
    pub fn try_new(input: Arc<Plan>, columns: Vec<Column>) -> Result<Unnest> {
        let schema = input.schema();
        let places = columns.iter().map(|column| schema.index_of_column(column));
        let places = places.collect::<Result<Vec<usize>>>()?;
        let fields = schema.iter().enumerate().map(|(at, (relation, field))| {
            if !places.contains(&at) {
                return Ok((relation.cloned(), Arc::clone(field)));
            }
            let DataType::List(item) = field.data_type() else {
                return Err(Error::internal("rows of what is no array"));
            };
            let item = item.as_ref().clone();
            Ok((None, Arc::new(item.with_name(field.name()).with_nullable(true))))
        });
        Ok(Unnest {
            schema: Arc::new(RowSchema::new(fields.collect::<Result<_>>()?)),
            input,
            columns,
        })
    }

    /// The places of the columns with arrays.
    pub fn places(&self) -> Vec<usize> {
        let schema = self.input.schema();
        self.columns
            .iter()
            .filter_map(|column| schema.maybe_index_of_column(column))
            .collect()
    }
}
