//! PL/pgSQL: the text of a body to its tree. The expressions and statements in it stay text, which the engine reads as any other. Called by
//! who defines a function, and by who runs one; knows no variable and no relation.

mod cursor_reader;
mod declaration_reader;
mod loop_reader;
mod raise_reader;
mod reader;
mod scanner;
mod statement_reader;
pub mod tree;

use crate::Result;
use reader::Reader;
use tree::Body;

/// Reads a body. Errors: 42601 with PostgreSQL's CONTEXT-less words and the place in the body; 0A000 for a construct that is not there,
/// which names its line.
pub fn read(text: &str) -> Result<Body> {
    Reader::new(text)?.body()
}

#[cfg(test)]
mod tests {
    use super::tree::{Kind, Level};
    use super::*;

    fn statements(text: &str) -> Vec<tree::Statement> {
        read(text).unwrap().block.statements
    }

    #[test]
    fn statements_keep_their_text_and_line() {
        let read = statements("BEGIN\n  x := 1 + 2;\n  IF x > 1 THEN NULL; ELSE x = 2; END IF;\nEND");
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].line, 2);
        assert!(
            matches!(&read[0].kind, Kind::Assign { target, value } if target.name() == "x" && value.text == "1 + 2")
        );
        assert!(
            matches!(&read[1].kind, Kind::If { branches, otherwise } if branches.len() == 1 && otherwise.len() == 1)
        );
    }

    #[test]
    fn into_is_taken_out_of_a_statement() {
        let read = statements("begin select a, b into strict x, y.z from t; insert into t values (1); end;");
        let Kind::Sql { text, into } = &read[0].kind else {
            panic!("{:?}", read[0])
        };
        assert_eq!(
            text.split_whitespace().collect::<Vec<_>>().join(" "),
            "select a, b from t"
        );
        let into = into.as_ref().unwrap();
        assert!(into.strict && into.targets.len() == 2 && into.targets[1].name() == "y.z");
        assert!(matches!(&read[1].kind, Kind::Sql { into: None, .. }));
    }

    #[test]
    fn ranges_are_no_numbers() {
        let read = statements("BEGIN FOR i IN REVERSE 10..1 BY 2 LOOP CONTINUE WHEN i = 3; END LOOP; END");
        assert!(
            matches!(&read[0].kind, Kind::ForInteger { reverse: true, from, to, step: Some(_), .. }
            if from.text == "10" && to.text == "1")
        );
    }

    #[test]
    fn raise_is_read_in_its_forms() {
        let read = statements(
            "BEGIN RAISE; RAISE NOTICE 'a % b', 1; RAISE unique_violation USING MESSAGE = 'x'; RAISE SQLSTATE '22012'; END",
        );
        assert!(matches!(&read[0].kind, Kind::Raise(raise) if raise.is_bare()));
        assert!(
            matches!(&read[1].kind, Kind::Raise(raise) if raise.level == Level::Notice && raise.arguments.len() == 1)
        );
        assert!(
            matches!(&read[2].kind, Kind::Raise(raise) if raise.condition.as_deref() == Some("unique_violation"))
        );
        assert!(matches!(&read[3].kind, Kind::Raise(raise) if raise.sqlstate.as_deref() == Some("22012")));
    }

    #[test]
    fn ends_of_transactions_are_read() {
        let read = statements("BEGIN COMMIT; ROLLBACK AND CHAIN; COMMIT AND NO CHAIN; END");
        let ends = read.iter().map(|statement| match statement.kind {
            Kind::EndTransaction { commits, chain } => (commits, chain),
            _ => panic!("{statement:?}"),
        });
        assert_eq!(
            ends.collect::<Vec<_>>(),
            [(true, false), (false, true), (true, false)]
        );
    }

    #[test]
    fn what_does_not_read_is_a_syntax_error() {
        assert_eq!(read("BEGIN COMMIT WORK; END").unwrap_err().sqlstate(), "42601");
        assert_eq!(read("BEGIN IF x THEN END").unwrap_err().sqlstate(), "42601");
        assert_eq!(read("").unwrap_err().to_string(), "syntax error at end of input");
    }
}
