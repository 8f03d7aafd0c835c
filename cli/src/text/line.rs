//! Escapes text for output. Every output of the command passes through [`escaped`], once for each form that it is written in.

/// Text for one line: each character that [`is_dangerous`] is written as `\u{202e}`, line feeds included.
pub fn clean(text: &str) -> String {
    escaped(text, |_| false, |c, safe| safe.extend(c.escape_unicode()))
}

/// As [`clean`], for text of several lines: line feeds are kept.
pub fn clean_lines(text: &str) -> String {
    escaped(text, |c| c == '\n', |c, safe| safe.extend(c.escape_unicode()))
}

/// JSON that is already encoded, escaped as JSON allows: `\u202e`. It parses to the same value as before.
pub fn clean_json(json: &str) -> String {
    // The encoder has escaped line feeds in strings: those that are left are between values.
    let keep = |c| c == '\n';
    escaped(json, keep, |c, safe| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            safe.push_str(&format!("\\u{unit:04x}"));
        }
    })
}

/// The one function behind all forms: copies the text, and has `write` write each dangerous character that is not to be kept.
fn escaped(text: &str, keep: impl Fn(char) -> bool, write: impl Fn(char, &mut String)) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match is_dangerous(c) && !keep(c) {
            true => write(c, &mut safe),
            false => safe.push(c),
        }
    }
    safe
}

/// True for a character that a terminal or a reader may take for something else than text: control characters, separators of
/// lines, characters of the category Cf (among them those that change the direction of writing and those without width),
/// other characters that are always invisible, and code points that are not characters.
pub fn is_dangerous(c: char) -> bool {
    let invisible = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
        | '\u{890}' | '\u{891}' | '\u{8e2}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}');
    let no_character = matches!(c, '\u{fdd0}'..='\u{fdef}') || u32::from(c) & 0xfffe == 0xfffe;
    c.is_control() || invisible || no_character
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dangerous_characters_are_escaped_and_others_are_kept() {
        let odd = "a\x1b[31mb\nc\u{9b}d\u{202e}e\u{e0041}f";
        let expected = r"a\u{1b}[31mb\u{a}c\u{9b}d\u{202e}e\u{e0041}f";
        assert_eq!(clean(odd), expected);
        assert_eq!(clean_lines(odd), expected.replace(r"\u{a}", "\n"));
        assert_eq!(clean("größer 東京 ✓ é"), "größer 東京 ✓ é");
    }

    #[test]
    fn escaped_json_parses_to_the_same_value() {
        let odd = serde_json::json!({ "a": "\x1b\n\u{7f}\u{9b}\u{202e}\u{e0041}\u{10ffff}" });
        let json = clean_json(&odd.to_string());
        assert!(!json.contains(is_dangerous), "{json}");
        assert!(json.contains(r"\u202e\udb40\udc41"), "{json}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), odd);
    }
}
