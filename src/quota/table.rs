//! The table of providers, one row each, with the page that says so. Floor 3: rules.

use std::time::Duration;

use super::Means::{Full, Over};
use super::provider::Form::{After, Moment, Span, Used};
use super::provider::{Provider, Told};

const SECOND: Option<Duration> = Some(Duration::from_secs(1));
const MINUTE: Option<Duration> = Some(Duration::from_secs(60));
const DAY: Option<Duration> = Some(Duration::from_secs(86_400));

/// The first that fits is taken: answers of Azure may have the marks of `OpenAI`, too.
pub(super) static PROVIDERS: [Provider; 12] = [
    // learn.microsoft.com, "Azure OpenAI quotas and limits": the fields of OpenAI, resets in whole seconds.
    Provider {
        hosts: &[
            "openai.azure.com",
            "cognitiveservices.azure.com",
            "services.ai.azure.com",
        ],
        marks: &["apim-request-id", "azureml-model-session", "x-ms-region"],
        limits: &[
            Told::requests(MINUTE, "x-ratelimit-*-requests"),
            Told::tokens(MINUTE, "x-ratelimit-*-tokens"),
        ],
        ..Provider::new("azure", Span, Over)
    },
    // developers.openai.com, "Rate limits": the reset is "the time until the rate limit resets to its
    // initial state". `tokens_usage_based` is in its answers, not on that page.
    Provider {
        hosts: &["openai.com"],
        marks: &["openai-version", "openai-organization"],
        limits: &[
            Told::requests(MINUTE, "x-ratelimit-*-requests"),
            Told::tokens(MINUTE, "x-ratelimit-*-tokens"),
            Told::tokens(MINUTE, "x-ratelimit-*-tokens_usage_based").called("tokens_usage_based"),
        ],
        ..Provider::new("openai", Span, Full)
    },
    // console.groq.com/docs/rate-limits: requests are always those of a day, tokens those of a minute.
    Provider {
        hosts: &["groq.com"],
        marks: &["x-groq-region"],
        limits: &[
            Told::requests(DAY, "x-ratelimit-*-requests"),
            Told::tokens(MINUTE, "x-ratelimit-*-tokens"),
        ],
        ..Provider::new("groq", Span, Full)
    },
    // docs.together.ai/docs/rate-limits: measured "in requests per second (RPS) and tokens per second (TPS)".
    Provider {
        hosts: &["together.xyz", "together.ai"],
        marks: &["x-tokenlimit-limit"],
        limits: &[
            Told::requests(SECOND, "x-ratelimit-*"),
            Told::tokens(SECOND, "x-tokenlimit-*"),
            Told::tokens(SECOND, "x-ratelimit-*-tokens"),
        ],
        ..Provider::new("together", Span, Full)
    },
    // docs.anthropic.com, "Rate limits": the reset is when a limit "will be fully replenished, provided in
    // RFC 3339 format"; that of `unified`, which subscriptions have, is in seconds since the epoch.
    Provider {
        hosts: &["anthropic.com"],
        marks: &["anthropic-ratelimit-*"],
        limits: &[
            Told::requests(MINUTE, "anthropic-ratelimit-requests-*"),
            Told::tokens(MINUTE, "anthropic-ratelimit-tokens-*"),
            Told::input(MINUTE, "anthropic-ratelimit-input-tokens-*"),
            Told::output(MINUTE, "anthropic-ratelimit-output-tokens-*"),
            Told::tokens(None, "anthropic-ratelimit-unified-*").called("unified"),
        ],
        ..Provider::new("anthropic", Moment, Full)
    },
    // docs.github.com, "Rate limits for the REST API": windows of an hour or a minute by the resource. After
    // a refusal without a header: "wait for at least one minute before retrying".
    Provider {
        hosts: &["github.com"],
        marks: &["x-github-request-id"],
        named_by: Some("x-ratelimit-resource"),
        limits: &[Told::requests(None, "x-ratelimit-*")],
        unsaid: MINUTE,
        ..Provider::new("github", Moment, Over)
    },
    // docs.discord.com, "Rate Limits": a bucket that routes share is named by a field of its own.
    Provider {
        hosts: &["discord.com", "discordapp.com"],
        marks: &["x-ratelimit-bucket", "x-ratelimit-reset-after"],
        named_by: Some("x-ratelimit-bucket"),
        limits: &[Told::requests(None, "x-ratelimit-*")],
        ..Provider::new("discord", After, Over)
    },
    // ai.google.dev/gemini-api/docs/rate-limits: no fields; what a refusal says is in its body.
    Provider {
        hosts: &["googleapis.com"],
        ..Provider::unknown("gemini")
    },
    // developers.gorgias.com, "Rate Limits": a leaky bucket; its time depends on the account.
    Provider {
        hosts: &["gorgias.com"],
        marks: &["x-gorgias-account-api-call-limit"],
        limits: &[Told::requests(None, "x-gorgias-account-api-call-limit").called("account")],
        ..Provider::new("gorgias", Used, Full)
    },
    // shopify.dev, "REST Admin API rate limits": the same; its rate depends on the plan.
    Provider {
        hosts: &["myshopify.com"],
        marks: &["x-shopify-shop-api-call-limit"],
        limits: &[Told::requests(None, "x-shopify-shop-api-call-limit").called("shop")],
        ..Provider::new("shopify", Used, Full)
    },
    // The fields of the IETF are read in all answers: this row forbids to read others.
    Provider::unknown("ietf"),
    // Anything else that has such fields.
    Provider {
        marks: &["x-ratelimit-*", "x-rate-limit-*"],
        limits: &[
            Told::requests(None, "x-ratelimit-*"),
            Told::requests(None, "x-ratelimit-*-requests"),
            Told::tokens(None, "x-ratelimit-*-tokens"),
        ],
        ..Provider::unknown("generic")
    },
];

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::super::tests::{WALL, head_at};
    use super::super::{Quota, Word, of_head};
    use super::*;

    /// What an answer says that came at 2013-07-01T17:27:06Z by its own clock.
    fn said(provider: Option<&str>, status: u16, fields: &[(&str, &str)]) -> Word {
        let date: (&str, &[u8]) = ("date", b"Mon, 01 Jul 2013 17:27:06 GMT");
        let fields = fields.iter().map(|(name, text)| (*name, text.as_bytes()));
        let fields: Vec<_> = fields.chain([date]).collect();
        let provider = provider.map(|name| Provider::named(name).unwrap());
        of_head(&head_at(UNIX_EPOCH + WALL, status, &fields), provider)
    }

    /// A quota on one line: name, `remaining/limit` per seconds, reset.
    fn line(quota: &Quota) -> String {
        let number =
            |number: Option<u64>| number.map_or("?".to_owned(), |number| number.to_string());
        let period = quota.period.map(|period| period.as_secs());
        let (left, limit) = (number(quota.remaining), number(quota.limit));
        let reset = quota
            .reset
            .map_or("?".to_owned(), |reset| format!("{reset:?}"));
        format!(
            "{} {:?} {left}/{limit} per {} {:?} in {reset}",
            quota.name,
            quota.counts,
            number(period),
            quota.means
        )
    }

    fn lines(word: &Word) -> Vec<String> {
        word.quotas.iter().map(line).collect()
    }

    #[test]
    fn openai_tells_requests_and_tokens_of_a_minute() {
        // The example of its page, "Rate limits". Its tokens cannot be those of a minute.
        let page = [
            ("x-ratelimit-limit-requests", "60"),
            ("x-ratelimit-limit-tokens", "150000"),
            ("x-ratelimit-remaining-requests", "59"),
            ("x-ratelimit-remaining-tokens", "149984"),
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ];
        let told = [
            "requests Requests 59/60 per 60 Full in 1s",
            "tokens Units 149984/150000 per ? Full in 360s",
        ];
        assert_eq!(lines(&said(Some("openai"), 200, &page)), told);
    }

    #[test]
    fn a_reset_beyond_the_period_says_that_it_is_another() {
        // As openai.com answered to an account with 200 requests a day.
        let word = said(
            None,
            200,
            &[
                ("openai-version", "2020-10-01"),
                ("x-ratelimit-limit-requests", "200"),
                ("x-ratelimit-limit-tokens", "40000"),
                ("x-ratelimit-limit-tokens_usage_based", "40000"),
                ("x-ratelimit-remaining-requests", "197"),
                ("x-ratelimit-remaining-tokens", "39929"),
                ("x-ratelimit-remaining-tokens_usage_based", "39929"),
                ("x-ratelimit-reset-requests", "16m17.764s"),
                ("x-ratelimit-reset-tokens", "106ms"),
                ("x-ratelimit-reset-tokens_usage_based", "106ms"),
            ],
        );
        let told = [
            "requests Requests 197/200 per ? Full in 977.764s",
            "tokens Units 39929/40000 per 60 Full in 106ms",
            "tokens_usage_based Units 39929/40000 per 60 Full in 106ms",
        ];
        assert_eq!(lines(&word), told);
        assert_eq!(word.wait, None);
    }

    #[test]
    fn a_request_comes_back_before_the_limit_is_full_and_tokens_are_waited_for() {
        let spent = |which: &str, reset: &str| {
            let names =
                ["limit", "remaining", "reset"].map(|part| format!("x-ratelimit-{part}-{which}"));
            let values = ["3", "0", reset];
            let fields: Vec<_> = names.iter().map(String::as_str).zip(values).collect();
            said(Some("openai"), 429, &fields).wait
        };
        assert_eq!(spent("requests", "1m0s"), Some(Duration::from_secs(20)));
        assert_eq!(spent("tokens", "1m0s"), Some(Duration::from_secs(60)));
        assert_eq!(spent("requests", "0s"), None);
    }

    #[test]
    fn azure_tells_seconds_and_leaves_out_by_minus_one_and_zero() {
        // openai-dotnet#838.
        let left_out = [
            ("apim-request-id", "bb943c68"),
            ("x-ratelimit-limit-tokens", "-1"),
            ("x-ratelimit-remaining-tokens", "-1"),
            ("x-ratelimit-reset-tokens", "0"),
            ("x-ratelimit-limit-requests", "0"),
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "0"),
        ];
        assert_eq!(said(None, 429, &left_out), Word::default());
        // openai-python#937: one field with another dash, and nothing else of tokens.
        let other = [
            ("x-rate-limit-reset-tokens", "55"),
            ("apim-request-id", "bb943c68"),
            ("x-ratelimit-remaining-requests", "79"),
        ];
        let word = said(None, 429, &other);
        assert_eq!(word.wait, Some(Duration::from_secs(55)));
        let told = [
            "requests Requests 79/? per 60 Over in ?",
            "tokens Units ?/? per 60 Over in 55s",
        ];
        assert_eq!(lines(&word), told);
        assert_eq!(said(None, 200, &other).wait, None);
    }

    #[test]
    fn groq_tells_requests_of_a_day_and_tokens_of_a_minute() {
        // The table of console.groq.com/docs/rate-limits.
        let page = [
            ("x-ratelimit-limit-requests", "14400"),
            ("x-ratelimit-limit-tokens", "18000"),
            ("x-ratelimit-remaining-requests", "14370"),
            ("x-ratelimit-remaining-tokens", "17997"),
            ("x-ratelimit-reset-requests", "2m59.56s"),
            ("x-ratelimit-reset-tokens", "7.66s"),
        ];
        let told = [
            "requests Requests 14370/14400 per 86400 Full in 179.56s",
            "tokens Units 17997/18000 per 60 Full in 7.66s",
        ];
        assert_eq!(lines(&said(Some("groq"), 200, &page)), told);
        let marked: Vec<_> = page.into_iter().chain([("x-groq-region", "fra")]).collect();
        assert_eq!(lines(&said(None, 200, &marked)), told);
        let refused: Vec<_> = page.into_iter().chain([("retry-after", "2")]).collect();
        let wait = said(Some("groq"), 429, &refused).wait;
        assert_eq!(wait, Some(Duration::from_secs(2)));
    }

    #[test]
    fn together_tells_those_of_a_second() {
        let word = said(
            None,
            200,
            &[
                ("x-ratelimit-limit", "10"),
                ("x-ratelimit-remaining", "9"),
                ("x-ratelimit-reset", "0.1"),
                ("x-tokenlimit-limit", "3000"),
                ("x-tokenlimit-remaining", "2790"),
            ],
        );
        let told = [
            "requests Requests 9/10 per 1 Full in 100ms",
            "tokens Units 2790/3000 per 1 Full in ?",
        ];
        assert_eq!(lines(&word), told);
    }

    #[test]
    fn anthropic_tells_four_limits_and_dates() {
        let word = said(
            None,
            429,
            &[
                ("anthropic-ratelimit-requests-limit", "50"),
                ("anthropic-ratelimit-requests-remaining", "49"),
                ("anthropic-ratelimit-requests-reset", "2013-07-01T17:27:08Z"),
                ("anthropic-ratelimit-tokens-limit", "50000"),
                ("anthropic-ratelimit-tokens-remaining", "0"),
                ("anthropic-ratelimit-tokens-reset", "2013-07-01T17:27:36Z"),
                ("anthropic-ratelimit-input-tokens-limit", "40000"),
                ("anthropic-ratelimit-input-tokens-remaining", "0"),
                (
                    "anthropic-ratelimit-input-tokens-reset",
                    "2013-07-01T17:27:50Z",
                ),
                ("anthropic-ratelimit-output-tokens-limit", "10000"),
                ("anthropic-ratelimit-output-tokens-remaining", "9000"),
                (
                    "anthropic-ratelimit-output-tokens-reset",
                    "2013-07-01T17:27:05Z",
                ),
                ("anthropic-ratelimit-unified-reset", "1372700873"),
                ("anthropic-ratelimit-unified-remaining", "1"),
            ],
        );
        let told = [
            "requests Requests 49/50 per 60 Full in 2s",
            "tokens Units 0/50000 per 60 Full in 30s",
            "input-tokens Input 0/40000 per 60 Full in 44s",
            "output-tokens Output 9000/10000 per 60 Full in 0ns",
            "unified Units 1/? per ? Full in 1247s",
        ];
        assert_eq!(lines(&word), told);
        assert_eq!(
            word.wait,
            Some(Duration::from_secs(44)),
            "the longest of the spent"
        );
    }

    #[test]
    fn github_tells_seconds_since_the_epoch_and_refuses_with_403() {
        // The example of its page, "Rate limits for the REST API", once with nothing left.
        let page = |remaining| {
            [
                ("x-github-request-id", "C0DE:1"),
                ("x-ratelimit-limit", "60"),
                ("x-ratelimit-remaining", remaining),
                ("x-ratelimit-reset", "1372700873"),
                ("x-ratelimit-resource", "core"),
            ]
        };
        let fine = said(None, 403, &page("56"));
        assert_eq!(lines(&fine), ["core Requests 56/60 per ? Over in 1247s"]);
        let spent = said(None, 403, &page("0"));
        assert_eq!(spent.wait, Some(Duration::from_secs(1247)));
        let refused = |word: &Word| word.refuses(http::StatusCode::FORBIDDEN);
        assert_eq!((refused(&fine), refused(&spent)), (false, true));
    }

    #[test]
    fn github_is_waited_for_a_minute_if_a_refusal_says_nothing() {
        let minute = Some(Duration::from_secs(60));
        assert_eq!(said(Some("github"), 429, &[]).wait, minute);
        let some_left = [
            ("x-ratelimit-remaining", "57"),
            ("x-ratelimit-reset", "1372700873"),
        ];
        assert_eq!(said(Some("github"), 429, &some_left).wait, minute);
        assert_eq!(said(Some("github"), 503, &some_left).wait, None);
        assert_eq!(said(None, 429, &[]).wait, None);
        let resets_now = [
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "784111777"),
        ];
        assert_eq!(said(Some("github"), 429, &resets_now).wait, None);
    }

    #[test]
    fn discord_tells_a_bucket_and_the_time_to_its_reset() {
        // The example of its page, "Rate Limits".
        let word = said(
            None,
            429,
            &[
                ("x-ratelimit-limit", "10"),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "1470173023.123"),
                ("x-ratelimit-reset-after", "64.57"),
                ("x-ratelimit-bucket", "abcd1234"),
                ("x-ratelimit-scope", "user"),
            ],
        );
        assert_eq!(
            lines(&word),
            ["abcd1234 Requests 0/10 per ? Over in 64.57s"]
        );
        assert_eq!(word.wait, Some(Duration::from_millis(64_570)));
    }

    #[test]
    fn the_shops_tell_what_is_used_of_a_bucket() {
        for (name, text, told) in [
            (
                "X-Gorgias-Account-Api-Call-Limit",
                "10/40",
                "account Requests 30/40 per ? Full in ?",
            ),
            (
                "X-Shopify-Shop-Api-Call-Limit",
                "32/40",
                "shop Requests 8/40 per ? Full in ?",
            ),
            (
                "X-Shopify-Shop-Api-Call-Limit",
                "41/40",
                "shop Requests 0/40 per ? Full in ?",
            ),
        ] {
            assert_eq!(lines(&said(None, 200, &[(name, text)])), [told]);
        }
        for wrong in ["", "/", "10", "10/", "/40", "a/b", "-1/40", "1/2/3", "0/0"] {
            let fields = [("x-gorgias-account-api-call-limit", wrong)];
            assert_eq!(said(None, 200, &fields), Word::default(), "{wrong}");
        }
    }

    #[test]
    fn who_is_not_known_is_not_guessed_from_the_size_of_a_number() {
        let plain = |reset| {
            let fields = [
                ("X-RateLimit-Limit", "100"),
                ("X-RateLimit-Remaining", "0"),
                ("X-RateLimit-Reset", reset),
            ];
            let word = said(None, 429, &fields);
            (line(&word.quotas[0]), word.wait)
        };
        for number in ["30", "1372700873", "1372700873000", "0.5"] {
            let told = "requests Requests 0/100 per ? Over in ?".to_owned();
            assert_eq!(plain(number), (told, None), "{number}");
        }
        let minute = Some(Duration::from_secs(60));
        assert_eq!(plain("1m0s").1, minute);
        assert_eq!(plain("2013-07-01T17:28:06Z").1, minute);
        let epoch = [
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "1372699686"),
        ];
        assert_eq!(said(Some("github"), 429, &epoch).wait, minute);
        assert_eq!(said(Some("ietf"), 429, &epoch), Word::default());
    }
}
