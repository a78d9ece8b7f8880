//! What a path finds in a document, item by item, as PostgreSQL's executor of jsonpath does. In lax mode arrays are unwrapped, and single
//! items wrapped, where a step wants the other, and what is missing is nothing; in strict mode that is an error.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::json_path_item::Item;
use super::size::BatchBytes;
use crate::error::StatementFault;
use crate::system::query_threads::check_left;
use crate::types::json_path::{Arithmetic, Expression, Head, JsonPath, LEVEL_LAST, Method, Step};
use crate::types::{Numeric, ResultLimits, Zone};
use crate::{Error, Result};

/// Steps between two questions whether anybody still waits.
const STEPS_UNASKED: usize = 256;
/// Paths nest; the stack grows with them.
const STACK_RED_ZONE_BYTES: usize = 128 << 10;
const STACK_SEGMENT_BYTES: usize = 1 << 20;

/// Why a path ended early.
#[derive(Debug)]
pub(super) enum Fault {
    /// What it says is wrong with the document, where that is not told.
    Quiet,
    /// What the statement fails with.
    Raised(Box<Error>),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Raised(Box::new(error))
    }
}

/// Whether a path found something.
pub(super) type Found = std::result::Result<bool, Fault>;
/// Where what is found goes; `None`: it only counts whether something is.
pub(super) type Sink<'s, 'd> = Option<&'s mut Vec<Item<'d>>>;

/// What a path is run for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'d> {
    /// The document.
    pub(super) root: &'d Json,
    /// The values of its variables; `None`: each is null.
    pub(super) variables: Option<&'d Json>,
    /// Whether what the path says is wrong with the document is told.
    pub(super) throws: bool,
    /// Whether times without a zone are compared with those that have one.
    pub(super) uses_zone: bool,
    pub(super) zone: Zone,
    pub(super) limits: ResultLimits,
}

/// A run of a path over a document.
pub(super) struct Run<'d> {
    pub(super) request: Request<'d>,
    pub(super) throws: bool,
    pub(super) is_lax: bool,
    ignores_structure: bool,
    current: Item<'d>,
    /// The length of the innermost array whose subscripts are computed.
    array_length: Option<usize>,
    /// The document that objects are numbered in, and its number.
    pub(super) base: (Cow<'d, Json>, i64),
    pub(super) last_base: i64,
    bytes: BatchBytes,
    steps: usize,
}

/// Runs a path. What it found stands in `sink`, up to what it failed at.
pub(super) fn run<'d>(path: &JsonPath, request: Request<'d>, sink: Sink<'_, 'd>) -> Found {
    if request.variables.is_some_and(|variables| !variables.is_object()) {
        return Err(Fault::from(super::json::refuse(
            "\"vars\" argument is not an object",
        )));
    }
    let root = Item::of(request.root);
    let mut run = Run {
        request,
        throws: request.throws,
        is_lax: !path.is_strict,
        ignores_structure: !path.is_strict,
        current: root.clone(),
        array_length: None,
        base: (Cow::Borrowed(request.root), 0),
        last_base: if request.variables.is_some() { 2 } else { 1 },
        bytes: BatchBytes::new(request.limits),
        steps: 0,
    };
    if path.is_strict && sink.is_none() {
        // An error behind the first item counts.
        let mut found = Vec::new();
        run.evaluate(&path.expression, &root, Some(&mut found))?;
        return Ok(!found.is_empty());
    }
    run.evaluate(&path.expression, &root, sink)
}

/// An error of a path over a document.
fn of_document(state: &'static str, message: impl Into<String>) -> Error {
    Error::DataException {
        state,
        message: message.into(),
    }
}

impl<'d> Run<'d> {
    /// What is wrong with the document, told or not.
    pub(super) fn fault(&self, state: &'static str, message: impl Into<String>) -> Fault {
        match self.throws {
            true => of_document(state, message).into(),
            false => Fault::Quiet,
        }
    }

    /// Whether errors count where something was found.
    pub(super) fn is_strict(&self) -> bool {
        !self.is_lax
    }

    /// The items of an expression. `item` is what `@` and the steps of a filter see.
    pub(super) fn evaluate(&mut self, expression: &Expression, item: &Item<'d>, sink: Sink<'_, 'd>) -> Found {
        stacker::maybe_grow(STACK_RED_ZONE_BYTES, STACK_SEGMENT_BYTES, || {
            let steps = expression.steps.as_slice();
            if expression.head.is_predicate() {
                let truth = self.truth(&expression.head, item)?;
                let truth = truth.map_or(Json::Null, Json::Bool);
                return self.go_on(steps, Item::made(truth), sink);
            }
            match &expression.head {
                Head::Root => {
                    let outer = std::mem::replace(&mut self.base, (Cow::Borrowed(self.request.root), 0));
                    let found = self.go_on(steps, Item::of(self.request.root), sink);
                    self.base = outer;
                    found
                }
                Head::Current => {
                    let current = self.current.clone();
                    self.go_on(steps, current, sink)
                }
                Head::Arithmetic(operator, left, right) => {
                    let result = self.arithmetic(*operator, left, right, item)?;
                    self.go_on(steps, result, sink)
                }
                Head::Plus(operand) => self.signed((operand, false), steps, item, sink),
                Head::Minus(operand) => self.signed((operand, true), steps, item, sink),
                Head::Variable(name) => {
                    let Some(variables) = self.request.variables else {
                        return self.go_on(steps, Item::made(Json::Null), sink);
                    };
                    let value = variables
                        .get(name)
                        .ok_or_else(|| Fault::from(undefined_variable(name)))?;
                    let outer = std::mem::replace(&mut self.base, (Cow::Borrowed(variables), 1));
                    let found = self.go_on(steps, Item::of(value), sink);
                    self.base = outer;
                    found
                }
                head => {
                    let value = self.constant(head)?;
                    self.go_on(steps, value, sink)
                }
            }
        })
    }

    fn constant(&self, head: &Head) -> Result<Item<'d>> {
        match head {
            Head::Boolean(flag) => Ok(Item::made(Json::Bool(*flag))),
            Head::Number(number) => Item::number(number),
            Head::String(text) => Ok(Item::made(Json::String(text.clone()))),
            Head::Last => {
                let length = self.array_length.and_then(|length| i64::try_from(length).ok());
                let length =
                    length.ok_or_else(|| Error::internal("jsonpath LAST outside of array subscript"))?;
                Item::number(&Numeric::from_i64(length - 1))
            }
            _ => Ok(Item::made(Json::Null)),
        }
    }

    /// The items of an expression, of arrays among them their items in lax mode.
    pub(super) fn unwrapped(&mut self, expression: &Expression, item: &Item<'d>) -> ItemsFound<'d> {
        let mut items = Vec::new();
        self.evaluate(expression, item, Some(&mut items))?;
        if !self.is_lax || !items.iter().any(Item::is_array) {
            return Ok(items);
        }
        let unwrapped = items.into_iter().flat_map(|item| match item.is_array() {
            true => item.children(),
            false => vec![item],
        });
        Ok(unwrapped.collect())
    }

    fn arithmetic(
        &mut self,
        operator: Arithmetic,
        left: &Expression,
        right: &Expression,
        item: &Item<'d>,
    ) -> std::result::Result<Item<'d>, Fault> {
        let (left, right) = (self.unwrapped(left, item)?, self.unwrapped(right, item)?);
        let number = |items: &[Item<'d>], side: &str| {
            match items {
                [item] => item.as_number(),
                _ => None,
            }
            .ok_or_else(|| {
                self.fault(
                    "22038",
                    format!(
                        "{side} operand of jsonpath operator {} is not a single numeric value",
                        operator.symbol()
                    ),
                )
            })
        };
        let (left, right) = (number(&left, "left")?, number(&right, "right")?);
        let result = match operator {
            Arithmetic::Add => left.plus(&right),
            Arithmetic::Subtract => left.minus(&right),
            Arithmetic::Multiply => left.times(&right),
            Arithmetic::Divide => left.divided_by(&right),
            Arithmetic::Modulo => left.modulo(&right),
        };
        let result = result.map_err(|error| match self.throws {
            true => error.into(),
            false => Fault::Quiet,
        })?;
        Ok(Item::number(&result)?)
    }

    /// `+x` and `-x`, of each item that it has.
    fn signed(
        &mut self,
        (operand, is_negative): (&Expression, bool),
        steps: &[Step],
        item: &Item<'d>,
        mut sink: Sink<'_, 'd>,
    ) -> Found {
        let mut any = false;
        for operand in self.unwrapped(operand, item)? {
            let counts_only = sink.is_none() && steps.is_empty();
            let Some(number) = operand.as_number() else {
                if counts_only {
                    continue;
                }
                let symbol = if is_negative { "-" } else { "+" };
                return Err(self.fault(
                    "2203B",
                    format!("operand of unary jsonpath operator {symbol} is not a numeric value"),
                ));
            };
            let number = if is_negative { number.negated() } else { number };
            let found = self.go_on(steps, Item::number(&number)?, sink.as_deref_mut())?;
            any |= found;
            if found && sink.is_none() {
                return Ok(true);
            }
        }
        Ok(any)
    }

    /// The steps from an item; it is what is found where there are none.
    pub(super) fn go_on(&mut self, steps: &[Step], item: Item<'d>, sink: Sink<'_, 'd>) -> Found {
        self.step(steps, item, sink, self.is_lax)
    }

    /// Likewise, with or without unwrapping an array for the first of them.
    fn step(&mut self, steps: &[Step], item: Item<'d>, sink: Sink<'_, 'd>, unwraps: bool) -> Found {
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS_UNASKED) {
            check_left()?;
        }
        let Some((step, rest)) = steps.split_first() else {
            if let Some(sink) = sink {
                self.bytes.add_values(1)?;
                sink.push(item);
            }
            return Ok(true);
        };
        let unwraps_for = !matches!(
            step,
            Step::EveryElement
                | Step::Elements(_)
                | Step::Levels(..)
                | Step::Method(Method::Type | Method::Size)
        );
        if unwraps && unwraps_for && item.is_array() {
            return self.each(steps, item.children(), sink, false);
        }
        stacker::maybe_grow(STACK_RED_ZONE_BYTES, STACK_SEGMENT_BYTES, || match step {
            Step::Key(key) => self.member(key, rest, &item, sink),
            Step::EveryKey if item.is_object() => self.each(rest, item.children(), sink, self.is_lax),
            Step::EveryKey => self.lacking(
                "2203C",
                "jsonpath wildcard member accessor can only be applied to an object",
            ),
            Step::EveryElement if item.is_array() => self.each(rest, item.children(), sink, self.is_lax),
            Step::EveryElement if self.is_lax => self.go_on(rest, item, sink),
            Step::EveryElement => self.lacking(
                "22039",
                "jsonpath wildcard array accessor can only be applied to an array",
            ),
            Step::Elements(elements) => self.elements(elements, rest, &item, sink),
            Step::Levels(first, last) => self.levels((*first, *last), rest, item, sink),
            Step::Filter(condition) => {
                let outer = std::mem::replace(&mut self.current, item.clone());
                let truth = self.truth(&condition.head, &item);
                self.current = outer;
                match truth? {
                    Some(true) => self.go_on(rest, item, sink),
                    _ => Ok(false),
                }
            }
            Step::Method(Method::KeyValue) => self.key_values(rest, &item, sink),
            Step::Method(method) => match self.method(*method, &item)? {
                Some(result) => self.go_on(rest, result, sink),
                None => Ok(false),
            },
            Step::Datetime(template) => {
                let moment = self.moment(template.as_deref(), &item)?;
                self.go_on(rest, Item::Moment(moment), sink)
            }
        })
    }

    /// Nothing, where the structure of the document does not count; else an error.
    pub(super) fn lacking(&self, state: &'static str, message: &str) -> Found {
        match self.ignores_structure {
            true => Ok(false),
            false => Err(self.fault(state, message)),
        }
    }

    /// The steps from each of the items.
    fn each(&mut self, steps: &[Step], items: Vec<Item<'d>>, mut sink: Sink<'_, 'd>, unwraps: bool) -> Found {
        let mut any = false;
        for item in items {
            any = self.step(steps, item, sink.as_deref_mut(), unwraps)?;
            if any && sink.is_none() {
                break;
            }
        }
        Ok(any)
    }

    fn member(&mut self, key: &str, rest: &[Step], item: &Item<'d>, sink: Sink<'_, 'd>) -> Found {
        match item.member(key) {
            Some(value) => self.go_on(rest, value, sink),
            None if item.is_object() => {
                self.lacking("2203A", &format!("JSON object does not contain key \"{key}\""))
            }
            None => self.lacking(
                "2203A",
                "jsonpath member accessor can only be applied to an object",
            ),
        }
    }

    /// `[first to last, …]`. In lax mode what is no array is one of itself.
    fn elements(
        &mut self,
        elements: &[(Expression, Option<Expression>)],
        rest: &[Step],
        item: &Item<'d>,
        mut sink: Sink<'_, 'd>,
    ) -> Found {
        let length = match item.length() {
            Some(length) => length,
            None if self.is_lax => 1,
            None => {
                return self.lacking("22039", "jsonpath array accessor can only be applied to an array");
            }
        };
        let outer = self.array_length.replace(length);
        let mut any = false;
        let mut visit = |run: &mut Run<'d>| {
            for (first, last) in elements {
                let first = run.subscript(first, item)?;
                let last = match last {
                    Some(last) => run.subscript(last, item)?,
                    None => first,
                };
                let end = i64::try_from(length).unwrap_or(i64::MAX);
                if !run.ignores_structure && (first < 0 || first > last || last >= end) {
                    return Err(run.fault("22033", "jsonpath array subscript is out of bounds"));
                }
                any = false;
                for place in first.max(0)..=last.min(end - 1) {
                    let element = match item.is_array() {
                        true => usize::try_from(place).ok().and_then(|place| item.element(place)),
                        false => Some(item.clone()),
                    };
                    let Some(element) = element else { continue };
                    any = run.go_on(rest, element, sink.as_deref_mut())?;
                    if any && sink.is_none() {
                        return Ok(());
                    }
                }
            }
            Ok(())
        };
        let visited = visit(self);
        self.array_length = outer;
        visited.map(|()| any)
    }

    fn subscript(&mut self, place: &Expression, item: &Item<'d>) -> std::result::Result<i64, Fault> {
        let mut found = Vec::new();
        self.evaluate(place, item, Some(&mut found))?;
        let number = match found.as_slice() {
            [place] => place.as_number(),
            _ => None,
        };
        let number = number
            .ok_or_else(|| self.fault("22033", "jsonpath array subscript is not a single numeric value"))?;
        let whole = number.truncate(0)?.floor();
        match whole.and_then(|whole| i32::try_from(whole).ok()) {
            Some(place) => Ok(i64::from(place)),
            None => Err(self.fault("22033", "jsonpath array subscript is out of integer range")),
        }
    }

    /// `.**{first to last}`.
    fn levels(&mut self, bounds: (u32, u32), rest: &[Step], item: Item<'d>, mut sink: Sink<'_, 'd>) -> Found {
        let has_children = item.is_array() || item.is_object();
        let mut any = false;
        if bounds.0 == 0 {
            let outer = std::mem::replace(&mut self.ignores_structure, true);
            let found = self.go_on(rest, item.clone(), sink.as_deref_mut());
            self.ignores_structure = outer;
            any = match found {
                // PostgreSQL forgets what fails of the item itself for what is found inside.
                Err(Fault::Quiet) if has_children => false,
                found => found?,
            };
            if any && sink.is_none() {
                return Ok(true);
            }
        }
        match has_children {
            true => self.levels_below(1, bounds, rest, &item, sink),
            false => Ok(any),
        }
    }

    fn levels_below(
        &mut self,
        level: u32,
        (first, last): (u32, u32),
        rest: &[Step],
        item: &Item<'d>,
        mut sink: Sink<'_, 'd>,
    ) -> Found {
        let mut any = false;
        if level > last {
            return Ok(false);
        }
        for child in item.children() {
            let has_children = child.is_array() || child.is_object();
            if level >= first || first == LEVEL_LAST && last == LEVEL_LAST && !has_children {
                let outer = std::mem::replace(&mut self.ignores_structure, true);
                let found = self.step(rest, child.clone(), sink.as_deref_mut(), self.is_lax);
                self.ignores_structure = outer;
                any = found?;
                if any && sink.is_none() {
                    break;
                }
            }
            if level < last && has_children {
                any = self.levels_below(level + 1, (first, last), rest, &child, sink.as_deref_mut())?;
                if any && sink.is_none() {
                    break;
                }
            }
        }
        Ok(any)
    }
}

/// Items, or why there are none.
pub(super) type ItemsFound<'d> = std::result::Result<Vec<Item<'d>>, Fault>;

fn undefined_variable(name: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::UndefinedObject,
        message: format!("could not find jsonpath variable \"{name}\""),
        hint: None,
    }
}
