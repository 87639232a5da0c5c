//! Elements of a JSON array, however they are spread over lines; what stands beside the array is passed over. Floor 4: doors.

use memchr::memchr2;

use super::cuts::{Cut, Cutter, Rest};
use super::record::End;

/// Finds the elements of the array that these names lead to, from object to object; without names those of any number
/// of arrays, and objects outside of one.
///
/// Only brackets, strings and commas are looked at: whether an element is JSON is for its reader to say.
pub(super) struct Elements {
    path: &'static [&'static str],
    /// Where to look on.
    at: usize,
    place: Place,
    value: Value,
    name: Name,
    /// Whether the array was there; without names, whether one is open.
    is_found: bool,
}

/// Where in the text it is. Objects on the way are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    /// A name is due, or the end of the object.
    Opened(usize),
    /// A name is due.
    Comma(usize),
    InName(usize),
    Colon(usize),
    Value(usize),
    /// In a value that is passed over.
    Beside(usize),
    /// A comma is due, or the end of the object.
    Next(usize),
    /// An element is due, or the end of the array.
    First,
    /// An element is due.
    Due,
    /// In an element that begins here.
    Element(usize),
    /// A comma is due, or the end of the array.
    Behind,
    /// Behind the outermost object.
    Closed,
    Over,
}

impl Elements {
    pub(super) fn new(path: &'static [&'static str]) -> Self {
        Self {
            path,
            at: 0,
            place: Place::Outside,
            value: Value::default(),
            name: Name::default(),
            is_found: false,
        }
    }

    /// Where the array ends.
    fn behind_array(&mut self) -> Place {
        match self.path.len() {
            0 => {
                self.is_found = false;
                Place::Outside
            }
            objects => Place::Next(objects - 1),
        }
    }

    fn behind_object(object: usize) -> Place {
        match object {
            0 => Place::Closed,
            inner => Place::Next(inner - 1),
        }
    }

    /// Goes into the value of the name that was looked for, if it is what that should be.
    fn enter(&mut self, object: usize, byte: u8) -> Option<Place> {
        let is_last = object + 1 == self.path.len();
        match byte {
            b'[' if is_last => {
                self.is_found = true;
                Some(Place::First)
            }
            b'{' if !is_last => Some(Place::Opened(object + 1)),
            _ => None,
        }
    }

    /// Goes on by a byte that is no blank, in no value and no name; or why it cannot.
    fn step(&mut self, byte: u8) -> Result<(), &'static str> {
        let here = self.at;
        let begins_value = !matches!(byte, b',' | b'}' | b']' | b':');
        self.place = match (self.place, byte) {
            (Place::Outside, b'[') if self.path.is_empty() => {
                self.is_found = true;
                Place::First
            }
            (Place::Outside, b'{') if self.path.is_empty() => Place::Element(here),
            (Place::Outside, b'{') => Place::Opened(0),
            (Place::Opened(object) | Place::Comma(object), b'"') => {
                self.name = Name::default();
                Place::InName(object)
            }
            (Place::Opened(object) | Place::Next(object), b'}') => Self::behind_object(object),
            (Place::Colon(object), b':') => Place::Value(object),
            (Place::Value(object), _) if self.name.is(self.path[object]) => {
                self.enter(object, byte).ok_or(NO_ARRAY)?
            }
            (Place::Value(object), _) if begins_value => Place::Beside(object),
            (Place::Next(object), b',') => Place::Comma(object),
            (Place::First | Place::Behind, b']') => self.behind_array(),
            (Place::First | Place::Due, _) if begins_value => Place::Element(here),
            (Place::Behind, b',') => Place::Due,
            (Place::Behind, _) => return Err("between two elements a comma is due"),
            (Place::First | Place::Due, _) => return Err("here an element of the array is due"),
            (Place::Outside, _) if !self.path.is_empty() => return Err("here an object is due"),
            (Place::Outside, _) => return Err("here an array or an object is due"),
            (Place::Closed, _) => return Err("something stands behind the end of the object"),
            _ => return Err("here the object is not as JSON has it"),
        };
        match self.place {
            Place::Element(_) | Place::Beside(_) => self.value = Value::default(),
            _ => self.at += 1,
        }
        Ok(())
    }

    /// Behind the last byte.
    fn end(&self) -> Result<(), &'static str> {
        match self.place {
            Place::Outside | Place::Over => Ok(()),
            Place::Closed if self.is_found => Ok(()),
            Place::Closed => Err(NO_ARRAY),
            Place::Element(_) => Err("input ends inside a record"),
            Place::First | Place::Due | Place::Behind => Err("input ends inside the array"),
            _ => Err("input ends inside an object"),
        }
    }

    fn broken(&mut self, from: usize, to: usize, why: &'static str) -> Cut {
        self.place = Place::Over;
        self.at = to;
        Cut::Broken { at: from..to, why }
    }
}

const NO_ARRAY: &str = "the array of records is not where it should be";

impl Cutter for Elements {
    fn cut(&mut self, bytes: &[u8], rest: Rest) -> Cut {
        loop {
            if self.place == Place::Over {
                return Cut::Over;
            }
            match self.place {
                Place::Element(_) | Place::Beside(_) => {
                    let has_ended = self.value.goes_on(bytes, &mut self.at);
                    match self.place {
                        Place::Element(from) if has_ended => {
                            self.place = if self.is_found {
                                Place::Behind
                            } else {
                                Place::Outside
                            };
                            return Cut::Record {
                                at: from..self.at,
                                end: End::Mark,
                                behind: self.at,
                            };
                        }
                        Place::Beside(object) if has_ended => self.place = Place::Next(object),
                        _ => {}
                    }
                }
                Place::InName(object) => {
                    if self.name.goes_on(bytes, &mut self.at) {
                        self.place = Place::Colon(object);
                    }
                }
                _ => {
                    let blanks = bytes[self.at..].iter().take_while(|byte| is_blank(**byte));
                    self.at += blanks.count();
                    if let Some(byte) = bytes.get(self.at)
                        && let Err(why) = self.step(*byte)
                    {
                        return self.broken(self.at, self.at, why);
                    }
                }
            }
            if self.at == bytes.len() {
                let from = match self.place {
                    Place::Element(from) => from,
                    _ => self.at,
                };
                if rest == Rest::Unknown {
                    return Cut::More(from);
                }
                // What ends only by what stands behind it has ended.
                if let Err(why) = self.end() {
                    return self.broken(from, bytes.len(), why);
                }
                self.place = Place::Over;
            }
        }
    }

    fn let_go(&mut self, bytes: usize) {
        self.at -= bytes;
        if let Place::Element(from) = &mut self.place {
            *from = from.saturating_sub(bytes);
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// To the end of a value, from its first byte.
#[derive(Default)]
struct Value {
    /// Brackets that are open.
    depth: usize,
    within: Within,
}

#[derive(Clone, Copy, Default)]
enum Within {
    /// Before its first byte.
    #[default]
    Nothing,
    Brackets,
    String,
    /// Behind the backslash of a string.
    Escape,
    /// A number or a bare word.
    Word,
}

impl Value {
    /// Whether it has ended; where to look on.
    fn goes_on(&mut self, bytes: &[u8], at: &mut usize) -> bool {
        while let Some(byte) = bytes.get(*at) {
            match self.within {
                Within::Nothing => {
                    *at += 1;
                    self.within = match byte {
                        b'{' | b'[' => {
                            self.depth = 1;
                            Within::Brackets
                        }
                        b'"' => Within::String,
                        _ => Within::Word,
                    };
                }
                Within::Brackets => {
                    *at += 1;
                    match byte {
                        b'"' => self.within = Within::String,
                        b'{' | b'[' => self.depth += 1,
                        b'}' | b']' => {
                            self.depth -= 1;
                            if self.depth == 0 {
                                return true;
                            }
                        }
                        _ => {}
                    }
                }
                Within::String => match memchr2(b'"', b'\\', &bytes[*at..]) {
                    Some(plain) => {
                        *at += plain + 1;
                        self.within = match bytes[*at - 1] {
                            b'"' if self.depth == 0 => return true,
                            b'"' => Within::Brackets,
                            _ => Within::Escape,
                        };
                    }
                    None => *at = bytes.len(),
                },
                Within::Escape => {
                    *at += 1;
                    self.within = Within::String;
                }
                Within::Word => {
                    if is_blank(*byte) || matches!(byte, b',' | b']' | b'}') {
                        return true;
                    }
                    *at += 1;
                }
            }
        }
        false
    }
}

/// The name of a member.
#[derive(Default)]
struct Name {
    text: Vec<u8>,
    is_escaped: bool,
    /// It has an escape or is too long: none that is looked for.
    is_other: bool,
}

impl Name {
    /// No name that is looked for is longer.
    const LONGEST: usize = 64;

    /// Whether it has ended; where to look on.
    fn goes_on(&mut self, bytes: &[u8], at: &mut usize) -> bool {
        while let Some(byte) = bytes.get(*at) {
            *at += 1;
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'"' => return true,
                b'\\' => {
                    self.is_escaped = true;
                    self.is_other = true;
                }
                _ if self.text.len() == Self::LONGEST => self.is_other = true,
                byte => self.text.push(*byte),
            }
        }
        false
    }

    fn is(&self, name: &str) -> bool {
        !self.is_other && self.text == name.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::cuts::cut_in_pieces;
    use super::super::record::Extent;
    use super::*;

    /// The elements with their places, and why there are no more.
    fn cut(text: &[u8], path: &'static [&'static str], piece: usize) -> Vec<String> {
        let mut cuts = cut_in_pieces(text, piece, Elements::new(path));
        let mut seen = Vec::new();
        while let Some(record) = cuts.next().unwrap() {
            let text = String::from_utf8_lossy(record.bytes);
            let why = match record.extent {
                Extent::Broken(why) => why,
                Extent::Whole | Extent::Longer { .. } => "",
            };
            seen.push(format!("{}:{} {text}{why}", record.line, record.before + 1));
        }
        seen
    }

    fn all_ways(text: &str, path: &'static [&'static str]) -> Vec<String> {
        let whole = cut(text.as_bytes(), path, usize::MAX);
        for piece in [1, 2, 3, 7] {
            assert_eq!(cut(text.as_bytes(), path, piece), whole, "{piece}");
        }
        whole
    }

    #[test]
    fn elements_are_found_wherever_they_stand() {
        let text = "\u{feff} [ {\"a\":\"]\\\"}\"},\r\n\n  [1,[2]] , 3\n,\"x,y\",null]\n";
        let wanted = [
            "1:4 {\"a\":\"]\\\"}\"}",
            "3:3 [1,[2]]",
            "3:13 3",
            "4:2 \"x,y\"",
            "4:8 null",
        ];
        assert_eq!(all_ways(text, &[]), wanted);
        assert_eq!(all_ways("[]", &[]), [""; 0]);
        assert_eq!(all_ways(" \n", &[]), [""; 0]);
    }

    #[test]
    fn objects_need_no_array_around_them() {
        let text = "{\n\"a\":1\n}\n{\"b\":2}[{\"c\":3}] []";
        assert_eq!(
            all_ways(text, &[]),
            ["1:1 {\n\"a\":1\n}", "4:1 {\"b\":2}", "4:9 {\"c\":3}"]
        );
    }

    #[test]
    fn what_stands_beside_the_array_is_passed_over() {
        let text = r#"{"v":"entries","log":{"pages":[{"entries":[1]}],"n":-1.5e3,"entries":[{"a":1},{"b":[]}],"x":null},"entries":[2]}"#;
        assert_eq!(
            all_ways(text, &["log", "entries"]),
            ["1:71 {\"a\":1}", "1:79 {\"b\":[]}"]
        );
        let empty = r#"{"log":{"entries":[]}}"#;
        assert_eq!(all_ways(empty, &["log", "entries"]), [""; 0]);
    }

    #[test]
    fn a_text_that_breaks_is_told_where_it_does() {
        let elements: &[(&str, &[&str])] = &[
            (
                "[{} {}]",
                &["1:2 {}", "1:5 between two elements a comma is due"],
            ),
            (
                "[{},]",
                &["1:2 {}", "1:5 here an element of the array is due"],
            ),
            (
                "[{},\n{\"a\":",
                &["1:2 {}", "2:1 {\"a\":input ends inside a record"],
            ),
            ("[{}", &["1:2 {}", "1:4 input ends inside the array"]),
            (
                "[{}]x",
                &["1:2 {}", "1:5 here an array or an object is due"],
            ),
        ];
        for (text, wanted) in elements {
            assert_eq!(all_ways(text, &[]), *wanted, "{text}");
        }
        let in_object: &[(&str, &[&str])] = &[
            ("[]", &["1:1 here an object is due"]),
            (
                "{\"b\":1}",
                &["1:8 the array of records is not where it should be"],
            ),
            (
                "{\"a\":{}}",
                &["1:6 the array of records is not where it should be"],
            ),
            ("{\"a\":[1]", &["1:7 1", "1:9 input ends inside an object"]),
            (
                "{\"a\":[1]}{}",
                &[
                    "1:7 1",
                    "1:10 something stands behind the end of the object",
                ],
            ),
            ("{\"a\" 1}", &["1:6 here the object is not as JSON has it"]),
            (
                "{\"b\":,\"a\":[]}",
                &["1:6 here the object is not as JSON has it"],
            ),
        ];
        for (text, wanted) in in_object {
            assert_eq!(all_ways(text, &["a"]), *wanted, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_json_is_taken_apart_as_serde_does(
            values in prop::collection::vec(json_value(), 0..6),
            pretty in any::<bool>(),
            piece in 1_usize..20,
        ) {
            let array = serde_json::Value::Array(values.clone());
            let text = if pretty {
                serde_json::to_string_pretty(&array).unwrap()
            } else {
                array.to_string()
            };
            let beside = format!("{{\"b\":{text},\"a\":{text}}}");
            for (text, path) in [(&text, &[][..]), (&beside, &["a"][..])] {
                let mut cuts = cut_in_pieces(text.as_bytes(), piece, Elements::new(path));
                let mut found = Vec::new();
                while let Some(record) = cuts.next().unwrap() {
                    prop_assert_eq!(record.extent, Extent::Whole);
                    found.push(serde_json::from_slice::<serde_json::Value>(record.bytes).unwrap());
                }
                prop_assert_eq!(&found, &values);
            }
        }

        #[test]
        fn any_bytes_come_to_an_end(
            text in "[\\[\\]{}\",: a1\\\\\n]{0,40}",
            piece in 1_usize..9,
            deep in any::<bool>(),
        ) {
            let path: &[&str] = if deep { &["a", "a"] } else { &[] };
            let whole = cut(text.as_bytes(), path, usize::MAX);
            prop_assert_eq!(cut(text.as_bytes(), path, piece), whole);
        }
    }

    fn json_value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<i32>().prop_map(Into::into),
            "[a-z\"\\\\\\[{\u{e9}\n]{0,6}".prop_map(Into::into),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::btree_map("[ab\"]{0,2}", inner, 0..4)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }
}
