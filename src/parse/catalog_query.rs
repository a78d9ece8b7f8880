//! What LindormTable's users ask of tables in statements of their own (SHOW TABLES, DESCRIBE t, SHOW CREATE TABLE t …), as the queries over
//! the catalogs that they mean: so every client gets rows, and a name that is not there is told of as anywhere.

use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::dialect::KEYSPAN;
use super::quoting::{quote_ident, quote_literal};
use super::syntax_error;
use super::token_reader::{TokenReader, is_word_at, string_of};
use super::tree::parse_tree;
use crate::{Error, Result};

/// `$table`: the name of a relation, as a literal; `$pattern`: a condition for a name.
const INDEX_QUERY: &str = "SELECT n.nspname AS table_schema, t.relname AS data_table, c.relname AS index_name, \
    CASE WHEN i.indisvalid THEN 'ACTIVE' WHEN i.indcheckxmin THEN 'INACTIVE' \
    WHEN i.indisready THEN 'BUILDING' ELSE 'DISABLED' END AS index_state, \
    CASE WHEN i.indisvalid OR i.indcheckxmin THEN 'DONE' WHEN NOT i.indisready THEN NULL ELSE coalesce(p.tuples_done, 0)::text || ' rows' END AS index_progress, \
    CASE WHEN i.indisprimary THEN 'PRIMARY' WHEN i.indisunique THEN 'UNIQUE' ELSE 'SECONDARY' END AS index_type, \
    substring(pg_get_indexdef(i.indexrelid) from 'USING \\w+? \\((.*?)\\)(?: INCLUDE \\(| NULLS NOT DISTINCT| WITH \\(| WHERE |$)') AS index_column, \
    substring(pg_get_indexdef(i.indexrelid) from 'INCLUDE \\((.*?)\\)') AS index_include \
    FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
    JOIN pg_catalog.pg_class t ON t.oid = i.indrelid JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace \
    LEFT JOIN pg_catalog.pg_stat_progress_create_index p ON p.index_relid = i.indexrelid \
    WHERE i.indrelid = $table::regclass ORDER BY i.indisprimary DESC, c.relname";

const ROWS_QUERY: &str = "SELECT n.nspname AS table_schema, c.relname AS data_table, \
    nullif(c.reltuples, -1)::bigint AS estimated_rows \
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.oid = $table::regclass";

const COLUMNS_QUERY: &str = "SELECT n.nspname AS table_schema, c.relname AS table_name, a.attname AS column_name, \
    pg_catalog.format_type(a.atttypid, a.atttypmod) AS type, \
    k.place IS NOT NULL AS is_primary_key, \
    CASE WHEN k.place IS NULL THEN 'none' WHEN k.option & 1 = 1 THEN 'DESC' ELSE 'ASC' END AS sort_order, \
    k.place AS key_position, NOT a.attnotnull AS nullable, \
    CASE WHEN a.attgenerated = '' THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid) END AS default_value, \
    CASE WHEN a.attgenerated = 's' THEN 'ALWAYS AS (' || pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) || ') STORED' \
    WHEN a.attidentity = 'a' THEN 'ALWAYS AS IDENTITY' \
    WHEN a.attidentity = 'd' THEN 'BY DEFAULT AS IDENTITY' END AS generated, \
    (SELECT pg_catalog.btrim(option_value, '''') FROM pg_catalog.pg_options_to_table(a.attoptions) WHERE option_name = 'dynamic') AS dynamic \
    FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid \
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
    LEFT JOIN (SELECT i.indrelid, (u.k).x AS attnum, (u.k).n AS place, i.indoption[(u.k).n - 1] AS option \
    FROM (SELECT indrelid, indoption, indkey, information_schema._pg_expandarray(indkey) AS k FROM pg_catalog.pg_index \
    WHERE indisprimary AND indrelid = $table::regclass) u JOIN pg_catalog.pg_index i ON i.indrelid = u.indrelid AND i.indisprimary) k \
    ON k.attnum = a.attnum \
    WHERE a.attrelid = $table::regclass AND a.attnum > 0 AND NOT a.attisdropped$pattern ORDER BY a.attnum";

const TABLES_QUERY: &str = "SELECT c.relname AS table_name$type FROM pg_catalog.pg_class c \
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND $schema$pattern ORDER BY c.relname";

const TABLE_TYPE: &str = ", CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'BASE TABLE' END AS table_type";

const SCHEMAS_QUERY: &str = "SELECT n.nspname AS schema FROM pg_catalog.pg_namespace n \
    WHERE n.nspname NOT LIKE 'pg\\_toast%' AND n.nspname NOT LIKE 'pg\\_temp%'$pattern ORDER BY n.nspname";

const VARIABLES_QUERY: &str = "SELECT v.variable_name, v.value, v.meaning \
    FROM pg_catalog.pg_class c, pg_catalog.keyspan_table_variables(c.reloptions) v \
    WHERE c.oid = $table::regclass$pattern ORDER BY v.variable_name";

const SETTINGS_QUERY: &str = "SELECT s.name AS variable_name, s.setting AS value FROM pg_catalog.pg_settings s \
    WHERE true$pattern ORDER BY s.name";

const CREATE_QUERY: &str = "SELECT c.relname AS $kind_name, pg_catalog.keyspan_table_definition(c.oid) AS create_$kind \
    FROM pg_catalog.pg_class c WHERE c.oid = $table::regclass";

const REGIONS_QUERY: &str = "SELECT r.region ->> 'region' AS region, r.region ->> 'start_key' AS start_key, r.region ->> 'end_key' AS end_key, \
    (r.region ->> 'rows')::bigint AS rows, (r.region ->> 'bytes')::bigint AS bytes, \
    round((r.region ->> 'reads')::numeric, 1) AS reads_per_second, \
    round((r.region ->> 'writes')::numeric, 1) AS writes_per_second, \
    (r.region ->> 'hot')::boolean AS hot, r.region ->> 'made_by' AS made_by \
    FROM (SELECT pg_catalog.json_array_elements(pg_catalog.keyspan_regions($table::regclass)) AS region) r \
    ORDER BY (r.region ->> 'place')::integer";
const TRASH_QUERY: &str = "SELECT t.id, t.schemaname AS table_schema, t.relname AS table_name, t.dropped_by, t.dropped_at, t.kept_until, \
    t.estimated_rows FROM keyspan.trash t WHERE true$pattern ORDER BY t.dropped_at, t.id";

const PROCESSES_QUERY: &str = "SELECT pid AS id, usename AS \"user\", client_addr AS host, datname AS db, state AS command, \
    extract(epoch FROM now() - query_start)::bigint AS time, query AS info \
    FROM pg_catalog.pg_stat_activity ORDER BY pid";

/// `DESC SELECT …`, as MySQL has it, is EXPLAIN.
pub(super) fn spell_explain(tokens: &mut [TokenWithSpan]) {
    let explains = ["SELECT", "WITH", "INSERT", "UPSERT", "UPDATE", "DELETE"];
    let describes = is_word_at(tokens, 0, "DESCRIBE") || is_word_at(tokens, 0, "DESC");
    if describes && tokens.len() > 2 && explains.iter().any(|word| is_word_at(tokens, 1, word)) {
        tokens[0].token = Token::make_keyword("EXPLAIN");
    }
}

/// The tree of the query, when the tokens are such a statement; they end at byte `end` of the message. Errors: 42601.
pub(super) fn read(tokens: &[TokenWithSpan], text: &str, end: usize) -> Result<Option<ast::Statement>> {
    let describes = is_word_at(tokens, 0, "DESCRIBE") || is_word_at(tokens, 0, "DESC");
    if tokens.len() < 2 || !describes && !is_word_at(tokens, 0, "SHOW") {
        return Ok(None);
    }
    let mut reader = TokenReader::new(tokens.to_vec(), &text[..end]);
    reader.at = 1;
    let query = match describes {
        true => reader.described_query()?,
        false => match reader.shown_query()? {
            Some(query) => query,
            None => return Ok(None),
        },
    };
    if reader.peek().is_some() {
        return Err(reader.syntax_error());
    }
    let tokens = Tokenizer::new(&KEYSPAN, &query).tokenize_with_location();
    let tokens = tokens.map_err(|error| syntax_error::of_tokenizer(error, text))?;
    let is_blank = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let tokens = tokens.into_iter().filter(|token| !is_blank(token)).collect();
    parse_tree(tokens, text).map(Some)
}

impl TokenReader<'_> {
    /// What stands behind DESCRIBE.
    fn described_query(&mut self) -> Result<String> {
        // A table may have one of these names.
        let names_database =
            is_word_at(&self.tokens, self.at, "DATABASE") || is_word_at(&self.tokens, self.at, "SCHEMA");
        if names_database && self.tokens.len() > self.at + 1 {
            return Err(Error::unsupported(
                "DESCRIBE DATABASE",
                Some("Write SHOW TABLES FROM name."),
            ));
        }
        for word in ["TABLE", "VIEW", "EXTENDED", "FORMATTED"] {
            if self.tokens.len() > self.at + 1 && !matches!(self.tokens[self.at + 1].token, Token::Period) {
                self.word(word);
            }
        }
        let table = self.table()?;
        let column = match self.peek() {
            Some(Token::Word(_)) => Some(self.name()?),
            _ => None,
        };
        let pattern = match column {
            // Which fails where there is no such column.
            Some(column) => {
                let column = quote_literal(&column);
                let is_there = format!("has_column_privilege({table}, {column}, 'SELECT')");
                format!(" AND CASE WHEN {is_there} THEN a.attname = {column} END")
            }
            None => self.pattern("a.attname")?,
        };
        Ok(COLUMNS_QUERY
            .replace("$table", &table)
            .replace("$pattern", &pattern))
    }

    /// What stands behind SHOW; `None`: the name of a setting.
    fn shown_query(&mut self) -> Result<Option<String>> {
        let is_full = self.word("FULL");
        self.word("EXTENDED");
        let query = if self.word("TABLES") {
            self.show_tables(is_full)?
        } else if self.any_word(&["COLUMNS", "FIELDS"]) {
            let table = self.table_of()?;
            let pattern = self.pattern("a.attname")?;
            COLUMNS_QUERY
                .replace("$table", &table)
                .replace("$pattern", &pattern)
        } else if self.any_word(&["INDEX", "INDEXES", "KEYS"]) {
            INDEX_QUERY.replace("$table", &self.table_of()?)
        } else if self.any_word(&["DATABASES", "SCHEMAS"]) {
            SCHEMAS_QUERY.replace("$pattern", &self.pattern("n.nspname")?)
        } else if self.words(&["ESTIMATED", "ROWS"]) {
            ROWS_QUERY.replace("$table", &self.table_of()?)
        } else if self.words(&["CREATE", "TABLE"]) {
            CREATE_QUERY
                .replace("$table", &self.table()?)
                .replace("$kind", "table")
        } else if self.words(&["CREATE", "VIEW"]) {
            CREATE_QUERY
                .replace("$table", &self.table()?)
                .replace("$kind", "view")
        } else if self.words(&["TABLE", "VARIABLES"]) {
            let table = self.table_of()?;
            let pattern = self.pattern("v.variable_name")?;
            VARIABLES_QUERY
                .replace("$table", &table)
                .replace("$pattern", &pattern)
        } else if self.shows_variables() {
            SETTINGS_QUERY.replace("$pattern", &self.pattern("s.name")?)
        } else if self.word("TRASH") {
            TRASH_QUERY.replace("$pattern", &self.pattern("t.relname")?)
        } else if self.word("PROCESSLIST") {
            PROCESSES_QUERY.to_string()
        } else if self.word("REGIONS") {
            REGIONS_QUERY.replace("$table", &self.table_of()?)
        } else {
            return Ok(None);
        };
        Ok(Some(query))
    }

    fn show_tables(&mut self, is_full: bool) -> Result<String> {
        let schema = match self.any_word(&["FROM", "IN"]) {
            true => format!(
                "n.oid = {}::regnamespace",
                quote_literal(&quote_ident(&self.name()?))
            ),
            false => "pg_catalog.pg_table_is_visible(c.oid) AND n.nspname <> 'pg_catalog'".to_string(),
        };
        let pattern = self.pattern("c.relname")?;
        let ty = if is_full { TABLE_TYPE } else { "" };
        let query = TABLES_QUERY.replace("$type", ty).replace("$schema", &schema);
        Ok(query.replace("$pattern", &pattern))
    }

    /// `[SYSTEM | GLOBAL | SESSION] VARIABLES`.
    fn shows_variables(&mut self) -> bool {
        ["SYSTEM", "GLOBAL", "SESSION"]
            .iter()
            .any(|scope| self.words(&[scope, "VARIABLES"]))
            || self.word("VARIABLES")
    }

    /// `FROM t [FROM s]`, as a literal that names the relation.
    fn table_of(&mut self) -> Result<String> {
        if !self.any_word(&["FROM", "IN"]) {
            return Err(self.syntax_error());
        }
        let name = self.table_name()?;
        let name = match self.any_word(&["FROM", "IN"]) {
            true => format!("{}.{name}", quote_ident(&self.name()?)),
            false => name,
        };
        Ok(quote_literal(&name))
    }

    /// A literal that names a relation.
    fn table(&mut self) -> Result<String> {
        self.table_name().map(|name| quote_literal(&name))
    }

    fn table_name(&mut self) -> Result<String> {
        let mut name = quote_ident(&self.name()?);
        while self.token(&Token::Period) {
            name = format!("{name}.{}", quote_ident(&self.name()?));
        }
        Ok(name)
    }

    /// `[LIKE 'pattern']`, as a condition for a name; names differ in case alone for those who write them in theirs.
    fn pattern(&mut self, name: &str) -> Result<String> {
        if !self.word("LIKE") {
            return Ok(String::new());
        }
        let pattern = match self.peek() {
            // Drivers write what they are given as a parameter.
            Some(Token::Placeholder(id)) => Some(id.clone()),
            other => other.and_then(string_of).map(|text| quote_literal(&text)),
        };
        let pattern = pattern.ok_or_else(|| self.syntax_error())?;
        self.at += 1;
        Ok(format!(" AND {name} ILIKE {pattern}"))
    }

    /// Takes one of these words when it is next.
    fn any_word(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.word(word))
    }

    /// Takes these words when they are next.
    fn words(&mut self, words: &[&str]) -> bool {
        let start = self.at;
        let found = words.iter().all(|word| self.word(word));
        if !found {
            self.at = start;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_pattern_may_be_a_parameter() {
        let shown = |text: &str| crate::parse::parse(text).unwrap().remove(0).ast.to_string();
        assert!(shown("SHOW TABLES LIKE $1").contains("ILIKE $1"));
        assert!(shown("SHOW TABLES LIKE 'a%'").contains("ILIKE 'a%'"));
    }
}
