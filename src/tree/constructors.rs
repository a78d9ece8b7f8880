//! How relations are made of relations.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};

use super::ScalarValue;
use super::aggregate::Aggregate;
use super::column::{Column, RelationAlias};
use super::expr::{Expr, OrderKey, cast};
use super::join::{Join, JoinType, NullEquality, equal_key_pair};
use super::lock_rows::{LockRows, RowLock};
use super::plan::{EmptyRelation, Filter, Plan, RecursiveQuery};
use super::relations::{Limit, Projection, Sort, SubqueryAlias, TableScan, Union, Unnest, Values, Window};
use super::row_schema::RowSchema;
use super::table_source::TableSource;
use super::window_order::by_order;
use crate::functions::value_array::null_of;
use crate::{Error, Result};

impl Plan {
    /// All of a relation, under this name.
    pub fn scan(name: RelationAlias, source: Arc<dyn TableSource>) -> Plan {
        Plan::TableScan(TableScan::new(name, source))
    }

    /// One row without columns.
    pub fn one_row() -> Plan {
        Plan::EmptyRelation(EmptyRelation {
            produce_one_row: true,
            schema: Arc::new(RowSchema::empty()),
        })
    }

    /// Rows of expressions over nothing, columns of one type each. Errors: an expression is over something.
    pub fn values(mut values: Vec<Vec<Expr>>) -> Result<Plan> {
        let nothing = RowSchema::empty();
        let width = values.first().map_or(0, Vec::len);
        let mut fields: Vec<FieldRef> = Vec::with_capacity(width);
        for at in 0..width {
            let (mut ty, mut nullable) = (DataType::Null, false);
            for row in &values {
                nullable |= row[at].nullable(&nothing)?;
                if ty.is_null() {
                    ty = row[at].get_type(&nothing)?;
                }
            }
            for row in &mut values {
                let value = std::mem::take(&mut row[at]);
                row[at] = match value {
                    Expr::Literal(ScalarValue::Null, metadata) => Expr::Literal(null_of(&ty)?, metadata),
                    value if value.get_type(&nothing)? == ty => value,
                    value => cast(value, ty.clone()),
                };
            }
            let name = format!("column{}", at + 1);
            fields.push(Arc::new(Field::new(name, ty.clone(), nullable || ty.is_null())));
        }
        let schema = Arc::new(RowSchema::of_none(fields.into()));
        Ok(Plan::Values(Values { schema, values }))
    }

    /// What these compute of its rows. Errors: they do not fit them.
    pub fn project(self, exprs: impl IntoIterator<Item = Expr>) -> Result<Plan> {
        let exprs = exprs.into_iter().collect();
        Projection::try_new(exprs, Arc::new(self)).map(Plan::Projection)
    }

    /// The rows for which the condition is true.
    pub fn filter(self, condition: Expr) -> Plan {
        Plan::Filter(Filter::new(condition, Arc::new(self)))
    }

    /// Groups of its rows. Errors: the expressions do not fit them.
    pub fn aggregate(self, keys: Vec<Expr>, calls: Vec<Expr>) -> Result<Plan> {
        Aggregate::try_new(Arc::new(self), keys, calls).map(Plan::Aggregate)
    }

    /// Its rows, locked as they come by.
    pub fn lock_rows(self, locks: Vec<RowLock>) -> Plan {
        let input = Arc::new(self);
        let made = match input.as_ref() {
            Plan::Sort(sort) => &sort.input,
            _ => &input,
        };
        Plan::LockRows(LockRows {
            made: Arc::clone(made),
            input,
            locks,
        })
    }

    /// Each row once.
    pub fn distinct(self) -> Plan {
        Plan::Distinct(Arc::new(self))
    }

    /// Its rows in order.
    pub fn sort(self, keys: Vec<OrderKey>) -> Plan {
        Plan::Sort(Sort {
            expr: keys,
            input: Arc::new(self),
            fetch: None,
        })
    }

    /// Some of its rows.
    pub fn limit(self, skip: Option<Expr>, fetch: Option<Expr>) -> Plan {
        Plan::Limit(Limit {
            skip: skip.map(Box::new),
            fetch: fetch.map(Box::new),
            input: Arc::new(self),
        })
    }

    /// Its rows with what calls over windows say, which need several orders maybe. Errors: they do not fit them.
    pub fn windows(self, calls: Vec<Expr>) -> Result<Plan> {
        let groups = by_order(calls, self.schema());
        groups.into_iter().try_fold(self, |plan, calls| {
            Window::try_new(calls, Arc::new(plan)).map(Plan::Window)
        })
    }

    /// Under a name. Errors: none but of a bug.
    pub fn alias(self, name: impl Into<RelationAlias>) -> Result<Plan> {
        SubqueryAlias::try_new(Arc::new(self), name).map(Plan::SubqueryAlias)
    }

    /// Pairs of its rows and the other's for which the condition is true, and what the kind of the join adds.
    pub fn join_on(self, right: Plan, join_type: JoinType, condition: Option<Expr>) -> Plan {
        let (left, right) = (Arc::new(self), Arc::new(right));
        Plan::Join(Join::new(left, right, Vec::new(), condition, join_type))
    }

    /// All pairs.
    pub fn cross_join(self, right: Plan) -> Plan {
        self.join_on(right, JoinType::Inner, None)
    }

    /// The same by columns whose NULLs are partners.
    pub fn join_same(self, right: Plan, join_type: JoinType, keys: (Vec<Column>, Vec<Column>)) -> Plan {
        let on = keys.0.into_iter().zip(keys.1);
        let on = on.map(|(left, right)| (Expr::Column(left), Expr::Column(right)));
        let join = Join::new(Arc::new(self), Arc::new(right), on.collect(), None, join_type);
        Plan::Join(Join {
            null_equality: NullEquality::NullEqualsNull,
            ..join
        })
    }

    /// The same by keys that are computed. Errors: a key is of neither side alone.
    pub fn join_keys(self, right: Plan, join_type: JoinType, keys: (Vec<Expr>, Vec<Expr>)) -> Result<Plan> {
        let pairs = keys.0.iter().zip(&keys.1).map(|(one, other)| {
            equal_key_pair(one, other, self.schema(), right.schema())
                .ok_or_else(|| Error::internal(format!("{one} and {other} are no keys of a join")))
        });
        let on = pairs.collect::<Result<Vec<_>>>()?;
        let (left, right) = (Arc::new(self), Arc::new(right));
        Ok(Plan::Join(Join::new(left, right, on, None, join_type)))
    }

    /// Its rows and those of the other, whose columns are of the same types. Errors: there are more or fewer of them.
    pub fn union(self, other: Plan) -> Result<Plan> {
        Union::try_new(vec![Arc::new(self), Arc::new(other)]).map(Plan::Union)
    }

    /// Its rows, a row an item of the arrays in these columns. Errors: there are none.
    pub fn unnest(self, columns: Vec<Column>) -> Result<Plan> {
        Unnest::try_new(Arc::new(self), columns).map(Plan::Unnest)
    }

    /// Its rows, and what comes of them turn by turn; `distinct_by`: the columns that tell rows apart, of which each is there once.
    pub fn recursion(self, name: String, step: Plan, distinct_by: Option<Vec<usize>>) -> Plan {
        Plan::RecursiveQuery(RecursiveQuery {
            name,
            static_term: Arc::new(self),
            recursive_term: Arc::new(step),
            distinct_by,
        })
    }
}

/// The columns of a union: as the first relation calls them, NULL where one of them is, with what the fields of all carry.
pub(super) fn union_schema(inputs: &[Arc<Plan>]) -> Result<RowSchema> {
    let first = inputs[0].schema();
    let count = first.fields().len();
    if inputs.iter().any(|input| input.schema().fields().len() != count) {
        return Err(Error::internal("a union of relations with other columns"));
    }
    let mut names: HashMap<&String, usize> = HashMap::new();
    let mut fields = Vec::with_capacity(count);
    for (at, field) in first.fields().iter().enumerate() {
        let fields_at = || inputs.iter().map(|input| input.schema().field(at));
        let times = names
            .entry(field.name())
            .and_modify(|times| *times += 1)
            .or_default();
        let name = match times {
            0 => field.name().clone(),
            times => format!("{}_{times}", field.name()),
        };
        let nullable = fields_at().any(|field| field.is_nullable());
        // What carries nothing, as NULL does, says nothing.
        let mut labelled = fields_at()
            .map(|field| field.metadata())
            .filter(|metadata| !metadata.is_empty());
        let mut metadata = labelled.next().cloned().unwrap_or_default();
        for other in labelled {
            metadata.retain(|key, value| other.get(key) == Some(value));
        }
        let field = Field::new(name, field.data_type().clone(), nullable).with_metadata(metadata);
        fields.push((None, Arc::new(field)));
    }
    Ok(RowSchema::new(fields))
}
