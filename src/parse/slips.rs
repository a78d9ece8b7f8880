//! What slips out of anybody's hand: a quote or a parenthesis that is not closed, a word misspelt, a comma forgotten. Asked once a text did
//! not read.

use sqlparser::keywords::ALL_KEYWORDS;

use super::text_tokens::TextToken;
use crate::error::nearest_name;

/// Words that are misspelt oftenest.
const WORDS: [&str; 34] = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "INSERT",
    "INTO",
    "VALUES",
    "UPDATE",
    "DELETE",
    "UPSERT",
    "CREATE",
    "TABLE",
    "INDEX",
    "ALTER",
    "DROP",
    "COLUMN",
    "PRIMARY",
    "BETWEEN",
    "DISTINCT",
    "RETURNING",
    "CONFLICT",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "EXPLAIN",
    "ANALYZE",
    "TRUNCATE",
    "DEFAULT",
    "UNIQUE",
    "INNER",
];

/// What to mend, of a text that did not read at the token at this place (the number of tokens: at its end).
pub(super) fn hint(tokens: &[TextToken<'_>], at: usize) -> Option<String> {
    unclosed_quote(tokens, at)
        .or_else(|| parenthesis(tokens, at))
        .or_else(|| misspelt(tokens, at))
        .or_else(|| missing_comma(tokens, at))
}

fn unclosed_quote(tokens: &[TextToken<'_>], at: usize) -> Option<String> {
    let token = tokens.get(at)?;
    let quote = token
        .text
        .chars()
        .next()
        .filter(|c| matches!(c, '\'' | '"' | '`'))?;
    let closes = token.text.len() > 1 && token.text.ends_with(quote);
    (!closes).then(|| {
        format!(
            "The quote at character {} is not closed; a quote inside of quotes is written twice: {quote}{quote}.",
            token.position
        )
    })
}

/// One that is open where the text ends, or closes nothing.
fn parenthesis(tokens: &[TextToken<'_>], at: usize) -> Option<String> {
    let mut open = Vec::new();
    for token in &tokens[..at.min(tokens.len())] {
        match token.text {
            "(" | "[" => open.push(token),
            ")" | "]" => drop(open.pop()),
            ";" => open.clear(),
            _ => {}
        }
    }
    match (tokens.get(at).map(|token| token.text), open.last()) {
        (Some(closing @ (")" | "]")), None) => {
            Some(format!("Nothing is open that \"{closing}\" could close."))
        }
        (token, Some(opening)) if token.is_none_or(ends_list) => Some(format!(
            "The \"{}\" at character {} is not closed.",
            opening.text, opening.position
        )),
        _ => None,
    }
}

/// Whether a parenthesis around names or values should have been closed in front of it.
fn ends_list(token: &str) -> bool {
    [";", "VALUES", "FROM", "WHERE", "ORDER", "GROUP", "LIMIT"]
        .iter()
        .any(|word| token.eq_ignore_ascii_case(word))
}

/// The word itself, or the one in front of it, which was taken for a name then.
fn misspelt(tokens: &[TextToken<'_>], at: usize) -> Option<String> {
    let places = [Some(at), at.checked_sub(1)].into_iter().flatten();
    let words = places.filter_map(|at| tokens.get(at)).filter(|token| {
        let is_plain = token.text.chars().all(|c| c.is_ascii_alphabetic());
        is_plain && token.text.len() > 2 && !WORDS.iter().any(|word| token.is(word))
    });
    let mut meant = words.filter_map(|token| {
        let near = nearest_name(token.text, WORDS)?;
        // A name as good as any other, unless hardly a letter differs.
        (near.len().abs_diff(token.text.len()) <= 1)
            .then(|| format!("Perhaps you meant {near} instead of \"{}\".", token.text))
    });
    meant.next()
}

/// Two values, or names that are no keywords, with nothing between them.
fn missing_comma(tokens: &[TextToken<'_>], at: usize) -> Option<String> {
    let is_keyword = |token: &TextToken<'_>| {
        let word = token.text.to_ascii_uppercase();
        ALL_KEYWORDS.binary_search(&word.as_str()).is_ok()
    };
    let is_value = |token: &TextToken<'_>| {
        token.is_name() && !is_keyword(token) || token.is_number() || token.text.starts_with('\'')
    };
    let token = tokens.get(at).filter(|token| is_value(token))?;
    let before = tokens.get(at.checked_sub(1)?)?;
    let is_between = is_value(before) || before.text == ")";
    is_between.then(|| {
        format!(
            "Perhaps a comma or an operator is missing in front of \"{}\".",
            token.text
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::text_tokens::tokens;
    use super::*;

    fn hint_at(text: &str, at: usize) -> String {
        hint(&tokens(text), at).unwrap_or_default()
    }

    #[test]
    fn slips_are_named() {
        assert_eq!(
            hint_at("SELECT (1 + 2", 5),
            "The \"(\" at character 8 is not closed."
        );
        assert_eq!(hint_at("SELECT 1)", 2), "Nothing is open that \")\" could close.");
        assert!(hint_at("SELECT 'abc", 1).starts_with("The quote at character 8 is not closed"));
        assert_eq!(
            hint_at("SELCT 1", 0),
            "Perhaps you meant SELECT instead of \"SELCT\"."
        );
        assert_eq!(
            hint_at("SELECT * FROM t WERE k = 1", 5),
            "Perhaps you meant WHERE instead of \"WERE\"."
        );
        assert_eq!(
            hint_at("SELECT a b c FROM t", 3),
            "Perhaps a comma or an operator is missing in front of \"c\"."
        );
        assert_eq!(hint_at("SELECT 1 +", 3), "");
    }
}
