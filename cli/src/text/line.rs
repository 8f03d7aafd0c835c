//! What other people's programs said, made fit for one line of a terminal.

/// Without anything that could move the cursor, change colours or turn the direction of what follows: such characters are shown as `?`.
pub fn clean(text: &str) -> String {
    text.replace(is_dangerous, "?")
}

/// Control characters, line separators, and the marks that make a terminal write backwards or nothing at all.
pub fn is_dangerous(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_but_text() {
        assert_eq!(clean("a\x1b[31mb\nc\u{9b}d\u{202e}e"), "a?[31mb?c?d?e");
        assert_eq!(clean("größer 東京 ✓"), "größer 東京 ✓");
    }
}
