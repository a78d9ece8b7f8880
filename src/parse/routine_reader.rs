//! Reads CREATE, ALTER, DROP and COMMENT ON of functions and procedures, and DO, off their tokens. Called by `definition_reader` and
//! `command_reader`; knows nothing of what they do, nor what a body says.

use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::command::{Command, SettingsChange};
use super::dialect::KEYSPAN;
use super::routine::{
    NewRoutine, PassedAs, RoutineChange, RoutineDefinition, RoutineOption, RoutineRef, RoutineWord,
    WrittenArgument, WrittenBody, WrittenType,
};
use super::system_time::respell;
use super::token_reader::{TokenReader, is_word_at, string_of};
use crate::error::StatementFault;
use crate::{Error, Result};

/// Second words of types whose names are several.
const TYPE_WORDS: [&str; 4] = ["PRECISION", "VARYING", "WITH", "WITHOUT"];

/// Whether the tokens define a function, procedure or trigger.
pub(super) fn is_routine_definition(tokens: &[TokenWithSpan]) -> bool {
    let is = |at: usize, name: &str| is_word_at(tokens, at, name);
    let words = ["FUNCTION", "PROCEDURE", "ROUTINE", "AGGREGATE"];
    let names = |at: usize| words.iter().any(|word| is(at, word));
    if is(0, "CREATE") {
        let at = behind_replace(tokens);
        let is_trigger =
            is(at, "TRIGGER") || (is(at + 1, "TRIGGER") && (is(at, "CONSTRAINT") || is(at, "EVENT")));
        let is_language = (at..at + 3).any(|at| is(at, "LANGUAGE"))
            && (is(at, "LANGUAGE") || is(at, "TRUSTED") || is(at, "PROCEDURAL"));
        return names(at) || is_trigger || is_language;
    }
    if is(0, "COMMENT") {
        return names(2) || is(2, "TRIGGER");
    }
    (is(0, "ALTER") || is(0, "DROP"))
        && (names(1) || is(1, "TRIGGER") || (is(1, "EVENT") && is(2, "TRIGGER")))
}

/// A type that is all of a text. Errors: 42601.
pub(crate) fn written_type(text: &str) -> Result<WrittenType> {
    let tokens = Tokenizer::new(&KEYSPAN, text).tokenize_with_location();
    let tokens = tokens.map_err(|error| super::syntax_error::of_tokenizer(error, text))?;
    let tokens = tokens.into_iter();
    let tokens = tokens
        .filter(|token| !matches!(token.token, Token::Whitespace(_)))
        .collect();
    let mut reader = TokenReader::new(tokens, text);
    let ty = reader.written_type()?;
    match reader.peek() {
        None => Ok(ty),
        Some(_) => Err(reader.syntax_error()),
    }
}

/// The place of what CREATE [OR REPLACE] makes.
fn behind_replace(tokens: &[TokenWithSpan]) -> usize {
    match is_word_at(tokens, 1, "OR") && is_word_at(tokens, 2, "REPLACE") {
        true => 3,
        false => 1,
    }
}

impl TokenReader<'_> {
    /// What stands behind CREATE.
    pub(super) fn create_routine(&mut self) -> Result<RoutineDefinition> {
        let or_replace = self.word("OR");
        if or_replace {
            self.expect("REPLACE")?;
        }
        let is = |word: &str| is_word_at(&self.tokens, self.at, word);
        if is("CONSTRAINT") || is("TRIGGER") {
            return self.create_trigger(or_replace).map(RoutineDefinition::Trigger);
        }
        if self.word("EVENT") {
            return Err(no_trigger("CREATE EVENT TRIGGER"));
        }
        if self.word("TRUSTED") || self.word("PROCEDURAL") || self.word("LANGUAGE") {
            self.word("PROCEDURAL");
            self.word("LANGUAGE");
            let name = self.name()?;
            while self.peek().is_some() {
                self.at += 1;
            }
            return Ok(RoutineDefinition::CreateLanguage(name));
        }
        if self.word("AGGREGATE") {
            let new = self.create_aggregate(or_replace)?;
            return Ok(RoutineDefinition::CreateAggregate(Box::new(new)));
        }
        let is_procedure = match self.word("PROCEDURE") {
            true => true,
            false => {
                self.expect("FUNCTION")?;
                false
            }
        };
        let mut new = NewRoutine {
            is_procedure,
            or_replace,
            name: self.object_name()?,
            arguments: Vec::new(),
            returns: None,
            returns_set: false,
            language: None,
            body: None,
            options: Vec::new(),
        };
        self.take_token(&Token::LParen)?;
        new.arguments = self.written_arguments()?;
        if self.word("RETURNS") {
            self.returned(&mut new)?;
        }
        while self.peek().is_some() {
            self.routine_clause(&mut new)?;
        }
        Ok(RoutineDefinition::Create(Box::new(new)))
    }

    /// What stands behind RETURNS.
    fn returned(&mut self, new: &mut NewRoutine) -> Result<()> {
        if is_word_at(&self.tokens, self.at, "TABLE") {
            self.at += 1;
            self.take_token(&Token::LParen)?;
            loop {
                let name = Some(self.name()?);
                new.arguments.push(WrittenArgument {
                    name,
                    passed: PassedAs::Table,
                    ty: self.written_type()?,
                    default: None,
                });
                if !self.token(&Token::Comma) {
                    break;
                }
            }
            self.take_token(&Token::RParen)?;
            new.returns_set = true;
            return Ok(());
        }
        new.returns_set = self.word("SETOF");
        new.returns = Some(self.written_type()?);
        Ok(())
    }

    /// Arguments up to the parenthesis that closes them, which is taken.
    pub(super) fn written_arguments(&mut self) -> Result<Vec<WrittenArgument>> {
        let mut arguments = Vec::new();
        if self.token(&Token::RParen) {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.written_argument()?);
            if !self.token(&Token::Comma) {
                break;
            }
        }
        self.take_token(&Token::RParen)?;
        Ok(arguments)
    }

    fn written_argument(&mut self) -> Result<WrittenArgument> {
        let mut passed = self.passed_as();
        let name = match self.begins_type(self.at) {
            true => None,
            false => Some(self.name()?),
        };
        if passed.is_none() && name.is_some() {
            passed = self.passed_as();
        }
        let ty = self.written_type()?;
        let default = match self.word("DEFAULT") || self.token(&Token::Eq) || self.token(&Token::Assignment) {
            true => Some(self.expression_text()?),
            false => None,
        };
        Ok(WrittenArgument {
            name,
            passed: passed.unwrap_or(PassedAs::In),
            ty,
            default,
        })
    }

    fn passed_as(&mut self) -> Option<PassedAs> {
        // IN may be the name of an argument, too; nothing else stands before a comma.
        let next = self.tokens.get(self.at + 1).map(|token| &token.token);
        if matches!(next, None | Some(Token::Comma | Token::RParen)) {
            return None;
        }
        let found = if self.word("INOUT") {
            PassedAs::InOut
        } else if self.word("OUT") {
            PassedAs::Out
        } else if self.word("VARIADIC") {
            PassedAs::Variadic
        } else if self.word("IN") {
            match self.word("OUT") {
                true => PassedAs::InOut,
                false => PassedAs::In,
            }
        } else {
            return None;
        };
        Some(found)
    }

    /// Whether a type begins here, and not a name before one.
    fn begins_type(&self, at: usize) -> bool {
        let next = self.tokens.get(at + 1).map(|token| &token.token);
        let ends = matches!(
            next,
            None | Some(
                Token::Comma
                    | Token::RParen
                    | Token::LParen
                    | Token::LBracket
                    | Token::Eq
                    | Token::Assignment
                    | Token::Period
                    | Token::Mod
            )
        );
        ends || is_word_at(&self.tokens, at + 1, "DEFAULT")
            || TYPE_WORDS
                .iter()
                .any(|word| is_word_at(&self.tokens, at + 1, word))
            || (is_word_at(&self.tokens, at, "NATIONAL") && is_word_at(&self.tokens, at + 1, "CHARACTER"))
    }

    /// A type, or `%TYPE`, `%ROWTYPE`.
    pub(super) fn written_type(&mut self) -> Result<WrittenType> {
        let begun = self.at;
        if let Ok(name) = self.object_name()
            && self.token(&Token::Mod)
        {
            if self.word("TYPE") {
                return Ok(WrittenType::OfColumn(name));
            }
            self.expect("ROWTYPE")?;
            return Ok(WrittenType::OfRow(name));
        }
        self.at = begun;
        self.data_type().map(WrittenType::Named)
    }

    /// The text of an expression.
    fn expression_text(&mut self) -> Result<String> {
        let begun = self.at;
        self.expression()?;
        Ok(self.text_between(begun, self.at))
    }

    fn routine_clause(&mut self, new: &mut NewRoutine) -> Result<()> {
        if self.word("LANGUAGE") {
            let name = match self.peek().and_then(string_of) {
                Some(name) => {
                    self.at += 1;
                    name.to_lowercase()
                }
                None => self.name()?,
            };
            if new.language.replace(name).is_some() {
                return Err(conflicting());
            }
            return Ok(());
        }
        let body = if self.word("AS") {
            let text = self.routine_string()?;
            if self.token(&Token::Comma) {
                self.routine_string()?;
                return Err(Error::unsupported(
                    "a function in a shared library",
                    Some("Write it in LANGUAGE SQL or plpgsql."),
                ));
            }
            WrittenBody::Text(text)
        } else if self.word("RETURN") {
            respell(&mut self.tokens);
            WrittenBody::Return(self.expression_text()?)
        } else if is_word_at(&self.tokens, self.at, "BEGIN")
            && is_word_at(&self.tokens, self.at + 1, "ATOMIC")
        {
            let begun = self.at + 2;
            let last = self.tokens.len().saturating_sub(1);
            if !is_word_at(&self.tokens, last, "END") || last < begun {
                self.at = self.tokens.len();
                return Err(self.syntax_error());
            }
            self.at = self.tokens.len();
            WrittenBody::Atomic(self.text_between(begun, last))
        } else {
            let option = self.routine_option()?;
            let option = option.ok_or_else(|| self.syntax_error())?;
            new.options.push(option);
            return Ok(());
        };
        match new.body.replace(body) {
            None => Ok(()),
            Some(_) => Err(conflicting()),
        }
    }

    fn routine_string(&mut self) -> Result<String> {
        let text = self.peek().and_then(string_of);
        let text = text.ok_or_else(|| self.syntax_error())?;
        self.at += 1;
        Ok(text)
    }

    /// A clause that ALTER FUNCTION takes as well.
    fn routine_option(&mut self) -> Result<Option<RoutineOption>> {
        let option = if self.word("IMMUTABLE") {
            RoutineOption::Immutable
        } else if self.word("STABLE") {
            RoutineOption::Stable
        } else if self.word("VOLATILE") {
            RoutineOption::Volatile
        } else if self.word("STRICT") {
            RoutineOption::Strict(true)
        } else if self.word("RETURNS") {
            self.expect_all(&["NULL", "ON", "NULL", "INPUT"])?;
            RoutineOption::Strict(true)
        } else if self.word("CALLED") {
            self.expect_all(&["ON", "NULL", "INPUT"])?;
            RoutineOption::Strict(false)
        } else if self.word("LEAKPROOF") {
            RoutineOption::Leakproof(true)
        } else if self.word("NOT") {
            self.expect("LEAKPROOF")?;
            RoutineOption::Leakproof(false)
        } else if self.word("EXTERNAL") || is_word_at(&self.tokens, self.at, "SECURITY") {
            self.expect("SECURITY")?;
            match self.word("DEFINER") {
                true => RoutineOption::SecurityDefiner(true),
                false => {
                    self.expect("INVOKER")?;
                    RoutineOption::SecurityDefiner(false)
                }
            }
        } else if self.word("PARALLEL") {
            RoutineOption::Parallel(self.name()?)
        } else if self.word("COST") {
            RoutineOption::Cost(self.positive("COST")?)
        } else if self.word("ROWS") {
            RoutineOption::Rows(self.positive("ROWS")?)
        } else if self.word("RESET") {
            RoutineOption::Reset(self.name_or_all()?)
        } else if self.word("SET") {
            self.option_setting()?
        } else if self.word("WINDOW") {
            return Err(Error::unsupported("a window function in SQL", None));
        } else if self.word("SUPPORT") || self.word("TRANSFORM") {
            return Err(Error::unsupported("SUPPORT and TRANSFORM of a function", None));
        } else {
            return Ok(None);
        };
        Ok(Some(option))
    }

    fn option_setting(&mut self) -> Result<RoutineOption> {
        Ok(match self.settings_change()? {
            SettingsChange::Set { name, values } => RoutineOption::Set { name, values },
            SettingsChange::FromCurrent { name } => RoutineOption::SetFromCurrent(name),
            SettingsChange::Reset { name } => RoutineOption::Reset(name),
        })
    }

    fn expect_all(&mut self, words: &[&str]) -> Result<()> {
        words.iter().try_for_each(|word| self.expect(word))
    }

    fn positive(&mut self, what: &str) -> Result<f32> {
        let digits = self.signed_number()?;
        match digits.parse::<f32>() {
            Ok(number) if number > 0.0 => Ok(number),
            _ => Err(Error::InvalidParameter {
                message: format!("{what} must be positive"),
                hint: None,
            }),
        }
    }

    pub(super) fn routine_word(&mut self) -> Result<RoutineWord> {
        if self.word("FUNCTION") {
            Ok(RoutineWord::Function)
        } else if self.word("PROCEDURE") {
            Ok(RoutineWord::Procedure)
        } else if self.word("AGGREGATE") {
            Ok(RoutineWord::Aggregate)
        } else {
            self.expect("ROUTINE")?;
            Ok(RoutineWord::Routine)
        }
    }

    pub(super) fn routine_ref(&mut self) -> Result<RoutineRef> {
        let name = self.object_name()?;
        let arguments = match self.token(&Token::LParen) {
            true => Some(self.aggregate_arguments()?),
            false => None,
        };
        Ok(RoutineRef { name, arguments })
    }

    /// What stands behind DROP.
    pub(super) fn drop_routine(&mut self) -> Result<RoutineDefinition> {
        if self.word("EVENT") {
            return Err(no_trigger("DROP EVENT TRIGGER"));
        }
        if self.word("TRIGGER") {
            return self.drop_trigger().map(RoutineDefinition::Trigger);
        }
        let word = self.routine_word()?;
        let if_exists = self.if_exists()?;
        let mut routines = vec![self.routine_ref()?];
        while self.token(&Token::Comma) {
            routines.push(self.routine_ref()?);
        }
        Ok(RoutineDefinition::Drop {
            word,
            routines,
            if_exists,
            cascade: self.cascade(),
        })
    }

    /// What stands behind ALTER.
    pub(super) fn alter_routine(&mut self) -> Result<RoutineDefinition> {
        if self.word("EVENT") {
            return Err(no_trigger("ALTER EVENT TRIGGER"));
        }
        if self.word("TRIGGER") {
            return self.alter_trigger().map(RoutineDefinition::Trigger);
        }
        let word = self.routine_word()?;
        let routine = self.routine_ref()?;
        let change = if self.word("RENAME") {
            self.expect("TO")?;
            RoutineChange::Rename(self.name()?)
        } else if self.word("OWNER") {
            self.expect("TO")?;
            RoutineChange::Owner(self.role_name()?)
        } else if is_word_at(&self.tokens, self.at, "SET") && is_word_at(&self.tokens, self.at + 1, "SCHEMA")
        {
            self.at += 2;
            RoutineChange::Schema(self.name()?)
        } else if self.word("DEPENDS") || self.word("NO") {
            return Err(Error::unsupported(
                "ALTER FUNCTION ... DEPENDS ON EXTENSION",
                None,
            ));
        } else {
            let mut options = Vec::new();
            while let Some(option) = self.routine_option()? {
                options.push(option);
            }
            self.word("RESTRICT");
            if options.is_empty() {
                return Err(self.syntax_error());
            }
            RoutineChange::Options(options)
        };
        Ok(RoutineDefinition::Alter {
            word,
            routine,
            change,
        })
    }

    /// What stands behind COMMENT ON.
    pub(super) fn comment_on_routine(&mut self) -> Result<RoutineDefinition> {
        if self.word("TRIGGER") {
            return self.comment_on_trigger().map(RoutineDefinition::Trigger);
        }
        let word = self.routine_word()?;
        let routine = self.routine_ref()?;
        let comment = self.comment()?;
        Ok(RoutineDefinition::Comment {
            word,
            routine,
            comment,
        })
    }

    /// IS and a comment; an empty one is none.
    pub(super) fn comment(&mut self) -> Result<Option<String>> {
        self.expect("IS")?;
        if self.word("NULL") {
            return Ok(None);
        }
        self.routine_string()
            .map(|text| Some(text).filter(|text| !text.is_empty()))
    }

    /// What stands behind DO.
    pub(super) fn do_block(&mut self) -> Result<Command> {
        let (mut code, mut language) = (None, None);
        while self.peek().is_some() {
            let is_twice = if self.word("LANGUAGE") {
                let name = match self.peek().and_then(string_of) {
                    Some(_) => self.routine_string()?.to_lowercase(),
                    None => self.name()?,
                };
                language.replace(name).is_some()
            } else {
                code.replace(self.routine_string()?).is_some()
            };
            if is_twice {
                return Err(conflicting());
            }
        }
        let Some(code) = code else {
            return match language {
                None => Err(self.syntax_error()),
                Some(_) => Err(fault("no inline code specified")),
            };
        };
        Ok(Command::Do {
            language: language.unwrap_or_else(|| "plpgsql".to_string()),
            code,
        })
    }
}

fn no_trigger(what: &str) -> Error {
    Error::unsupported(
        what,
        Some(
            "Triggers of tables fire for writes of rows; definitions are told of in the server's log (log_statement = 'ddl').",
        ),
    )
}

fn conflicting() -> Error {
    fault("conflicting or redundant options")
}

fn fault(message: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::Syntax,
        message: message.to_string(),
        hint: None,
    }
}
