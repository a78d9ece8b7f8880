//! The words of dates and times: months, weekdays, `today`, and the abbreviations of zones. Read by `datetime_input`.

use super::datetime_fault::Zone;

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
        "now" => Word::Now,
        "today" => Word::DayFromToday(0),
        "tomorrow" => Word::DayFromToday(1),
        "yesterday" => Word::DayFromToday(-1),
        "allballs" => Word::Midnight,
        "infinity" | "+infinity" | "-infinity" | "epoch" => Word::Reserved,
        _ => return None,
    })
}

/// The abbreviations of PostgreSQL's default set that are in use, in hours east of UTC.
const ABBREVIATIONS: &[(&str, f32)] = &[
    ("z", 0.0),
    ("zulu", 0.0),
    ("utc", 0.0),
    ("gmt", 0.0),
    ("ut", 0.0),
    ("uct", 0.0),
    ("wet", 0.0),
    ("west", 1.0),
    ("bst", 1.0),
    ("cet", 1.0),
    ("cest", 2.0),
    ("met", 1.0),
    ("mest", 2.0),
    ("eet", 2.0),
    ("eest", 3.0),
    ("sast", 2.0),
    ("ist", 2.0),
    ("idt", 3.0),
    ("msk", 3.0),
    ("msd", 4.0),
    ("eat", 3.0),
    ("pkt", 5.0),
    ("npt", 5.75),
    ("hkt", 8.0),
    ("sgt", 8.0),
    ("awst", 8.0),
    ("pht", 8.0),
    ("jst", 9.0),
    ("kst", 9.0),
    ("aest", 10.0),
    ("aedt", 11.0),
    ("nzst", 12.0),
    ("nzdt", 13.0),
    ("hst", -10.0),
    ("akst", -9.0),
    ("akdt", -8.0),
    ("pst", -8.0),
    ("pdt", -7.0),
    ("mst", -7.0),
    ("mdt", -6.0),
    ("cst", -6.0),
    ("cdt", -5.0),
    ("est", -5.0),
    ("edt", -4.0),
    ("ast", -4.0),
    ("adt", -3.0),
    ("nst", -3.5),
    ("ndt", -2.5),
    ("brt", -3.0),
];

/// The zone that an abbreviation means; lower case.
pub(super) fn zone_abbreviation(word: &str) -> Option<Zone> {
    abbreviated_offset(word).map(Zone::Offset)
}

/// The seconds east of UTC that an abbreviation means; lower case.
pub(crate) fn abbreviated_offset(word: &str) -> Option<i32> {
    let (_, hours) = ABBREVIATIONS
        .iter()
        .find(|(abbreviation, _)| *abbreviation == word)?;
    Some((hours * 3_600.0) as i32)
}
