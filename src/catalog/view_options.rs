//! `ViewOptions`: what CREATE VIEW … WITH (…) and ALTER VIEW … SET say of a view, checked by `sql::ddl`. Read by writes through views
//! and by the system catalogs.

/// Options of a view, in the order in which they were set: names and values, as pg_class.reloptions has them.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ViewOptions(Vec<(String, String)>);

/// Which conditions a row that is written through a view must satisfy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckOption {
    /// The view's own.
    Local,
    /// Its own, and those of all views below.
    Cascaded,
}

/// The option that says [`CheckOption`].
pub const CHECK_OPTION: &str = "check_option";

impl ViewOptions {
    /// Whether none is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets one, or takes it away.
    pub fn change(&mut self, name: &str, value: Option<&str>) {
        self.0.retain(|(known, _)| known != name);
        self.0
            .extend(value.map(|value| (name.to_string(), value.to_string())));
    }

    /// Which conditions written rows must satisfy; `None`: none.
    pub fn check_option(&self) -> Option<CheckOption> {
        let (_, value) = self.0.iter().find(|(name, _)| name == CHECK_OPTION)?;
        Some(match value.eq_ignore_ascii_case("local") {
            true => CheckOption::Local,
            false => CheckOption::Cascaded,
        })
    }

    /// As pg_class.reloptions has them: `check_option=local`.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(name, value)| format!("{name}={value}"))
    }
}
