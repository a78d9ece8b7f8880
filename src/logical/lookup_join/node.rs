//! `LookupJoin`: a join by lookup as a node of a logical plan; `operators::lookup_join_exec` makes it executable.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion_common::Result as DataFusionResult;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{Column, DFSchema, DFSchemaRef, JoinType};
use datafusion_expr::builder::build_join_schema;
use datafusion_expr::{Expr, Extension, LogicalPlan, TableSource, UserDefinedLogicalNodeCore};

use super::joined_table::JoinedTable;
use super::lookup::Lookup;
use super::partners::Partners;
use crate::logical::computed::Computed;
use crate::logical::only_input::only_input;
use crate::logical::replaced_columns::replaced_columns;

/// The node. It gives the columns of its outer rows, then those of the inner ones that the join sees, if it sees any.
#[derive(Clone)]
pub(crate) struct LookupJoin {
    outer: LogicalPlan,
    pub(crate) lookup: Arc<Lookup>,
    /// What would scan the table that is looked up.
    source: Arc<dyn TableSource>,
    /// For each of its columns the place of it in what the lookup gives.
    pub(crate) columns: Arc<[usize]>,
    schema: DFSchemaRef,
}

impl LookupJoin {
    /// The node over `outer`. `seen`: the places among the lookup's inner columns of those that it gives.
    fn plan(
        outer: LogicalPlan,
        (lookup, source): (Lookup, Arc<dyn TableSource>),
        seen: &[usize],
        schema: DFSchema,
    ) -> LogicalPlan {
        let own = outer.schema().fields().len();
        let seen: &[usize] = match lookup.inner_columns() {
            0 => &[],
            _ => seen,
        };
        let node = LookupJoin {
            columns: (0..own).chain(seen.iter().map(|at| own + at)).collect(),
            outer,
            lookup: Arc::new(lookup),
            source,
            schema: Arc::new(schema),
        };
        LogicalPlan::Extension(Extension { node: Arc::new(node) })
    }
}

/// The rows of `outer` joined with those of `inner` that are looked up for them. `None`: `inner` is no table, or no key of it
/// serves the conditions.
pub(crate) fn look_up(
    outer: LogicalPlan,
    inner: &LogicalPlan,
    partners: Partners,
    conditions: Vec<Expr>,
) -> Option<LogicalPlan> {
    let table = JoinedTable::of(inner)?;
    let (left, right) = (outer.schema(), inner.schema());
    let join_type = match partners {
        Partners::Needed => JoinType::Inner,
        Partners::OrNone => JoinType::Left,
        Partners::Exist => JoinType::LeftSemi,
        Partners::Miss => JoinType::LeftAnti,
    };
    let schema = build_join_schema(left, right, &join_type).ok()?;
    let both = left.join(table.schema()).ok()?;
    let stands_for = |column: &Column| match left.maybe_index_of_column(column) {
        Some(at) => Some(Expr::Column(Column::from(left.qualified_field(at)))),
        None => table.column(right.maybe_index_of_column(column)?),
    };
    let conditions = conditions.into_iter();
    let conditions = conditions.map(|condition| replaced_columns(condition, stands_for));
    let conditions = conditions.collect::<Option<Vec<Expr>>>()?;
    let (seen, source) = (table.seen().to_vec(), Arc::clone(table.source()));
    let (inner, asked) = table.looked_up(left, conditions)?;
    let asked = asked.iter().map(|condition| Computed::new(condition, &both));
    let lookup = Lookup::new(
        inner,
        left.fields().len(),
        partners,
        asked.collect::<Option<_>>()?,
    )?;
    Some(LookupJoin::plan(outer, (lookup, source), &seen, schema))
}

/// What would scan the tables that are looked up in the plan.
pub(crate) fn looked_up(plan: &LogicalPlan) -> DataFusionResult<Vec<Arc<dyn TableSource>>> {
    let mut sources = Vec::new();
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Extension(extension) = node
            && let Some(join) = extension.node.as_any().downcast_ref::<LookupJoin>()
        {
            sources.push(Arc::clone(&join.source));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(sources)
}

impl fmt::Debug for LookupJoin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LookupJoin")
            .field("lookup", &self.lookup)
            .finish_non_exhaustive()
    }
}

impl PartialEq for LookupJoin {
    fn eq(&self, other: &LookupJoin) -> bool {
        Arc::ptr_eq(&self.lookup, &other.lookup) && self.outer == other.outer
    }
}

impl Eq for LookupJoin {}

impl Hash for LookupJoin {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.outer.hash(state);
    }
}

impl PartialOrd for LookupJoin {
    fn partial_cmp(&self, other: &LookupJoin) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for LookupJoin {
    fn name(&self) -> &str {
        "LookupJoin"
    }
    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.outer]
    }
    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }
    /// None: what it computes was made ready with it.
    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }
    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "LookupJoin: {}", self.lookup.alias())
    }
    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> DataFusionResult<LookupJoin> {
        Ok(LookupJoin {
            outer: only_input(inputs)?,
            ..self.clone()
        })
    }
}
