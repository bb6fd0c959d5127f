//! Languages by their names, for people who write `lang:portuguese`.

use crate::text::fold;

/// The two letters of a language whose name this is, in English, in Portuguese or in some in itself; accents do not matter.
pub(crate) fn named(name: &str) -> Option<&'static str> {
    let name = fold(name.trim());
    let of =
        |(code, names): &(&'static str, &[&str])| names.contains(&name.as_str()).then_some(*code);
    NAMES.iter().find_map(of)
}

#[rustfmt::skip]
const NAMES: &[(&str, &[&str])] = &[
    ("pt", &["portuguese", "portugues"]),
    ("en", &["english", "ingles"]),
    ("es", &["spanish", "espanhol", "espanol", "castellano", "castelhano"]),
    ("fr", &["french", "frances", "francais"]),
    ("de", &["german", "alemao", "deutsch"]),
    ("it", &["italian", "italiano"]),
    ("gl", &["galician", "galego"]),
    ("nl", &["dutch", "neerlandes", "nederlands"]),
    ("ca", &["catalan", "catalao", "catala"]),
    ("ro", &["romanian", "romeno"]),
    ("da", &["danish", "dinamarques"]),
    ("no", &["norwegian", "noruegues"]),
    ("sv", &["swedish", "sueco"]),
    ("fi", &["finnish", "finlandes"]),
    ("pl", &["polish", "polaco"]),
    ("cs", &["czech", "checo"]),
    ("sk", &["slovak", "eslovaco"]),
    ("hu", &["hungarian", "hungaro"]),
    ("hr", &["croatian", "croata"]),
    ("sl", &["slovenian", "esloveno"]),
    ("tr", &["turkish", "turco"]),
    ("id", &["indonesian", "indonesio"]),
    ("eu", &["basque", "basco"]),
    ("eo", &["esperanto"]),
    ("la", &["latin", "latim"]),
    ("vi", &["vietnamese", "vietnamita"]),
    ("ar", &["arabic", "arabe"]),
    ("be", &["belarusian", "bielorrusso"]),
    ("bg", &["bulgarian", "bulgaro"]),
    ("bn", &["bengali"]),
    ("el", &["greek", "grego"]),
    ("fa", &["persian", "persa"]),
    ("gu", &["gujarati", "guzerate"]),
    ("he", &["hebrew", "hebraico"]),
    ("hi", &["hindi"]),
    ("hy", &["armenian", "armenio"]),
    ("ja", &["japanese", "japones"]),
    ("ka", &["georgian", "georgiano"]),
    ("km", &["khmer"]),
    ("kn", &["kannada", "canares"]),
    ("ko", &["korean", "coreano"]),
    ("lo", &["lao", "laosiano"]),
    ("mk", &["macedonian", "macedonio"]),
    ("ml", &["malayalam", "malaiala"]),
    ("my", &["burmese", "birmanes"]),
    ("pa", &["punjabi", "panjabi"]),
    ("ru", &["russian", "russo"]),
    ("sr", &["serbian", "servio"]),
    ("ta", &["tamil"]),
    ("te", &["telugu"]),
    ("th", &["thai", "tailandes"]),
    ("uk", &["ukrainian", "ucraniano"]),
    ("ur", &["urdu"]),
    ("zh", &["chinese", "chines"]),
];
