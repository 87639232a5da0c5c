//! Markup in which no text can break out of its place. Floor 4: doors.

use std::fmt::{self, Display, Write as _};

use super::top::DASH;
use crate::letters::{acts, calm};
use crate::report::fold::TIE;

/// Text as it stands in an element or between the quotes of an attribute.
pub(super) struct Text<T>(pub(super) T);

impl<T: Display> Display for Text<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escape(out), "{}", self.0)
    }
}

struct Escape<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Escape<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in calm(text).chars() {
            match letter {
                '&' => self.0.write_str("&amp;")?,
                '<' => self.0.write_str("&lt;")?,
                '>' => self.0.write_str("&gt;")?,
                '"' => self.0.write_str("&quot;")?,
                '\'' => self.0.write_str("&#39;")?,
                _ => self.0.write_char(letter)?,
            }
        }
        Ok(())
    }
}

/// A name that somebody else chose: its direction is its own.
pub(super) struct Name<T>(pub(super) T);

impl<T: Display> Display for Name<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "<bdi>{}</bdi>", Text(&self.0))
    }
}

/// Words of ours, in which an option is not broken at its dashes, nor what is tied together.
pub(super) struct Prose<T>(pub(super) T);

/// Letters of an option that is kept whole: a longer one has to be broken on a narrow screen.
const WHOLE: usize = 24;

impl<T: Display> Display for Prose<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, word) in self.0.to_string().split(' ').enumerate() {
            let blank = if nth == 0 { "" } else { " " };
            let whole = word.starts_with("--") || word.contains(TIE);
            if whole && word.len() <= WHOLE {
                write!(out, "{blank}<span class=\"whole\">{}</span>", Text(word))?;
            } else {
                write!(out, "{blank}{}", Text(word))?;
            }
        }
        Ok(())
    }
}

/// JSON as it stands in an element of a script: nothing in it ends that element, begins another or acts on the text
/// around it.
pub(super) fn in_script(json: &str) -> String {
    let mut script = String::with_capacity(json.len());
    for letter in json.chars() {
        if !matches!(letter, '<' | '>' | '&') && !acts(letter) {
            script.push(letter);
        } else {
            let _ = write!(script, "\\u{:04x}", u32::from(letter));
        }
    }
    script
}

/// What stands where there is nothing to tell.
pub(super) fn nothing(text: &str) -> String {
    format!("<p class=\"lead\">{DASH} {text}</p>")
}

/// A table of more columns has no room on a narrow screen.
const COLUMNS: usize = 5;

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
        // On a narrow screen a row of many columns is a block by itself, with its headings in it.
        let stack = if self.headings.len() > COLUMNS {
            " class=\"stack\""
        } else {
            ""
        };
        write!(
            out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table role=\"table\"{stack}>\
             <caption>{0}</caption><thead role=\"rowgroup\"><tr role=\"row\">",
            Text(self.caption)
        )?;
        for (column, heading) in self.headings.iter().enumerate() {
            let heading = heading.trim_start_matches('<');
            write!(
                out,
                "<th scope=\"col\" role=\"columnheader\"{}>{}</th>",
                class(column),
                Text(heading)
            )?;
        }
        out.write_str("</tr></thead><tbody role=\"rowgroup\">")?;
        for row in &self.rows {
            out.write_str("<tr role=\"row\">")?;
            for (column, cell) in row.iter().enumerate() {
                let (class, label) = (class(column), self.headings.get(column));
                let label = Text(label.map_or("", |label| label.trim_start_matches('<')));
                match column {
                    0 => write!(
                        out,
                        "<th scope=\"row\" role=\"rowheader\"{class}>{cell}</th>"
                    )?,
                    _ => write!(
                        out,
                        "<td role=\"cell\" data-label=\"{label}\"{class}>{cell}</td>"
                    )?,
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
        assert_eq!(Text("a & b \u{1b}[1m").to_string(), "a &amp; b \\u{1b}[1m");
        assert_eq!(Name("\u{5d0}b").to_string(), "<bdi>\u{5d0}b</bdi>");
        let prose = Prose("a <b --qps 10").to_string();
        assert_eq!(prose, "a &lt;b <span class=\"whole\">--qps</span> 10");
        let tied = Prose("in (t\u{a0}-\u{a0}1\u{a0}s,").to_string();
        assert_eq!(
            tied,
            "in <span class=\"whole\">(t\u{a0}-\u{a0}1\u{a0}s,</span>"
        );
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
