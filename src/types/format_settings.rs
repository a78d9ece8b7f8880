//! `FormatSettings`: the settings of a session that values are read and printed by. Whoever does either passes them on.

use super::zone::Zone;

/// Session settings that reading and printing values depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatSettings {
    /// Session TimeZone.
    pub time_zone: Zone,
    /// DateStyle.
    pub date_style: DateStyle,
    /// IntervalStyle.
    pub interval_style: IntervalStyle,
    /// bytea_output.
    pub bytea_output: ByteaOutput,
    /// extra_float_digits: above 0 floats print shortest and exact, else with so many digits more than are sure (15, and 6 of real).
    pub extra_float_digits: i8,
    /// What `now` means in a text: microseconds since 1970 UTC; `None`: what the clock shows. Only of a statement that runs: nothing
    /// that is kept for other transactions has it.
    pub now_us: Option<i64>,
    /// How long the values are that functions make.
    pub result_limits: ResultLimits,
    /// From when on texts are alike.
    pub trigrams: TrigramThresholds,
}

/// How similar texts are at least that pg_trgm's operators call so, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrigramThresholds {
    /// pg_trgm.similarity_threshold, of `%`.
    pub similarity: f32,
    /// pg_trgm.word_similarity_threshold, of `<%`.
    pub word: f32,
    /// pg_trgm.strict_word_similarity_threshold, of `<<%`.
    pub strict_word: f32,
}

/// They are numbers.
impl Eq for TrigramThresholds {}

impl Default for TrigramThresholds {
    fn default() -> TrigramThresholds {
        TrigramThresholds {
            similarity: 0.3,
            word: 0.6,
            strict_word: 0.5,
        }
    }
}

/// bytea_output: how bytea prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ByteaOutput {
    /// `\x4142ff`
    #[default]
    Hex,
    /// `AB\377`
    Escape,
}

/// DateStyle: how dates and times print, and in which order the numbers of a date are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DateStyle {
    /// How they print.
    pub form: DateForm,
    /// What comes first where the text does not say so, and in the forms that print both ways.
    pub order: DateOrder,
}

/// How dates and times print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DateForm {
    /// `2024-02-29 16:05:06+01`
    #[default]
    Iso,
    /// `Thu Feb 29 16:05:06 2024 CET`
    Postgres,
    /// `02/29/2024 16:05:06 CET`
    Sql,
    /// `29.02.2024 16:05:06 CET`
    German,
}

/// The order of day, month and year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DateOrder {
    /// Month, day, year.
    #[default]
    Mdy,
    /// Day, month, year.
    Dmy,
    /// Year, month, day; it prints as `Mdy` where a form prints both ways.
    Ymd,
}

/// IntervalStyle: how intervals print. `SqlStandard` decides how signs are read, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IntervalStyle {
    /// `1 year 2 mons -3 days +04:05:06`
    #[default]
    Postgres,
    /// `@ 1 year 2 mons -3 days 4 hours 5 mins 6 secs`
    PostgresVerbose,
    /// `+1-2 -3 +4:05:06`
    SqlStandard,
    /// `P1Y2M-3DT4H5M6S`
    Iso8601,
}

impl DateStyle {
    /// Reads what SET is given. What it does not say stays as in `current`; `DEFAULT` stands for `default`. `None`: a
    /// word that is none, or two that contradict each other.
    pub fn read(text: &str, current: DateStyle, default: DateStyle) -> Option<DateStyle> {
        let (mut form, mut order) = (None, None);
        let words = text
            .split(',')
            .map(|word| word.trim().trim_matches('"').to_ascii_lowercase());
        for word in words.filter(|word| !word.is_empty()) {
            let agrees = match word.as_str() {
                "iso" => agrees(&mut form, DateForm::Iso),
                "sql" => agrees(&mut form, DateForm::Sql),
                word if word.starts_with("postgres") => agrees(&mut form, DateForm::Postgres),
                word if word.starts_with("german") => agrees(&mut form, DateForm::German),
                "ymd" => agrees(&mut order, DateOrder::Ymd),
                word if word == "dmy" || word.starts_with("euro") => agrees(&mut order, DateOrder::Dmy),
                word if word == "mdy" || word == "us" || word.starts_with("noneuro") => {
                    agrees(&mut order, DateOrder::Mdy)
                }
                "default" => {
                    form.get_or_insert(default.form);
                    order.get_or_insert(default.order);
                    true
                }
                _ => false,
            };
            if !agrees {
                return None;
            }
        }
        // Germans write the day first.
        let implied = match form {
            Some(DateForm::German) => DateOrder::Dmy,
            _ => current.order,
        };
        Some(DateStyle {
            form: form.unwrap_or(current.form),
            order: order.unwrap_or(implied),
        })
    }
}

/// As SHOW prints it, and as `read` takes it.
impl std::fmt::Display for DateStyle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let form = match self.form {
            DateForm::Iso => "ISO",
            DateForm::Postgres => "Postgres",
            DateForm::Sql => "SQL",
            DateForm::German => "German",
        };
        let order = match self.order {
            DateOrder::Mdy => "MDY",
            DateOrder::Dmy => "DMY",
            DateOrder::Ymd => "YMD",
        };
        write!(f, "{form}, {order}")
    }
}

impl IntervalStyle {
    /// The style with this name of the setting; any other is `postgres`.
    pub fn named(name: &str) -> IntervalStyle {
        match name {
            "postgres_verbose" => IntervalStyle::PostgresVerbose,
            "sql_standard" => IntervalStyle::SqlStandard,
            "iso_8601" => IntervalStyle::Iso8601,
            _ => IntervalStyle::Postgres,
        }
    }
}

/// Notes what a word says; whether it does not contradict an earlier one.
fn agrees<T: PartialEq + Copy>(noted: &mut Option<T>, said: T) -> bool {
    *noted.get_or_insert(said) == said
}

/// How long a function's result may be, and its results for one batch of rows together, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultLimits {
    /// keyspan.function_value_bytes_max.
    pub value_bytes_max: usize,
    /// keyspan.function_batch_bytes_max; below the 2 GiB that Arrow's offsets reach.
    pub batch_bytes_max: usize,
}

impl Default for ResultLimits {
    fn default() -> Self {
        ResultLimits {
            value_bytes_max: 64 << 20,
            batch_bytes_max: 512 << 20,
        }
    }
}

impl FormatSettings {
    /// What `now` is, in microseconds since 1970 UTC.
    pub fn now(&self) -> i64 {
        self.now_us
            .unwrap_or_else(|| chrono::Utc::now().timestamp_micros())
    }
}

impl Default for FormatSettings {
    fn default() -> Self {
        FormatSettings {
            time_zone: Zone::UTC,
            date_style: DateStyle::default(),
            interval_style: IntervalStyle::default(),
            bytea_output: ByteaOutput::default(),
            extra_float_digits: 1,
            now_us: None,
            result_limits: ResultLimits::default(),
            trigrams: TrigramThresholds::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_styles_keep_what_is_not_said() {
        let current = DateStyle {
            form: DateForm::Sql,
            order: DateOrder::Ymd,
        };
        for (text, expected) in [
            ("ISO", Some("ISO, YMD")),
            ("european", Some("SQL, DMY")),
            ("German", Some("German, DMY")),
            ("mdy, german", Some("German, MDY")),
            ("PostgreSQL, US", Some("Postgres, MDY")),
            ("default", Some("ISO, MDY")),
            ("dmy, default", Some("ISO, DMY")),
            ("ISO, SQL", None),
            ("mdy, ymd", None),
            ("julian", None),
        ] {
            let read = DateStyle::read(text, current, DateStyle::default());
            assert_eq!(read.map(|style| style.to_string()).as_deref(), expected, "{text}");
        }
    }
}
