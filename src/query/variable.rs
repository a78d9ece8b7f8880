//! Names of a function's variables in its statements: each stands for the parameter that has its value.

use super::binder::{Binder, Bound, Clause, Place};
use crate::error::Raised;
use crate::system::{NameConflict, Variable};
use crate::types::SqlType;
use crate::{Error, Result};

impl Binder<'_> {
    /// Whether names of variables mean anything here: a view's text, a constraint's, a default's are no statement of the function.
    fn sees_variables(&self, place: Place<'_>) -> bool {
        let is_stored = matches!(
            place.clause,
            Clause::Check | Clause::Generated | Clause::IndexExpression | Clause::IndexPredicate
        );
        self.views == 0 && !is_stored
    }

    /// The variable of a name that nothing else has.
    pub(super) fn variable_named(&self, name: &str, place: Place<'_>) -> Option<Variable> {
        let variables = self.variables.as_ref().filter(|_| self.sees_variables(place))?;
        variables.named(name).cloned()
    }

    /// The variable of a name, where it counts before a column.
    pub(super) fn preferred_variable(&self, name: &str, place: Place<'_>) -> Option<Variable> {
        let variables = self.variables.as_ref()?;
        match variables.conflict {
            NameConflict::Variable => self.variable_named(name, place),
            NameConflict::Column | NameConflict::Error => None,
        }
    }

    /// Errors: 42702 for the name of a column that is a variable's as well.
    pub(super) fn check_no_variable(&self, name: &str, place: Place<'_>) -> Result<()> {
        let Some(variables) = &self.variables else {
            return Ok(());
        };
        if variables.conflict != NameConflict::Error || self.variable_named(name, place).is_none() {
            return Ok(());
        }
        Err(Raised {
            detail: Some("It could refer to either a PL/pgSQL variable or a table column.".to_string()),
            ..Raised::new("42702", format!("column reference \"{name}\" is ambiguous"))
        }
        .into())
    }

    /// The variable of a name with others before it. Errors: 42703 for a field that its record has not.
    pub(super) fn qualified_variable(&self, parts: &[String], place: Place<'_>) -> Result<Option<Variable>> {
        let (Some(variables), Some((name, before))) = (
            self.variables.as_ref().filter(|_| self.sees_variables(place)),
            parts.split_last(),
        ) else {
            return Ok(None);
        };
        if let Some(found) = variables.qualified(before, name) {
            return Ok(Some(found.clone()));
        }
        let record = before.last().map(String::as_str).unwrap_or_default();
        let has_record = |variable: &Variable| variable.record.as_deref() == Some(record);
        match variables.all.iter().any(has_record) {
            true => Err(Error::from(Raised::new(
                "42703",
                format!("record \"{record}\" has no field \"{name}\""),
            ))),
            false => Ok(None),
        }
    }

    /// What a variable stands for. One of no type holds what a column is that nobody has written yet.
    pub(super) fn variable(&mut self, variable: Variable) -> Result<Bound> {
        if variable.ty == SqlType::Unknown {
            return Ok(Bound::unknown(None).of_unwritten_column(0));
        }
        let id = format!("${}", variable.parameter);
        let parameter = self.parameter(&id)?;
        if self.is_undecided(&id) {
            self.decide_parameter(&id, &variable.ty);
            return self.parameter(&id);
        }
        Ok(parameter)
    }
}
