//! The words of dates and times: months, weekdays, `today`. Read by `datetime_input`.

/// What a word in a date means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Word {
    /// 1–12.
    Month(i32),
    /// Read and ignored.
    Weekday,
    Am,
    Pm,
    AnnoDomini,
    BeforeChrist,
    /// The T before a time.
    IsoTime,
    /// The next number is a Julian day.
    Julian,
    /// An hour more than the zone before it.
    Daylight,
    /// `at`, `on`.
    Ignored,
    Now,
    /// Days from today: -1, 0, 1.
    DayFromToday(i64),
    /// 00:00 UTC.
    Midnight,
    /// Means something only when it stands alone.
    Reserved,
}

/// The word's meaning; lower case.
pub(super) fn keyword(word: &str) -> Option<Word> {
    Some(match word {
        "jan" | "january" => Word::Month(1),
        "feb" | "february" => Word::Month(2),
        "mar" | "march" => Word::Month(3),
        "apr" | "april" => Word::Month(4),
        "may" => Word::Month(5),
        "jun" | "june" => Word::Month(6),
        "jul" | "july" => Word::Month(7),
        "aug" | "august" => Word::Month(8),
        "sep" | "sept" | "september" => Word::Month(9),
        "oct" | "october" => Word::Month(10),
        "nov" | "november" => Word::Month(11),
        "dec" | "december" => Word::Month(12),
        "sun" | "sunday" | "mon" | "monday" | "tue" | "tues" | "tuesday" | "wed" | "weds" | "wednesday"
        | "thu" | "thur" | "thurs" | "thursday" | "fri" | "friday" | "sat" | "saturday" => Word::Weekday,
        "am" => Word::Am,
        "pm" => Word::Pm,
        "ad" => Word::AnnoDomini,
        "bc" => Word::BeforeChrist,
        "t" => Word::IsoTime,
        "j" | "jd" | "julian" => Word::Julian,
        "at" | "on" => Word::Ignored,
        "dst" => Word::Daylight,
        "now" => Word::Now,
        "today" => Word::DayFromToday(0),
        "tomorrow" => Word::DayFromToday(1),
        "yesterday" => Word::DayFromToday(-1),
        "allballs" => Word::Midnight,
        "infinity" | "+infinity" | "-infinity" | "epoch" => Word::Reserved,
        _ => return None,
    })
}
