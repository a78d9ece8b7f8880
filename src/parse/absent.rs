//! The statements of PostgreSQL that are not here, and what to do instead: one table, a kind of statement a row. Asked only once a
//! statement has failed, so that what the parser does not read is told as what it is, and not as an error of syntax.

use super::text_tokens::TextToken;

/// What makes, changes and removes an object.
const DEFINE: &str = "CREATE/ALTER/DROP";

/// A name, with that of its schema before it or not.
const NAME: &str = "a name";

const NO_PARENTS: &str =
    "Use PARTITION OF for tables whose rows are read as those of one, or LIKE for the same columns.";

/// The first words of a statement, `/` between those of which any may stand there, and the way out.
const ABSENT: &[(&[&str], &str)] = &[
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
        &["CREATE", "OR", "REPLACE", "RULE"],
        "Write to the table itself, or call a function that writes to all of them.",
    ),
    (
        &[
            "COMMENT",
            "ON",
            "RULE/OPERATOR/TRANSFORM/COLLATION/CONVERSION/POLICY/STATISTICS",
        ],
        "Leave it out: there is no such object.",
    ),
    (
        &["CREATE", "DEFAULT", "CONVERSION"],
        "Use SET client_encoding, convert_to or convert_from.",
    ),
    (
        &["ALTER", "TYPE", NAME, "SET", "("],
        "Leave it out: how values of a type are stored is not for it to say.",
    ),
    (
        &["ALTER", "INDEX", NAME, "ALTER"],
        "Leave it out: how rows are found follows from keys and indexes, and not from statistics.",
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
        &[DEFINE, "OPERATOR/TRANSFORM"],
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
];

/// Words that stand together anywhere in the definition of a table, what they ask for, and the way out.
const ABSENT_OF_TABLES: &[(&[&str], &str, &str)] = &[
    (
        &["EXCLUDE", "USING/("],
        "an EXCLUDE constraint",
        "Use UNIQUE, or look for what overlaps in the transaction that writes, at SERIALIZABLE.",
    ),
    (&["INHERITS", "("], "an inherited table", NO_PARENTS),
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
    let fitting = ABSENT
        .iter()
        .filter_map(|(words, way_out)| Some((words.len(), begun_with(tokens, words)?, *way_out)));
    if let Some((_, written, way_out)) = fitting.max_by_key(|(words, ..)| *words) {
        return Some((written, way_out));
    }
    let defines_table = ["CREATE", "ALTER"]
        .iter()
        .any(|word| tokens.first().is_some_and(|first| first.is(word)))
        && tokens.iter().take(4).any(|token| token.is("TABLE"));
    let end = tokens
        .iter()
        .position(|token| token.is(";"))
        .unwrap_or(tokens.len());
    let stands = |words: &[&str]| (0..end).any(|at| begun_with(&tokens[at..end], words).is_some());
    let absent = ABSENT_OF_TABLES
        .iter()
        .find(|(words, ..)| defines_table && stands(words));
    absent.map(|(_, what, way_out)| ((*what).to_string(), *way_out))
}

/// The words as they were written, without names and signs; `None`: the tokens begin otherwise.
fn begun_with(tokens: &[TextToken<'_>], words: &[&str]) -> Option<String> {
    let (mut written, mut rest) = (Vec::with_capacity(words.len()), tokens);
    for word in words {
        let (token, behind) = rest.split_first()?;
        rest = behind;
        if *word != NAME {
            word.split('/').any(|word| token.is(word)).then_some(())?;
            written.push(token.text.to_ascii_uppercase());
            continue;
        }
        token.is_name().then_some(())?;
        if rest.first().is_some_and(|point| point.is(".")) {
            rest = rest.get(2..)?;
        }
    }
    written.retain(|word| word != "(");
    Some(written.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::text_tokens::tokens;
    use super::*;

    #[test]
    fn a_statement_is_known_by_its_first_words() {
        let words = |text: &str, at| statement(&tokens(text), at).map(|(words, _)| words);
        assert_eq!(words("create policy x", None).as_deref(), Some("CREATE POLICY"));
        assert_eq!(
            words("CREATE USER MAPPING FOR x SERVER s", None).as_deref(),
            Some("CREATE USER MAPPING")
        );
        assert_eq!(
            words("SELECT 1; drop rule x on y", Some(4)).as_deref(),
            Some("DROP RULE")
        );
        assert_eq!(words("SELECT 1; drop rule x on y", None), None);
        assert_eq!(words("create table role (a int", Some(3)), None);
        assert_eq!(words("", None), None);
        assert_eq!(
            words("alter type s.x set (storage = plain)", None).as_deref(),
            Some("ALTER TYPE SET")
        );
        assert_eq!(words("alter type x set schema y", None), None);
        assert_eq!(
            words("create table t (a int, exclude using gist (a with =))", Some(8)).as_deref(),
            Some("an EXCLUDE constraint")
        );
        assert_eq!(words("select exclude (1)", Some(2)), None);
    }
}
