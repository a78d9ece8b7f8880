//! `AlikeExpressions`: expressions of nothing that differ in constants and parameters alone, as the cells of a column of VALUES mostly do.
//! They are computed as one, over columns of what differs.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, FieldRef, Schema, SchemaRef};
use datafusion_common::ScalarValue;

use super::computed::Computed;
use crate::functions::evaluate;
use crate::logical::placeholder::Constants;
use crate::tree::{Column, Expr, RelationAlias, RowSchema, Transformed, TransformedResult, TreeNode};
use crate::{Error, Result};

/// Expressions that are computed together.
#[derive(Debug)]
pub(crate) struct AlikeExpressions {
    computed: Computed,
    schema: SchemaRef,
    /// What differs, a column each.
    columns: Vec<Leaves>,
    /// How many there are.
    count: usize,
}

/// One constant or parameter of each of the expressions.
#[derive(Debug)]
enum Leaves {
    /// The same in every run.
    Constants(ArrayRef),
    Open(Vec<Expr>),
}

/// An expression with a column in place of each of its constants and parameters.
struct Opened {
    form: Expr,
    leaves: Vec<(FieldRef, Expr)>,
}

impl AlikeExpressions {
    /// Those of the expressions that are alike, two at least, each set with their places. Whatever may be another value each time it is
    /// asked is left out.
    pub(crate) fn among<'e>(
        exprs: impl Iterator<Item = (usize, &'e Computed)>,
    ) -> Vec<(Vec<usize>, AlikeExpressions)> {
        let mut sets: Vec<Vec<(usize, Opened)>> = Vec::new();
        let mut known: HashMap<(Expr, Vec<FieldRef>), usize> = HashMap::new();
        for (place, computed) in exprs {
            if !computed.is_settled() || computed.reads_catalogs() || computed.is_constant() {
                continue;
            }
            let Some(opened) = Opened::of(computed.written()) else {
                continue;
            };
            let fields = opened.leaves.iter().map(|(field, _)| Arc::clone(field)).collect();
            let set = *known.entry((opened.form.clone(), fields)).or_insert(sets.len());
            if set == sets.len() {
                sets.push(Vec::new());
            }
            sets[set].push((place, opened));
        }
        let sets = sets.into_iter().filter(|set| set.len() > 1);
        sets.filter_map(|set| {
            let (places, opened): (Vec<usize>, Vec<Opened>) = set.into_iter().unzip();
            AlikeExpressions::of(&opened).map(|alike| (places, alike))
        })
        .collect()
    }

    /// `None`: they cannot be computed so.
    fn of(all: &[Opened]) -> Option<AlikeExpressions> {
        let first = all.first()?;
        let (mut columns, mut fields) = (Vec::new(), Vec::new());
        let mut same: HashMap<&str, &Expr> = HashMap::new();
        for (at, (field, leaf)) in first.leaves.iter().enumerate() {
            if all.iter().all(|opened| opened.leaves[at].1 == *leaf) {
                same.insert(field.name(), leaf);
                continue;
            }
            columns.push(Leaves::of(all.iter().map(|opened| &opened.leaves[at].1))?);
            fields.push((None::<RelationAlias>, Arc::clone(field)));
        }
        let form = first.form.clone().transform_up(|part| {
            let leaf = match &part {
                Expr::Column(column) => same.get(column.name.as_str()),
                _ => None,
            };
            Ok(leaf.map_or_else(|| Transformed::no(part), |leaf| Transformed::yes((*leaf).clone())))
        });
        let schema = fields
            .iter()
            .map(|(_, field)| Arc::clone(field))
            .collect::<Vec<_>>();
        Some(AlikeExpressions {
            computed: Computed::new(&form.data().ok()?, &RowSchema::new(fields))?,
            schema: Arc::new(Schema::new(schema)),
            columns,
            count: all.len(),
        })
    }

    /// Their values in a run, in the order of their places. Errors: those of the expressions; 42P02.
    pub(crate) fn values(&self, constants: &Constants) -> Result<ArrayRef> {
        let columns = self.columns.iter().map(|leaves| leaves.array(constants));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.count));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options);
        let batch = batch.map_err(Error::arrow)?;
        evaluate::values(&self.computed.bind(constants)?, &batch)
    }
}

impl Leaves {
    fn of<'e>(leaves: impl Iterator<Item = &'e Expr> + Clone) -> Option<Leaves> {
        let mut constants = leaves.clone().map(|leaf| match leaf {
            Expr::Literal(value, _) => Some(value.clone()),
            _ => None,
        });
        if constants.clone().any(|constant| constant.is_none()) {
            return Some(Leaves::Open(leaves.cloned().collect()));
        }
        let array = ScalarValue::iter_to_array(constants.by_ref().flatten());
        array.ok().map(Leaves::Constants)
    }

    fn array(&self, constants: &Constants) -> Result<ArrayRef> {
        let leaves = match self {
            Leaves::Constants(array) => return Ok(Arc::clone(array)),
            Leaves::Open(leaves) => leaves,
        };
        let values = leaves.iter().map(|leaf| match leaf {
            Expr::Placeholder(placeholder) => constants.get(&placeholder.id),
            other => Ok(other.clone()),
        });
        let values = values.map(|value| match value? {
            Expr::Literal(value, _) => Ok(value),
            _ => Err(Error::internal("a parameter that is no constant")),
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        Ok(ScalarValue::iter_to_array(values)?)
    }
}

impl Opened {
    /// `None`: a parameter has no type, or a part of it is not to be computed over columns.
    fn of(expr: &Expr) -> Option<Opened> {
        let is_apart = |part: &Expr| {
            part.is_routine_call() || matches!(part, Expr::Let(_) | Expr::Fold(_) | Expr::Column(_))
        };
        if expr.has(is_apart) {
            return None;
        }
        let mut leaves = Vec::new();
        let form = expr.clone().transform_up(|part| {
            let field = match &part {
                Expr::Literal(value, metadata) => {
                    let field = Field::new("", value.data_type(), true);
                    field.with_metadata(metadata.as_ref().map(|it| it.to_hash_map()).unwrap_or_default())
                }
                Expr::Placeholder(placeholder) => match &placeholder.field {
                    Some(field) => field.as_ref().clone().with_nullable(true),
                    None => return Err(Error::internal("a parameter without a type")),
                },
                _ => return Ok(Transformed::no(part)),
            };
            let name = format!("?{}", leaves.len());
            leaves.push((Arc::new(field.with_name(&name)), part));
            Ok(Transformed::yes(Expr::Column(Column::new_unqualified(name))))
        });
        let form = form.data().ok()?;
        Some(Opened { form, leaves })
    }
}
