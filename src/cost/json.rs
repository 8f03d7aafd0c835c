//! Writes JSON, of which there are no infinities and no NaN: what is not a number is null.

use std::fmt::Write;

/// Writes one object, over several lines.
pub(super) fn object(fields: impl FnOnce(&mut Object<'_>)) -> String {
    let mut text = String::new();
    Object::write(&mut text, 0, fields);
    text
}

/// An object that is being written.
pub(super) struct Object<'a> {
    text: &'a mut String,
    depth: usize,
    empty: bool,
}

impl Object<'_> {
    fn write(text: &mut String, depth: usize, fields: impl FnOnce(&mut Object<'_>)) {
        text.push('{');
        let mut object = Object { text, depth: depth + 1, empty: true };
        fields(&mut object);
        if !object.empty {
            object.text.push('\n');
            object.text.push_str(&"  ".repeat(depth));
        }
        text.push('}');
    }

    fn key(&mut self, key: &str) {
        if !self.empty {
            self.text.push(',');
        }
        self.empty = false;
        self.text.push('\n');
        self.text.push_str(&"  ".repeat(self.depth));
        quote(self.text, key);
        self.text.push_str(": ");
    }

    fn put(&mut self, key: &str, value: impl std::fmt::Display) {
        self.key(key);
        // Writing to a string does not fail.
        let _ = write!(self.text, "{value}");
    }

    pub fn integer(&mut self, key: &str, value: impl Into<i128>) {
        self.put(key, value.into());
    }

    pub fn optional(&mut self, key: &str, value: Option<impl Into<i128>>) {
        match value {
            Some(value) => self.integer(key, value),
            None => self.put(key, "null"),
        }
    }

    pub fn boolean(&mut self, key: &str, value: bool) {
        self.put(key, value);
    }

    pub fn float(&mut self, key: &str, value: f64) {
        match value.is_finite() {
            true => self.put(key, value),
            false => self.put(key, "null"),
        }
    }

    pub fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        quote(self.text, value);
    }

    pub fn object(&mut self, key: &str, fields: impl FnOnce(&mut Object<'_>)) {
        self.key(key);
        Object::write(self.text, self.depth, fields);
    }
}

fn quote(text: &mut String, value: &str) {
    text.push('"');
    for c in value.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => {
                // Writing to a string does not fail.
                let _ = write!(text, "\\u{:04x}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::object;

    #[test]
    fn nothing_that_json_does_not_have_is_written() {
        let text = object(|o| {
            o.float("infinite", f64::INFINITY);
            o.float("odd", f64::NAN);
            o.integer("large", u64::MAX);
            o.text("a\"b", "c\\\n\u{7f}ä");
            o.optional("unknown", None::<u32>);
            o.object("empty", |_| {});
        });
        let expected = "{\n  \"infinite\": null,\n  \"odd\": null,\n  \"large\": 18446744073709551615,\n  \
                        \"a\\\"b\": \"c\\\\\\u000a\\u007fä\",\n  \"unknown\": null,\n  \"empty\": {}\n}";
        assert_eq!(text, expected);
    }
}
