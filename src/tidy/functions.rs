//! How long functions are: one fits a screen. `tidy` calls this.

use super::code::{code_only, lines_before_tests};

/// Lines a function may have, its signature and its last brace included.
pub(super) const FUNCTION_LINES_MAX: usize = 70;

/// Name, line and length of each function before the tests that is longer.
pub(super) fn long_functions(path: &str, text: &str) -> Vec<(String, usize, usize)> {
    let lines = lines_before_tests(path, text);
    let text: String = text.split_inclusive('\n').take(lines).collect();
    let code = code_only(&text);
    let starts = code.match_indices("fn ").filter(|(at, _)| {
        let before = code[..*at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
    });
    let functions = starts.filter_map(|(at, keyword)| {
        let name: String = code[at + keyword.len()..]
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        let length = 1 + code[at..at + body_end(&code[at..])?].matches('\n').count();
        let line = 1 + code[..at].matches('\n').count();
        Some((name, line, length)).filter(|_| length > FUNCTION_LINES_MAX)
    });
    functions.collect()
}

/// Where the body of the function ends that begins here; `None`: it has none.
fn body_end(code: &str) -> Option<usize> {
    let (mut parentheses, mut braces) = (0usize, 0usize);
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => parentheses += 1,
            ')' | ']' => parentheses = parentheses.saturating_sub(1),
            ';' if parentheses == 0 && braces == 0 => return None,
            '{' => braces += 1,
            '}' => {
                braces = braces.checked_sub(1)?;
                if braces == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::long_functions;

    #[test]
    fn a_long_function_is_found_with_its_length() {
        let body = |lines: usize| "    f(|x| { x });\n".repeat(lines);
        let text = format!(
            "//! x\ntrait T {{\n    fn none(a: [u8; 4]);\n}}\nfn short() {{\n{}}}\npub fn long(\n) {{\n{}}}\n",
            body(68),
            body(68)
        );
        let found = long_functions("plan/a.rs", &text);
        assert_eq!(found, [("long".to_string(), 75, 71)]);
        assert!(long_functions("plan/tests.rs", &text).is_empty());
    }
}
