//! Cursor variables: OPEN, FETCH, MOVE and CLOSE. A cursor is the run's own: it is over when the function is.

use super::frame::Frame;
use super::open_cursor::OpenCursor;
use super::variable::Holder;
use crate::error::Raised;
use crate::parse::plpgsql::tree::{CursorArgument, DeclarationKind, Direction, Fragment, Into, OpenSource};
use crate::sql::routine_run::assigned;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

impl Frame {
    pub(super) async fn open(&mut self, cursor: &str, forward_only: bool, source: &OpenSource) -> Result<()> {
        let at = self.cursor_variable(cursor)?;
        let name = match self.portal_of(at) {
            Some(name) if self.open_cursors().contains_key(&name) => {
                return Err(Raised::new("42P03", format!("cursor \"{name}\" already in use")).into());
            }
            Some(name) => name,
            None => {
                self.cursors_opened += 1;
                format!("<unnamed portal {}>", self.cursors_opened)
            }
        };
        let ran = match source {
            OpenSource::Query(query) => self.run_fragment("", &query.text).await?,
            OpenSource::Dynamic { text, using } => {
                let (text, using) = self.dynamic(text, using).await?;
                self.run_dynamic(&text, using).await?
            }
            OpenSource::Bound(arguments) => {
                let given = self.in_order(cursor, arguments)?;
                self.cursor(cursor, &given).await?
            }
        };
        if ran.columns.is_empty() {
            let word = match source {
                OpenSource::Query(query) => query.text.split_whitespace().next().unwrap_or_default(),
                _ => "non-SELECT",
            };
            let message = format!("cannot open {} query as cursor", word.to_uppercase());
            return Err(Raised::new("42P11", message).into());
        }
        let columns = super::rows::columns_of(&ran);
        let declared = super::rows::find_cursor(&self.program.body.block, cursor);
        let declared_forward = matches!(
            declared,
            Some(DeclarationKind::Cursor {
                forward_only: true,
                ..
            })
        );
        let only_goes_on = forward_only || declared_forward;
        let opened = OpenCursor::new(ran, columns, only_goes_on, self.program.scrolls);
        if let Holder::Scalar { value, .. } = &mut self.variables[at].holder {
            *value = Value::Text(name.clone());
        }
        self.open_cursors().insert(name, opened);
        Ok(())
    }

    /// The arguments of a cursor that was declared, in its order. Errors: 42601.
    fn in_order<'a>(&self, cursor: &str, given: &'a [CursorArgument]) -> Result<Vec<&'a Fragment>> {
        let declared = super::rows::find_cursor(&self.program.body.block, cursor);
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
        let (name, mut open) = self.taken(cursor)?;
        let moved = self.moved(&mut open, direction).await;
        let row = open.row();
        let columns = open.columns().to_vec();
        self.open_cursors().insert(name, open);
        let found = moved? > 0;
        self.assign_columns(&into.targets, &columns, row.filter(|_| found))?;
        self.row_count = i64::from(found);
        self.set_found(found);
        Ok(())
    }

    pub(super) async fn move_cursor(&mut self, cursor: &str, direction: &Direction) -> Result<()> {
        let (name, mut open) = self.taken(cursor)?;
        let moved = self.moved(&mut open, direction).await;
        self.open_cursors().insert(name, open);
        self.row_count = moved?;
        self.set_found(self.row_count > 0);
        Ok(())
    }

    pub(super) fn close(&mut self, cursor: &str) -> Result<()> {
        self.taken(cursor).map(|_| ())
    }

    /// Goes there; how many rows it has passed.
    async fn moved(&mut self, open: &mut OpenCursor, direction: &Direction) -> Result<i64> {
        let at = i64::try_from(open.at).unwrap_or(i64::MAX);
        let by = match direction {
            Direction::Next | Direction::Forward(None) => 1,
            Direction::Prior | Direction::Backward(None) => -1,
            Direction::First => return open.go_to(&self.ctx.memory, 1).await.map(i64::from),
            Direction::Absolute(number) => {
                let number = self.count_of(number).await?;
                let number = match number < 0 {
                    true => {
                        open.go_to(&self.ctx.memory, i64::MAX).await?;
                        i64::try_from(open.at).unwrap_or(i64::MAX) + number
                    }
                    false => number,
                };
                return open.go_to(&self.ctx.memory, number).await.map(i64::from);
            }
            Direction::Relative(number) => {
                let number = self.count_of(number).await?;
                return open
                    .go_to(&self.ctx.memory, at.saturating_add(number))
                    .await
                    .map(i64::from);
            }
            Direction::Last => {
                open.go_to(&self.ctx.memory, i64::MAX).await?;
                let last = i64::try_from(open.last()).unwrap_or(i64::MAX);
                return open.go_to(&self.ctx.memory, last).await.map(i64::from);
            }
            Direction::All => i64::MAX,
            Direction::AllBackward => -at,
            Direction::Forward(Some(count)) => self.count_of(count).await?,
            Direction::Backward(Some(count)) => self.count_of(count).await?.saturating_neg(),
        };
        let is_there = open.go_to(&self.ctx.memory, at.saturating_add(by)).await?;
        let now = i64::try_from(open.at).unwrap_or(i64::MAX);
        // The place behind the last row, or before the first, is none.
        let passed = (now - at).abs() - i64::from(!is_there && now != at);
        Ok(match by {
            0 => i64::from(is_there),
            _ => passed.max(0),
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
            Holder::Scalar {
                ty: SqlType::Text, ..
            } => Ok(at),
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

    /// The open cursor of a variable, taken out of those that are open. Errors: 22004, 34000.
    fn taken(&mut self, cursor: &str) -> Result<(String, OpenCursor)> {
        let at = self.cursor_variable(cursor)?;
        let Some(name) = self.portal_of(at) else {
            return Err(Raised::new("22004", format!("cursor variable \"{cursor}\" is null")).into());
        };
        match self.open_cursors().remove(&name) {
            Some(open) => Ok((name, open)),
            None => Err(Error::UndefinedCursor { name }),
        }
    }
}
