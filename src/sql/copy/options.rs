//! What COPY's options mean: one pass over them as they are written, then what must agree. Errors are PostgreSQL's, in its order.

use crate::copy::{CopyForm, CopyFormat, CopyHeader, ForcedColumns};
use crate::error::{StatementFault, TextPlace};
use crate::parse::copy::{Copy, CopyOption, CopyValue};
use crate::types::CharacterEncoding;
use crate::{Error, Result};

/// What the options say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    /// Of the data.
    pub(super) format: CopyFormat,
    /// ON_ERROR ignore: a row that holds what is no value of its column is left out.
    pub(super) ignores_errors: bool,
    /// Rows that may be left out; `None`: any number.
    pub(super) reject_limit: Option<u64>,
    /// LOG_VERBOSITY verbose: each row that is left out is told.
    pub(super) is_verbose: bool,
    /// Rows after which what was read is committed.
    pub(super) batch_rows: Option<u64>,
}

/// The options as they were given, each once.
#[derive(Default)]
struct Given {
    form: Option<CopyForm>,
    delimiter: Option<String>,
    null: Option<String>,
    default: Option<String>,
    header: Option<CopyHeader>,
    quote: Option<String>,
    escape: Option<String>,
    force_quote: Option<ForcedColumns>,
    force_not_null: Option<ForcedColumns>,
    force_null: Option<ForcedColumns>,
    ignores_errors: Option<bool>,
    reject_limit: Option<u64>,
    is_verbose: Option<bool>,
    batch_rows: Option<u64>,
    encoding: Option<CharacterEncoding>,
}

impl Options {
    /// Those of a statement. Errors: 42601, 22023, 0A000.
    /// `client`: what the client speaks.
    pub(super) fn of(copy: &Copy, client: CharacterEncoding) -> Result<Options> {
        let mut given = Given::default();
        for (at, option) in copy.options.iter().enumerate() {
            if copy.options[..at].iter().any(|before| before.name == option.name) {
                return Err(syntax("conflicting or redundant options").at(place(option)));
            }
            given.take(option, copy.is_from)?;
        }
        given.settle(copy.is_from, client)
    }
}

impl Given {
    fn take(&mut self, option: &CopyOption, is_from: bool) -> Result<()> {
        match option.name.as_str() {
            "format" => {
                self.form = Some(match string(option)?.as_str() {
                    "text" => CopyForm::Text,
                    "csv" => CopyForm::Csv,
                    "binary" => CopyForm::Binary,
                    other => {
                        let message = format!("COPY format \"{other}\" not recognized");
                        return Err(invalid(message).at(place(option)));
                    }
                });
            }
            // Every row is as frozen as all others.
            "freeze" => drop(boolean(option)?),
            "delimiter" => self.delimiter = Some(string(option)?),
            "null" => self.null = Some(string(option)?),
            "default" => self.default = Some(string(option)?),
            "header" => self.header = Some(header(option, is_from)?),
            "quote" => self.quote = Some(string(option)?),
            "escape" => self.escape = Some(string(option)?),
            "force_quote" => self.force_quote = Some(columns(option, true)?),
            "force_not_null" => self.force_not_null = Some(columns(option, false)?),
            "force_null" => self.force_null = Some(columns(option, false)?),
            "encoding" => self.encoding = Some(encoding(option)?),
            "on_error" => {
                self.ignores_errors = Some(match (string(option)?.as_str(), is_from) {
                    (_, false) => return Err(only_from("ON_ERROR")),
                    ("stop", _) => false,
                    ("ignore", _) => true,
                    (other, _) => return Err(unrecognized("ON_ERROR", other).at(place(option))),
                });
            }
            "reject_limit" => {
                if !is_from {
                    return Err(only_from("REJECT_LIMIT"));
                }
                self.reject_limit = Some(positive(option, "REJECT_LIMIT")?);
            }
            "log_verbosity" => {
                self.is_verbose = Some(match string(option)?.as_str() {
                    "silent" | "default" => false,
                    "verbose" => true,
                    other => return Err(unrecognized("LOG_VERBOSITY", other).at(place(option))),
                });
            }
            "batch_rows" => {
                if !is_from {
                    return Err(only_from("BATCH_ROWS"));
                }
                self.batch_rows = Some(positive(option, "BATCH_ROWS")?);
            }
            other => return Err(syntax(format!("option \"{other}\" not recognized")).at(place(option))),
        }
        Ok(())
    }

    fn settle(self, is_from: bool, client: CharacterEncoding) -> Result<Options> {
        let form = self.form.unwrap_or(CopyForm::Text);
        self.check_binary(form)?;
        let mut format = CopyFormat::of(form);
        format.encoding = self.encoding.unwrap_or(client);
        if form == CopyForm::Binary && !format.encoding.is_own() {
            return Err(Error::unsupported(
                format!("binary COPY in encoding \"{}\"", format.encoding.name()),
                Some("Say ENCODING 'UTF8': the texts of the data are in it then."),
            ));
        }
        let delimiter = self
            .delimiter
            .unwrap_or_else(|| char::from(format.delimiter).to_string());
        format.delimiter = one_byte(&delimiter, "delimiter")?;
        if matches!(format.delimiter, b'\n' | b'\r') {
            return Err(invalid("COPY delimiter cannot be newline or carriage return"));
        }
        format.null = self.null.unwrap_or(format.null);
        if format.null.contains(['\n', '\r']) {
            let message = "COPY null representation cannot use newline or carriage return";
            return Err(invalid(message));
        }
        format.default = self.default;
        if format
            .default
            .as_ref()
            .is_some_and(|default| default.contains(['\n', '\r']))
        {
            let message = "COPY default representation cannot use newline or carriage return";
            return Err(invalid(message));
        }
        let is_reserved = |byte: u8| matches!(byte, b'\\' | b'.' | b'a'..=b'z' | b'0'..=b'9');
        if form != CopyForm::Csv && is_reserved(format.delimiter) {
            return Err(invalid(format!("COPY delimiter cannot be \"{delimiter}\"")));
        }
        format.header = self.header.unwrap_or(CopyHeader::Absent);
        take_quotes(&mut format, self.quote, self.escape)?;
        let [quote, not_null, null] = [self.force_quote, self.force_not_null, self.force_null];
        format.force_quote = forced(quote, "quote", form, (!is_from, "TO"))?;
        format.force_not_null = forced(not_null, "not null", form, (is_from, "FROM"))?;
        format.force_null = forced(null, "null", form, (is_from, "FROM"))?;
        check_markers(&format, is_from)?;
        let options = Options {
            format,
            ignores_errors: self.ignores_errors.unwrap_or(false),
            reject_limit: self.reject_limit,
            is_verbose: self.is_verbose.unwrap_or(false),
            batch_rows: self.batch_rows,
        };
        if options.ignores_errors && options.format.is_binary() {
            return Err(syntax("only ON_ERROR STOP is allowed in BINARY mode"));
        }
        if options.reject_limit.is_some() && !options.ignores_errors {
            return Err(syntax("COPY REJECT_LIMIT requires ON_ERROR to be set to IGNORE"));
        }
        Ok(options)
    }

    fn check_binary(&self, form: CopyForm) -> Result<()> {
        let is_given = [
            (self.delimiter.is_some(), "DELIMITER"),
            (self.null.is_some(), "NULL"),
            (self.default.is_some(), "DEFAULT"),
        ];
        match is_given.iter().find(|(is_given, _)| *is_given) {
            Some((_, name)) if form == CopyForm::Binary => {
                Err(syntax(format!("cannot specify {name} in BINARY mode")))
            }
            _ if form == CopyForm::Binary
                && self.header.is_some_and(|header| header != CopyHeader::Absent) =>
            {
                Err(not_implemented("cannot specify HEADER in BINARY mode"))
            }
            _ => Ok(()),
        }
    }
}

fn take_quotes(format: &mut CopyFormat, quote: Option<String>, escape: Option<String>) -> Result<()> {
    let is_csv = format.form == CopyForm::Csv;
    let only_in_csv = |name: &str| Err(not_implemented(format!("COPY {name} available only in CSV mode")));
    match quote {
        Some(_) if !is_csv => return only_in_csv("quote"),
        Some(quote) => format.quote = one_byte(&quote, "quote")?,
        None => {}
    }
    if is_csv && format.delimiter == format.quote {
        return Err(invalid("COPY delimiter and quote must be different"));
    }
    format.escape = match escape {
        Some(_) if !is_csv => return only_in_csv("escape"),
        Some(escape) => one_byte(&escape, "escape")?,
        None => format.quote,
    };
    Ok(())
}

/// `way`: whether the statement copies the way that the option is for, and that way's name.
fn forced(
    columns: Option<ForcedColumns>,
    name: &str,
    form: CopyForm,
    (is_allowed, way): (bool, &str),
) -> Result<ForcedColumns> {
    match columns {
        None => Ok(ForcedColumns::none()),
        Some(_) if form != CopyForm::Csv => Err(not_implemented(format!(
            "COPY force {name} available only in CSV mode"
        ))),
        Some(_) if !is_allowed => Err(not_implemented(format!(
            "COPY force {name} only available using COPY {way}"
        ))),
        Some(columns) => Ok(columns),
    }
}

/// What stands for NULL and for a default can be told from all else.
fn check_markers(format: &CopyFormat, is_from: bool) -> Result<()> {
    let holds = |text: &str, byte: u8| text.as_bytes().contains(&byte);
    let is_csv = format.form == CopyForm::Csv;
    if !format.is_binary() && holds(&format.null, format.delimiter) {
        return Err(not_implemented(
            "COPY delimiter must not appear in the NULL specification",
        ));
    }
    if is_csv && holds(&format.null, format.quote) {
        return Err(not_implemented(
            "CSV quote character must not appear in the NULL specification",
        ));
    }
    let Some(default) = &format.default else {
        return Ok(());
    };
    if !is_from {
        return Err(only_from("DEFAULT"));
    }
    if holds(default, format.delimiter) {
        return Err(not_implemented(
            "COPY delimiter must not appear in the DEFAULT specification",
        ));
    }
    if is_csv && holds(default, format.quote) {
        return Err(not_implemented(
            "CSV quote character must not appear in the DEFAULT specification",
        ));
    }
    match *default == format.null {
        true => Err(invalid(
            "NULL specification and DEFAULT specification cannot be the same",
        )),
        false => Ok(()),
    }
}

fn one_byte(text: &str, name: &str) -> Result<u8> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(not_implemented(format!(
            "COPY {name} must be a single one-byte character"
        ))),
    }
}

/// The value as text. Errors: 42601 without one.
fn string(option: &CopyOption) -> Result<String> {
    match &option.value {
        CopyValue::Absent => Err(syntax(format!("{} requires a parameter", option.name))),
        CopyValue::Word(text) | CopyValue::Number(text) => Ok(text.clone()),
        CopyValue::All => Ok("*".to_string()),
        CopyValue::Names(names) => Ok(names.join(", ")),
    }
}

fn get_boolean(option: &CopyOption) -> Option<bool> {
    match &option.value {
        CopyValue::Absent => Some(true),
        CopyValue::Number(number) => match number.as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        },
        CopyValue::Word(word) => match word.to_ascii_lowercase().as_str() {
            "true" | "on" => Some(true),
            "false" | "off" => Some(false),
            _ => None,
        },
        CopyValue::All | CopyValue::Names(_) => None,
    }
}

fn boolean(option: &CopyOption) -> Result<bool> {
    get_boolean(option).ok_or_else(|| syntax(format!("{} requires a Boolean value", option.name)))
}

fn header(option: &CopyOption, is_from: bool) -> Result<CopyHeader> {
    match (get_boolean(option), &option.value) {
        (Some(false), _) => Ok(CopyHeader::Absent),
        (Some(true), _) => Ok(CopyHeader::Present),
        (None, CopyValue::Word(word)) if word.eq_ignore_ascii_case("match") => match is_from {
            true => Ok(CopyHeader::Match),
            false => Err(not_implemented("cannot use \"match\" with HEADER in COPY TO")),
        },
        _ => Err(syntax(format!(
            "{} requires a Boolean value or \"match\"",
            option.name
        ))),
    }
}

fn columns(option: &CopyOption, takes_all: bool) -> Result<ForcedColumns> {
    match &option.value {
        CopyValue::All if takes_all => Ok(ForcedColumns::All),
        CopyValue::Names(names) => Ok(ForcedColumns::Named(names.clone())),
        _ => {
            let message = format!(
                "argument to option \"{}\" must be a list of column names",
                option.name
            );
            Err(invalid(message).at(place(option)))
        }
    }
}

/// Errors: 22023 for what is no encoding, 0A000 for one that nobody reads here.
fn encoding(option: &CopyOption) -> Result<CharacterEncoding> {
    let name = match &option.value {
        CopyValue::Word(name) => name.as_str(),
        _ => "",
    };
    match CharacterEncoding::named(name) {
        Some(encoding) if encoding.is_known() => Ok(encoding),
        Some(encoding) => Err(Error::unsupported(
            format!("encoding \"{}\"", encoding.name()),
            Some("Convert the data with a tool such as iconv."),
        )),
        None => {
            let message = format!(
                "argument to option \"{}\" must be a valid encoding name",
                option.name
            );
            Err(invalid(message).at(place(option)))
        }
    }
}

fn positive(option: &CopyOption, name: &str) -> Result<u64> {
    let text = string(option)?;
    match text.parse::<i64>().ok().map(u64::try_from) {
        Some(Ok(number @ 1..)) => Ok(number),
        Some(_) => {
            let message = format!("{name} ({text}) must be greater than zero");
            Err(invalid(message))
        }
        None => Err(syntax(format!("{} requires an integer value", option.name))),
    }
}

fn unrecognized(name: &str, value: &str) -> Error {
    invalid(format!("COPY {name} \"{value}\" not recognized"))
}

fn only_from(name: &str) -> Error {
    syntax(format!("COPY {name} cannot be used with COPY TO"))
}

fn place(option: &CopyOption) -> TextPlace {
    TextPlace::Character(option.position)
}

fn syntax(message: impl Into<String>) -> Error {
    fault(StatementFault::Syntax, message)
}

fn not_implemented(message: impl Into<String>) -> Error {
    fault(StatementFault::NotImplemented, message)
}

fn fault(state: StatementFault, message: impl Into<String>) -> Error {
    Error::InvalidStatement {
        state,
        message: message.into(),
        hint: None,
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::InvalidParameter {
        message: message.into(),
        hint: None,
    }
}
