//! The statements of PostgreSQL that are not here, and what to do instead: one table, a kind of statement a row. Asked only once a
//! statement has failed, so that what the parser does not read is told as what it is, and not as an error of syntax.

use super::text_tokens::TextToken;

/// What makes, changes and removes an object.
const DEFINE: &str = "CREATE/ALTER/DROP";

/// The first words of a statement, `/` between those of which any may stand there, and the way out.
const ABSENT: &[(&[&str], &str)] = &[
    (
        &[DEFINE, "ROLE/USER/GROUP"],
        "There are no privileges yet: connect under any name, which may do everything.",
    ),
    (
        &[DEFINE, "POLICY"],
        "Give a role a view of the rows that it may see.",
    ),
    (
        &[DEFINE, "PUBLICATION/SUBSCRIPTION"],
        "There is no replication: read what was written since by a column that grows, or a table's past WITH (HISTORY = '1 day').",
    ),
    (
        &[DEFINE, "RULE"],
        "Write to the table itself, or call a function that writes to all of them.",
    ),
    (
        &[DEFINE, "STATISTICS"],
        "Leave it out: how rows are found follows from keys and indexes, and not from statistics.",
    ),
    (
        &[DEFINE, "TABLESPACE"],
        "Leave it out: all data stands in the server's data directory.",
    ),
    (
        &[DEFINE, "AGGREGATE"],
        "Make a function of an array, and call it with array_agg(…).",
    ),
    (
        &[DEFINE, "OPERATOR/CAST/TRANSFORM"],
        "Make a function, and call it by its name.",
    ),
    (
        &[DEFINE, "COLLATION"],
        "Leave it out: texts are ordered by their bytes, as COLLATE \"C\" orders them.",
    ),
    (
        &[DEFINE, "CONVERSION"],
        "Use SET client_encoding, convert_to or convert_from.",
    ),
    (
        &[DEFINE, "SERVER"],
        "Bring the rows here with COPY or keyspan load.",
    ),
    (
        &[DEFINE, "FOREIGN", "TABLE/DATA"],
        "Bring the rows here with COPY or keyspan load.",
    ),
    (
        &["IMPORT", "FOREIGN", "SCHEMA"],
        "Bring the rows here with COPY or keyspan load.",
    ),
    (
        &[DEFINE, "USER", "MAPPING"],
        "Bring the rows here with COPY or keyspan load.",
    ),
    (
        &[DEFINE, "TEXT", "SEARCH"],
        "Use one of the configurations in pg_ts_config.",
    ),
    (
        &[DEFINE, "ACCESS", "METHOD"],
        "Leave it out: every table and index is a sorted range of keys.",
    ),
    (
        &["SECURITY", "LABEL"],
        "Leave it out: there are no privileges yet.",
    ),
    (
        &["REASSIGN/DROP", "OWNED"],
        "Leave it out: everything belongs to one role.",
    ),
    (
        &["PREPARE", "TRANSACTION"],
        "Use COMMIT: a transaction is of one server.",
    ),
    (
        &["COMMIT/ROLLBACK", "PREPARED"],
        "Use COMMIT: a transaction is of one server.",
    ),
    (
        &["ALTER", "LARGE", "OBJECT"],
        "Keep the bytes in a column of type bytea.",
    ),
];

/// The words of the row that the statement begins with, as it has them, and the way out. `at`: the place among the tokens that the error
/// is told of, which says which of several statements failed; `None`: the first.
pub(super) fn statement(tokens: &[TextToken<'_>], at: Option<usize>) -> Option<(String, &'static str)> {
    let before = &tokens[..at.unwrap_or(0).min(tokens.len())];
    let begun = before
        .iter()
        .rposition(|token| token.is(";"))
        .map_or(0, |semicolon| semicolon + 1);
    let tokens = &tokens[begun..];
    // The longest says most: a user mapping is no user.
    let fitting = ABSENT.iter().filter(|(words, _)| begins(tokens, words));
    let (words, way_out) = fitting.max_by_key(|(words, _)| words.len())?;
    let written = tokens.iter().take(words.len());
    let written: Vec<String> = written.map(|token| token.text.to_ascii_uppercase()).collect();
    Some((written.join(" "), way_out))
}

fn begins(tokens: &[TextToken<'_>], words: &[&str]) -> bool {
    let is_one = |(token, words): (&TextToken<'_>, &&str)| words.split('/').any(|word| token.is(word));
    tokens.len() >= words.len() && tokens.iter().zip(words).all(is_one)
}

#[cfg(test)]
mod tests {
    use super::super::text_tokens::tokens;
    use super::*;

    #[test]
    fn a_statement_is_known_by_its_first_words() {
        let words = |text: &str, at| statement(&tokens(text), at).map(|(words, _)| words);
        assert_eq!(words("create user x", None).as_deref(), Some("CREATE USER"));
        assert_eq!(
            words("CREATE USER MAPPING FOR x SERVER s", None).as_deref(),
            Some("CREATE USER MAPPING")
        );
        assert_eq!(
            words("SELECT 1; drop owned by x", Some(4)).as_deref(),
            Some("DROP OWNED")
        );
        assert_eq!(words("SELECT 1; drop owned by x", None), None);
        assert_eq!(words("create table role (a int", Some(3)), None);
        assert_eq!(words("", None), None);
    }
}
