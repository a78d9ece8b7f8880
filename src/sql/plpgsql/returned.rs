//! RETURN, RETURN NEXT and RETURN QUERY.

use std::sync::Arc;

use super::frame::Frame;
use super::prepared::Prepared;
use super::variable::{Field, Holder};
use crate::catalog::RoutineResult;
use crate::error::Raised;
use crate::parse::plpgsql::tree::{Fragment, Source};
use crate::sql::routine_run::assigned;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

impl Frame {
    pub(super) async fn return_value(&mut self, value: Option<&Fragment>) -> Result<()> {
        let Some(value) = value else {
            return Ok(());
        };
        if self.gives_rows() {
            self.returned = Some(self.row_of(value).await?);
            return Ok(());
        }
        let (value, from) = self.evaluate(value).await?;
        let value = self.wanted_value(value, from).await.map_err(|error| {
            self.is_located = true;
            error.within(format!(
                "{} while casting return value to function's return type",
                self.program.title
            ))
        })?;
        self.returned = Some(vec![value]);
        Ok(())
    }

    /// A value of the type that the function declares.
    async fn wanted_value(&mut self, value: Value, from: SqlType) -> Result<Value> {
        let domains = self.routine.as_ref().map(|routine| routine.result_domains());
        let domain = domains.and_then(|domains| domains.first().copied().flatten().cloned());
        let (value, from) = self.of_domain(domain, value, from).await?;
        match self.wanted.as_ref().and_then(|wanted| wanted.first()) {
            Some(ty) => assigned(&self.ctx, value, &from, ty),
            None => Ok(value),
        }
    }

    /// Whether the function gives rows of several columns.
    fn gives_rows(&self) -> bool {
        self.routine
            .as_ref()
            .is_some_and(|routine| routine.returns.is_row() || routine.returns == RoutineResult::Trigger)
    }

    /// The row that an expression is: a record, or of no values where it is NULL.
    async fn row_of(&mut self, value: &Fragment) -> Result<Vec<Value>> {
        if let Some(record) = self.record_named(&value.text) {
            return match record {
                Holder::Row(fields) | Holder::Record(Some(fields)) if !fields.is_null => {
                    self.wanted_row(fields.all)
                }
                _ => Ok(Vec::new()),
            };
        }
        if value.text.trim().eq_ignore_ascii_case("null") {
            return Ok(Vec::new());
        }
        let list = unwrapped(&value.text);
        let is_list = list.trim() != value.text.trim();
        let prepared = self
            .program
            .prepared(&value.text, || Prepared::new("SELECT ", &list));
        let mut ran = self.run_prepared(&prepared).await?;
        let columns = super::rows::columns_of(&ran);
        let values = ran.rows.next().await?.unwrap_or_default();
        if let ([(_, SqlType::Record(row))], [value]) = (columns.as_slice(), values.as_slice()) {
            let ty = SqlType::Record(Arc::clone(row));
            return match (value, Holder::new(ty, value.clone())) {
                (Value::Record(_), Holder::Row(fields)) => self.wanted_row(fields.all),
                _ => Ok(Vec::new()),
            };
        }
        if let ([(_, SqlType::Unknown | SqlType::Text)], [Value::Null]) =
            (columns.as_slice(), values.as_slice())
        {
            return Ok(Vec::new());
        }
        if !is_list && columns.len() == 1 {
            let message = "cannot return non-composite value from function returning composite type";
            return Err(Raised::new("42804", message).into());
        }
        let fields = columns
            .into_iter()
            .zip(values)
            .map(|((name, ty), value)| Field { name, ty, value });
        self.wanted_row(fields.collect())
    }

    /// A row of the types that the function declares. Errors: 42804 for another number of columns.
    fn wanted_row(&self, fields: Vec<Field>) -> Result<Vec<Value>> {
        if self.fired_after {
            // Nobody asks what it is.
            return Ok(Vec::new());
        }
        let Some(wanted) = &self.wanted else {
            return Ok(fields.into_iter().map(|field| field.value).collect());
        };
        if wanted.len() != fields.len() {
            return Err(Raised {
                detail: Some(format!(
                    "Number of returned columns ({}) does not match expected column count ({}).",
                    fields.len(),
                    wanted.len()
                )),
                ..Raised::new("42804", self.row_mismatch())
            }
            .into());
        }
        let pairs = fields.into_iter().zip(wanted);
        pairs
            .map(|(field, ty)| assigned(&self.ctx, field.value, &field.ty, ty))
            .collect()
    }

    /// The error of a row of another number of columns.
    fn row_mismatch(&self) -> &'static str {
        match self.routine.as_ref().map(|routine| &routine.returns) {
            Some(RoutineResult::Trigger) => {
                "returned row structure does not match the structure of the triggering table"
            }
            _ => "returned record type does not match expected record type",
        }
    }

    pub(super) async fn return_next(&mut self, value: Option<&Fragment>) -> Result<()> {
        let row = match value {
            None => self.output_row(),
            Some(value) if self.gives_rows() => self.row_of(value).await?,
            Some(value) => {
                let (value, from) = self.evaluate(value).await?;
                vec![self.wanted_value(value, from).await?]
            }
        };
        self.keep(row)
    }

    fn keep(&mut self, row: Vec<Value>) -> Result<()> {
        self.ctx.memory.hold(bytes_of(&row))?;
        self.rows.push_back(row);
        Ok(())
    }

    pub(super) async fn return_query(&mut self, source: &Source) -> Result<()> {
        let mut ran = self.rows_of(source, false).await?;
        let columns = super::rows::columns_of(&ran);
        let types: Vec<SqlType> = columns.iter().map(|(_, ty)| ty.clone()).collect();
        if let Some(wanted) = &self.wanted {
            check_structure(&types, wanted)?;
        }
        let mut count = 0i64;
        while let Some(row) = ran.rows.next().await? {
            count += 1;
            let row = match &self.wanted {
                None => row,
                Some(wanted) => {
                    let mut values = Vec::with_capacity(row.len());
                    for ((value, from), to) in row.into_iter().zip(&types).zip(wanted) {
                        values.push(assigned(&self.ctx, value, from, to)?);
                    }
                    values
                }
            };
            self.keep(row)?;
        }
        self.row_count = count;
        self.set_found(count > 0);
        Ok(())
    }
}

/// What a value in memory takes besides its bytes.
const VALUE_BYTES: usize = 48;

/// What a row in memory takes.
fn bytes_of(row: &[Value]) -> usize {
    let bytes = |value: &Value| match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Array(items) => VALUE_BYTES * items.len(),
        Value::Record(items) => VALUE_BYTES * items.len(),
        _ => 0,
    };
    row.iter().map(|value| VALUE_BYTES + bytes(value)).sum()
}

/// Errors: 42804 for columns of other types than the function's.
fn check_structure(found: &[SqlType], wanted: &[SqlType]) -> Result<()> {
    let mismatch = |detail: String| {
        Error::from(Raised {
            detail: Some(detail),
            ..Raised::new("42804", "structure of query does not match function result type")
        })
    };
    if found.len() != wanted.len() {
        return Err(mismatch(format!(
            "Number of returned columns ({}) does not match expected column count ({}).",
            found.len(),
            wanted.len()
        )));
    }
    let mut pairs = found.iter().zip(wanted).enumerate();
    let differs = |(_, (found, wanted)): &(usize, (&SqlType, &SqlType))| {
        **found != SqlType::Unknown && found.oid() != wanted.oid()
    };
    match pairs.find(differs) {
        None => Ok(()),
        Some((at, (found, wanted))) => Err(mismatch(format!(
            "Returned type {found} does not match expected type {wanted} in column {}.",
            at + 1
        ))),
    }
}

/// What stands in `ROW(…)` or `(…)`, which is a select list.
fn unwrapped(text: &str) -> String {
    let text = text.trim();
    let is_row = text.len() >= 3 && text[..3].eq_ignore_ascii_case("row");
    let inner = match is_row {
        true => text[3..].trim_start(),
        false => text,
    };
    match inner.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(list) if is_row || list.contains(',') => list.to_string(),
        _ => text.to_string(),
    }
}
