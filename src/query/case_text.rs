//! CASE as `pg_get_expr` prints it, on lines of its own. Called by `condition_text`.

use sqlparser::ast;

use super::coercion::base;
use super::condition_text::Printer;
use super::printed::{Printed, operands};
use super::printed_names::{LINE_BEGINS, type_text};

/// What the lines within a CASE begin farther to the right.
const CASE_INDENT: usize = 4;

impl Printer<'_, '_> {
    pub(super) fn case(&mut self, expr: &ast::Expr) -> Printed {
        let ast::Expr::Case {
            operand,
            conditions,
            else_result,
            ..
        } = expr
        else {
            return self.as_written(expr);
        };
        let ty = self.type_of(expr);
        let blanks = " ".repeat(self.indent);
        // What stands within begins its lines farther to the right.
        self.indent += CASE_INDENT;
        let operand = operand.as_ref().map(|operand| self.print(operand));
        let mut whens = Vec::with_capacity(conditions.len());
        for when in conditions {
            let condition = match &operand {
                Some(operand) => operands("=", operand.clone(), self.print(&when.condition)).1,
                None => self.condition(&when.condition),
            };
            whens.push((condition, self.print(&when.result).into_type(&ty)));
        }
        let otherwise = match else_result {
            Some(result) => self.print(result).into_type(&ty),
            None => Printed::word(format!("NULL::{}", type_text(&base(&ty))), ty.clone()),
        };
        self.indent -= CASE_INDENT;
        Printed::call(ty, |text| {
            let mut lines = format!("{LINE_BEGINS}{blanks}CASE");
            if let Some(operand) = &operand {
                lines.push_str(&format!(" {}", text(operand)));
            }
            for (condition, result) in &whens {
                lines.push_str(&format!(
                    "{LINE_BEGINS}{blanks}    WHEN {} THEN {}",
                    text(condition),
                    text(result)
                ));
            }
            let otherwise = text(&otherwise);
            lines.push_str(&format!(
                "{LINE_BEGINS}{blanks}    ELSE {otherwise}{LINE_BEGINS}{blanks}END"
            ));
            lines
        })
    }
}
