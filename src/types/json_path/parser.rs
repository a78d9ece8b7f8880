//! Text to the tree of a path. `or` < `and` < comparisons < `+ -` < `* / %` < signs < steps; comparisons do not chain.

use super::scanner::{Scanned, Token, scan, syntax_error};
use super::{
    Arithmetic, Comparison, Expression, Head, JsonPath, LEVEL_LAST, Method, PATH_ITEMS_MAX, Pattern, Step,
};
use crate::error::{Limit, Raised, StatementFault};
use crate::types::Numeric;
use crate::{Error, Result};

/// Brackets nest; the stack grows with them.
const STACK_RED_ZONE_BYTES: usize = 128 << 10;
const STACK_SEGMENT_BYTES: usize = 1 << 20;

impl JsonPath {
    /// Reads a path. Errors: 42601, 22P02 for one without words, 54001 for one that is too long.
    pub(crate) fn parse(text: &str) -> Result<JsonPath> {
        let words = scan(text)?;
        if words.is_empty() {
            return Err(Error::InvalidText {
                type_name: "jsonpath".to_string(),
                value: text.to_string(),
            });
        }
        let mut parser = Parser {
            words,
            at: 0,
            items: 0,
            filters: 0,
            subscripts: 0,
            misplaced: None,
        };
        let is_strict = parser.takes_word("strict");
        if !is_strict {
            parser.takes_word("lax");
        }
        let expression = parser.disjunction()?;
        if parser.at < parser.words.len() {
            return Err(parser.unexpected());
        }
        match parser.misplaced {
            Some(message) => Err(misplaced(message)),
            None => Ok(JsonPath {
                is_strict,
                expression,
            }),
        }
    }
}

fn misplaced(message: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::Syntax,
        message: message.to_string(),
        hint: None,
    }
}

struct Parser<'t> {
    words: Vec<Scanned<'t>>,
    at: usize,
    items: usize,
    /// How many filters and subscripts are open.
    filters: usize,
    subscripts: usize,
    /// What stands where it has no meaning; told when all else is right.
    misplaced: Option<&'static str>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.words.get(self.at).map(|word| &word.token)
    }

    /// 42601 near the present word.
    fn unexpected(&self) -> Error {
        syntax_error("syntax error", self.words.get(self.at).map(|word| word.text))
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), Some(Token::Symbol(found)) if *found == symbol)
    }

    fn takes(&mut self, symbol: &str) -> bool {
        let takes = self.is_symbol(symbol);
        self.at += usize::from(takes);
        takes
    }

    fn expects(&mut self, symbol: &str) -> Result<()> {
        match self.takes(symbol) {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    fn is_word(&self, keyword: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(word)) if is_keyword(word, keyword))
    }

    fn takes_word(&mut self, keyword: &str) -> bool {
        let takes = self.is_word(keyword);
        self.at += usize::from(takes);
        takes
    }

    fn expects_word(&mut self, keyword: &str) -> Result<()> {
        match self.takes_word(keyword) {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    /// The expression as a condition, or as a value. Errors: 42601 where it is the other.
    fn required(&self, expression: Expression, condition: bool) -> Result<Expression> {
        match expression.is_condition() == condition {
            true => Ok(expression),
            false => Err(self.unexpected()),
        }
    }

    /// Counts an item of the path.
    fn made(&mut self, head: Head) -> Result<Expression> {
        self.count()?;
        let steps = Vec::new();
        Ok(Expression { head, steps })
    }

    fn count(&mut self) -> Result<()> {
        self.items += 1;
        match self.items <= PATH_ITEMS_MAX {
            true => Ok(()),
            false => Err(Error::LimitExceeded {
                state: Limit::Complexity,
                message: "stack depth limit exceeded".to_string(),
                hint: format!("A jsonpath has at most {PATH_ITEMS_MAX} items."),
            }),
        }
    }

    fn disjunction(&mut self) -> Result<Expression> {
        self.count()?;
        stacker::maybe_grow(STACK_RED_ZONE_BYTES, STACK_SEGMENT_BYTES, || {
            self.disjunction_in_segment()
        })
    }

    fn disjunction_in_segment(&mut self) -> Result<Expression> {
        let mut left = self.conjunction()?;
        while self.is_symbol("||") {
            left = self.required(left, true)?;
            self.at += 1;
            let right = self.conjunction()?;
            let right = self.required(right, true)?;
            left = self.made(Head::Or(left.into(), right.into()))?;
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Expression> {
        let mut left = self.condition()?;
        while self.is_symbol("&&") {
            left = self.required(left, true)?;
            self.at += 1;
            let right = self.condition()?;
            let right = self.required(right, true)?;
            left = self.made(Head::And(left.into(), right.into()))?;
        }
        Ok(left)
    }

    /// A condition, or a value that is none.
    fn condition(&mut self) -> Result<Expression> {
        if self.takes("!") {
            let inner = match self.is_word("exists") {
                true => self.condition()?,
                false => {
                    self.expects("(")?;
                    let inner = self.disjunction()?;
                    let inner = self.required(inner, true)?;
                    self.expects(")")?;
                    inner
                }
            };
            return self.made(Head::Not(inner.into()));
        }
        if self.takes_word("exists") {
            self.expects("(")?;
            let inner = self.value()?;
            self.expects(")")?;
            return self.made(Head::Exists(inner.into()));
        }
        let left = self.sum()?;
        match left.is_condition() {
            true => Ok(left),
            false => self.condition_of(left),
        }
    }

    /// What is said of a value; the value where nothing is.
    fn condition_of(&mut self, left: Expression) -> Result<Expression> {
        if let Some(comparison) = self.peek().and_then(comparison) {
            self.at += 1;
            let right = self.sum()?;
            let right = self.required(right, false)?;
            return self.made(Head::Comparison(comparison, left.into(), right.into()));
        }
        if self.takes_word("starts") {
            self.expects_word("with")?;
            let start = match self.peek() {
                Some(Token::String(text)) => Head::String(text.clone()),
                Some(Token::Variable(name)) => Head::Variable(name.clone()),
                _ => return Err(self.unexpected()),
            };
            self.at += 1;
            let start = self.made(start)?;
            return self.made(Head::StartsWith(left.into(), start.into()));
        }
        if self.takes_word("like_regex") {
            let text = self.string()?;
            let flags = match self.takes_word("flag") {
                true => self.string()?,
                false => String::new(),
            };
            return self.made(Head::LikeRegex(left.into(), pattern(text, &flags)?));
        }
        Ok(left)
    }

    fn string(&mut self) -> Result<String> {
        match self.peek() {
            Some(Token::String(text)) => {
                let text = text.clone();
                self.at += 1;
                Ok(text)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// A value, where no condition may stand.
    fn value(&mut self) -> Result<Expression> {
        self.count()?;
        let value = stacker::maybe_grow(STACK_RED_ZONE_BYTES, STACK_SEGMENT_BYTES, || self.sum())?;
        self.required(value, false)
    }

    fn sum(&mut self) -> Result<Expression> {
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                Some(Token::Symbol("+")) => Arithmetic::Add,
                Some(Token::Symbol("-")) => Arithmetic::Subtract,
                _ => return Ok(left),
            };
            left = self.required(left, false)?;
            self.at += 1;
            let right = self.product()?;
            let right = self.required(right, false)?;
            left = self.made(Head::Arithmetic(operator, left.into(), right.into()))?;
        }
    }

    fn product(&mut self) -> Result<Expression> {
        let mut left = self.signed()?;
        loop {
            let operator = match self.peek() {
                Some(Token::Symbol("*")) => Arithmetic::Multiply,
                Some(Token::Symbol("/")) => Arithmetic::Divide,
                Some(Token::Symbol("%")) => Arithmetic::Modulo,
                _ => return Ok(left),
            };
            left = self.required(left, false)?;
            self.at += 1;
            let right = self.signed()?;
            let right = self.required(right, false)?;
            left = self.made(Head::Arithmetic(operator, left.into(), right.into()))?;
        }
    }

    fn signed(&mut self) -> Result<Expression> {
        let negative = match self.peek() {
            Some(Token::Symbol("-")) => true,
            Some(Token::Symbol("+")) => false,
            _ => return self.stepped(),
        };
        self.at += 1;
        self.count()?;
        let operand = self.signed()?;
        let operand = self.required(operand, false)?;
        // The sign of a number is part of it.
        match (&operand.head, operand.steps.as_slice()) {
            (Head::Number(number), []) => {
                let number = if negative {
                    number.negated()
                } else {
                    number.clone()
                };
                self.made(Head::Number(number))
            }
            _ if negative => self.made(Head::Minus(operand.into())),
            _ => self.made(Head::Plus(operand.into())),
        }
    }

    /// A first value and its steps. A condition in brackets is one, unless steps follow it.
    fn stepped(&mut self) -> Result<Expression> {
        let mut expression = self.primary()?;
        if expression.is_condition() && self.takes_word("is") {
            self.expects_word("unknown")?;
            return self.made(Head::IsUnknown(expression.into()));
        }
        loop {
            let step = match self.peek() {
                Some(Token::Symbol(".")) => {
                    self.at += 1;
                    self.member()?
                }
                Some(Token::Symbol("[")) => {
                    self.at += 1;
                    self.elements()?
                }
                Some(Token::Symbol("?")) => {
                    self.at += 1;
                    self.filter()?
                }
                _ => return Ok(expression),
            };
            self.count()?;
            expression.steps.push(step);
        }
    }

    fn primary(&mut self) -> Result<Expression> {
        if self.takes("(") {
            let inner = self.disjunction()?;
            self.expects(")")?;
            return Ok(inner);
        }
        let head = match self.peek() {
            Some(Token::String(text)) => Head::String(text.clone()),
            Some(Token::Variable(name)) => Head::Variable(name.clone()),
            Some(Token::Integer(text) | Token::Decimal(text)) => Head::Number(Numeric::parse(text)?),
            Some(Token::Symbol("$")) => Head::Root,
            Some(Token::Symbol("@")) => {
                if self.filters == 0 {
                    self.misplaced
                        .get_or_insert("@ is not allowed in root expressions");
                }
                Head::Current
            }
            Some(Token::Word(word)) if word == "null" => Head::Null,
            Some(Token::Word(word)) if word == "true" => Head::Boolean(true),
            Some(Token::Word(word)) if word == "false" => Head::Boolean(false),
            Some(Token::Word(word)) if is_keyword(word, "last") => {
                if self.subscripts == 0 {
                    self.misplaced
                        .get_or_insert("LAST is allowed only in array subscripts");
                }
                Head::Last
            }
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        self.made(head)
    }

    /// What stands behind a dot.
    fn member(&mut self) -> Result<Step> {
        match self.peek() {
            Some(Token::Symbol("*")) => {
                self.at += 1;
                return Ok(Step::EveryKey);
            }
            Some(Token::Symbol("**")) => {
                self.at += 1;
                return self.levels();
            }
            Some(Token::String(key)) => {
                let key = key.clone();
                self.at += 1;
                return Ok(Step::Key(key));
            }
            _ => {}
        }
        let Some(Token::Word(name)) = self.peek().cloned() else {
            return Err(self.unexpected());
        };
        self.at += 1;
        if !self.is_symbol("(") {
            return Ok(Step::Key(name));
        }
        if name.eq_ignore_ascii_case("datetime") {
            self.at += 1;
            let template = match self.is_symbol(")") {
                true => None,
                false => Some(self.string()?),
            };
            self.expects(")")?;
            return Ok(Step::Datetime(template));
        }
        let Some(method) = Method::named(&name) else {
            return Err(self.unexpected());
        };
        self.at += 1;
        self.expects(")")?;
        Ok(Step::Method(method))
    }

    /// What may stand behind `**`.
    fn levels(&mut self) -> Result<Step> {
        if !self.takes("{") {
            return Ok(Step::Levels(0, LEVEL_LAST));
        }
        let first = self.level()?;
        let last = match self.takes_word("to") {
            true => self.level()?,
            false => first,
        };
        self.expects("}")?;
        Ok(Step::Levels(first, last))
    }

    fn level(&mut self) -> Result<u32> {
        if self.takes_word("last") {
            return Ok(LEVEL_LAST);
        }
        let Some(Token::Integer(digits)) = self.peek() else {
            return Err(self.unexpected());
        };
        // As many levels as no document has.
        let level = digits.parse().unwrap_or(LEVEL_LAST - 1);
        self.at += 1;
        Ok(level)
    }

    /// What stands behind `[`.
    fn elements(&mut self) -> Result<Step> {
        if self.takes("*") {
            self.expects("]")?;
            return Ok(Step::EveryElement);
        }
        self.subscripts += 1;
        let mut elements = Vec::new();
        loop {
            let first = self.value()?;
            let last = match self.takes_word("to") {
                true => Some(self.value()?),
                false => None,
            };
            elements.push((first, last));
            if !self.takes(",") {
                break;
            }
        }
        self.subscripts -= 1;
        self.expects("]")?;
        Ok(Step::Elements(elements))
    }

    /// What stands behind `?`.
    fn filter(&mut self) -> Result<Step> {
        self.expects("(")?;
        self.filters += 1;
        let condition = self.disjunction()?;
        let condition = self.required(condition, true)?;
        self.filters -= 1;
        self.expects(")")?;
        Ok(Step::Filter(condition.into()))
    }
}

impl Expression {
    fn is_condition(&self) -> bool {
        self.head.is_predicate() && self.steps.is_empty()
    }
}

/// Whether a word is this keyword, in whatever case.
fn is_keyword(word: &str, keyword: &str) -> bool {
    word.eq_ignore_ascii_case(keyword)
}

fn comparison(token: &Token) -> Option<Comparison> {
    match token {
        Token::Symbol("==") => Some(Comparison::Equal),
        Token::Symbol("!=" | "<>") => Some(Comparison::NotEqual),
        Token::Symbol("<") => Some(Comparison::Less),
        Token::Symbol("<=") => Some(Comparison::LessOrEqual),
        Token::Symbol(">") => Some(Comparison::Greater),
        Token::Symbol(">=") => Some(Comparison::GreaterOrEqual),
        _ => None,
    }
}

/// Errors: 42601 for flags that are none, 0A000 for `x`.
fn pattern(text: String, flags: &str) -> Result<Pattern> {
    let mut pattern = Pattern {
        text,
        ..Pattern::default()
    };
    for flag in flags.chars() {
        match flag {
            'i' => pattern.ignores_case = true,
            's' => pattern.dot_matches_newline = true,
            'm' => pattern.anchors_match_lines = true,
            'x' => pattern.is_expanded = true,
            'q' => pattern.is_literal = true,
            flag => {
                let message = "invalid input syntax for type jsonpath";
                let detail = format!("Unrecognized flag character \"{flag}\" in LIKE_REGEX predicate.");
                return Err(Error::from(Raised {
                    detail: Some(detail),
                    ..Raised::new("42601", message)
                }));
            }
        }
    }
    if pattern.is_expanded && !pattern.is_literal {
        return Err(Error::InvalidStatement {
            state: StatementFault::NotImplemented,
            message: "XQuery \"x\" flag (expanded regular expressions) is not implemented".to_string(),
            hint: None,
        });
    }
    Ok(pattern)
}
