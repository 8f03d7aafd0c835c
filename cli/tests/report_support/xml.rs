//! Is a text well-formed XML? A small checker: elements nest, attributes are quoted and differ, text is escaped.

/// The names of all elements in order, or what is wrong.
pub fn elements(text: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        check_text(&rest[..at])?;
        let end = end_of_tag(&rest[at..]).ok_or("a tag does not end")?;
        let tag = &rest[at + 1..at + end];
        rest = &rest[at + end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop().as_deref() != Some(name) {
                return Err(format!("</{name}> closes something else"));
            }
            continue;
        }
        let (tag, closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        check_attributes(attributes)?;
        found.push(name.to_owned());
        if !closed {
            open.push(name.to_owned());
        }
    }
    check_text(rest)?;
    match (open.is_empty(), rest.trim().is_empty()) {
        (true, true) => Ok(found),
        _ => Err(format!("{open:?} are open at the end, before {rest:?}")),
    }
}

/// The `>` of a tag, not one in a value.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quoted = false;
    text.char_indices().find_map(|(at, c)| {
        quoted ^= c == '"';
        (c == '>' && !quoted).then_some(at)
    })
}

fn check_attributes(mut text: &str) -> Result<(), String> {
    let mut names = std::collections::HashSet::new();
    loop {
        text = text.trim_start();
        if text.is_empty() {
            return Ok(());
        }
        let (name, rest) = text.split_once("=\"").ok_or(format!("no attribute: {text}"))?;
        let (value, rest) = rest.split_once('"').ok_or(format!("{name} has no end"))?;
        check_text(value)?;
        if !names.insert(name.to_owned()) || name.contains(char::is_whitespace) {
            return Err(format!("attribute {name:?}"));
        }
        if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
            return Err(format!("{name} is followed by {rest}"));
        }
        text = rest;
    }
}

fn check_text(text: &str) -> Result<(), String> {
    let allowed = |c: char| !c.is_control() || c == '\n';
    if let Some(c) =
        text.chars().find(|c| !allowed(*c) || matches!(c, '<' | '\u{fffe}' | '\u{ffff}'))
    {
        return Err(format!("{c:?} in {text:?}"));
    }
    for (at, _) in text.match_indices('&') {
        let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];
        if !known.iter().any(|entity| text[at..].starts_with(entity)) {
            return Err(format!("a bare & in {text:?}"));
        }
    }
    Ok(())
}

#[test]
fn the_checker_checks() {
    let right = "<a x=\"1\" y=\"&lt;>\"><b/>t &amp; u<c></c></a>\n";
    assert_eq!(elements(right).unwrap(), ["a", "b", "c"]);
    for wrong in [
        "<a>",
        "<a></b>",
        "<a",
        "<a x=1/>",
        "<a x=\"1\" x=\"2\"/>",
        "<a>&</a>",
        "<a>\x1b</a>",
        "</a>",
    ] {
        assert!(elements(wrong).is_err(), "{wrong}");
    }
}
