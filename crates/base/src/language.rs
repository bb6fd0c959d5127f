//! Tags of languages, as people write them in settings: `pt`, `pt-BR`, `zh-Hant`.

/// ISO 639-1.
const TWO_LETTERS: &str = "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu \
    cv cy da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id \
    ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi \
    mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd \
    se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo \
    wa wo xh yi yo za zh zu";

/// Refuses what is no tag of a language (RFC 5646): a language that there is, in two or three letters,
/// and what follows it in parts of one to eight letters and digits.
///
/// Of three letters only the form is looked at: there are thousands.
pub fn check_language(text: &str) -> Result<(), String> {
    let text = text.trim();
    let mut parts = text.split('-');
    let primary = parts.next().unwrap_or_default().to_ascii_lowercase();
    let is_known = match primary.len() {
        2 => TWO_LETTERS.split(' ').any(|known| known == primary),
        3 => primary.bytes().all(|byte| byte.is_ascii_lowercase()),
        _ => false,
    };
    let is_part = |part: &str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    if is_known && parts.all(is_part) {
        return Ok(());
    }
    let fixed = text.replace('_', "-");
    if fixed != text && check_language(&fixed).is_ok() {
        return Err(format!("`{text}` is not a language; write `{fixed}`"));
    }
    Err(format!(
        "`{text}` is not a language; write its code, for example `pt`, `en` or `pt-BR`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_taken_and_junk_is_not() {
        for good in ["pt", "PT", "pt-BR", "zh-Hant-TW", "mwl", "en-x-abc"] {
            assert_eq!(check_language(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "p",
            "p t",
            "zz",
            "zzzzzz",
            "Portuguese",
            "pt-",
            "pt--BR",
            "*",
            "p\u{ea}",
            "pt BR",
            "12",
            "pt-123456789",
        ] {
            assert!(check_language(bad).is_err(), "{bad}");
        }
        assert!(check_language("pt_BR").unwrap_err().contains("`pt-BR`"));
    }
}
