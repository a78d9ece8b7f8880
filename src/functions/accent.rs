//! Texts without accents, as PostgreSQL's unaccent makes them. Called by the dictionary of that name. Pure.
//!
//! What a character becomes, the first of these that says something:
//! 1. one of ASCII: itself;
//! 2. a combining mark: nothing;
//! 3. one of [`SPELLINGS`]: what that says;
//! 4. a Latin or Greek letter that Unicode composes of a letter and marks: the letter;
//! 5. one of [`FORMS`], which is another shape of other characters: what those become;
//! 6. any other: itself.
//!
//! PostgreSQL's rules come from the same sources, Unicode's decompositions and CLDR's transliteration of Latin to ASCII. The
//! scripts in sql-tests ask PostgreSQL about every character.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;

/// A text without accents, piece by piece.
pub(super) fn unaccented_pieces(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    text.split_inclusive(|character: char| !character.is_ascii())
        .flat_map(|piece| {
            let (ascii, last) = match piece.char_indices().next_back() {
                Some((at, last)) if !last.is_ascii() => (&piece[..at], Some((&piece[at..], last))),
                _ => (piece, None),
            };
            let last = last.map(|(written, last)| unaccented(last).unwrap_or(Cow::Borrowed(written)));
            std::iter::once(Cow::Borrowed(ascii)).chain(last)
        })
}

/// What a character that is not ASCII becomes. `None`: it stays.
fn unaccented(character: char) -> Option<Cow<'static, str>> {
    if is_mark(character) {
        return Some(Cow::Borrowed(""));
    }
    if let Some(spelling) = SPELLING_OF.get(&character) {
        return Some(Cow::Borrowed(spelling));
    }
    base_letter(character)
        .map(|letter| Cow::Owned(letter.to_string()))
        .or_else(|| plain_form(character).map(Cow::Owned))
}

/// Whether it changes the look of the character before it: accents, and what encloses.
fn is_mark(character: char) -> bool {
    is_accent(character) || matches!(character, '\u{20dd}'..='\u{20e0}' | '\u{20e2}'..='\u{20e4}')
}

fn is_accent(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{362}')
}

/// The letter that a letter with accents is composed of.
fn base_letter(character: char) -> Option<char> {
    let mut decomposed = std::iter::once(character).nfd();
    let base = decomposed.next()?;
    let is_letter = base.is_ascii_alphabetic() || matches!(base, 'Α'..='Ω' | 'α'..='ω');
    let is_composed = base != character && is_letter && decomposed.all(is_accent);
    // Unicode has other characters that are one and the same letter; those stay.
    (is_composed && std::iter::once(character).nfc().eq([character])).then_some(base)
}

/// What one of [`FORMS`] stands for, if it can be written in ASCII.
fn plain_form(character: char) -> Option<String> {
    if !FORMS
        .iter()
        .any(|(first, last)| (*first..=*last).contains(&character))
    {
        return None;
    }
    let mut plain = String::new();
    for part in std::iter::once(character).nfkd() {
        match SPELLING_OF.get(&part) {
            _ if part == character => return None,
            _ if part.is_ascii() => plain.push(part),
            _ if is_accent(part) => {}
            Some(spelling) => plain.push_str(spelling),
            None => return None,
        }
    }
    Some(plain)
}

/// [`SPELLINGS`] by the character.
static SPELLING_OF: LazyLock<HashMap<char, &'static str>> = LazyLock::new(|| {
    let rows = SPELLINGS.iter();
    rows.flat_map(|(spelling, characters)| characters.chars().map(|character| (character, *spelling)))
        .collect()
});

/// From the first to the last: characters that are other characters written differently (ligatures, fractions, units, wide and narrow
/// forms), and become those.
const FORMS: &[(char, char)] = &[
    ('¼', '¾'),
    ('Ĳ', 'ĳ'),
    ('ſ', 'ſ'),
    ('Ǆ', 'ǌ'),
    ('Ǳ', 'ǳ'),
    ('\u{2011}', '\u{2011}'),
    ('․', '…'),
    ('″', '″'),
    ('‼', '‼'),
    ('⁇', '⁉'),
    ('℀', '℆'),
    ('℈', 'ℎ'),
    ('ℐ', '№'),
    ('ℙ', 'ℝ'),
    ('℡', '℡'),
    ('ℤ', '℩'),
    ('ℬ', 'ⅉ'),
    ('⅐', '↉'),
    ('⑴', '⒵'),
    ('⩴', '⩶'),
    ('㍱', '㍷'),
    ('㍺', '㎔'),
    ('㎙', '㎞'),
    ('㎧', '㎧'),
    ('㎩', '㎮'),
    ('㎰', '㏟'),
    ('ﬀ', 'ﬆ'),
    ('︐', '︲'),
    ('︵', '﹈'),
    ('﹐', '﹫'),
    ('！', '､'),
    ('￩', '￫'),
    ('🄀', '🄊'),
    ('🄐', '🄩'),
];

/// Spellings in other letters, and the characters that are so spelt: those whose likeness Unicode does not tell.
const SPELLINGS: &[(&str, &str)] = &[
    ("A", "Ⱥᴀ"),
    ("a", "ᶏẚⱥ"),
    ("AA", "Ꜳ"),
    ("aa", "ꜳ"),
    ("AE", "Æᴁ"),
    ("ae", "æ"),
    ("AO", "Ꜵ"),
    ("ao", "ꜵ"),
    ("AU", "Ꜷ"),
    ("au", "ꜷ"),
    ("AV", "ꜸꜺ"),
    ("av", "ꜹꜻ"),
    ("AY", "Ꜽ"),
    ("ay", "ꜽ"),
    ("B", "ƁƂɃʙᴃ"),
    ("b", "ƀƃɓᵬᶀ"),
    ("C", "ƇȻᴄꞒ"),
    ("c", "ƈȼɕꞓ"),
    ("CE", "₠"),
    ("Cr", "₢"),
    ("D", "ÐĐƉƊƋᴅᴆꝹ"),
    ("d", "ðđƌȡɖɗᵭᶁᶑꝱꝺ"),
    ("db", "ȸ"),
    ("dz", "ʣʥ"),
    ("E", "ƐɆᴇ"),
    ("e", "ɇɛᶒᶓⱸ"),
    ("F", "ƑꜰꝻ"),
    ("f", "ƒᵮᶂꝼ"),
    ("G", "ƓǤɢʛꞠ"),
    ("g", "ǥɠɡᶃꞡ"),
    ("H", "ĦʜⱧꞪ"),
    ("h", "ħɦɧⱨ"),
    ("hv", "ƕ"),
    ("I", "ƖƗɪᵻ"),
    ("i", "ıɨᶖ"),
    ("J", "Ɉᴊ"),
    ("j", "ȷɉɟʝ"),
    ("K", "ƘᴋⱩꝀꝂꝄꞢ"),
    ("k", "ƙᶄⱪꝁꝃꝅꞣ"),
    ("L", "ĿŁȽʟᴌⱠⱢꝆꝈ"),
    ("l", "ŀłƚȴɫɬɭᶅⱡꝇꝉꝲ"),
    ("LL", "Ỻ"),
    ("ll", "ỻ"),
    ("ls", "ʪ"),
    ("lz", "ʫ"),
    ("M", "ᴍⱮ"),
    ("m", "ɱᵯᶆꝳ"),
    ("N", "ŊƝɴꞐꞤ"),
    ("n", "ŋƞȵɲɳᵰᶇꝴꞑꞥ"),
    ("O", "ØᴏꝊꝌ"),
    ("o", "øⱺꝋꝍ"),
    ("OE", "Œɶ"),
    ("oe", "œ"),
    ("OI", "Ƣ"),
    ("oi", "ƣ"),
    ("OO", "Ꝏ"),
    ("oo", "ꝏ"),
    ("P", "Ƥᴘ℘ⱣꝐꝒꝔ"),
    ("p", "ƥᵱᵽᶈꝑꝓꝕ"),
    ("pH", "㏗"),
    ("Pts", "₧"),
    ("Q", "ꝖꝘ"),
    ("q", "ĸʠꝗꝙ"),
    ("qp", "ȹ"),
    ("R", "ɌʀⱤꝶꞦ"),
    ("r", "ɍɼɽɾᵲᵳᶉꝵꞧ"),
    ("Rs", "₹"),
    ("Rx", "℞"),
    ("S", "ⱾꜱꞨ"),
    ("s", "ȿʂᵴᶊẜẝꞩ"),
    ("SS", "ẞ"),
    ("ss", "ß"),
    ("T", "ŦƬƮȾᴛꞆ"),
    ("t", "ŧƫƭȶʈᵵⱦꝷꞇ"),
    ("TH", "ÞꝤꝦ"),
    ("th", "þᵺꝥꝧ"),
    ("TL", "₺"),
    ("ts", "ʦ"),
    ("U", "Ʉᴜᵾ"),
    ("u", "ʉᶙ"),
    ("ue", "ᵫ"),
    ("V", "ƲᴠỼꝞ"),
    ("v", "ʋᶌỽⱱⱴꝟ"),
    ("VY", "Ꝡ"),
    ("vy", "ꝡ"),
    ("W", "ᴡⱲ"),
    ("w", "ⱳ"),
    ("x", "ᶍℌ"),
    ("Y", "ƳɎʏỾ"),
    ("y", "ƴɏỿ"),
    ("Z", "ƵȤᴢⱫⱿ"),
    ("z", "ƶȥɀʐʑᵶᶎⱬ"),
    ("!", "¡"),
    ("\"", "\u{2ba}“”‟″〝〞"),
    ("'", "\u{2b9}\u{2bb}\u{2bc}\u{2bd}\u{2c8}‘’‛′"),
    ("'n", "ŉ"),
    ("((", "⦅"),
    ("(C)", "©"),
    ("(P)", "℗"),
    ("(R)", "®"),
    ("))", "⦆"),
    ("*", "×⁎"),
    ("+", "\u{2d6}"),
    ("+/-", "±"),
    (",", "‚、"),
    (",,", "„"),
    ("-", "\u{ad}\u{2d7}‐‒–—―−"),
    ("->", "￫"),
    (".", "。"),
    ("/", "÷⁄∕"),
    ("0", "〇"),
    (":", "\u{2d0}"),
    ("<", "\u{2c2}‹〈"),
    ("<-", "￩"),
    ("<<", "«≪《"),
    (">", "\u{2c3}›〉"),
    (">>", "»≫》"),
    ("?", "¿"),
    ("Fr.", "₣"),
    ("L.", "₤"),
    ("[", "⁅〔〘〚"),
    ("\\", "∖"),
    ("]", "⁆〕〙〛"),
    ("^", "\u{2c4}\u{2c6}"),
    ("`", "\u{2cb}"),
    ("|", "∣"),
    ("||", "‖∥"),
    ("~", "\u{2dc}"),
    ("°C", "℃"),
    ("°F", "℉"),
    ("Е", "Ё"),
    ("е", "ё"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_go_and_what_has_no_letter_of_its_own_is_spelt() {
        let plain = |text: &str| unaccented_pieces(text).collect::<String>();
        assert_eq!(plain(""), "");
        assert_eq!(plain("plain"), "plain");
        assert_eq!(plain("Hôtel de la Mer"), "Hotel de la Mer");
        assert_eq!(plain("Straße Łódź Ærø ½ ﬁn"), "Strasse Lodz AEro 1/2 fin");
        assert_eq!(plain("e\u{301}te\u{301}"), "ete");
        assert_eq!(plain("日本 Ё"), "日本 Е");
    }

    #[test]
    fn every_character_is_spelt_in_one_way() {
        let characters: usize = SPELLINGS
            .iter()
            .map(|(_, characters)| characters.chars().count())
            .sum();
        assert_eq!(characters, SPELLING_OF.len());
    }
}
