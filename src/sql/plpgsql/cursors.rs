//! Cursor variables: OPEN, FETCH, MOVE and CLOSE, and loops over cursors. A cursor is one of the session's: who gets its name goes on with it.

use std::sync::Arc;

use super::frame::{Flow, Frame};
use super::program::end_transactions;
use super::rows::find_cursor;
use super::variable::{Holder, REFCURSOR, Variable, assign};
use crate::error::Raised;
use crate::parse::command::Movement;
use crate::parse::plpgsql::tree::{
    CursorArgument, DeclarationKind, Direction, Fragment, Into, OpenSource, Statement, Target,
};
use crate::sql::open_cursor::{Cursor, SharedCursor, shared_cursor};
use crate::sql::routine_run::assigned;
use crate::system::{CursorPosition, CursorRow, now_us};
use crate::types::{SqlType, Value, value_at};
use crate::{Error, Result};

impl Frame {
    pub(super) async fn open(
        &mut self,
        cursor: &str,
        scroll: Option<bool>,
        source: &OpenSource,
    ) -> Result<()> {
        match source {
            OpenSource::Query(query) => {
                let (at, name) = self.portal_to_open(cursor)?;
                let opened = self.open_fragment(&query.text, scroll).await?;
                self.opened(at, name, opened, &query.text);
            }
            OpenSource::Dynamic { text, using } => {
                let (at, name) = self.portal_to_open(cursor)?;
                let (text, using) = self.dynamic(text, using).await?;
                let opened = self.open_dynamic(&text, using, scroll).await?;
                self.opened(at, name, opened, &text);
            }
            OpenSource::Bound(arguments) => {
                let given = self.in_order(cursor, arguments)?;
                self.open_bound(cursor, &given).await?;
            }
        }
        Ok(())
    }

    /// Opens a cursor that was declared with its query; answers its name.
    async fn open_bound(&mut self, cursor: &str, given: &[&Fragment]) -> Result<String> {
        let program = Arc::clone(&self.program);
        let Some(DeclarationKind::Cursor {
            arguments,
            query,
            scroll,
        }) = find_cursor(&program.body.block, cursor)
        else {
            return Err(Raised::new("42601", "cursor FOR loop must use a bound cursor variable").into());
        };
        let (at, name) = self.portal_to_open(cursor)?;
        let (names, variables) = (self.names.len(), self.variables.len());
        for ((argument, ty), value) in arguments.iter().zip(given) {
            let (value, from) = self.evaluate(value).await?;
            let named = super::variable::type_of(&self.ctx, ty)?;
            let mut variable = Variable {
                domain: named.domain,
                ..Variable::scalar(named.ty)
            };
            let (value, from) = self.of_domain(variable.domain.clone(), value, from).await?;
            assign(&self.ctx, &mut variable, argument, value, &from)?;
            self.declare(argument, Some(&cursor.to_string()), variable);
        }
        let opened = self.open_fragment(&query.text, *scroll).await;
        self.names.truncate(names);
        self.variables.truncate(variables);
        self.opened(at, name.clone(), opened?, &query.text);
        Ok(name)
    }

    /// The variable of a cursor that is to be opened, and the name that it gets. Errors: 42P03 for one in use.
    fn portal_to_open(&self, cursor: &str) -> Result<(usize, String)> {
        let at = self.cursor_variable(cursor)?;
        let cursors = &self.ctx.session.open_cursors;
        match self.portal_of(at) {
            Some(name) if cursors.contains(&name) => {
                Err(Raised::new("42P03", format!("cursor \"{name}\" already in use")).into())
            }
            Some(name) => Ok((at, name)),
            None => {
                super::variable::check_assignable(&self.variables[at], cursor)?;
                Ok((at, cursors.next_name()))
            }
        }
    }

    /// It is open: its variable holds its name.
    fn opened(&mut self, at: usize, name: String, cursor: Cursor, text: &str) {
        if let Holder::Scalar { value, .. } = &mut self.variables[at].holder {
            *value = Value::Text(name.clone());
        }
        let row = CursorRow {
            name,
            statement: text.into(),
            is_holdable: false,
            is_binary: false,
            is_scrollable: cursor.is_scrollable(),
            created_us: now_us(),
        };
        let rows: SharedCursor = Arc::new(tokio::sync::Mutex::new(cursor));
        self.ctx.session.open_cursors.insert(Arc::new(row), rows, false);
    }

    /// The arguments of a cursor that was declared, in its order. Errors: 42601.
    fn in_order<'a>(&self, cursor: &str, given: &'a [CursorArgument]) -> Result<Vec<&'a Fragment>> {
        let declared = find_cursor(&self.program.body.block, cursor);
        let Some(DeclarationKind::Cursor { arguments, .. }) = declared else {
            return Err(Raised::new("42601", format!("syntax error at or near \"{cursor}\"")).into());
        };
        let fault = |message: String| Err(Error::from(Raised::new("42601", message)));
        if given.is_empty() && !arguments.is_empty() {
            return fault(format!("cursor \"{cursor}\" has arguments"));
        }
        if !given.is_empty() && arguments.is_empty() {
            return fault(format!("cursor \"{cursor}\" has no arguments"));
        }
        let mut ordered: Vec<Option<&Fragment>> = vec![None; arguments.len()];
        for (place, argument) in given.iter().enumerate() {
            let at = match &argument.name {
                None => place,
                Some(name) => match arguments.iter().position(|(known, _)| known == name) {
                    Some(at) => at,
                    None => return fault(format!("cursor \"{cursor}\" has no argument named \"{name}\"")),
                },
            };
            match ordered.get_mut(at) {
                None => return fault(format!("too many arguments for cursor \"{cursor}\"")),
                Some(Some(_)) => {
                    let name = &arguments[at].0;
                    return fault(format!(
                        "value for parameter \"{name}\" of cursor \"{cursor}\" specified more than once"
                    ));
                }
                Some(empty) => *empty = Some(&argument.value),
            }
        }
        let ordered: Option<Vec<&Fragment>> = ordered.into_iter().collect();
        match ordered {
            Some(ordered) => Ok(ordered),
            None => fault(format!("not enough arguments for cursor \"{cursor}\"")),
        }
    }

    pub(super) async fn fetch(&mut self, cursor: &str, direction: &Direction, into: &Into) -> Result<()> {
        let open = self.shared(cursor)?;
        let movement = self.movement(direction).await?;
        let mut open = open.lock().await;
        let row = next_row(&mut open, movement).await?;
        let columns = open.names_and_types();
        drop(open);
        let found = row.is_some();
        self.assign_columns(&into.targets, &columns, row).await?;
        self.row_count = i64::from(found);
        self.set_found(found);
        Ok(())
    }

    pub(super) async fn move_cursor(&mut self, cursor: &str, direction: &Direction) -> Result<()> {
        let open = self.shared(cursor)?;
        let movement = self.movement(direction).await?;
        let passed = open.lock().await.pass(movement).await?;
        self.row_count = i64::try_from(passed).unwrap_or(i64::MAX);
        self.set_found(passed > 0);
        Ok(())
    }

    pub(super) fn close(&mut self, cursor: &str) -> Result<()> {
        let name = self.portal_named(cursor)?;
        match self.ctx.session.open_cursors.remove(&name) {
            true => Ok(()),
            false => Err(Error::UndefinedCursor { name }),
        }
    }

    /// A loop over a cursor that was declared with its query.
    pub(super) async fn for_cursor(
        &mut self,
        label: Option<&String>,
        targets: &[Target],
        (cursor, arguments): (&str, &[Fragment]),
        body: &[Statement],
    ) -> Result<Flow> {
        let given: Vec<CursorArgument> = arguments
            .iter()
            .map(|value| CursorArgument {
                name: None,
                value: value.clone(),
            })
            .collect();
        if find_cursor(&self.program.body.block, cursor).is_none() {
            return Err(Raised::new("42601", "cursor FOR loop must use a bound cursor variable").into());
        }
        self.in_order(cursor, &given)?;
        let given: Vec<&Fragment> = arguments.iter().collect();
        let name = self.open_bound(cursor, &given).await?;
        if let [target] = targets
            && self.resolve(&target.parts).is_err()
        {
            self.declare(&target.name(), label, Variable::of(Holder::Record(None)));
        }
        let looped = self.over_cursor(&name, label, targets, body).await;
        self.ctx.session.open_cursors.remove(&name);
        looped
    }

    async fn over_cursor(
        &mut self,
        name: &str,
        label: Option<&String>,
        targets: &[Target],
        body: &[Statement],
    ) -> Result<Flow> {
        if self.ctx.transaction_control.is_some() && end_transactions(body) {
            self.open_named(name)?.lock().await.hold().await?;
            self.ctx.session.open_cursors.pin(name);
        }
        let (mut any, mut result) = (false, Flow::Next);
        loop {
            let open = self.open_named(name)?;
            let mut open = open.lock().await;
            let row = next_row(&mut open, Movement::Forward(1)).await?;
            let columns = open.names_and_types();
            drop(open);
            let is_last = row.is_none();
            if !is_last || !any {
                self.assign_columns(targets, &columns, row).await?;
            }
            if is_last {
                break;
            }
            any = true;
            if let Some(flow) = self.round(body, label).await? {
                result = flow;
                break;
            }
        }
        self.set_found(any);
        Ok(result)
    }

    /// Where the cursor stands that a statement names in WHERE CURRENT OF, by its variable or its own name. Errors: 34000.
    pub(super) async fn position_of(&self, cursor: &str) -> Result<Arc<CursorPosition>> {
        let name = match self.cursor_variable(cursor) {
            Ok(_) => self.portal_named(cursor)?,
            Err(_) => cursor.to_string(),
        };
        let open = self.open_named(&name)?;
        let open = open.lock().await;
        open.position(&name).map(Arc::new)
    }

    async fn movement(&mut self, direction: &Direction) -> Result<Movement> {
        Ok(match direction {
            Direction::Next | Direction::Forward(None) => Movement::Forward(1),
            Direction::Prior | Direction::Backward(None) => Movement::Forward(-1),
            Direction::First => Movement::Absolute(1),
            Direction::Last => Movement::Absolute(-1),
            Direction::Absolute(number) => Movement::Absolute(self.count_of(number).await?),
            Direction::Relative(number) => Movement::Relative(self.count_of(number).await?),
            Direction::All => Movement::ForwardAll,
            Direction::AllBackward => Movement::BackwardAll,
            Direction::Forward(Some(count)) => Movement::Forward(self.count_of(count).await?),
            Direction::Backward(Some(count)) => {
                Movement::Forward(self.count_of(count).await?.saturating_neg())
            }
        })
    }

    async fn count_of(&mut self, count: &Fragment) -> Result<i64> {
        let (value, from) = self.evaluate(count).await?;
        match assigned(&self.ctx, value, &from, &SqlType::Int8)? {
            Value::Int(count) => Ok(count),
            _ => Err(Raised::new("22004", "relative or absolute cursor position is null").into()),
        }
    }

    /// The variable of a cursor. Errors: 42601, 42804.
    fn cursor_variable(&self, cursor: &str) -> Result<usize> {
        let (at, _) = self.resolve(&[cursor.to_string()])?;
        match &self.variables[at].holder {
            Holder::Scalar { ty: REFCURSOR, .. } => Ok(at),
            _ => Err(Raised::new(
                "42804",
                format!("variable \"{cursor}\" must be of type cursor or refcursor"),
            )
            .into()),
        }
    }

    fn portal_of(&self, at: usize) -> Option<String> {
        match &self.variables[at].holder {
            Holder::Scalar {
                value: Value::Text(name),
                ..
            } => Some(name.clone()),
            _ => None,
        }
    }

    /// The name that a variable holds. Errors: 22004.
    fn portal_named(&self, cursor: &str) -> Result<String> {
        let at = self.cursor_variable(cursor)?;
        let null = || Raised::new("22004", format!("cursor variable \"{cursor}\" is null")).into();
        self.portal_of(at).ok_or_else(null)
    }

    /// The open cursor of a variable. Errors: 22004, 34000.
    fn shared(&self, cursor: &str) -> Result<SharedCursor> {
        self.open_named(&self.portal_named(cursor)?)
    }

    fn open_named(&self, name: &str) -> Result<SharedCursor> {
        let rows = self.ctx.session.open_cursors.rows(name);
        rows.and_then(shared_cursor)
            .ok_or_else(|| Error::UndefinedCursor {
                name: name.to_string(),
            })
    }
}

/// The first row that a movement gives.
async fn next_row(cursor: &mut Cursor, movement: Movement) -> Result<Option<Vec<Value>>> {
    if cursor.begin(movement, false).await? == Some(0) {
        return Ok(None);
    }
    let Some(rows) = cursor.next(1).await? else {
        return Ok(None);
    };
    let batch = rows.into_batch()?;
    let columns = batch.columns().iter().zip(cursor.columns().iter());
    columns
        .map(|(array, column)| value_at(array, 0, &column.ty))
        .collect::<Result<Vec<Value>>>()
        .map(Some)
}
