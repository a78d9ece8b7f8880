//! `OpenConditions`: what the conditions of a generic plan's scan say in each run, and whether the plan serves it. Asked by `scan_exec`.

use std::sync::Arc;

use crate::catalog::TableDef;
use crate::logical::run_inputs::RunInputs;
use crate::plan::{AccessClass, AccessPath, OrderColumn, Predicate};
use crate::tree::Expr;
use crate::{Error, Result};

/// The conditions of a generic plan's scan.
#[derive(Debug, Clone)]
pub(super) struct OpenConditions {
    pub(super) inputs: Arc<RunInputs>,
    /// Which of the scan's conditions it checks itself: nobody above does.
    checked: Arc<[bool]>,
    /// The order that the plan counts on.
    pub(super) served: Vec<OrderColumn>,
    /// How a run chooses what it reads.
    pub(super) choice: PathChoice,
}

/// How what a scan reads is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathChoice {
    /// By its conditions.
    Conditions,
    /// The same, where the first rows in the order may be all that are wanted.
    FirstRows,
    /// The key of this name, for its order.
    Key(String),
}

impl OpenConditions {
    /// Of a scan under these conditions.
    pub(super) fn new(inputs: &Arc<RunInputs>, conditions: &[Expr], table: &TableDef) -> OpenConditions {
        let is_checked = |condition| !inputs.predicate(condition, table).has_opaque();
        OpenConditions {
            inputs: Arc::clone(inputs),
            checked: conditions.iter().map(is_checked).collect(),
            served: Vec::new(),
            choice: PathChoice::Conditions,
        }
    }

    /// The same of a plan that counts on this order.
    pub(super) fn serving(self, served: Vec<OrderColumn>, choice: PathChoice) -> OpenConditions {
        OpenConditions {
            served,
            choice,
            ..self
        }
    }

    /// What the conditions say in the run at hand. Errors: what tells that the scan cannot check one that it has to.
    pub(super) fn predicates(&self, conditions: &[Expr], table: &TableDef) -> Result<Vec<Predicate>> {
        let predicate = |(condition, is_checked): (&Expr, &bool)| {
            let predicate = self.inputs.predicate(condition, table);
            match *is_checked && predicate.has_opaque() {
                true => Err(other_form()),
                false => Ok(predicate),
            }
        };
        conditions.iter().zip(&*self.checked).map(predicate).collect()
    }
}

/// What a run ends with that a generic plan does not serve: it is planned anew, and nobody sees it.
pub(super) fn other_form() -> Error {
    Error::internal("a generic plan of another form")
}

/// Whether what was planned around one path holds for another: its rows come in the same order, and in as many ways.
pub(super) fn has_form_of(path: &AccessPath, planned: &AccessPath) -> bool {
    path.class == AccessClass::Empty
        || std::mem::discriminant(&path.class) == std::mem::discriminant(&planned.class)
            && !path.is_small_scan()
            && path.index == planned.index
            && path.pinned == planned.pinned
            && path.reverse == planned.reverse
            && path.sort_columns() == planned.sort_columns()
}
