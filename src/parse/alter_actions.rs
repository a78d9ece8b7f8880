//! Actions of ALTER TABLE, VIEW and MATERIALIZED VIEW that the parser does not read: what PostgreSQL stores in its own way, identity
//! columns, DROP EXPRESSION, ALTER CONSTRAINT, inheritance. Each is read off its tokens and noted in the hints; in its place an action is
//! left that the parser reads, whose name is no name of anybody's: its number.

use sqlparser::ast::{AlterTableOperation, ForValues, PartitionBoundValue};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::definition::AlterAction;
use super::hints::Hints;
use super::token_reader::{TokenReader, is_word_at};
use crate::Result;

/// What the name of the action that is left begins with. No text holds this character.
pub(super) const MARK: char = '\0';

/// What may stand behind ADD that is no column.
const CONSTRAINT_WORDS: [&str; 9] = [
    "CONSTRAINT",
    "PRIMARY",
    "UNIQUE",
    "CHECK",
    "FOREIGN",
    "EXCLUDE",
    "INDEX",
    "KEY",
    "WILDCARD",
];

/// The words that actions begin with.
const ACTION_WORDS: [&str; 28] = [
    "ADD",
    "ALTER",
    "ATTACH",
    "CHANGE",
    "CLUSTER",
    "COMPACT",
    "DETACH",
    "DISABLE",
    "DROP",
    "ENABLE",
    "FORCE",
    "INHERIT",
    "MODIFY",
    "NO",
    "NOT",
    "OF",
    "OPTIONS",
    "OWNER",
    "PARTITION",
    "RENAME",
    "REPLICA",
    "RESET",
    "SET",
    "SPLIT",
    "SWAP",
    "TRUNCATE",
    "UNSPLIT",
    "VALIDATE",
];

/// Takes such actions out of the tokens of an ALTER statement. `text`: the message.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>, text: &str, hints: &mut Hints) {
    let is = |at: usize, word: &str| is_word_at(tokens, at, word);
    let behind_kind = if is(1, "TABLE") || is(1, "VIEW") {
        2
    } else if is(1, "MATERIALIZED") && is(2, "VIEW") {
        3
    } else {
        return;
    };
    let mut reader = TokenReader::new(tokens.clone(), text);
    reader.at = behind_kind;
    if reader.altered_name().is_err() {
        return;
    }
    let mut found = Vec::new();
    let mut adds_column = false;
    loop {
        let start = reader.at;
        if adds_column && reader.begins_column() {
            let span = reader.tokens[start].span;
            let words = ["ADD", "COLUMN"].map(|text| TokenWithSpan::new(word(text, None), span));
            reader.tokens.splice(start..start, words.clone());
            tokens.splice(start..start, words);
        }
        adds_column = reader.adds_column();
        match reader.own_action() {
            Ok(action) if matches!(reader.peek(), None | Some(Token::Comma)) => {
                found.push((start..reader.at, action));
            }
            _ => {
                reader.at = start;
                reader.skip_action();
            }
        }
        if !reader.token(&Token::Comma) {
            break;
        }
    }
    for (at, action) in found.into_iter().rev() {
        let span = tokens[at.start].span;
        let name = format!("{MARK}{}", hints.actions.len());
        hints.actions.push(action);
        let words = [word("DISABLE", None), word("RULE", None), word(&name, Some('"'))];
        tokens.splice(at, words.map(|token| TokenWithSpan { token, span }));
    }
}

/// The action that stands in the place of this one.
pub(crate) fn own_action<'h>(operation: &AlterTableOperation, hints: &'h Hints) -> Option<&'h AlterAction> {
    let AlterTableOperation::DisableRule { name } = operation else {
        return None;
    };
    let number = name.value.strip_prefix(MARK)?;
    hints.actions.get(number.parse::<usize>().ok()?)
}

fn word(text: &str, quote_style: Option<char>) -> Token {
    match quote_style {
        None => Token::make_keyword(text),
        Some(_) => Token::Word(Word {
            value: text.to_string(),
            quote_style,
            keyword: sqlparser::keywords::Keyword::NoKeyword,
        }),
    }
}

impl TokenReader<'_> {
    /// `IF EXISTS ONLY name *`.
    fn altered_name(&mut self) -> Result<()> {
        self.if_exists()?;
        self.word("ONLY");
        self.object_name()?;
        self.token(&Token::Mul);
        Ok(())
    }

    /// Whether the next action is ADD COLUMN, COLUMN written or not.
    fn adds_column(&self) -> bool {
        let at = self.at;
        let is_constraint = CONSTRAINT_WORDS
            .iter()
            .any(|word| is_word_at(&self.tokens, at + 1, word));
        is_word_at(&self.tokens, at, "ADD") && !is_constraint
    }

    /// Whether what is next is a column and its type, as in `ADD COLUMN a int, b int`: an action begins with another word.
    fn begins_column(&self) -> bool {
        let is_name = |at: usize| {
            matches!(
                self.tokens.get(at).map(|token| &token.token),
                Some(Token::Word(_))
            )
        };
        let begins_action = ACTION_WORDS
            .iter()
            .any(|word| is_word_at(&self.tokens, self.at, word));
        is_name(self.at) && is_name(self.at + 1) && !begins_action
    }

    /// To the comma behind the action that begins here, or to the end.
    fn skip_action(&mut self) {
        let mut depth = 0usize;
        while let Some(token) = self.peek() {
            match token {
                Token::LParen | Token::LBracket => depth += 1,
                Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
                Token::Comma if depth == 0 => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// An action that the parser does not read. Errors: it is another.
    fn own_action(&mut self) -> Result<AlterAction> {
        let start = self.at;
        if let Some(refused) = self.refused_action() {
            return Ok(refused);
        }
        self.at = start;
        if let Some(partition) = self.partition_action()? {
            return Ok(partition);
        }
        if self.word("COMPACT") {
            // Behind it LindormTable names a data centre.
            if matches!(self.peek(), Some(Token::Word(_))) {
                self.label()?;
            }
            return Ok(AlterAction::Compact);
        }
        if self.word("ALTER") && self.word("PRIMARY") && self.word("KEY") {
            return self.primary_key_action();
        }
        self.at = start;
        if let Some(split) = self.region_action()? {
            return Ok(split);
        }
        if self.word("ALTER") && self.word("CONSTRAINT") {
            return self.constraint_action();
        }
        self.at = start;
        if let Ok(action) = self.column_action() {
            return Ok(action);
        }
        self.at = start;
        if let Ok(action) = self.wildcard_action() {
            return Ok(action);
        }
        self.at = start;
        if let Ok(options) = self.option_changes() {
            return Ok(AlterAction::Options(options));
        }
        self.at = start;
        self.storage_change().map(AlterAction::Storage)
    }

    /// `SPLIT AT VALUES (a, b), (c)`, `UNSPLIT AT VALUES (a)`, `UNSPLIT ALL`. Errors: 42601 behind these words.
    fn region_action(&mut self) -> Result<Option<AlterAction>> {
        let splits = self.word("SPLIT");
        if !splits && !self.word("UNSPLIT") {
            return Ok(None);
        }
        if !splits && self.word("ALL") {
            return Ok(Some(AlterAction::UnsplitAt(None)));
        }
        self.expect("AT")?;
        self.expect("VALUES")?;
        let mut bounds = Vec::new();
        loop {
            if !self.token(&Token::LParen) {
                return Err(self.syntax_error());
            }
            bounds.push(self.parsed(|parser| parser.parse_comma_separated(Parser::parse_expr))?);
            if !self.token(&Token::RParen) {
                return Err(self.syntax_error());
            }
            // Behind a comma another action may stand, too.
            let at = self.at;
            if !self.token(&Token::Comma) {
                break;
            }
            if self.peek() != Some(&Token::LParen) {
                self.at = at;
                break;
            }
        }
        Ok(Some(match splits {
            true => AlterAction::SplitAt(bounds),
            false => AlterAction::UnsplitAt(Some(bounds)),
        }))
    }

    /// What stands behind ALTER PRIMARY KEY: `[USING COLUMNS] (…) [USING HASH] [WITH (BUCKETS = n)]`, CockroachDB's words for the last among them.
    fn primary_key_action(&mut self) -> Result<AlterAction> {
        if self.word("USING") {
            self.expect("COLUMNS")?;
        }
        self.take_token(&Token::LParen)?;
        let mut columns = Vec::new();
        loop {
            columns.push(self.parsed(|parser| parser.parse_create_index_expr())?);
            if !self.token(&Token::Comma) {
                break;
            }
        }
        self.take_token(&Token::RParen)?;
        let mut buckets = None;
        if self.word("USING") {
            self.expect("HASH")?;
            buckets = Some("16".to_string());
        }
        if self.word("WITH") {
            let in_parentheses = self.token(&Token::LParen);
            if !self.word("BUCKETS") {
                self.expect("BUCKET_COUNT")?;
            }
            self.take_token(&Token::Eq)?;
            buckets = self.value()?;
            if in_parentheses {
                self.take_token(&Token::RParen)?;
            }
        }
        Ok(AlterAction::PrimaryKey { columns, buckets })
    }

    /// `ADD WILDCARD "c*" type`, `DROP WILDCARD "c*"`. The pattern is quoted: without it WILDCARD is the name of a column.
    fn wildcard_action(&mut self) -> Result<AlterAction> {
        let adds = self.word("ADD");
        if !adds {
            self.expect("DROP")?;
        }
        self.expect("WILDCARD")?;
        if adds {
            let if_not_exists = self.word("IF");
            if if_not_exists {
                self.expect("NOT")?;
                self.expect("EXISTS")?;
            }
            self.require_quoted()?;
            let column = Box::new(self.parsed(|parser| parser.parse_column_def())?);
            return Ok(AlterAction::AddWildcard {
                column,
                if_not_exists,
            });
        }
        let if_exists = self.if_exists()?;
        self.require_quoted()?;
        let name = self.name()?;
        Ok(AlterAction::DropWildcard { name, if_exists })
    }

    fn require_quoted(&self) -> Result<()> {
        match self.peek() {
            Some(Token::Word(word)) if word.quote_style.is_some() => Ok(()),
            _ => Err(self.syntax_error()),
        }
    }

    /// What stands behind ALTER CONSTRAINT.
    fn constraint_action(&mut self) -> Result<AlterAction> {
        let name = self.name()?;
        let said = self.characteristics()?;
        if !matches!(self.peek(), None | Some(Token::Comma)) {
            return Err(self.syntax_error());
        }
        Ok(AlterAction::Constraint {
            name,
            deferrable: said.deferrable,
            initially_deferred: said.initially_deferred.unwrap_or(false),
        })
    }

    /// `ALTER COLUMN c DROP EXPRESSION`, `… ADD GENERATED …`, `… SET GENERATED …`, `… DROP IDENTITY`.
    fn column_action(&mut self) -> Result<AlterAction> {
        self.expect("ALTER")?;
        self.word("COLUMN");
        let column = self.name()?;
        let at = self.at;
        if self.word("DROP") && self.word("EXPRESSION") {
            let if_exists = self.if_exists()?;
            return Ok(AlterAction::DropExpression { column, if_exists });
        }
        self.at = at;
        let change = self.identity_change()?;
        Ok(AlterAction::Identity { column, change })
    }

    /// `ATTACH PARTITION name bound`, `DETACH PARTITION name [CONCURRENTLY | FINALIZE]`. Errors: 42601 behind these words.
    fn partition_action(&mut self) -> Result<Option<AlterAction>> {
        let attaches = self.word("ATTACH");
        if !attaches && !self.word("DETACH") {
            return Ok(None);
        }
        self.expect("PARTITION")?;
        let partition = self.object_name()?;
        if attaches {
            let bound = Box::new(self.partition_bound()?);
            return Ok(Some(AlterAction::AttachPartition { partition, bound }));
        }
        let concurrently = self.word("CONCURRENTLY");
        let finalizes = !concurrently && self.word("FINALIZE");
        Ok(Some(AlterAction::DetachPartition {
            partition,
            concurrently,
            finalizes,
        }))
    }

    /// `DEFAULT`, `FOR VALUES …`.
    fn partition_bound(&mut self) -> Result<ForValues> {
        if self.word("DEFAULT") {
            return Ok(ForValues::Default);
        }
        self.expect("FOR")?;
        self.expect("VALUES")?;
        if self.word("IN") {
            self.take_token(&Token::LParen)?;
            let values = self.parsed(|parser| parser.parse_comma_separated(Parser::parse_expr))?;
            self.take_token(&Token::RParen)?;
            return Ok(ForValues::In(values));
        }
        if self.word("FROM") {
            let from = self.range_edge()?;
            self.expect("TO")?;
            let to = self.range_edge()?;
            return Ok(ForValues::From { from, to });
        }
        self.expect("WITH")?;
        self.take_token(&Token::LParen)?;
        self.expect("MODULUS")?;
        let modulus = self.parsed(|parser| parser.parse_literal_uint())?;
        self.take_token(&Token::Comma)?;
        self.expect("REMAINDER")?;
        let remainder = self.parsed(|parser| parser.parse_literal_uint())?;
        self.take_token(&Token::RParen)?;
        Ok(ForValues::With { modulus, remainder })
    }

    /// `(value, MINVALUE, MAXVALUE)`.
    fn range_edge(&mut self) -> Result<Vec<PartitionBoundValue>> {
        self.take_token(&Token::LParen)?;
        let mut edge = Vec::new();
        loop {
            edge.push(if self.word("MINVALUE") {
                PartitionBoundValue::MinValue
            } else if self.word("MAXVALUE") {
                PartitionBoundValue::MaxValue
            } else {
                PartitionBoundValue::Expr(self.parsed(|parser| parser.parse_expr())?)
            });
            if !self.token(&Token::Comma) {
                break;
            }
        }
        self.take_token(&Token::RParen)?;
        Ok(edge)
    }

    /// What PostgreSQL has, and nothing here.
    fn refused_action(&mut self) -> Option<AlterAction> {
        const NO_PARENTS: &str = "Use ATTACH PARTITION for tables whose rows are read as those of one.";
        let refused = [
            (&["INHERIT"][..], "ALTER TABLE ... INHERIT", NO_PARENTS),
            (&["NO", "INHERIT"], "ALTER TABLE ... NO INHERIT", NO_PARENTS),
            (&["OF"], "ALTER TABLE ... OF", "Name the columns in CREATE TABLE."),
            (
                &["NOT", "OF"],
                "ALTER TABLE ... NOT OF",
                "No table is of a type: leave it out.",
            ),
        ];
        let start = self.at;
        for (words, feature, hint) in refused {
            self.at = start;
            if words.iter().all(|word| self.word(word)) {
                self.skip_action();
                return Some(AlterAction::Refused { feature, hint });
            }
        }
        None
    }
}
