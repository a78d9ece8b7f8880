//! Conditions of a path: true, false or unknown. An error inside of one is unknown, and is not told.

use std::cmp::Ordering;

use serde_json::Value as Json;

use super::json_path_item::Item;
use super::json_path_run::{Fault, ItemsFound, Run};
use super::kept_regexes::with_regex;
use crate::types::json_path::{Comparison, Expression, Head, Pattern};

/// `None` is unknown.
pub(super) type Truth = std::result::Result<Option<bool>, Fault>;

impl<'d> Run<'d> {
    /// What a condition says of an item.
    pub(super) fn truth(&mut self, condition: &Head, item: &Item<'d>) -> Truth {
        match condition {
            Head::And(left, right) => match self.truth(&left.head, item)? {
                Some(false) => Ok(Some(false)),
                left => Ok(match self.truth(&right.head, item)? {
                    Some(true) => left,
                    right => right,
                }),
            },
            Head::Or(left, right) => match self.truth(&left.head, item)? {
                Some(true) => Ok(Some(true)),
                left => Ok(match self.truth(&right.head, item)? {
                    Some(false) => left,
                    right => right,
                }),
            },
            Head::Not(condition) => Ok(self.truth(&condition.head, item)?.map(|truth| !truth)),
            Head::IsUnknown(condition) => Ok(Some(self.truth(&condition.head, item)?.is_none())),
            Head::Exists(value) => self.exists(value, item),
            Head::Comparison(comparison, left, right) => {
                let Some(left) = self.quietly(left, item)? else {
                    return Ok(None);
                };
                let Some(right) = self.quietly(right, item)? else {
                    return Ok(None);
                };
                self.any_pair(&left, &right, |run, left, right| {
                    run.compared(*comparison, left, right)
                })
            }
            Head::StartsWith(whole, start) => {
                let Some(whole) = self.quietly(whole, item)? else {
                    return Ok(None);
                };
                let mut starts = Vec::new();
                let throws = std::mem::replace(&mut self.throws, false);
                let found = self.evaluate(start, item, Some(&mut starts));
                self.throws = throws;
                match found {
                    Err(Fault::Quiet) => return Ok(None),
                    found => found?,
                };
                self.any_pair(&whole, &starts, |_, whole, start| {
                    Ok(whole
                        .as_text()
                        .zip(start.as_text())
                        .map(|(whole, start)| whole.starts_with(start)))
                })
            }
            Head::LikeRegex(text, pattern) => {
                let Some(texts) = self.quietly(text, item)? else {
                    return Ok(None);
                };
                let once = [Item::made(Json::Null)];
                self.any_pair(&texts, &once, |_, text, _| match text.as_text() {
                    Some(text) => matches(text, pattern).map(Some),
                    None => Ok(None),
                })
            }
            _ => Ok(None),
        }
    }

    /// The items of an operand; `None` where it fails.
    fn quietly(
        &mut self,
        operand: &Expression,
        item: &Item<'d>,
    ) -> std::result::Result<Option<Vec<Item<'d>>>, Fault> {
        let throws = std::mem::replace(&mut self.throws, false);
        let items: ItemsFound<'d> = self.unwrapped(operand, item);
        self.throws = throws;
        match items {
            Err(Fault::Quiet) => Ok(None),
            items => items.map(Some),
        }
    }

    fn exists(&mut self, value: &Expression, item: &Item<'d>) -> Truth {
        let throws = std::mem::replace(&mut self.throws, false);
        let found = match self.is_strict() {
            true => {
                let mut items = Vec::new();
                let found = self.evaluate(value, item, Some(&mut items));
                found.map(|_| !items.is_empty())
            }
            false => self.evaluate(value, item, None),
        };
        self.throws = throws;
        match found {
            Err(Fault::Quiet) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Whether a relation holds for any pair. In lax mode the first that holds decides, in strict mode what is unknown.
    fn any_pair(
        &self,
        left: &[Item<'d>],
        right: &[Item<'d>],
        holds: impl Fn(&Run<'d>, &Item<'d>, &Item<'d>) -> Truth,
    ) -> Truth {
        let (mut is_found, mut is_unknown) = (false, false);
        for left in left {
            for right in right {
                match holds(self, left, right)? {
                    None if self.is_strict() => return Ok(None),
                    None => is_unknown = true,
                    Some(true) if !self.is_strict() => return Ok(Some(true)),
                    Some(holds) => is_found |= holds,
                }
            }
        }
        Ok(match is_found || !is_unknown {
            true => Some(is_found),
            false => None,
        })
    }

    fn compared(&self, comparison: Comparison, left: &Item<'d>, right: &Item<'d>) -> Truth {
        let is_null = |item: &Item<'d>| item.json().is_some_and(Json::is_null);
        let ordering = match (left, right) {
            (left, right) if is_null(left) != is_null(right) => {
                return Ok(Some(comparison == Comparison::NotEqual));
            }
            (Item::Moment(left), Item::Moment(right)) => {
                left.compared(right, self.request.uses_zone, self.request.zone)?
            }
            (Item::Json(left), Item::Json(right)) => match (left.as_ref(), right.as_ref()) {
                (Json::Null, Json::Null) => Some(Ordering::Equal),
                (Json::Bool(left), Json::Bool(right)) => Some(left.cmp(right)),
                (Json::String(left), Json::String(right)) => Some(left.cmp(right)),
                (Json::Number(left), Json::Number(right)) => Some(crate::types::json_key::compare(
                    &left.to_string(),
                    &right.to_string(),
                )),
                _ => None,
            },
            _ => None,
        };
        Ok(ordering.map(|ordering| match comparison {
            Comparison::Equal => ordering.is_eq(),
            Comparison::NotEqual => ordering.is_ne(),
            Comparison::Less => ordering.is_lt(),
            Comparison::LessOrEqual => ordering.is_le(),
            Comparison::Greater => ordering.is_gt(),
            Comparison::GreaterOrEqual => ordering.is_ge(),
        }))
    }
}

/// Whether a text matches; XQuery's dot takes no newline unless told so.
fn matches(text: &str, pattern: &Pattern) -> std::result::Result<bool, Fault> {
    let mut flags = String::new();
    if pattern.ignores_case {
        flags.push('i');
    }
    if pattern.is_literal {
        flags.push('q');
    } else {
        flags.push(match (pattern.dot_matches_newline, pattern.anchors_match_lines) {
            (true, true) => 'w',
            (true, false) => 's',
            (false, true) => 'n',
            (false, false) => 'p',
        });
    }
    Ok(with_regex(&pattern.text, &flags, |regex| regex.is_match(text))??)
}
