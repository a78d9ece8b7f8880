//! Blocks, conditions and loops.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::frame::{Flow, Frame};
use super::variable::{Holder, REFCURSOR, Variable, assign, assign_record, null_value, variable_of};
use crate::error::Raised;
use crate::parse::plpgsql::tree::{
    Block, Declaration, DeclarationKind, Fragment, Kind, Statement, Target, VariableType,
};
use crate::parse::routine::WrittenType;
use crate::sql::routine_run::assigned;
use crate::system::Step;
use crate::types::{ArrayValue, SqlType, Value, element_count};
use crate::{Error, Result};

impl Frame {
    /// A block, with its handlers.
    pub(super) fn block<'a>(&'a mut self, block: &'a Block, line: usize) -> BoxFuture<'a, Result<Flow>> {
        async move {
            let (names, variables) = (self.names.len(), self.variables.len());
            let flow = async {
                for declaration in &block.declarations {
                    self.declaration(declaration, block.label.as_ref())
                        .await
                        .map_err(|error| {
                            self.located(
                                error,
                                declaration.line,
                                "during statement block local variable initialization",
                            )
                        })?;
                }
                match block.handlers.is_empty() {
                    true => self.statements(&block.statements).await,
                    false => self.guarded(block, line).await,
                }
            }
            .await;
            self.names.truncate(names);
            self.variables.truncate(variables);
            match flow? {
                Flow::Leave {
                    is_continue: false,
                    label: Some(label),
                } if block.label.as_ref() == Some(&label) => Ok(Flow::Next),
                flow => Ok(flow),
            }
        }
        .boxed()
    }

    async fn declaration(&mut self, declaration: &Declaration, label: Option<&String>) -> Result<()> {
        match &declaration.kind {
            DeclarationKind::Alias(of) => {
                let (at, _) = self.resolve(std::slice::from_ref(of))?;
                self.names.push(super::variable::Name {
                    name: declaration.name.clone(),
                    qualifier: label.cloned(),
                    at,
                });
                Ok(())
            }
            DeclarationKind::Cursor { .. } => {
                let name = Value::Text(declaration.name.clone());
                let text = Variable::of(Holder::new(REFCURSOR, name));
                self.declare(&declaration.name, label, text);
                Ok(())
            }
            DeclarationKind::Variable {
                ty,
                constant,
                not_null,
                default,
            } => {
                let mut variable = match self.like_variable(ty) {
                    Some(variable) => variable,
                    None => variable_of(&self.ctx, ty)?,
                };
                variable.not_null = *not_null;
                if let Some(default) = default {
                    if let (Holder::Record(_) | Holder::Row(_), Some(other)) =
                        (&variable.holder, self.record_named(&default.text))
                    {
                        assign_record(&self.ctx, &mut variable.holder, other)?;
                    } else {
                        let (value, from) = self.evaluate(default).await?;
                        let (value, from) = self.of_domain(variable.domain.clone(), value, from).await?;
                        assign(&self.ctx, &mut variable, &declaration.name, value, &from)?;
                    }
                } else if *not_null {
                    return Err(null_value(&declaration.name));
                } else {
                    self.of_domain(variable.domain.clone(), Value::Null, SqlType::Unknown)
                        .await?;
                }
                variable.constant = *constant;
                self.declare(&declaration.name, label, variable);
                Ok(())
            }
        }
    }

    /// What `variable%TYPE` declares: the same as the variable, or its field, empty. `None`: it names no variable.
    fn like_variable(&self, ty: &VariableType) -> Option<Variable> {
        let VariableType::Written(WrittenType::OfColumn(name)) = ty else {
            return None;
        };
        let parts = name
            .0
            .iter()
            .map(|part| part.as_ident().map(crate::parse::names::fold));
        let (at, field) = self.resolve(&parts.collect::<Option<Vec<_>>>()?).ok()?;
        let variable = &self.variables[at];
        match (&variable.holder, field) {
            (Holder::Scalar { ty, .. }, None) => Some(Variable {
                domain: variable.domain.clone(),
                ..Variable::scalar(ty.clone())
            }),
            (Holder::Row(fields) | Holder::Record(Some(fields)), Some(field)) => {
                let found = fields.all.iter().find(|known| known.name == field)?;
                Some(Variable::of(Holder::new(found.ty.clone(), Value::Null)))
            }
            _ => None,
        }
    }

    /// A copy of the record that a text names.
    pub(super) fn record_named(&self, text: &str) -> Option<Holder> {
        let name = text.trim().to_lowercase();
        let known = self.names.iter().rev().find(|known| known.name == name)?;
        match &self.variables[known.at].holder {
            Holder::Scalar { .. } => None,
            record => Some(record.clone()),
        }
    }

    /// Statements one behind the other.
    pub(super) async fn statements(&mut self, statements: &[Statement]) -> Result<Flow> {
        let mut around = None;
        for statement in statements {
            self.is_located = false;
            let before = self.go_to(Step::Line(statement.line, statement.kind.name()));
            let around = *around.get_or_insert(before);
            let flow = self.statement(statement).await;
            match flow.map_err(|error| self.located(error, statement.line, statement.kind.name()))? {
                Flow::Next => {}
                flow => {
                    self.go_to(around);
                    return Ok(flow);
                }
            }
        }
        // What is around may go on with a condition.
        if let Some(around) = around {
            self.go_to(around);
        }
        Ok(Flow::Next)
    }

    /// The error with where it was met, unless it says that already.
    pub(super) fn located(&mut self, error: Error, line: usize, what: &str) -> Error {
        if std::mem::replace(&mut self.is_located, true) {
            return error;
        }
        let what = match what.starts_with("during") {
            true => what.to_string(),
            false => format!("at {what}"),
        };
        error
            .without_place()
            .within(format!("{} line {line} {what}", self.program.title))
    }

    async fn statement(&mut self, statement: &Statement) -> Result<Flow> {
        match &statement.kind {
            Kind::Block(block) => return self.block(block, statement.line).await,
            Kind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    if self.is_true(condition).await? {
                        return Box::pin(self.statements(body)).await;
                    }
                }
                return Box::pin(self.statements(otherwise)).await;
            }
            Kind::Case {
                operand,
                branches,
                otherwise,
            } => {
                let otherwise = otherwise.as_deref();
                return Box::pin(self.case(operand.as_ref(), branches, otherwise)).await;
            }
            Kind::Loop { .. }
            | Kind::While { .. }
            | Kind::ForInteger { .. }
            | Kind::ForRows { .. }
            | Kind::ForEach { .. } => return Box::pin(self.any_loop(&statement.kind)).await,
            Kind::Leave {
                is_continue,
                label,
                when,
            } => {
                let leaves = match when {
                    Some(when) => self.is_true(when).await?,
                    None => true,
                };
                if leaves {
                    return Ok(Flow::Leave {
                        is_continue: *is_continue,
                        label: label.clone(),
                    });
                }
            }
            Kind::Return(value) => {
                self.return_value(value.as_ref()).await?;
                return Ok(Flow::Return);
            }
            other => return Box::pin(self.simple(other)).await,
        }
        Ok(Flow::Next)
    }

    /// A loop of any kind.
    async fn any_loop(&mut self, kind: &Kind) -> Result<Flow> {
        match kind {
            Kind::Loop { label, body } => loop {
                if let Some(flow) = self.round(body, label.as_ref()).await? {
                    return Ok(flow);
                }
            },
            Kind::While {
                label,
                condition,
                body,
            } => {
                while self.is_true(condition).await? {
                    if let Some(flow) = self.round(body, label.as_ref()).await? {
                        return Ok(flow);
                    }
                }
            }
            Kind::ForInteger { .. } => return self.for_integer(kind).await,
            Kind::ForRows {
                label,
                targets,
                source,
                body,
            } => return self.for_rows(label.as_ref(), targets, source, body).await,
            Kind::ForEach {
                label,
                targets,
                slice,
                array,
                body,
            } => return self.foreach(label.as_ref(), (targets, *slice), array, body).await,
            _ => {}
        }
        Ok(Flow::Next)
    }

    /// A statement that leads to the next.
    async fn simple(&mut self, kind: &Kind) -> Result<Flow> {
        match kind {
            Kind::Assign { target, value } => self.assignment(target, value).await?,
            Kind::ReturnNext(value) => self.return_next(value.as_ref()).await?,
            Kind::ReturnQuery(source) => self.return_query(source).await?,
            Kind::Raise(raise) => self.raise(raise).await?,
            Kind::Assert { condition, message } => self.assertion(condition, message.as_ref()).await?,
            Kind::Perform(query) => self.perform(query).await?,
            Kind::Call(call) => self.call(call).await?,
            Kind::EndTransaction { commits, chain } => self.end_transaction(*commits, *chain).await?,
            Kind::Sql { text, into } => self.sql(text, into.as_ref()).await?,
            Kind::Execute { text, into, using } => self.execute(text, into.as_ref(), using).await?,
            Kind::Open {
                cursor,
                scroll,
                source,
            } => self.open(cursor, *scroll, source).await?,
            Kind::Fetch {
                cursor,
                direction,
                into,
            } => self.fetch(cursor, direction, into).await?,
            Kind::Move { cursor, direction } => self.move_cursor(cursor, direction).await?,
            Kind::Close { cursor } => self.close(cursor)?,
            Kind::Diagnostics { items, .. } => self.diagnostics(items).await?,
            _ => {}
        }
        Ok(Flow::Next)
    }

    async fn assignment(&mut self, target: &Target, value: &Fragment) -> Result<()> {
        let (at, field) = self.resolve(&target.parts)?;
        if field.is_none()
            && !matches!(self.variables[at].holder, Holder::Scalar { .. })
            && let Some(other) = self.record_named(&value.text)
        {
            return assign_record(&self.ctx, &mut self.variables[at].holder, other);
        }
        let evaluated = match target.subscripts.is_empty() {
            true => self.evaluate_plain(value, "assignment source").await,
            // As UPDATE would have it.
            false => self.run_assignment(target, &value.text).await,
        };
        let (value, from) = evaluated.map_err(|error| match self.tells_of(&error, &value.text) {
            true => error.within(format!(
                "PL/pgSQL assignment \"{}{} := {}\"",
                target.name(),
                target.subscripts.concat(),
                value.text
            )),
            false => error,
        })?;
        self.assign_to(target, value, &from).await
    }

    /// Gives a variable, or a field, a value.
    pub(super) async fn assign_to(&mut self, target: &Target, value: Value, from: &SqlType) -> Result<()> {
        let (at, field) = self.resolve(&target.parts)?;
        let Some(field) = field else {
            let domain = self.variables[at].domain.clone();
            let (value, from) = self.of_domain(domain, value, from.clone()).await?;
            return assign(&self.ctx, &mut self.variables[at], &target.name(), value, &from);
        };
        super::variable::check_assignable(&self.variables[at], &target.name())?;
        let record = target.parts[target.parts.len() - 2].clone();
        let fields = match &mut self.variables[at].holder {
            Holder::Row(fields) | Holder::Record(Some(fields)) => fields,
            _ => return Err(super::variable::unassigned(&record)),
        };
        let Some(known) = fields.all.iter_mut().find(|known| known.name == field) else {
            return Err(Raised::new("42703", format!("record \"{record}\" has no field \"{field}\"")).into());
        };
        if known.ty == SqlType::Unknown {
            known.ty = from.clone();
        }
        known.value = assigned(&self.ctx, value, from, &known.ty)?;
        fields.is_null = false;
        Ok(())
    }

    async fn case(
        &mut self,
        operand: Option<&(String, Fragment)>,
        branches: &[(Fragment, Vec<Statement>)],
        otherwise: Option<&[Statement]>,
    ) -> Result<Flow> {
        let (names, variables) = (self.names.len(), self.variables.len());
        let chosen = self.branch(operand, branches).await;
        self.names.truncate(names);
        self.variables.truncate(variables);
        match (chosen?, otherwise) {
            (Some(body), _) | (None, Some(body)) => self.statements(body).await,
            (None, None) => Err(Raised {
                hint: Some("CASE statement is missing ELSE part.".to_string()),
                ..Raised::new("20000", "case not found")
            }
            .into()),
        }
    }

    /// The first branch whose condition holds. The operand is computed once, into a variable that the conditions name.
    async fn branch<'a>(
        &mut self,
        operand: Option<&(String, Fragment)>,
        branches: &'a [(Fragment, Vec<Statement>)],
    ) -> Result<Option<&'a [Statement]>> {
        if let Some((name, operand)) = operand {
            let (value, ty) = self.evaluate(operand).await?;
            self.declare(name, None, Variable::of(Holder::of_result(ty, value)));
        }
        for (condition, body) in branches {
            if self.is_true(condition).await? {
                return Ok(Some(body));
            }
        }
        Ok(None)
    }

    /// A round of a loop. `Some`: where the loop leads to.
    pub(super) async fn round(&mut self, body: &[Statement], label: Option<&String>) -> Result<Option<Flow>> {
        self.pause().await?;
        let flow = Box::pin(self.statements(body)).await?;
        Ok(match flow {
            Flow::Next => None,
            Flow::Leave {
                is_continue,
                label: wanted,
            } if wanted.is_none() || wanted.as_ref() == label => match is_continue {
                true => None,
                false => Some(Flow::Next),
            },
            flow => Some(flow),
        })
    }

    async fn for_integer(&mut self, kind: &Kind) -> Result<Flow> {
        let Kind::ForInteger {
            label,
            variable,
            reverse,
            from,
            to,
            step,
            body,
        } = kind
        else {
            return Err(Error::internal("no loop over integers"));
        };
        let first = self.bound(from, "lower bound").await?;
        let last = self.bound(to, "upper bound").await?;
        let step = match step {
            Some(step) => self.bound(step, "BY value").await?,
            None => 1,
        };
        if step <= 0 {
            return Err(Raised::new("22023", "BY value of FOR loop must be greater than zero").into());
        }
        let (names, variables) = (self.names.len(), self.variables.len());
        let at = self.declare(variable, label.as_ref(), Variable::scalar(SqlType::Int4));
        let (mut at_hand, mut any, mut result) = (first, false, Flow::Next);
        loop {
            let is_over = match reverse {
                true => at_hand < last,
                false => at_hand > last,
            };
            if is_over {
                break;
            }
            any = true;
            if let Holder::Scalar { value, .. } = &mut self.variables[at].holder {
                *value = Value::Int(at_hand);
            }
            match self.round(body, label.as_ref()).await {
                Ok(None) => {}
                Ok(Some(flow)) => {
                    result = flow;
                    break;
                }
                Err(error) => {
                    self.names.truncate(names);
                    self.variables.truncate(variables);
                    return Err(error);
                }
            }
            let next = match reverse {
                true => at_hand - step,
                false => at_hand + step,
            };
            if i32::try_from(next).is_err() {
                break;
            }
            at_hand = next;
        }
        self.names.truncate(names);
        self.variables.truncate(variables);
        self.set_found(any);
        Ok(result)
    }

    async fn bound(&mut self, expression: &Fragment, what: &str) -> Result<i64> {
        let (value, from) = self.evaluate(expression).await?;
        match assigned(&self.ctx, value, &from, &SqlType::Int4)? {
            Value::Int(number) => Ok(number),
            _ => Err(Raised::new("22004", format!("{what} of FOR loop cannot be null")).into()),
        }
    }

    async fn foreach(
        &mut self,
        label: Option<&String>,
        (targets, slice): (&[Target], usize),
        array: &Fragment,
        body: &[Statement],
    ) -> Result<Flow> {
        let (value, ty) = self.evaluate(array).await?;
        if ty.item_type().is_none() {
            return Err(Error::DatatypeMismatch {
                message: format!("FOREACH expression must yield an array, not type {ty}"),
                hint: None,
            });
        }
        let Value::Array(array_value) = value else {
            return Err(Raised::new("22004", "FOREACH expression must not be null").into());
        };
        let dimensions = array_value.dimensions().len();
        if slice > dimensions {
            let message = format!("slice dimension ({slice}) is out of the valid range 0..{dimensions}");
            return Err(Raised::new("2202E", message).into());
        }
        self.check_loop_variable(targets, slice)?;
        let ty = if slice > 0 { &ty } else { ty.innermost() };
        let (mut any, mut result) = (false, Flow::Next);
        for value in parts(array_value, slice) {
            any = true;
            match (targets, value) {
                ([target], value) => self.assign_to(target, value, ty).await?,
                (targets, value) => {
                    let columns = match ty {
                        SqlType::Record(row) => {
                            let fields = row.fields.iter();
                            fields
                                .map(|field| (field.name.clone(), field.ty.clone()))
                                .collect()
                        }
                        ty => vec![(String::new(), ty.clone())],
                    };
                    let values = match value {
                        Value::Record(values) => values,
                        value => vec![value],
                    };
                    self.assign_columns(targets, &columns, Some(values)).await?;
                }
            }
            if let Some(flow) = self.round(body, label).await? {
                result = flow;
                break;
            }
        }
        self.set_found(any);
        Ok(result)
    }

    /// Errors: 42804 for a variable that no item, or no slice, goes into.
    fn check_loop_variable(&self, targets: &[Target], slice: usize) -> Result<()> {
        let [target] = targets else {
            return Ok(());
        };
        let (at, field) = self.resolve(&target.parts)?;
        let is_array = match &self.variables[at].holder {
            Holder::Scalar { ty, .. } if field.is_none() => ty.item_type().is_some(),
            _ if field.is_some() => return Ok(()),
            _ => false,
        };
        let message = match (slice, is_array) {
            (0, true) => "FOREACH loop variable must not be of an array type",
            (1.., false) => "FOREACH ... SLICE loop variable must be of an array type",
            _ => return Ok(()),
        };
        Err(Raised::new("42804", message).into())
    }
}

/// What FOREACH goes through: the items of an array, or its parts of so many dimensions, the last ones.
fn parts(array: ArrayValue, slice: usize) -> Vec<Value> {
    let dimensions = array.dimensions();
    let inner = &dimensions[dimensions.len().saturating_sub(slice)..];
    match element_count(inner) {
        Some(length @ 1..) => array
            .chunks(length)
            .map(|items| Value::Array(ArrayValue::shaped(items.to_vec(), inner)))
            .collect(),
        _ => array.into_items(),
    }
}
