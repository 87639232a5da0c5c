//! The fields of a job, as objects and tables name them. Floor 4: doors.

/// A field of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Id,
    Method,
    Url,
    Headers,
    Body,
    BodyBase64,
    BodyFile,
    Tokens,
    InputTokens,
    OutputTokens,
    At,
    Key,
    Meta,
}

/// The names of the fields in an object.
pub(super) const NAMES: [&str; 14] = [
    "id",
    "method",
    "url",
    "headers",
    "body",
    "body_base64",
    "body_file",
    "tokens",
    "weight",
    "input_tokens",
    "output_tokens",
    "at",
    "key",
    "meta",
];

/// The same as columns: each header has one of its own.
pub(super) const COLUMNS: [&str; 14] = {
    let mut names = NAMES;
    names[Field::Headers as usize] = "h:NAME";
    names
};

impl Field {
    const COUNT: usize = Self::Meta as usize + 1;

    /// The field of that name; `None` if no job has it.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "id" => Self::Id,
            "method" => Self::Method,
            "url" => Self::Url,
            "headers" => Self::Headers,
            "body" => Self::Body,
            "body_base64" => Self::BodyBase64,
            "body_file" => Self::BodyFile,
            "tokens" | "weight" => Self::Tokens,
            "input_tokens" => Self::InputTokens,
            "output_tokens" => Self::OutputTokens,
            "at" => Self::At,
            "key" => Self::Key,
            "meta" => Self::Meta,
            _ => return None,
        })
    }
}

/// What an object has of each field, as it stands there.
#[derive(Default)]
pub(super) struct Values<'a> {
    values: [Option<&'a str>; Field::COUNT],
    /// Whether its tokens stand there as `weight`.
    is_weight: bool,
}

impl<'a> Values<'a> {
    pub(super) fn of(&self, field: Field) -> Option<&'a str> {
        self.values[field as usize]
    }

    /// All its tokens, and what they are called there.
    pub(super) fn whole(&self) -> (&'static str, Option<&'a str>) {
        let name = if self.is_weight { "weight" } else { "tokens" };
        (name, self.of(Field::Tokens))
    }

    /// What it had of this field before.
    pub(super) fn put(&mut self, field: Field, name: &str, value: &'a str) -> Option<&'a str> {
        self.is_weight |= name == "weight";
        self.values[field as usize].replace(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_its_name_and_weight_is_another_for_tokens() {
        let fields: Vec<_> = NAMES.iter().filter_map(|name| Field::of(name)).collect();
        assert_eq!(fields.len(), NAMES.len());
        let mut places: Vec<_> = fields.iter().map(|field| *field as usize).collect();
        places.dedup();
        assert_eq!(places, (0..Field::COUNT).collect::<Vec<_>>());
        assert_eq!(Field::of("weight"), Field::of("tokens"));
        assert_eq!((Field::of("h:NAME"), Field::of("")), (None, None));
        let different = NAMES
            .iter()
            .zip(COLUMNS)
            .filter(|(name, column)| *name != column);
        assert_eq!(different.collect::<Vec<_>>(), [(&"headers", "h:NAME")]);
    }
}
