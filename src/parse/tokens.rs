//! A message's tokens, statement by statement, as the parser takes them: without blanks, literals joined over line
//! breaks. One walk, which also refuses what must not reach the parser, and does what the dialect has no hook for:
//!
//! - FOR UPDATE and kin go behind LIMIT, in words that it knows ([`super::row_locks`]).
//! - WHERE CURRENT OF becomes a condition that it reads ([`super::current_of`]).
//! - `integer ARRAY` becomes `integer[]` ([`super::array_word`]), and `SET a[1] = x` what the parser reads
//!   ([`super::subscript_assignment`]).
//! - A hint counts behind a verb anywhere, and ALLOW FILTERING may stand behind what ends no expression
//!   (`ORDER BY a DESC ALLOW FILTERING LIMIT 1`).
//! - Of `TABLE t` the parser takes three tokens, whatever they are. It becomes `SELECT * FROM t`.
//! - `WITH (OPTION)` needs a value: it becomes `WITH (OPTION = 'true')`.
//! - LindormTable's `CREATE INDEX … ASYNC` is CREATE INDEX, with what `Hints` say besides.
//! - UNLOGGED, TABLESPACE and their like are taken out of definitions ([`super::inert`]).
//! - `OPERATOR(schema.op)` the parser reads between two operands alone: before ANY, and before a single operand, it becomes
//!   the operator.
//! - A word that begins a clause is the name of a relation to the parser.
//! - Of `FETCH FIRST (count) ROWS` the parser takes no expression, and no OFFSET behind it ([`super::fetch_first`]).
//! - `SELECT ALL` is SELECT.
//! - UPSERT in a WITH clause is INSERT to it, spelt otherwise ([`super::with_write`]).
//! - ON DUPLICATE KEY becomes ON CONFLICT ([`super::duplicate_key`]), and names between backticks are names between double quotes.
//! - OVERRIDING, and DO NOTHING of MERGE, become columns that no table can have ([`super::unread_words`]).
//! - WITH CHECK OPTION becomes an option of its view ([`super::view_check_option`]).
//! - SEARCH and CYCLE of WITH become a name that no table has ([`super::search_cycle`]).
//! - `(VALUES …)` where a value may stand becomes a SELECT of it.
//! - ROWS FROM, and the name of what USING joins, become names that nobody can write ([`super::from_forms`]); ORDER BY … USING becomes
//!   the order that it means ([`super::order_operator`]); an empty SELECT is from one row.
//! - The elements of CREATE SCHEMA are taken out of it ([`super::schema_elements`]).
//! - EXCLUDE of a window's frame becomes part of a name, and a string that its offset begins with is enclosed ([`super::window_frame`]).
//! - AS OF SYSTEM TIME, and FOR SYSTEM_TIME with a period ([`super::system_time`]), and `substring(x SIMILAR p ESCAPE e)`
//!   ([`super::escape_words`]) become what it reads.
//! - `INSERT INTO t (VALUES …)` and `(WITH …)` would be a list of columns: the parentheses go.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Whitespace};

use super::adjacency;
use super::alter_actions;
use super::array_word;
use super::atomic_body::AtomicBody;
use super::conflict_target;
use super::constraint_words;
use super::current_of;
use super::duplicate_key;
use super::escape_words;
use super::exclusion;
use super::fetch_first;
use super::from_forms;
use super::group_distinct;
use super::grouping_element;
use super::hints::{Hints, VERSION_TIME_END, Verb, misplaced};
use super::identity_options;
use super::inert;
use super::key_includes;
use super::merge_source;
use super::national_character;
use super::nesting::Nesting;
use super::only::OnlyReader;
use super::operator_name;
use super::order_operator;
use super::partition_columns;
use super::position::character_position;
use super::record_columns;
use super::recursive_view;
use super::row_expansion;
use super::row_locks::{self, LockStrength};
use super::schema_elements;
use super::search_cycle;
use super::subscript_assignment;
use super::syntax_error;
use super::system_time;
use super::token_edits::{
    give_options_values, is_named, name_behind_point, open_values, quote_doubly, select_values, take_async,
};
use super::token_reader::{is_word, keyword_of};
use super::type_collation;
use super::unread_words;
use super::variadic_name;
use super::view_check_option;
use super::window_frame;
use crate::{Error, Result};

/// Words that no relation may have as its name, unless quoted, and that begin no expression either.
const CLAUSE_WORDS: &[Keyword] = &[
    Keyword::EXCEPT,
    Keyword::FETCH,
    Keyword::FROM,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::INTERSECT,
    Keyword::INTO,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::ON,
    Keyword::ORDER,
    Keyword::RETURNING,
    Keyword::UNION,
    Keyword::USING,
    Keyword::WHERE,
    Keyword::WINDOW,
];

/// What the row is called that an empty SELECT is from: nobody can name it.
const ONE_ROW: &str = "\u{2}row";

/// Behind how many tokens of EXPLAIN and its options the statement that it explains begins, at most.
const EXPLAIN_TOKENS_MAX: usize = 40;

/// The tokens of one statement.
pub(super) struct StatementTokens {
    /// At least one.
    pub(super) tokens: Vec<TokenWithSpan>,
    /// Its own text: without the blanks and line comments around it.
    pub(super) span: Span,
    /// What its hints, or ALLOW FILTERING, ask for.
    pub(super) hints: Hints,
    /// The hints that stand where none counts.
    pub(super) misplaced_hints: Vec<String>,
    /// How the first locking clause (FOR UPDATE …) locks.
    pub(super) row_locks: Option<LockStrength>,
    /// The cursor of WHERE CURRENT OF.
    pub(super) current_of: Option<String>,
}

/// The statements of a message, those of blanks and comments alone left out. `text`: the message.
/// Errors: 42601 and 54001, for what must not reach the parser.
pub(super) fn statements(
    all: Vec<TokenWithSpan>,
    text: &str,
) -> impl Iterator<Item = Result<StatementTokens>> {
    let mut rest = all.into_iter();
    std::iter::from_fn(move || {
        while !rest.as_slice().is_empty() {
            let mut reader = Reader::new(text, rest.len().min(64));
            let mut body = AtomicBody::default();
            let read = rest
                .by_ref()
                .take_while(|token| !body.is_end(token))
                .try_for_each(|token| reader.take(token));
            if let Err(error) = read {
                return Some(Err(error));
            }
            if !reader.tokens.is_empty() {
                return Some(reader.finish());
            }
        }
        None
    })
}

/// Takes the tokens of one statement.
struct Reader<'t> {
    text: &'t str,
    tokens: Vec<TokenWithSpan>,
    /// From the first token or comment to the last.
    span: Option<Span>,
    nesting: Nesting,
    hints: Hints,
    misplaced_hints: Vec<String>,
    /// FOR was met: there may be a locking clause.
    has_for: bool,
    /// CURRENT was met: there may be a WHERE CURRENT OF.
    has_current: bool,
    /// It has ON CONFLICT.
    has_conflict: bool,
    /// It has DUPLICATE.
    has_duplicate: bool,
    /// It has MERGE.
    has_merge: bool,
    /// It has OVERRIDING.
    has_overriding: bool,
    /// RECURSIVE was met: it may be a view's.
    has_recursive: bool,
    /// VALUES stands first in parentheses: it may be a value.
    has_values: bool,
    /// USING, which may name a join or be an order, ROWS FROM or another form of FROM was met.
    has_from_forms: bool,
    /// GROUP BY DISTINCT or ALL, ROLLUP, CUBE or SETS was met.
    has_grouping: bool,
    /// SEARCH or CYCLE was met: they may stand behind a query of WITH.
    has_search: bool,
    /// It has EXCLUDE.
    has_frame: bool,
    has_fetch: bool,
    /// SYSTEM or SYSTEM_TIME was met: it may read at a moment.
    has_system_time: bool,
    /// ARRAY was met: it may be part of a type's name.
    has_array: bool,
    /// SET and a bracket were met: there may be an assignment to a part of an array.
    has_set: bool,
    has_bracket: bool,
    has_point: bool,
    has_as: bool,
    has_escape: bool,
    only: OnlyReader,
}

impl<'t> Reader<'t> {
    /// `tokens`: how many it may take.
    fn new(text: &'t str, tokens: usize) -> Reader<'t> {
        Reader {
            text,
            tokens: Vec::with_capacity(tokens),
            span: None,
            nesting: Nesting::default(),
            hints: Hints::default(),
            misplaced_hints: Vec::new(),
            has_for: false,
            has_current: false,
            has_conflict: false,
            has_duplicate: false,
            has_merge: false,
            has_recursive: false,
            has_overriding: false,
            has_values: false,
            has_from_forms: false,
            has_grouping: false,
            has_search: false,
            has_frame: false,
            has_fetch: false,
            has_system_time: false,
            has_array: false,
            has_set: false,
            has_bracket: false,
            has_point: false,
            has_as: false,
            has_escape: false,
            only: OnlyReader::default(),
        }
    }

    fn take(&mut self, mut token: TokenWithSpan) -> Result<()> {
        if self.only.passes(&self.tokens, &token) {
            self.reach(token.span);
            return Ok(());
        }
        match &token.token {
            Token::Whitespace(Whitespace::MultiLineComment(comment)) => {
                self.reach(token.span);
                match self.verb_before() {
                    Some(verb) => self.hints.read(comment, verb)?,
                    None => self.misplaced_hints.extend(misplaced(comment)),
                }
                return Ok(());
            }
            Token::Whitespace(_) => return Ok(()),
            Token::Word(word) if word.quote_style.is_some() && word.value.is_empty() => {
                return Err(Error::Syntax {
                    message: "zero-length delimited identifier at or near \"\"\"\"".to_string(),
                    position: character_position(token.span.start, self.text),
                });
            }
            Token::Word(word)
                if word.keyword == Keyword::ALL && keyword_of(self.tokens.last()) == Keyword::SELECT =>
            {
                self.reach(token.span);
                return Ok(());
            }
            Token::Word(word) if word.quote_style == Some('`') => quote_doubly(&mut token),
            Token::Word(_) if self.tokens.last().is_some_and(|last| last.token == Token::Period) => {
                name_behind_point(&mut token);
            }
            // The parser would take it for another dialect's INSERT INTO [LOCAL] DIRECTORY.
            Token::Word(word)
                if matches!(word.keyword, Keyword::DIRECTORY | Keyword::LOCAL)
                    && keyword_of(self.tokens.last()) == Keyword::INTO =>
            {
                quote_doubly(&mut token);
            }
            Token::Word(word) => self.meet_word(word.keyword, &token)?,
            Token::SingleQuotedString(second) if self.joins_last(second, token.span) => {
                self.reach(token.span);
                return Ok(());
            }
            // The parser knows comments in quotes only.
            Token::DollarQuotedString(text) if keyword_of(self.tokens.last()) == Keyword::IS => {
                token.token = Token::SingleQuotedString(text.value.clone());
            }
            Token::LBracket => self.has_bracket = true,
            Token::Period => self.has_point = true,
            _ => {}
        }
        if let Token::Word(word) = &token.token {
            self.hints.names_version_time |= names_version_time(&word.value);
        }
        self.reach(token.span);
        self.select_nothing(Some(&token));
        self.nesting.take(&token.token)?;
        operator_name::take(&mut self.tokens, &token);
        variadic_name::take(&mut self.tokens, &mut token);
        self.begin_write(&mut token);
        self.tokens.push(token);
        Ok(())
    }

    /// Puts a string to the end of the one that stands on a line before it; whether it does.
    fn joins_last(&mut self, second: &str, place: Span) -> bool {
        let Some(TokenWithSpan {
            token: Token::SingleQuotedString(first),
            span,
        }) = self.tokens.last_mut()
        else {
            return false;
        };
        let joins = span.end.line < place.start.line;
        if joins {
            first.push_str(second);
            span.end = place.end;
        }
        joins
    }

    /// Makes of the UPSERT that a query of WITH begins with an INSERT that is spelt so.
    fn begin_write(&self, token: &mut TokenWithSpan) {
        let before = keyword_of(self.tokens.iter().rev().nth(1));
        let begins = self.tokens.last().is_some_and(|last| last.token == Token::LParen)
            && matches!(before, Keyword::AS | Keyword::MATERIALIZED);
        if begins
            && let Token::Word(word) = &mut token.token
            && is_word(word, "UPSERT")
        {
            word.keyword = Keyword::INSERT;
        }
    }

    /// Before a word is taken: what it says of the words before it.
    fn meet_word(&mut self, keyword: Keyword, token: &TokenWithSpan) -> Result<()> {
        national_character::take(&mut self.tokens, token);
        match keyword_of(self.tokens.last()) {
            Keyword::FROM | Keyword::JOIN
                if CLAUSE_WORDS.contains(&keyword) && keyword_of(self.tokens.first()) != Keyword::REVOKE =>
            {
                return Err(syntax_error::near(token, self.text));
            }
            Keyword::TABLE
                if !CLAUSE_WORDS.contains(&keyword) && self.begins_query(self.tokens.len() - 1) =>
            {
                self.spell_out_table();
            }
            _ => {}
        }
        self.has_for |= keyword == Keyword::FOR;
        self.has_current |= keyword == Keyword::CURRENT;
        self.has_conflict |= keyword == Keyword::CONFLICT;
        self.has_duplicate |= keyword == Keyword::DUPLICATE;
        self.has_merge |= keyword == Keyword::MERGE;
        self.has_recursive |= keyword == Keyword::RECURSIVE;
        self.has_overriding |= is_named(token, "OVERRIDING");
        self.has_values |=
            keyword == Keyword::VALUES && self.tokens.last().is_some_and(|last| last.token == Token::LParen);
        self.has_from_forms |= from_forms::may_begin(keyword, self.tokens.last());
        self.has_grouping |= grouping_element::is_begin(keyword)
            || matches!(keyword, Keyword::DISTINCT | Keyword::ALL)
                && group_distinct::is_behind_group_by(&self.tokens);
        self.has_search |= is_named(token, "SEARCH") || matches!(keyword, Keyword::SEARCH | Keyword::CYCLE);
        self.has_fetch |= keyword == Keyword::FETCH;
        self.has_frame |= matches!(
            keyword,
            Keyword::EXCLUDE | Keyword::PRECEDING | Keyword::FOLLOWING
        );
        self.has_system_time |= matches!(keyword, Keyword::SYSTEM | Keyword::SYSTEM_TIME);
        self.has_array |= keyword == Keyword::ARRAY;
        self.has_set |= keyword == Keyword::SET;
        self.has_as |= keyword == Keyword::AS;
        self.has_escape |= keyword == Keyword::ESCAPE;
        if matches!(
            keyword,
            Keyword::LIMIT | Keyword::OFFSET | Keyword::FETCH | Keyword::FOR
        ) {
            self.take_allow_filtering();
        }
        if matches!(keyword, Keyword::ROW | Keyword::ROWS) {
            fetch_first::limit_to_count(&mut self.tokens);
        }
        Ok(())
    }

    /// Whether a query may begin with this token.
    fn begins_query(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else {
            return true;
        };
        use Keyword::{ALL, ANALYZE, AS, EXCEPT, EXPLAIN, INTERSECT, INTO, UNION, VERBOSE};
        match keyword_of(self.tokens.get(before)) {
            UNION | INTERSECT | EXCEPT | ALL | AS | EXPLAIN => true,
            ANALYZE | VERBOSE => keyword_of(self.tokens.first()) == EXPLAIN,
            _ if matches!(self.tokens[before].token, Token::LParen | Token::RParen) => {
                keyword_of(self.tokens.first()) != Keyword::REINDEX
            }
            Keyword::TEMP | Keyword::TEMPORARY | Keyword::UNLOGGED => false,
            _ => before > 0 && keyword_of(self.tokens.get(before - 1)) == INTO,
        }
    }

    /// Turns the TABLE taken last into `SELECT * FROM`.
    fn spell_out_table(&mut self) {
        let Some(TokenWithSpan { span, .. }) = self.tokens.pop() else {
            return;
        };
        let select = [
            Token::make_keyword("SELECT"),
            Token::Mul,
            Token::make_keyword("FROM"),
        ];
        self.tokens
            .extend(select.map(|token| TokenWithSpan { token, span }));
    }

    /// The place of the CREATE that the statement begins with, or that it explains.
    fn creation(&self) -> Option<usize> {
        let explains = keyword_of(self.tokens.first()) == Keyword::EXPLAIN;
        let is_creation = |at: &usize| keyword_of(self.tokens.get(*at)) == Keyword::CREATE;
        match explains {
            true => (1..self.tokens.len().min(EXPLAIN_TOKENS_MAX)).find(is_creation),
            false => Some(0).filter(is_creation),
        }
    }

    /// Takes ALLOW FILTERING away when it was taken last.
    fn take_allow_filtering(&mut self) {
        if let [_, .., allow, filtering] = self.tokens.as_slice()
            && is_named(allow, "ALLOW")
            && is_named(filtering, "FILTERING")
        {
            self.tokens.truncate(self.tokens.len() - 2);
            self.hints.allow_filtering = true;
        }
    }

    /// The verb that was taken last.
    fn verb_before(&self) -> Option<Verb> {
        match keyword_of(self.tokens.last()) {
            Keyword::SELECT => Some(Verb::Select),
            Keyword::INSERT | Keyword::UPDATE => Some(Verb::Write),
            Keyword::DELETE => Some(Verb::Delete),
            Keyword::MERGE | Keyword::COPY => Some(Verb::Load),
            _ => {
                let is_upsert = self.tokens.last().is_some_and(|token| is_named(token, "UPSERT"));
                is_upsert.then_some(Verb::Write)
            }
        }
    }

    /// Its text goes as far as this.
    fn reach(&mut self, span: Span) {
        let start = self.span.map_or(span.start, |span| span.start);
        self.span = Some(Span::new(start, span.end));
    }

    /// Gives a SELECT that was taken last, and whose list is empty, a FROM of one row: the parser reads an empty list in front of FROM alone.
    /// `next`: what stands behind it, if anything.
    fn select_nothing(&mut self, next: Option<&TokenWithSpan>) {
        use Keyword::{EXCEPT, FETCH, GROUP, HAVING, INTERSECT, LIMIT, OFFSET, ORDER, UNION, WHERE, WINDOW};
        let Some(at) = self.tokens.len().checked_sub(1) else {
            return;
        };
        let is_empty = next.is_none_or(|next| {
            let ends = [
                EXCEPT, FETCH, GROUP, HAVING, INTERSECT, LIMIT, OFFSET, ORDER, UNION, WHERE, WINDOW,
            ];
            matches!(next.token, Token::RParen | Token::SemiColon) || ends.contains(&keyword_of(Some(next)))
        });
        if is_empty && keyword_of(self.tokens.last()) == Keyword::SELECT && self.begins_query(at) {
            let span = self.tokens[at].span;
            let row = [
                Token::make_keyword("FROM"),
                Token::LParen,
                Token::make_keyword("SELECT"),
                Token::Number("1".to_string(), false),
                Token::RParen,
                Token::make_keyword("AS"),
                Token::make_word(ONE_ROW, Some('"')),
                Token::LParen,
                Token::make_word(ONE_ROW, Some('"')),
                Token::RParen,
            ];
            self.tokens.extend(row.map(|token| TokenWithSpan { token, span }));
        }
    }

    fn finish(mut self) -> Result<StatementTokens> {
        self.select_nothing(None);
        let row_locks = match self.has_for {
            true => row_locks::settle(&mut self.tokens, self.text)?,
            false => None,
        };
        let current_of = match self.has_current {
            true => current_of::settle(&mut self.tokens, self.text)?,
            false => None,
        };
        self.take_allow_filtering();
        if self.has_array {
            array_word::spell_brackets(&mut self.tokens);
        }
        if self.has_as {
            record_columns::settle(&mut self.tokens);
        }
        if self.has_point {
            row_expansion::settle(&mut self.tokens);
        }
        if self.has_set && (self.has_bracket || self.has_point) {
            subscript_assignment::settle(&mut self.tokens);
        }
        if self.has_escape {
            escape_words::settle(&mut self.tokens);
        }
        adjacency::settle(&mut self.tokens);
        if keyword_of(self.tokens.first()) == Keyword::DROP {
            inert::take_concurrently(&mut self.tokens, &mut self.hints);
        }
        if matches!(keyword_of(self.tokens.first()), Keyword::CREATE | Keyword::ALTER) {
            identity_options::sort(&mut self.tokens);
            constraint_words::take(&mut self.tokens)?;
            partition_columns::take(&mut self.tokens);
            exclusion::take(&mut self.tokens);
            key_includes::take(&mut self.tokens);
        }
        if keyword_of(self.tokens.first()) == Keyword::ALTER {
            type_collation::take(&mut self.tokens);
            alter_actions::take(&mut self.tokens, self.text, &mut self.hints);
        }
        if let Some(at) = self.creation() {
            let mut creation = self.tokens.split_off(at);
            self.hints.schema_elements = schema_elements::take(&mut creation, self.text)?;
            inert::take(&mut creation, self.text, &mut self.hints)?;
            give_options_values(&mut creation);
            view_check_option::take(&mut creation);
            self.hints.is_async = take_async(&mut creation);
            self.tokens.append(&mut creation);
        }
        let is_insert = keyword_of(self.tokens.first()) == Keyword::INSERT
            || self.tokens.first().is_some_and(|first| is_named(first, "UPSERT"));
        if is_insert {
            open_values(&mut self.tokens);
            subscript_assignment::settle_columns(&mut self.tokens);
        }
        self.take_unread()?;
        self.hints.only = self.only.into_names();
        Ok(StatementTokens {
            tokens: self.tokens,
            span: self.span.unwrap_or(Span::empty()),
            hints: self.hints,
            misplaced_hints: self.misplaced_hints,
            row_locks,
            current_of,
        })
    }

    /// Takes the words that the parser does not read wherever they stand. Errors: 42601, 0A000.
    fn take_unread(&mut self) -> Result<()> {
        if self.has_duplicate {
            duplicate_key::take(&mut self.tokens);
        }
        if self.has_conflict {
            conflict_target::take(&mut self.tokens);
        }
        if self.has_merge {
            unread_words::take_merge(&mut self.tokens, self.text)?;
            merge_source::take(&mut self.tokens);
        }
        if self.has_recursive {
            recursive_view::take(&mut self.tokens);
        }
        if self.has_overriding {
            unread_words::take_overriding(&mut self.tokens);
        }
        if self.has_values {
            select_values(&mut self.tokens);
        }
        if self.has_from_forms {
            from_forms::take(&mut self.tokens);
            order_operator::take(&mut self.tokens, self.text)?;
        }
        if self.has_grouping {
            group_distinct::take(&mut self.tokens);
            grouping_element::take(&mut self.tokens);
        }
        if self.has_search {
            search_cycle::take(&mut self.tokens);
        }
        if self.has_fetch {
            fetch_first::put_behind_offset(&mut self.tokens);
        }
        if self.has_frame {
            window_frame::take(&mut self.tokens);
        }
        if self.has_system_time {
            system_time::settle(&mut self.tokens, self.text, &mut self.hints)?;
        }
        Ok(())
    }
}

/// Whether a column of this name may be the time of a version.
fn names_version_time(name: &str) -> bool {
    let at = name.len().checked_sub(VERSION_TIME_END.len());
    let end = at.and_then(|at| name.as_bytes().get(at..));
    end.is_some_and(|end| end.eq_ignore_ascii_case(VERSION_TIME_END.as_bytes()))
}
