//! Markup in which no text can break out of its place. Floor 4: doors.

use std::fmt::{self, Display, Write as _};

/// Text as it stands in an element or between the quotes of an attribute. Characters that steer a terminal or the
/// direction of what follows are shown as what they are not: a blank.
pub(super) struct Text<T>(pub(super) T);

impl<T: Display> Display for Text<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escape(out), "{}", self.0)
    }
}

struct Escape<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Escape<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars() {
            match letter {
                '&' => self.0.write_str("&amp;")?,
                '<' => self.0.write_str("&lt;")?,
                '>' => self.0.write_str("&gt;")?,
                '"' => self.0.write_str("&quot;")?,
                '\'' => self.0.write_str("&#39;")?,
                _ if letter.is_control() || steers(letter) => self.0.write_char(' ')?,
                _ => self.0.write_char(letter)?,
            }
        }
        Ok(())
    }
}

/// Whether it changes the direction of the text around it.
fn steers(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A name that somebody else chose: its direction is its own.
pub(super) struct Name<T>(pub(super) T);

impl<T: Display> Display for Name<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "<bdi>{}</bdi>", Text(&self.0))
    }
}

/// JSON as it stands in an element of a script: nothing in it ends that element or begins another.
pub(super) fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// A table: each cell is markup.
pub(super) struct Table<'a> {
    /// What it is about, in words.
    pub(super) caption: &'a str,
    /// The headings; one that begins with `<` stands over text, which begins at the left, and with `<<` over longer
    /// text, which is broken.
    pub(super) headings: &'a [&'a str],
    /// The cells, the first of which heads its row.
    pub(super) rows: Vec<Vec<String>>,
}

impl Display for Table<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = |column: usize| {
            let heading = self.headings.get(column).copied().unwrap_or_default();
            match heading.len() - heading.trim_start_matches('<').len() {
                0 => "",
                1 => " class=\"text\"",
                _ => " class=\"text wrap\"",
            }
        };
        write!(
            out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table><caption>{0}</caption><thead><tr>",
            Text(self.caption)
        )?;
        for (column, heading) in self.headings.iter().enumerate() {
            let heading = heading.trim_start_matches('<');
            write!(
                out,
                "<th scope=\"col\"{}>{}</th>",
                class(column),
                Text(heading)
            )?;
        }
        out.write_str("</tr></thead><tbody>")?;
        for row in &self.rows {
            out.write_str("<tr>")?;
            for (column, cell) in row.iter().enumerate() {
                match column {
                    0 => write!(out, "<th scope=\"row\"{}>{cell}</th>", class(0))?,
                    _ => write!(out, "<td{}>{cell}</td>", class(column))?,
                }
            }
            out.write_str("</tr>")?;
        }
        out.write_str("</tbody></table></div>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::HOSTILE;

    #[test]
    fn text_stays_text_whatever_is_in_it() {
        let text = Text(HOSTILE).to_string();
        assert!(!text.contains(['<', '>', '"', '\'', '\u{202e}']), "{text}");
        assert!(text.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"));
        assert_eq!(Text("a & b \u{1b}[1m").to_string(), "a &amp; b  [1m");
        assert_eq!(Name("\u{5d0}b").to_string(), "<bdi>\u{5d0}b</bdi>");
    }

    #[test]
    fn json_in_a_script_is_the_same_json_and_ends_no_element() {
        let value = serde_json::json!({ HOSTILE: format!("<!--{HOSTILE}\u{2028}]]>") });
        let script = in_script(&value.to_string());
        assert!(!script.contains(['<', '>', '&', '\u{2028}']), "{script}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&script).unwrap(),
            value
        );
    }
}
