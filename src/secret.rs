//! Names whose values are credentials, and may be neither kept nor shown. Floor 1: words.

use std::fmt;
use std::sync::Arc;

/// Texts that are shown as `***` wherever they stand.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Hidden(Option<Arc<Vec<Box<str>>>>);

impl Hidden {
    /// One more of them.
    pub fn add(&mut self, text: &str) {
        let texts = Arc::make_mut(self.0.get_or_insert_default());
        texts.push(text.into());
        // One that is a part of another would leave the rest of it.
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    }

    /// The text without them.
    pub fn mask(&self, text: String) -> String {
        let hidden = self.0.iter().flat_map(|texts| texts.iter());
        hidden.fold(text, |text, hidden| text.replace(&**hidden, "***"))
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("***")
    }
}

/// Headers that are credentials and nothing else. Results are matched by hashes that leave them out: the
/// list stays as it is.
const CREDENTIALS: [&str; 5] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-api-key",
    "api-key",
];

/// A header with one of these in its name may be a credential: too many are better than too few.
const PARTS_OF_HEADERS: [&str; 13] = [
    "auth",
    "bearer",
    "cookie",
    "credential",
    "csrf",
    "jwt",
    "key",
    "pass",
    "secret",
    "session",
    "sig",
    "token",
    "xsrf",
];

/// The same of a field of a job or of its body, without `-` and `_`. Fewer: many fields count tokens or
/// name a key that is none.
const PARTS_OF_FIELDS: [&str; 10] = [
    "accesskey",
    "apikey",
    "authorization",
    "bearer",
    "credential",
    "passphrase",
    "password",
    "passwd",
    "privatekey",
    "secret",
];

/// Whether a header, in lower case, is a credential, and a job keeps its hash when that is changed.
pub fn is_credential(header: &[u8]) -> bool {
    CREDENTIALS.iter().any(|name| name.as_bytes() == header)
}

/// What answers hand out to be sent again as a credential. No part of a name will do here: `x-ratelimit-limit-tokens`
/// counts, and `x-continuation-token` names a page.
const HANDED_OUT: [&str; 7] = [
    "set-cookie",
    "set-cookie2",
    "x-amz-security-token",
    "x-auth-token",
    "x-csrf-token",
    "x-subject-token",
    "x-xsrf-token",
];

/// Whether a header of an answer, in lower case, is a credential: one of those that requests have, or one that is handed
/// out.
pub fn is_credential_of_answer(header: &[u8]) -> bool {
    let mut handed_out = HANDED_OUT.iter();
    is_credential(header) || handed_out.any(|name| name.as_bytes() == header)
}

/// Tells a request from others, and nobody from others: without it a redirect to another server would have that do
/// twice what is tried twice.
const NONE: [&str; 2] = ["idempotency-key", "x-idempotency-key"];

/// Whether the value of a header may be a credential.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PARTS_OF_HEADERS.iter().any(|part| name.contains(part)) && !NONE.contains(&&*name)
}

/// Whether what these steps lead to, from the whole of a job's line, may be or hold a credential.
pub fn is_secret_field(steps: &[Box<str>]) -> bool {
    match steps {
        [] => true,
        [first, rest @ ..] if **first == *"headers" => {
            rest.first().is_none_or(|name| is_secret_header(name))
        }
        steps => steps.iter().any(|step| {
            let name = step.to_ascii_lowercase().replace(['-', '_'], "");
            name.ends_with("token") || PARTS_OF_FIELDS.iter().any(|part| name.contains(part))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Pointer;

    #[test]
    fn a_credential_of_an_answer_is_known_and_what_counts_or_names_a_page_is_none() {
        for name in ["set-cookie", "x-auth-token", "authorization", "x-api-key"] {
            assert!(is_credential_of_answer(name.as_bytes()), "{name}");
        }
        for name in [
            "x-ratelimit-limit-tokens",
            "anthropic-ratelimit-tokens-remaining",
            "x-continuation-token",
            "etag",
            "x-request-id",
        ] {
            assert!(!is_credential_of_answer(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn what_is_hidden_is_nowhere_in_a_text() {
        let mut hidden = Hidden::default();
        assert_eq!(hidden.mask("abc".to_owned()), "abc");
        hidden.add("b");
        hidden.add("abc");
        assert_eq!(hidden.mask("xabcbx".to_owned()), "x******x");
        assert_eq!(format!("{hidden:?}"), "***");
    }

    #[test]
    fn headers_that_may_be_credentials_are_known() {
        for name in [
            "Authorization",
            "proxy-authorization",
            "Cookie",
            "x-api-key",
            "api-key",
            "Ocp-Apim-Subscription-Key",
            "x-goog-api-key",
            "x-amz-security-token",
            "X-Auth",
            "x-client-secret",
        ] {
            assert!(is_secret_header(name), "{name}");
        }
        for credential in CREDENTIALS {
            assert!(is_secret_header(credential), "{credential}");
        }
        for name in [
            "x-tenant",
            "content-type",
            "openai-organization",
            "x-model",
            "Idempotency-Key",
        ] {
            assert!(!is_secret_header(name), "{name}");
        }
    }

    #[test]
    fn fields_that_lead_to_credentials_are_known() {
        let secret = |text: &str| is_secret_field(text.parse::<Pointer>().unwrap().steps());
        for text in [
            "",
            "/headers",
            "/headers/Authorization",
            "/headers/X-API-Key/0",
            "/body/api_key",
            "/body/access_token",
            "/meta/client-secret/0",
        ] {
            assert!(secret(text), "{text}");
        }
        for text in [
            "/key",
            "/id",
            "/meta/tenant",
            "/meta/key",
            "/headers/x-tenant",
            "/body/model",
            "/body/max_tokens",
        ] {
            assert!(!secret(text), "{text}");
        }
    }
}
