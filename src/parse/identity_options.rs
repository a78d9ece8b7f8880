//! `GENERATED ALWAYS AS IDENTITY (START 10 INCREMENT 5)`: the parser takes the options of a sequence in one order only. Those of a column
//! of CREATE TABLE or ALTER TABLE are brought into it.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::token_reader::is_word_at;

/// The words that begin options, in the parser's order.
const ORDER: [&str; 6] = ["INCREMENT", "MINVALUE", "MAXVALUE", "START", "CACHE", "CYCLE"];

/// Sorts the options behind each AS IDENTITY. What is none of them stays where it is, for the parser to say so.
pub(super) fn sort(tokens: &mut [TokenWithSpan]) {
    let begins = |tokens: &[TokenWithSpan], at: usize| {
        is_word_at(tokens, at, "AS")
            && is_word_at(tokens, at + 1, "IDENTITY")
            && tokens
                .get(at + 2)
                .is_some_and(|token| token.token == Token::LParen)
    };
    for at in 0..tokens.len() {
        if begins(tokens, at) {
            let rest = &tokens[at + 3..];
            let length = rest.iter().position(|token| token.token == Token::RParen);
            if let Some(length) = length {
                sort_options(&mut tokens[at + 3..at + 3 + length]);
            }
        }
    }
}

fn sort_options(tokens: &mut [TokenWithSpan]) {
    let mut options: Vec<(usize, Vec<TokenWithSpan>)> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let says_no = usize::from(is_word_at(tokens, at, "NO"));
        match ORDER
            .iter()
            .position(|word| is_word_at(tokens, at + says_no, word))
        {
            Some(place) => {
                options.push((place, tokens[at..=at + says_no].to_vec()));
                at += 1 + says_no;
            }
            None => match options.last_mut() {
                Some((_, option)) => {
                    option.push(tokens[at].clone());
                    at += 1;
                }
                None => return,
            },
        }
    }
    options.sort_by_key(|(place, _)| *place);
    let sorted = options.into_iter().flat_map(|(_, option)| option);
    for (token, sorted) in tokens.iter_mut().zip(sorted) {
        *token = sorted;
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::Statement;

    fn options(text: &str) -> String {
        let text = format!("CREATE TABLE t (a int GENERATED ALWAYS AS IDENTITY ({text}) PRIMARY KEY, b int)");
        match crate::parse::parse(&text).unwrap().remove(0).ast {
            Statement::CreateTable(create) => create.columns[0].options[0].to_string(),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn options_come_in_any_order() {
        let sorted = options("INCREMENT BY -5 MINVALUE -100 NO MAXVALUE START WITH -10 CACHE 2 NO CYCLE");
        for text in [
            "START WITH -10 INCREMENT BY -5 NO CYCLE CACHE 2 NO MAXVALUE MINVALUE -100",
            "NO CYCLE CACHE 2 NO MAXVALUE START WITH -10 MINVALUE -100 INCREMENT BY -5",
        ] {
            assert_eq!(options(text), sorted, "{text}");
        }
    }
}
