//! What is public and says nothing of itself: the compiler looks only at what leaves the crate. `tidy` calls this.

use super::code::lines_before_tests;

/// What a line begins with that makes something public.
const MAKES_PUBLIC: [&str; 8] = [
    "pub fn ",
    "pub async fn ",
    "pub const ",
    "pub static ",
    "pub struct ",
    "pub enum ",
    "pub trait ",
    "pub type ",
];

/// The lines before the tests that make something public without a line of documentation above.
pub(super) fn undocumented(path: &str, text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().take(lines_before_tests(path, text)).collect();
    let is_public = |line: &str| {
        MAKES_PUBLIC
            .iter()
            .any(|made| line.trim_start().starts_with(made))
    };
    let public = (0..lines.len()).filter(|at| is_public(lines[*at]));
    public
        .filter(|at| !is_documented(&lines[..*at]))
        .map(|at| at + 1)
        .collect()
}

/// Whether documentation stands at the end of these lines, attributes aside.
fn is_documented(before: &[&str]) -> bool {
    let mut above = before.iter().rev().map(|line| line.trim());
    let mut within_attribute = false;
    above
        .find(|line| {
            within_attribute |= line.ends_with(")]");
            let is_attribute = within_attribute || line.starts_with("#[");
            within_attribute &= !line.starts_with("#[");
            !is_attribute
        })
        .is_some_and(|line| line.starts_with("///"))
}

#[cfg(test)]
mod tests {
    use super::undocumented;

    #[test]
    fn attributes_do_not_hide_documentation_nor_stand_for_it() {
        let text = "/// Told.\n#[derive(Debug)]\n#[expect(\n    x,\n)]\npub struct A;\n#[inline]\npub fn f() {}\n\npub const C: u8 = 1;\n";
        assert_eq!(undocumented("plan/a.rs", text), [8, 10]);
        assert!(undocumented("plan/tests.rs", text).is_empty());
    }
}
