//! `CallPlace`: where the body of a function is while it runs, and where those around it are: what CONTEXT says of a notice, and what GET
//! DIAGNOSTICS tells. Bodies keep it; statements find it in their context.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The place of a body that runs.
#[derive(Debug)]
pub struct CallPlace {
    /// That of the body whose statement calls it.
    around: Option<Arc<CallPlace>>,
    /// What runs, as CONTEXT names it.
    body: Arc<str>,
    at: Mutex<At>,
}

/// A place in a body.
#[derive(Debug, Clone, Default)]
struct At {
    /// The statement of the body, as CONTEXT names it.
    step: Step,
    /// The statement of SQL that it runs.
    text: Option<Arc<str>>,
}

/// A statement of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Step {
    /// None yet.
    #[default]
    Before,
    /// That of a line, and what it is called.
    Line(usize, &'static str),
    /// The nth of an SQL function.
    Nth(usize),
}

impl CallPlace {
    /// At the beginning of a body, called at a place of another.
    pub fn new(body: Arc<str>, around: Option<Arc<CallPlace>>) -> Arc<CallPlace> {
        Arc::new(CallPlace {
            around,
            body,
            at: Mutex::default(),
        })
    }

    /// Goes to a statement of the body; answers where it was.
    pub fn go_to(&self, step: Step) -> Step {
        std::mem::replace(&mut self.at().step, step)
    }

    /// The statement of SQL that is run there from now on; `None`: none is.
    pub fn runs(&self, text: Option<Arc<str>>) {
        self.at().text = text;
    }

    /// What CONTEXT says, the innermost first.
    pub fn context(&self) -> String {
        let mut lines = Vec::new();
        let mut place = Some(self);
        while let Some(CallPlace { around, body, at }) = place {
            let At { step, text } = at.lock().unwrap_or_else(PoisonError::into_inner).clone();
            lines.extend(text.map(|text| format!("SQL statement \"{text}\"")));
            lines.push(match step {
                Step::Before => body.to_string(),
                Step::Line(line, statement) => format!("{body} line {line} at {statement}"),
                Step::Nth(number) => format!("{body} statement {number}"),
            });
            place = around.as_deref();
        }
        lines.join("\n")
    }

    fn at(&self) -> MutexGuard<'_, At> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_says_what_is_around_it() {
        let outer = CallPlace::new("PL/pgSQL function a()".into(), None);
        outer.go_to(Step::Line(3, "PERFORM"));
        outer.runs(Some("SELECT b()".into()));
        let inner = CallPlace::new("SQL function \"b\"".into(), Some(outer));
        assert_eq!(inner.go_to(Step::Nth(1)), Step::Before);
        assert_eq!(
            inner.context(),
            "SQL function \"b\" statement 1\nSQL statement \"SELECT b()\"\nPL/pgSQL function a() line 3 at PERFORM"
        );
    }
}
