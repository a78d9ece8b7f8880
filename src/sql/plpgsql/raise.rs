//! RAISE and ASSERT.

use super::frame::Frame;
use crate::error::Raised;
use crate::parse::plpgsql::tree::{Fragment, Level, Raise};
use crate::parse::sqlstates::state_of_condition;
use crate::system::Notice;
use crate::{Error, Result};

impl Frame {
    pub(super) async fn raise(&mut self, raise: &Raise) -> Result<()> {
        if raise.is_bare() {
            return match self.handled.last() {
                Some(error) => {
                    self.is_located = true;
                    Err(error.clone())
                }
                None => Err(Raised::new(
                    "0Z002",
                    "RAISE without parameters cannot be used outside an exception handler",
                )
                .into()),
            };
        }
        let told = self.told(raise).await?;
        if raise.level == Level::Exception {
            return Err(told.into());
        }
        self.ctx.notice(Notice {
            severity: raise.level.word(),
            sqlstate: told.sqlstate.into(),
            message: told.message,
            detail: told.detail,
            hint: told.hint,
            context: None,
        });
        // In a loop there may be more of them than the client reads.
        self.ctx.notices.room().await;
        Ok(())
    }

    /// What is told.
    async fn told(&mut self, raise: &Raise) -> Result<Raised> {
        let mut told = Raised::default();
        let mut state = raise.sqlstate.clone();
        let mut message = None;
        if let Some(condition) = &raise.condition {
            state = Some(state_of(condition)?);
        }
        if let Some(format) = &raise.format {
            message = Some(self.formatted(format, &raise.arguments).await?);
        }
        for (option, value) in &raise.options {
            let Some(text) = self.text_of(value).await? else {
                return Err(Raised::new("22004", "RAISE statement option cannot be null").into());
            };
            let slot = match option.as_str() {
                "ERRCODE" => {
                    let is_state = text.len() == 5
                        && text
                            .bytes()
                            .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
                    let code = match is_state {
                        true => text,
                        false => state_of(&text)?,
                    };
                    if state.replace(code).is_some() {
                        return Err(twice("ERRCODE"));
                    }
                    continue;
                }
                "MESSAGE" => {
                    if message.replace(text).is_some() {
                        return Err(twice("MESSAGE"));
                    }
                    continue;
                }
                "DETAIL" => &mut told.detail,
                "HINT" => &mut told.hint,
                "COLUMN" => &mut told.column,
                "CONSTRAINT" => &mut told.constraint,
                "DATATYPE" => &mut told.data_type,
                "TABLE" => &mut told.table,
                _ => &mut told.schema,
            };
            if slot.replace(text).is_some() {
                return Err(twice(option));
            }
        }
        let message = message.or_else(|| raise.condition.clone());
        told.message = message.or_else(|| state.clone()).unwrap_or_default();
        told.sqlstate = state.unwrap_or_else(|| {
            match raise.level {
                Level::Exception => "P0001",
                Level::Warning => "01000",
                _ => "00000",
            }
            .to_string()
        });
        Ok(told)
    }

    /// The text with an argument for each %.
    async fn formatted(&mut self, format: &str, arguments: &[Fragment]) -> Result<String> {
        let mut arguments = arguments.iter();
        let mut text = String::with_capacity(format.len());
        let mut rest = format.chars().peekable();
        while let Some(c) = rest.next() {
            if c != '%' {
                text.push(c);
            } else if rest.peek() == Some(&'%') {
                rest.next();
                text.push('%');
            } else if let Some(argument) = arguments.next() {
                let value = self.text_of(argument).await?;
                text.push_str(value.as_deref().unwrap_or("<NULL>"));
            }
        }
        Ok(text)
    }

    pub(super) async fn assertion(&mut self, condition: &Fragment, message: Option<&Fragment>) -> Result<()> {
        let are_checked = self.ctx.settings.get("plpgsql.check_asserts");
        if are_checked.as_deref() == Some("off") || self.is_true(condition).await? {
            return Ok(());
        }
        let message = match message {
            Some(message) => self.text_of(message).await?,
            None => None,
        };
        let message = message.unwrap_or_else(|| "assertion failed".to_string());
        Err(Raised::new("P0004", message).into())
    }
}

/// The SQLSTATE of a condition. Errors: 42704.
fn state_of(condition: &str) -> Result<String> {
    let states = state_of_condition(condition);
    match states.first() {
        Some(state) => Ok((*state).to_string()),
        None => Err(Raised::new(
            "42704",
            format!("unrecognized exception condition \"{condition}\""),
        )
        .into()),
    }
}

fn twice(option: &str) -> Error {
    Raised::new("42601", format!("RAISE option already specified: {option}")).into()
}
