//! Double Metaphone, after Lawrence Philips: how a name sounds to an English ear, and how where it comes from (Slavic, Germanic,
//! Celtic, Greek, French, Italian, Spanish), each in four letters at most. Pure.
//!
//! Words are bytes, upper case in ASCII, and blanks stand behind them, as in PostgreSQL: two bytes that were letters of Latin-1
//! begin characters of UTF-8, and sound as those.

/// How many letters a code has at most.
const CODE_LENGTH: usize = 4;

/// Blanks behind a word: what follows its last letter may be looked at.
const BLANKS: &[u8] = b"     ";

/// Ç of Latin-1.
const C_CEDILLA: u8 = 0xC7;
/// Ñ of Latin-1.
const N_TILDE: u8 = 0xD1;

/// How a word sounds, and how it does otherwise.
pub(super) fn codes(text: &str) -> (String, String) {
    let word = Word::new(text);
    let (mut first, mut second) = (String::new(), String::new());
    let mut at = 0;
    if word.has(0, &["GN", "KN", "PN", "WR", "PS"]) {
        at += 1;
    }
    if word.letter(0) == b'X' {
        // As in "Xavier".
        first.push('S');
        second.push('S');
        at += 1;
    }
    while at < word.last + 1 && (first.len() < CODE_LENGTH || second.len() < CODE_LENGTH) {
        let sound = word.sound(at);
        first.push_str(sound.first);
        second.push_str(sound.second);
        at += sound.letters;
    }
    first.truncate(CODE_LENGTH);
    second.truncate(CODE_LENGTH);
    (first, second)
}

/// What some letters sound as.
struct Sound {
    first: &'static str,
    /// Otherwise.
    second: &'static str,
    /// How many letters they are.
    letters: isize,
}

fn plain(code: &'static str, letters: isize) -> Sound {
    either(code, code, letters)
}

fn either(first: &'static str, second: &'static str, letters: isize) -> Sound {
    Sound {
        first,
        second,
        letters,
    }
}

fn silent(letters: isize) -> Sound {
    plain("", letters)
}

/// A word. Places are counted from 0, and may be asked before it and behind it.
struct Word {
    letters: Vec<u8>,
    /// The place of its last letter.
    last: isize,
    is_slavo_germanic: bool,
}

impl Word {
    fn new(text: &str) -> Word {
        let upper = text.to_ascii_uppercase();
        Word {
            is_slavo_germanic: ["W", "K", "CZ"].iter().any(|sign| upper.contains(sign)),
            last: isize::try_from(upper.len()).unwrap_or(isize::MAX) - 1,
            letters: [upper.as_bytes(), BLANKS].concat(),
        }
    }

    fn letter(&self, at: isize) -> u8 {
        let at = usize::try_from(at).ok();
        at.and_then(|at| self.letters.get(at)).copied().unwrap_or(0)
    }

    fn is_vowel(&self, at: isize) -> bool {
        b"AEIOUY".contains(&self.letter(at))
    }

    /// Whether one of these stands at a place.
    fn has(&self, at: isize, texts: &[&str]) -> bool {
        let rest = usize::try_from(at).ok().and_then(|at| self.letters.get(at..));
        rest.is_some_and(|rest| texts.iter().any(|text| rest.starts_with(text.as_bytes())))
    }

    /// Whether one of these letters does.
    fn is_any(&self, at: isize, letters: &str) -> bool {
        let letter = self.letter(at);
        letter != 0 && letters.as_bytes().contains(&letter)
    }

    /// Whether the name is Dutch or German by its beginning.
    fn is_germanic(&self) -> bool {
        self.has(0, &["VAN ", "VON ", "SCH"])
    }

    /// One letter's code: a second one of these beside it is taken along.
    fn doubled(&self, at: isize, code: &'static str, companions: &str) -> Sound {
        plain(code, if self.is_any(at + 1, companions) { 2 } else { 1 })
    }

    fn sound(&self, at: isize) -> Sound {
        match self.letter(at) {
            b'A' | b'E' | b'I' | b'O' | b'U' | b'Y' => plain(if at == 0 { "A" } else { "" }, 1),
            b'B' => self.doubled(at, "P", "B"),
            b'C' => self.sound_of_c(at),
            C_CEDILLA => plain("S", 1),
            b'D' if self.has(at, &["DGI", "DGE", "DGY"]) => plain("J", 3),
            b'D' if self.has(at, &["DG"]) => plain("TK", 2),
            b'D' => self.doubled(at, "T", "TD"),
            b'F' => self.doubled(at, "F", "F"),
            b'G' => self.sound_of_g(at),
            b'H' if (at == 0 || self.is_vowel(at - 1)) && self.is_vowel(at + 1) => plain("H", 2),
            b'J' => self.sound_of_j(at),
            b'K' => self.doubled(at, "K", "K"),
            b'L' => self.sound_of_l(at),
            b'M' => self.sound_of_m(at),
            b'N' => self.doubled(at, "N", "N"),
            N_TILDE => plain("N", 1),
            b'P' if self.letter(at + 1) == b'H' => plain("F", 2),
            b'P' => self.doubled(at, "P", "PB"),
            b'Q' => self.doubled(at, "K", "Q"),
            b'R' => self.sound_of_r(at),
            b'S' => self.sound_of_s(at),
            b'T' => self.sound_of_t(at),
            b'V' => self.doubled(at, "F", "V"),
            b'W' => self.sound_of_w(at),
            b'X' => self.sound_of_x(at),
            b'Z' => self.sound_of_z(at),
            _ => silent(1),
        }
    }

    fn sound_of_c(&self, at: isize) -> Sound {
        let is_bacher = self.has(at - 2, &["BACHER", "MACHER"]);
        let is_germanic = at > 1
            && !self.is_vowel(at - 2)
            && self.has(at - 1, &["ACH"])
            && self.letter(at + 2) != b'I'
            && (self.letter(at + 2) != b'E' || is_bacher);
        if is_germanic {
            return plain("K", 2);
        }
        if at == 0 && self.has(at, &["CAESAR"]) {
            return plain("S", 2);
        }
        if self.has(at, &["CH"]) {
            return self.sound_of_ch(at);
        }
        if self.has(at, &["CZ"]) && !self.has(at - 2, &["WICZ"]) {
            return either("S", "X", 2);
        }
        if self.has(at + 1, &["CIA"]) {
            return plain("X", 3);
        }
        let is_mcclellan = at == 1 && self.letter(0) == b'M';
        if self.has(at, &["CC"]) && !is_mcclellan {
            return self.sound_of_cc(at);
        }
        if self.has(at, &["CK", "CG", "CQ"]) {
            return plain("K", 2);
        }
        if self.has(at, &["CIO", "CIE", "CIA"]) {
            return either("S", "X", 2);
        }
        if self.has(at, &["CI", "CE", "CY"]) {
            return plain("S", 2);
        }
        // "Mac Caffrey" and "Mac Gregor" are sent as two words.
        let letters = match self.has(at + 1, &[" C", " Q", " G"]) {
            true => 3,
            false if self.is_any(at + 1, "CKQ") && !self.has(at + 1, &["CE", "CI"]) => 2,
            false => 1,
        };
        plain("K", letters)
    }

    fn sound_of_ch(&self, at: isize) -> Sound {
        if self.has(at, &["CHIA"]) {
            return plain("K", 2);
        }
        if at > 0 && self.has(at, &["CHAE"]) {
            // Michael.
            return either("K", "X", 2);
        }
        let is_greek = at == 0
            && self.has(1, &["HARAC", "HARIS", "HOR", "HYM", "HIA", "HEM"])
            && !self.has(0, &["CHORE"]);
        // Orchestra, architect, orchid; but not arch.
        let is_greek_within = self.has(at - 2, &["ORCHES", "ARCHIT", "ORCHID"]);
        // Wachtler and Wechsler, but not Tichner.
        let is_before_consonant =
            (at == 0 || self.is_any(at - 1, "AOUE")) && self.is_any(at + 2, "LRNMBHFVW ");
        if is_greek
            || self.is_germanic()
            || is_greek_within
            || self.is_any(at + 2, "TS")
            || is_before_consonant
        {
            return plain("K", 2);
        }
        match at {
            0 => plain("X", 2),
            _ if self.has(0, &["MC"]) => plain("K", 2),
            _ => either("X", "K", 2),
        }
    }

    fn sound_of_cc(&self, at: isize) -> Sound {
        // Bellocchio, but not Bacchus.
        if !self.is_any(at + 2, "IEH") || self.has(at + 2, &["HU"]) {
            return plain("K", 2);
        }
        let is_accident = at == 1 && self.letter(0) == b'A';
        match is_accident || self.has(at - 1, &["UCCEE", "UCCES"]) {
            true => plain("KS", 3),
            false => plain("X", 3),
        }
    }

    fn sound_of_g(&self, at: isize) -> Sound {
        let next = self.letter(at + 1);
        if next == b'H' {
            return self.sound_of_gh(at);
        }
        if next == b'N' {
            return match () {
                () if at == 1 && self.is_vowel(0) && !self.is_slavo_germanic => either("KN", "N", 2),
                // Not Cagney.
                () if !self.has(at + 2, &["EY"]) && !self.is_slavo_germanic => either("N", "KN", 2),
                () => plain("KN", 2),
            };
        }
        if self.has(at + 1, &["LI"]) && !self.is_slavo_germanic {
            // Tagliaro.
            return either("KL", "L", 2);
        }
        let is_hard_beginning = [
            "Y", "ES", "EP", "EB", "EL", "EY", "IB", "IL", "IN", "IE", "EI", "ER",
        ];
        if at == 0 && self.has(1, &is_hard_beginning) {
            return either("K", "J", 2);
        }
        if self.has(at + 1, &["ER", "Y"])
            && !self.has(0, &["DANGER", "RANGER", "MANGER"])
            && !self.is_any(at - 1, "EI")
            && !self.has(at - 1, &["RGY", "OGY"])
        {
            return either("K", "J", 2);
        }
        if self.is_any(at + 1, "EIY") || self.has(at - 1, &["AGGI", "OGGI"]) {
            return match () {
                () if self.is_germanic() || self.has(at + 1, &["ET"]) => plain("K", 2),
                // Always soft in a French ending.
                () if self.has(at + 1, &["IER "]) => plain("J", 2),
                () => either("J", "K", 2),
            };
        }
        self.doubled(at, "K", "G")
    }

    fn sound_of_gh(&self, at: isize) -> Sound {
        if at > 0 && !self.is_vowel(at - 1) {
            return plain("K", 2);
        }
        if at == 0 {
            // Ghislaine, Ghirardelli.
            return plain(if self.letter(2) == b'I' { "J" } else { "K" }, 2);
        }
        // Hugh, bough, Broughton.
        let is_silent = self.is_any(at - 2, "BHD") || self.is_any(at - 3, "BHD") || self.is_any(at - 4, "BH");
        match self.letter(at - 1) {
            _ if is_silent => silent(2),
            // Laugh, McLaughlin, cough, rough, tough.
            b'U' if self.is_any(at - 3, "CGLRT") => plain("F", 2),
            b'I' => silent(2),
            _ => plain("K", 2),
        }
    }

    fn sound_of_j(&self, at: isize) -> Sound {
        let is_spanish = self.has(0, &["SAN "]);
        if self.has(at, &["JOSE"]) || is_spanish {
            let is_name = at == 0 && self.letter(4) == b' ';
            return either(if is_name || is_spanish { "H" } else { "J" }, "H", 1);
        }
        let (first, second) = match () {
            // Jankelowicz is Yankelovich.
            () if at == 0 => ("J", "A"),
            // Bajador.
            () if self.is_vowel(at - 1) && !self.is_slavo_germanic && self.is_any(at + 1, "AO") => ("J", "H"),
            () if at == self.last => ("J", ""),
            () if self.is_any(at + 1, "LTKSNMBZ") || self.is_any(at - 1, "SKL") => ("", ""),
            () => ("J", "J"),
        };
        either(first, second, if self.letter(at + 1) == b'J' { 2 } else { 1 })
    }

    fn sound_of_l(&self, at: isize) -> Sound {
        if self.letter(at + 1) != b'L' {
            return plain("L", 1);
        }
        // Cabrillo, gallegos.
        let ends_so = at == self.last - 2 && self.has(at - 1, &["ILLO", "ILLA", "ALLE"]);
        let has_plural = self.has(self.last - 1, &["AS", "OS"]) || self.is_any(self.last, "AO");
        match ends_so || (has_plural && self.has(at - 1, &["ALLE"])) {
            true => either("L", "", 2),
            false => plain("L", 2),
        }
    }

    fn sound_of_m(&self, at: isize) -> Sound {
        // Dumb, thumb, number.
        let is_silent_b = self.has(at - 1, &["UMB"]) && (at + 1 == self.last || self.has(at + 2, &["ER"]));
        match is_silent_b || self.letter(at + 1) == b'M' {
            true => plain("M", 2),
            false => plain("M", 1),
        }
    }

    fn sound_of_r(&self, at: isize) -> Sound {
        // Rogier, but not Hochmeier.
        let is_french = at == self.last
            && !self.is_slavo_germanic
            && self.has(at - 2, &["IE"])
            && !self.has(at - 4, &["ME", "MA"]);
        let letters = if self.letter(at + 1) == b'R' { 2 } else { 1 };
        either(if is_french { "" } else { "R" }, "R", letters)
    }

    fn sound_of_s(&self, at: isize) -> Sound {
        if self.has(at - 1, &["ISL", "YSL"]) {
            // Island, isle, Carlysle.
            return silent(1);
        }
        if at == 0 && self.has(at, &["SUGAR"]) {
            return either("X", "S", 1);
        }
        if self.has(at, &["SH"]) {
            let is_germanic = self.has(at + 1, &["HEIM", "HOEK", "HOLM", "HOLZ"]);
            return plain(if is_germanic { "S" } else { "X" }, 2);
        }
        if self.has(at, &["SIO", "SIA"]) {
            return either("S", if self.is_slavo_germanic { "S" } else { "X" }, 3);
        }
        // Smith as Schmidt, Snider as Schneider; sz in Slavic names.
        if self.letter(at + 1) == b'Z' {
            return either("S", "X", 2);
        }
        if at == 0 && self.is_any(1, "MNLW") {
            return either("S", "X", 1);
        }
        if self.has(at, &["SC"]) {
            return self.sound_of_sc(at);
        }
        // Resnais, Artois.
        let is_french = at == self.last && self.has(at - 2, &["AI", "OI"]);
        let letters = if self.letter(at + 1) == b'S' { 2 } else { 1 };
        either(if is_french { "" } else { "S" }, "S", letters)
    }

    fn sound_of_sc(&self, at: isize) -> Sound {
        if self.letter(at + 2) != b'H' {
            return plain(if self.is_any(at + 2, "IEY") { "S" } else { "SK" }, 3);
        }
        match () {
            // Schermerhorn, Schenker.
            () if self.has(at + 3, &["ER", "EN"]) => either("X", "SK", 3),
            // School, schooner.
            () if self.has(at + 3, &["OO", "UY", "ED", "EM"]) => plain("SK", 3),
            () if at == 0 && !self.is_vowel(3) && self.letter(3) != b'W' => either("X", "S", 3),
            () => plain("X", 3),
        }
    }

    fn sound_of_t(&self, at: isize) -> Sound {
        if self.has(at, &["TION", "TIA", "TCH"]) {
            return plain("X", 3);
        }
        if self.has(at, &["TH", "TTH"]) {
            // Thomas, Thames.
            let is_plain = self.has(at + 2, &["OM", "AM"]) || self.is_germanic();
            return either(if is_plain { "T" } else { "0" }, "T", 2);
        }
        self.doubled(at, "T", "TD")
    }

    fn sound_of_w(&self, at: isize) -> Sound {
        if self.has(at, &["WR"]) {
            return plain("R", 2);
        }
        let (first, second) = match () {
            // Wasserman as Vasserman.
            () if at == 0 && self.is_vowel(1) => ("A", "F"),
            () if at == 0 && self.has(0, &["WH"]) => ("A", "A"),
            () => ("", ""),
        };
        // Arnow as Arnoff.
        let is_slavic = (at == self.last && self.is_vowel(at - 1))
            || self.has(at - 1, &["EWSKI", "EWSKY", "OWSKI", "OWSKY"])
            || self.has(0, &["SCH"]);
        if is_slavic {
            return either("", "F", 1);
        }
        if self.has(at, &["WICZ", "WITZ"]) {
            // Filipowicz.
            return match at {
                0 => either("ATS", "FFX", 4),
                _ => either("TS", "FX", 4),
            };
        }
        either(first, second, 1)
    }

    fn sound_of_x(&self, at: isize) -> Sound {
        // Silent in breaux.
        let is_french =
            at == self.last && (self.has(at - 3, &["IAU", "EAU"]) || self.has(at - 2, &["AU", "OU"]));
        self.doubled(at, if is_french { "" } else { "KS" }, "CX")
    }

    fn sound_of_z(&self, at: isize) -> Sound {
        if self.letter(at + 1) == b'H' {
            // Zhao.
            return plain("J", 2);
        }
        let is_slavic = self.is_slavo_germanic && at > 0 && self.letter(at - 1) != b'T';
        let letters = if self.letter(at + 1) == b'Z' { 2 } else { 1 };
        match is_slavic || self.has(at + 1, &["ZO", "ZI", "ZA"]) {
            true => either("S", "TS", letters),
            false => plain("S", letters),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sound_alike_however_they_are_spelt() {
        let check = |name: &str, first: &str, second: &str| {
            assert_eq!(codes(name), (first.to_string(), second.to_string()), "{name}");
        };
        check("Schmidt", "XMT", "SMT");
        check("Smith", "SM0", "XMT");
        check("Filipowicz", "FLPT", "FLPF");
        check("Laugh", "LF", "LF");
        check("Xavier", "SF", "SFR");
        check("", "", "");
    }
}
