//! The form of a login page, read from hostile markup: where it goes, and with which fields.

use std::cell::RefCell;

use lol_html::html_content::Element;
use lol_html::{RewriteStrSettings, element, rewrite_str};
use url::Url;

/// Fields of one form, and forms of one page, that are read; more are passed over.
const MOST_FIELDS: usize = 200;
const MOST_FORMS: usize = 50;

/// A form as its page has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Form {
    /// `action` as written; without one the form goes to its own page.
    action: Option<String>,
    /// Whether its fields go into the URL.
    pub(crate) is_get: bool,
    inputs: Vec<Input>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Input {
    name: String,
    value: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    /// Somebody writes there.
    #[default]
    Text,
    Password,
    /// Sent as it stands: hidden fields, boxes that are ticked.
    Kept,
    Button,
    /// Not sent: boxes that are not ticked, files.
    Left,
}

impl Form {
    /// The form to log in with: the first with a field for a password, or with the field that a person has named.
    pub(crate) fn of_login(page: &str, password_field: Option<&str>) -> Option<Self> {
        let is_it = |form: &Self| {
            form.inputs.iter().any(|input| match password_field {
                Some(name) => input.name == name,
                None => input.kind == Kind::Password,
            })
        };
        forms(page).into_iter().find(is_it)
    }

    /// Where it goes, from its page.
    pub(crate) fn target(&self, page: &Url) -> Option<Url> {
        match self.action.as_deref().map(str::trim) {
            None | Some("") => Some(page.clone()),
            Some(action) => page.join(action).ok(),
        }
    }

    /// What a browser would send: its own fields, the user and the password where they belong, and `more`, which go before
    /// what stands in the form.
    pub(crate) fn filled(
        &self,
        user: (Option<&str>, &str),
        password: (Option<&str>, &str),
        more: &[(String, String)],
    ) -> Option<Vec<(String, String)>> {
        let at = |name: &str| self.inputs.iter().position(|input| input.name == name);
        let of_kind = |kind| self.inputs.iter().position(|input| input.kind == kind);
        let secret = match password.0 {
            Some(name) => at(name),
            None => of_kind(Kind::Password),
        };
        // Without a name, the user is asked for right before the password.
        let who = match user.0 {
            Some(name) => at(name),
            None => self.inputs[..secret?]
                .iter()
                .rposition(|input| input.kind == Kind::Text)
                .or(of_kind(Kind::Text)),
        };
        let (who, secret) = (who?, secret?);
        let button = of_kind(Kind::Button);
        let mut sent = Vec::new();
        for (number, input) in self.inputs.iter().enumerate() {
            let is_given = |(name, _): &(String, String)| *name == input.name;
            let value = match number {
                _ if input.name.is_empty() => continue,
                _ if number == secret => password.1,
                _ if number == who => user.1,
                _ if more.iter().any(is_given) => continue,
                _ if input.kind == Kind::Left => continue,
                _ if input.kind == Kind::Button && Some(number) != button => continue,
                _ => &input.value,
            };
            sent.push((input.name.clone(), value.to_owned()));
        }
        sent.extend(more.iter().cloned());
        Some(sent)
    }
}

fn forms(page: &str) -> Vec<Form> {
    let found: RefCell<Vec<Form>> = RefCell::default();
    let see_form = |element: &mut Element<'_, '_>| {
        let mut found = found.borrow_mut();
        if found.len() < MOST_FORMS {
            let method = attribute(element, "method").unwrap_or_default();
            found.push(Form {
                action: attribute(element, "action"),
                is_get: !method.trim().eq_ignore_ascii_case("post"),
                inputs: Vec::new(),
            });
        }
        Ok(())
    };
    let see_input = |element: &mut Element<'_, '_>| {
        let mut found = found.borrow_mut();
        let inputs = found.last_mut().map(|form| &mut form.inputs);
        if let Some(inputs) = inputs.filter(|inputs| inputs.len() < MOST_FIELDS) {
            inputs.push(input(element));
        }
        Ok(())
    };
    let settings = RewriteStrSettings::new()
        .append_element_content_handler(element!("form", see_form))
        .append_element_content_handler(element!("input, button", see_input));
    // What was read before a fault counts.
    let _ = rewrite_str(page, settings);
    found.into_inner()
}

fn input(element: &Element<'_, '_>) -> Input {
    let kind = attribute(element, "type").map(|kind| kind.trim().to_ascii_lowercase());
    let is_button = element.tag_name() == "button";
    let is_ticked = element.has_attribute("checked");
    let kind = match kind.as_deref() {
        Some("hidden") => Kind::Kept,
        Some("password") => Kind::Password,
        Some("checkbox" | "radio") if is_ticked => Kind::Kept,
        Some("checkbox" | "radio" | "file" | "reset" | "button" | "image") => Kind::Left,
        Some("submit") => Kind::Button,
        _ if is_button => Kind::Button,
        _ => Kind::Text,
    };
    let value = attribute(element, "value");
    let is_box = kind == Kind::Kept && is_ticked;
    Input {
        name: attribute(element, "name").unwrap_or_default(),
        value: value.unwrap_or_else(|| if is_box { "on" } else { "" }.to_owned()),
        kind,
    }
}

fn attribute(element: &Element<'_, '_>, name: &str) -> Option<String> {
    element.get_attribute(name).map(|value| plain(&value))
}

/// A value with its character references read: numbers, and the five that every serializer writes.
fn plain(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('&') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        let character = end.and_then(|end| reference(&rest[1..end]));
        match (character, end) {
            (Some(character), Some(end)) => {
                text.push(character);
                rest = &rest[end + 1..];
            }
            _ => {
                text.push('&');
                rest = &rest[1..];
            }
        }
    }
    text + rest
}

fn reference(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let number = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(number)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: &str = r#"<form action=/search><input name=q></form>
        <FORM method="POST" action="/in?a=1&amp;b=2">
        <input type=hidden name=csrf value="a&#43;b&#x2F;c&quot;&nbsp;">
        <input name=lang value=pt> <input type=email name=mail value=x>
        <input type=password name=pass> <input type=checkbox name=keep checked>
        <input type=checkbox name=spam> <input type=submit name=go value=In><button name=other>x</button></form>"#;

    fn sent(user: Option<&str>, more: &[(String, String)]) -> Vec<(String, String)> {
        let form = Form::of_login(PAGE, None).unwrap();
        form.filled((user, "ann"), (None, "secret"), more).unwrap()
    }

    #[test]
    fn a_form_is_filled_in_as_a_browser_does() {
        let form = Form::of_login(PAGE, None).unwrap();
        let page = Url::parse("https://a.example/login").unwrap();
        let target = form.target(&page).unwrap();
        assert_eq!(target.as_str(), "https://a.example/in?a=1&b=2");
        assert!(!form.is_get);
        let text: Vec<String> = sent(None, &[])
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            text,
            [
                "csrf=a+b/c\"&nbsp;",
                "lang=pt",
                "mail=ann",
                "pass=secret",
                "keep=on",
                "go=In"
            ]
        );
        let more = [("lang".to_owned(), "en".to_owned())];
        let named = sent(Some("lang"), &more);
        assert!(named.contains(&("lang".to_owned(), "ann".to_owned())));
        assert_eq!(named.iter().filter(|(name, _)| name == "mail").count(), 1);
        assert!(Form::of_login(PAGE, Some("none")).is_none());
        assert!(Form::of_login("<p>no form</p>", None).is_none());
    }

    proptest! {
        #[test]
        fn any_page_is_read(page in r#"(<form|<input|type=password|name=|value="|&#|x2;|[ ='">a-z;&é])*"#) {
            if let Some(form) = Form::of_login(&page, None) {
                form.filled((None, "a"), (None, "b"), &[]);
            }
        }
    }
}
