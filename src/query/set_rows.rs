//! Arrays that become rows in FROM, of PostgreSQL's functions and of users': beside the rows before them, numbered, kept by a LEFT JOIN.

use super::binder::{Binder, Bound};
use super::once::is_repeatable;
use super::scope::ScopeColumn;
use super::set_returning::{all_columns, unnest_columns};
use crate::functions::{self, Volatility};
use crate::tree::{self, Column, Expr, Plan, UnnestExpr};
use crate::types::{SqlType, element_type};
use crate::{Error, Result};

/// The arrays of an item of FROM, one a column.
#[derive(Debug)]
pub(super) struct Sets {
    pub(super) arrays: Vec<Bound>,
    /// What several of the arrays are made of, computed once before them, each under the name of the column that they ask for.
    pub(super) shared: Vec<(Bound, String)>,
}

/// What is asked of the rows of sets.
#[derive(Debug, Clone, Copy)]
pub(super) struct SetRows {
    /// WITH ORDINALITY.
    pub(super) is_numbered: bool,
    /// A LEFT JOIN keeps what stands before them: beside it there is one row at least, of NULLs.
    pub(super) keep_left: bool,
}

impl From<Bound> for Sets {
    fn from(array: Bound) -> Sets {
        Sets::from(vec![array])
    }
}

impl From<Vec<Bound>> for Sets {
    fn from(arrays: Vec<Bound>) -> Sets {
        let shared = Vec::new();
        Sets { arrays, shared }
    }
}

impl Sets {
    /// Those of another call beside them.
    pub(super) fn extend(&mut self, other: Sets) {
        self.arrays.extend(other.arrays);
        self.shared.extend(other.shared);
    }

    /// Whether they ask for columns of the rows before them.
    pub(super) fn ask_for_rows(&self) -> bool {
        let is_shared = |column: &Column| {
            column.relation.is_none() && self.shared.iter().any(|(_, name)| *name == column.name)
        };
        let shared = self.shared.iter().map(|(value, _)| value);
        let mut all = self.arrays.iter().chain(shared);
        all.any(|value| value.expr.asks_for_column(&|column| !is_shared(column)))
    }
}

impl Binder<'_> {
    /// The values of arguments that a call's several arrays are made of: what is to be computed once becomes a column before them.
    pub(super) fn shared_arguments(&mut self, arguments: Vec<Bound>) -> (Vec<Bound>, Vec<(Bound, String)>) {
        let mut shared = Vec::new();
        let arguments = arguments.into_iter().map(|argument| {
            if is_repeatable(&argument.expr) {
                return argument;
            }
            let name = self.unique_name("?argument");
            let column = Expr::Column(Column::new_unqualified(&name));
            let column = Bound::new(column, argument.ty.clone());
            shared.push((argument, name));
            column
        });
        (arguments.collect(), shared)
    }

    /// The rows of sets beside the plan's, a column each, and that of their numbers if it is asked for. Errors: 0A000 where there
    /// are no rows to number.
    pub(super) fn set_rows(
        &mut self,
        plan: Plan,
        Sets { arrays, shared }: Sets,
        asked: SetRows,
    ) -> Result<(Plan, Vec<Bound>, Option<ScopeColumn>)> {
        let plan = self.with_columns(plan, shared)?;
        let types: Vec<SqlType> = arrays.iter().map(|array| array.ty.clone()).collect();
        let exprs = arrays.into_iter().map(|array| array.expr).collect();
        let (mut plan, exprs) = self.place_subqueries(plan, exprs, false)?;
        let mut arrays: Vec<Bound> = exprs
            .into_iter()
            .zip(types)
            .map(|(expr, ty)| Bound::new(expr, ty))
            .collect();
        if asked.is_numbered {
            (plan, arrays) = self.with_numbers(plan, arrays)?;
        }
        if asked.keep_left {
            arrays = arrays.into_iter().map(|array| self.with_a_row(array)).collect();
        }
        let (mut columns, mut sets) = (Vec::new(), Vec::new());
        for array in arrays {
            let name = self.unique_name("?set");
            let column = Expr::Column(Column::new_unqualified(&name));
            columns.push(Bound::new(column, element_type(&array.ty).clone()));
            sets.push((array.expr, name));
        }
        let ordinality = columns.pop_if(|_| asked.is_numbered).map(|bound| ScopeColumn {
            name: "ordinality".to_string(),
            bound,
        });
        Ok((unnest_columns(plan, sets)?, columns, ordinality))
    }

    /// The arrays and one of the numbers of their rows, for which they are asked once more.
    fn with_numbers(&mut self, plan: Plan, arrays: Vec<Bound>) -> Result<(Plan, Vec<Bound>)> {
        if arrays.is_empty() {
            return Err(Error::unsupported("WITH ORDINALITY of nothing", None));
        }
        let (mut arrays, once) = self.shared_arguments(arrays);
        let plan = self.with_columns(plan, once)?;
        let ty = SqlType::list(SqlType::Int8);
        let definition = ("ordinality", functions::ORDINALITY, false, Volatility::Immutable);
        let numbered = arrays.iter().map(|array| (array.expr.clone(), array.ty.clone()));
        let numbers = tree::call(definition, numbered.collect(), ty.clone(), &self.settings);
        arrays.push(Bound::new(numbers, ty));
        Ok((plan, arrays))
    }

    /// The rows that a call gives, as an array. A function of one value is a table of one row.
    pub(super) fn array_of_rows(&self, call: Bound) -> Bound {
        let ty = SqlType::list(call.ty.clone());
        let array = match call.expr {
            Expr::Unnest(UnnestExpr { expr }) => *expr,
            value => {
                let definition = ("array", functions::MAKE_ARRAY, false, Volatility::Immutable);
                tree::call(definition, vec![(value, call.ty)], ty.clone(), &self.settings)
            }
        };
        Bound::new(array, ty)
    }

    /// The plan with values as columns more, under these names.
    fn with_columns(&mut self, plan: Plan, values: Vec<(Bound, String)>) -> Result<Plan> {
        if values.is_empty() {
            return Ok(plan);
        }
        let exprs = values.iter().map(|(value, _)| value.expr.clone()).collect();
        let (plan, exprs) = self.place_subqueries(plan, exprs, false)?;
        let mut outputs = all_columns(&plan);
        let values = exprs.into_iter().zip(values);
        outputs.extend(values.map(|(expr, (value, name))| Bound::new(expr, value.ty).named(&name)));
        plan.project(outputs)
    }

    /// The array of a FROM function whose rows are kept by LEFT JOIN LATERAL: there is one, of NULLs, where it gives none.
    fn with_a_row(&self, set: Bound) -> Bound {
        let definition = (
            "at_least_one",
            functions::AT_LEAST_ONE,
            false,
            Volatility::Immutable,
        );
        let arguments = vec![(set.expr, set.ty.clone())];
        let array = tree::call(definition, arguments, set.ty.clone(), &self.settings);
        Bound::new(array, set.ty)
    }
}
