//! FOR UPDATE and kin: taken out of a query's tokens wherever PostgreSQL takes them, before LIMIT or behind, for nothing is
//! locked by them yet. Called by `tokens`, whose statement says so.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Takes every locking clause out; answers the first as it was written.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) -> Option<String> {
    let mut first = None;
    let mut at = 0;
    while at < tokens.len() {
        match clause_end(tokens, at) {
            Some(end) => {
                let words = tokens[at..end].iter().map(|token| token.token.to_string());
                let text = words.collect::<Vec<_>>().join(" ").to_uppercase();
                first.get_or_insert(text);
                tokens.drain(at..end);
            }
            None => at += 1,
        }
    }
    first
}

/// Where the locking clause that begins at a token ends, if one does.
fn clause_end(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let word = |at: usize| match tokens.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) if word.quote_style.is_none() => word.value.to_ascii_uppercase(),
        _ => String::new(),
    };
    if at == 0 || word(at) != "FOR" {
        return None;
    }
    let strength = [word(at + 1), word(at + 2), word(at + 3)];
    let strength = strength.each_ref().map(String::as_str);
    let mut end = at
        + match strength {
            ["UPDATE" | "SHARE", ..] => 2,
            ["KEY", "SHARE", _] => 3,
            ["NO", "KEY", "UPDATE"] => 4,
            _ => return None,
        };
    if word(end) == "OF" {
        end += 2;
        while matches!(
            tokens.get(end).map(|token| &token.token),
            Some(Token::Comma | Token::Period)
        ) {
            end += 2;
        }
    }
    match (word(end).as_str(), word(end + 1).as_str()) {
        ("NOWAIT", _) => end += 1,
        ("SKIP", "LOCKED") => end += 2,
        _ => {}
    }
    // Whatever else begins so is not ours to judge.
    let next = tokens.get(end).map(|token| &token.token);
    let ends = match next {
        None | Some(Token::RParen) => true,
        Some(Token::Word(word)) => {
            use Keyword::{FETCH, FOR, LIMIT, OFFSET};
            matches!(word.keyword, FETCH | FOR | LIMIT | OFFSET)
        }
        Some(_) => false,
    };
    ends.then_some(end)
}

#[cfg(test)]
mod tests {
    #[test]
    fn locking_clauses_are_taken_wherever_they_stand() {
        for (text, tree, clause) in [
            ("SELECT a FROM t FOR UPDATE", "SELECT a FROM t", "FOR UPDATE"),
            (
                "SELECT a FROM t ORDER BY a FOR NO KEY UPDATE OF t, s.u SKIP LOCKED LIMIT 1",
                "SELECT a FROM t ORDER BY a LIMIT 1",
                "FOR NO KEY UPDATE OF T , S . U SKIP LOCKED",
            ),
            (
                "SELECT a FROM t LIMIT 1 FOR KEY SHARE NOWAIT FOR UPDATE",
                "SELECT a FROM t LIMIT 1",
                "FOR KEY SHARE NOWAIT",
            ),
            (
                "DELETE FROM t WHERE a IN (SELECT a FROM t FOR SHARE)",
                "DELETE FROM t WHERE a IN (SELECT a FROM t)",
                "FOR SHARE",
            ),
        ] {
            let parsed = crate::parse::parse(text).unwrap().remove(0);
            assert_eq!(parsed.ast.to_string(), tree);
            let warned = parsed.warnings.iter().map(|warning| warning.message.as_str());
            assert_eq!(
                warned.collect::<Vec<_>>(),
                [format!("{clause} locks nothing yet")]
            );
        }
        let other = crate::parse::parse("SELECT substring('a' FOR 1)").unwrap();
        assert!(other[0].warnings.is_empty());
    }
}
