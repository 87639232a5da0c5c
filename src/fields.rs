//! The header fields of an answer, in one piece of memory. Floor 2: records.

use std::fmt;
use std::iter;

use http::HeaderName;

/// Names, in lower case, and values in the order in which they came. RFC 9110 §5.
///
/// They are looked through a few times and written once: a map, which hashes every name, costs more.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Fields(
    /// One behind the other: the lengths of name and value, four bytes each, then both.
    Box<[u8]>,
);

impl Fields {
    /// Of fields that HTTP allows: whoever took them off the wire has seen to that.
    pub fn of<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        fields: impl IntoIterator<Item = (N, V)> + Clone,
    ) -> Self {
        let lengths = fields.clone().into_iter().map(|(name, value)| {
            let (name, value) = (name.as_ref(), value.as_ref());
            2 * LENGTH + name.len() + value.len()
        });
        let mut bytes = Vec::with_capacity(lengths.sum());
        for (name, value) in fields {
            let (name, value) = (name.as_ref(), value.as_ref());
            bytes.extend_from_slice(&length(name));
            bytes.extend_from_slice(&length(value));
            let start = bytes.len();
            bytes.extend_from_slice(name);
            bytes[start..].make_ascii_lowercase();
            bytes.extend_from_slice(value);
        }
        Self(bytes.into())
    }

    /// Each name with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
        let mut rest = &*self.0;
        iter::from_fn(move || {
            let (name, behind) = rest.split_first_chunk()?;
            let (value, behind) = behind.split_first_chunk()?;
            let (name, behind) = behind.split_at(number(*name));
            let (value, behind) = behind.split_at(number(*value));
            rest = behind;
            Some((name, value))
        })
    }

    /// The first value of this name; `None` if there is none.
    pub fn get(&self, name: &HeaderName) -> Option<&[u8]> {
        self.get_all(name).next()
    }

    /// All values of this name.
    pub fn get_all(&self, name: &HeaderName) -> impl Iterator<Item = &[u8]> {
        let name = name.as_str().as_bytes();
        let own = self.iter().filter(move |(own, _)| *own == name);
        own.map(|(_, value)| value)
    }
}

/// A value that is ASCII: what other bytes mean is not known. RFC 9110 §5.5.
pub fn text(value: &[u8]) -> Option<&str> {
    str::from_utf8(value).ok().filter(|text| text.is_ascii())
}

const LENGTH: usize = size_of::<u32>();

fn length(part: &[u8]) -> [u8; LENGTH] {
    let length = u32::try_from(part.len()).expect("a head is shorter than 4 GiB");
    length.to_ne_bytes()
}

fn number(length: [u8; LENGTH]) -> usize {
    usize::try_from(u32::from_ne_bytes(length)).expect("it was a length")
}

impl fmt::Debug for Fields {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
        let fields = self.iter();
        out.debug_list()
            .entries(fields.map(|(name, value)| (shown(name), shown(value))))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http::header::{DATE, HeaderValue, RETRY_AFTER, SET_COOKIE};

    use super::*;

    #[test]
    fn fields_stand_in_their_order_with_names_in_lower_case() {
        let fields = Fields::of([("Set-Cookie", "A=1"), ("DATE", ""), ("set-cookie", "B=2")]);
        let all: Vec<_> = fields.iter().collect();
        let expected: [(&[u8], &[u8]); 3] = [
            (b"set-cookie", b"A=1"),
            (b"date", b""),
            (b"set-cookie", b"B=2"),
        ];
        assert_eq!(all, expected);
        assert_eq!(fields.get(&SET_COOKIE), Some(&b"A=1"[..]));
        assert!(fields.get_all(&SET_COOKIE).eq([b"A=1", b"B=2"]));
        assert_eq!(fields.get(&DATE), Some(&b""[..]));
        assert_eq!(fields.get(&RETRY_AFTER), None);
    }

    #[test]
    fn none_are_no_memory() {
        let none = Fields::of::<&str, &str>([]);
        assert_eq!(none, Fields::default());
        assert_eq!((none.0.len(), none.iter().count()), (0, 0));
    }

    #[test]
    fn a_value_may_be_any_bytes_and_is_text_where_the_library_says_so() {
        let values = (0..=u8::MAX).filter_map(|byte| HeaderValue::from_bytes(&[b'a', byte]).ok());
        let map: HeaderMap = values.map(|value| (DATE, value)).collect();
        let fields = Fields::of(&map);
        assert!(fields.get_all(&DATE).eq(map.get_all(DATE)));
        for value in map.values() {
            assert_eq!(text(value.as_bytes()), value.to_str().ok(), "{value:?}");
        }
    }
}
