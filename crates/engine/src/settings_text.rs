//! The text of settings, changed one setting at a time: comments, order and everything else stay as people wrote them.

use toml_edit::{
    Array, ArrayOfTables, Document, DocumentMut, InlineTable, Item, Key, Table, TableLike, Value,
};

use crate::unset::{take_out, to_its_place};

/// The sections of which there may be several.
const LISTS: [&str; 2] = ["site", "login"];

/// Whether there may be several sections of this name: `[[site]]`.
pub(crate) fn is_list(name: &str) -> bool {
    LISTS.contains(&name)
}

/// The way to a setting (`site`, `2`, `politeness`, `delay`: entries are counted from 1), and its value; none takes it out.
pub(crate) type Edit = (Vec<String>, Option<Value>);

/// A text of good TOML with one setting changed.
pub(crate) fn edited(text: &str, edit: &Edit) -> Result<String, toml_edit::TomlError> {
    let mut document = text.parse::<DocumentMut>()?;
    Ok(match edit {
        (path, Some(value)) => {
            let section = &path[..path.len().saturating_sub(1)];
            let is_new = !is_there(document.as_item(), path);
            let begins_section = !is_there(document.as_item(), section);
            put(document.as_table_mut(), path, value.clone());
            let text = document.to_string();
            if begins_section {
                behind_its_neighbour(text, path)
            } else if is_new {
                to_its_place(text, path)
            } else {
                text
            }
        }
        (path, None) => match path.as_slice() {
            [list, number] if is_list(list) => {
                let place = number.parse::<usize>().unwrap_or(0).saturating_sub(1);
                let without = without_entry(text, list, place);
                without.unwrap_or_else(|| {
                    remove_entry(&mut document, list, place);
                    document.to_string()
                })
            }
            path => take_out(text, path).unwrap_or_else(|| {
                remove(document.as_table_mut(), path);
                document.to_string()
            }),
        },
    })
}

/// What brings a text from one set of settings to another.
pub(crate) fn edits(from: &toml::Table, to: &toml::Table) -> Vec<Edit> {
    let mut edits = Vec::new();
    compare(from, to, &[], &mut edits);
    edits
}

fn compare(from: &toml::Table, to: &toml::Table, above: &[String], edits: &mut Vec<Edit>) {
    let way = |key: &String| [above, std::slice::from_ref(key)].concat();
    let empty = toml::Table::new();
    for (key, value) in from.iter().filter(|(key, _)| !to.contains_key(*key)) {
        match value {
            toml::Value::Array(entries) if is_list(key) => {
                compare_entries(key, entries, &[], edits);
            }
            toml::Value::Table(inner) => compare(inner, &empty, &way(key), edits),
            _ => edits.push((way(key), None)),
        }
    }
    for (key, value) in to {
        match (from.get(key), value) {
            (Some(before), value) if before == value => {}
            (before, toml::Value::Array(entries)) if is_list(key) => {
                let before = before.and_then(toml::Value::as_array);
                compare_entries(key, before.map_or(&[][..], Vec::as_slice), entries, edits);
            }
            (before, toml::Value::Table(inner)) => {
                let before = before.and_then(toml::Value::as_table).unwrap_or(&empty);
                compare(before, inner, &way(key), edits);
            }
            (_, value) => {
                let value = value.to_string().parse::<Value>();
                let value = value.expect("what one half of TOML writes the other reads");
                edits.push((way(key), Some(value)));
            }
        }
    }
}

/// The same for sites and logins: those that stay where they are keep their comments.
fn compare_entries(list: &str, from: &[toml::Value], to: &[toml::Value], edits: &mut Vec<Edit>) {
    let way = |place: usize| vec![list.to_owned(), (place + 1).to_string()];
    for gone in (to.len()..from.len()).rev() {
        edits.push((way(gone), None));
    }
    let empty = toml::Table::new();
    for (place, entry) in to.iter().enumerate() {
        let before = from.get(place).and_then(toml::Value::as_table);
        if let Some(entry) = entry.as_table() {
            compare(before.unwrap_or(&empty), entry, &way(place), edits);
        }
    }
}

/// What stands at the end of a way that leads through sections only, and not into braces.
pub(crate) fn find<'a>(table: &'a Table, path: &[String]) -> Option<(&'a Key, &'a Item)> {
    match path {
        [] => None,
        [key] => table.get_key_value(key),
        [name, rest @ ..] => match (table.get(name)?, rest) {
            (Item::Table(inner), rest) => find(inner, rest),
            (Item::ArrayOfTables(entries), [number, rest @ ..]) => {
                let place = number.parse::<usize>().ok()?.checked_sub(1)?;
                find(entries.get(place)?, rest)
            }
            _ => None,
        },
    }
}

/// Whether there is something at the end of a way, in braces too.
fn is_there(item: &Item, path: &[String]) -> bool {
    let Some((name, rest)) = path.split_first() else {
        return !item.is_none();
    };
    let inner = match name.parse::<usize>() {
        Ok(number) if item.is_array() || item.is_array_of_tables() => {
            item.get(number.saturating_sub(1))
        }
        _ => item.get(name.as_str()),
    };
    inner.is_some_and(|inner| is_there(inner, rest))
}

/// Puts a section that was begun by a setting behind all that is said at the end of the one before it: that is not said
/// of the new one.
fn behind_its_neighbour(text: String, path: &[String]) -> String {
    let moved = || {
        let document = Document::parse(&text).ok()?;
        let (key, _) = find(document.as_table(), path)?;
        let at = text[..key.span()?.start].matches('\n').count();
        let mut lines: Vec<&str> = text.lines().collect();
        let mut header = at.checked_sub(1)?;
        let is_header = |line: &&str| line.starts_with('[');
        let own = [lines[header], lines[at]];
        is_header(&own[0]).then_some(())?;
        lines.drain(header..=at);
        let is_blank = |line: &str| line.trim().is_empty();
        // The one above it came with it.
        if header > 0 && is_blank(lines[header - 1]) {
            header -= 1;
            lines.remove(header);
        }
        // Right above a header stands what is said of that one.
        let next = lines[header..].iter().position(is_header);
        let mut place = next.map_or(lines.len(), |next| header + next);
        while next.is_some() && place > header && lines[place - 1].starts_with('#') {
            place -= 1;
        }
        while place > 0 && is_blank(lines[place - 1]) {
            lines.remove(place - 1);
            place -= 1;
        }
        let space = |is_needed: bool| is_needed.then_some("");
        let before = space(place > 0);
        let behind = space(lines.get(place).is_some_and(|line| !is_blank(line)));
        lines.splice(place..place, before.into_iter().chain(own).chain(behind));
        let out = lines.join("\n") + "\n";
        let is_same = out.parse::<toml::Table>().ok()? == text.parse::<toml::Table>().ok()?;
        is_same.then_some(out)
    };
    moved().unwrap_or(text)
}

/// A text without one of its sites or logins, and what is said right above it; nothing where its lines are not together.
fn without_entry(text: &str, list: &str, place: usize) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let entry = document.as_table().get(list)?.as_array_of_tables()?;
    let entry = entry.get(place)?;
    let line_of = |at: usize| text[..at].matches('\n').count();
    let header = line_of(entry.span()?.start);
    let last = line_of(last_byte(entry)?);
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let above = lines[..header].iter().rev();
    let said = above.take_while(|line| line.starts_with('#')).count();
    let begin = header - said;
    lines.drain(begin..=last);
    let is_blank = |line: Option<&&str>| line.is_none_or(|line| line.trim().is_empty());
    if begin > 0 && is_blank(lines.get(begin - 1)) && is_blank(lines.get(begin)) {
        lines.remove(begin - 1);
    }
    let out = lines.concat();
    let mut wanted = text.parse::<toml::Table>().ok()?;
    let entries = wanted.get_mut(list)?.as_array_mut()?;
    entries.remove(place);
    if entries.is_empty() {
        wanted.remove(list);
    }
    (out.parse::<toml::Table>().ok()? == wanted).then_some(out)
}

/// Where a section and those below it end.
fn last_byte(table: &Table) -> Option<usize> {
    let inner = table.iter().filter_map(|(_, item)| match item {
        Item::Table(table) => last_byte(table),
        item => item.span().map(|span| span.end),
    });
    let own = table.span().map(|span| span.end);
    inner.chain(own).map(|end| end.saturating_sub(1)).max()
}

/// The table of a site or a login, counted from 1; one more than there are is made, if that is wanted.
fn entry_table<'a>(
    document: &'a mut dyn TableLike,
    list: &str,
    number: &str,
    make: bool,
) -> Option<&'a mut dyn TableLike> {
    let place = number.parse::<usize>().ok()?.checked_sub(1)?;
    let none = Item::ArrayOfTables(ArrayOfTables::new());
    match document.entry(list).or_insert(none) {
        Item::ArrayOfTables(sites) => {
            if make && place == sites.len() {
                sites.push(Table::new());
            }
            Some(sites.get_mut(place)?)
        }
        Item::Value(Value::Array(sites)) => {
            if make && place == sites.len() {
                sites.push(InlineTable::new());
            }
            Some(sites.get_mut(place)?.as_inline_table_mut()?)
        }
        _ => None,
    }
}

/// Takes a site or a login out, counted from 0.
fn remove_entry(document: &mut DocumentMut, list: &str, place: usize) {
    match document.get_mut(list) {
        Some(Item::ArrayOfTables(sites)) if place < sites.len() => {
            sites.remove(place);
        }
        Some(Item::Value(Value::Array(sites))) if place < sites.len() => {
            sites.remove(place);
        }
        _ => {}
    }
}

/// Takes what stands at the end of a way out of where it stands, such as braces.
fn remove(document: &mut dyn TableLike, path: &[String]) {
    match path {
        [] => {}
        [key] => {
            document.remove(key);
        }
        [list, number, rest @ ..] if is_list(list) => {
            if let Some(table) = entry_table(document, list, number, false) {
                remove(table, rest);
            }
        }
        [section, rest @ ..] => {
            let item = document.get_mut(section);
            if let Some(table) = item.and_then(Item::as_table_like_mut) {
                remove(table, rest);
            }
        }
    }
}

/// Puts a value at the end of a way, and makes the sections that are missing.
fn put(document: &mut dyn TableLike, path: &[String], value: Value) {
    match path {
        [] => {}
        [key] => put_here(document, key, value),
        [list, number, rest @ ..] if is_list(list) => {
            if let Some(table) = entry_table(document, list, number, true) {
                put(table, rest, value);
            }
        }
        [section, rest @ ..] => {
            let item = document.entry(section).or_insert(Item::Table(Table::new()));
            if let Some(table) = item.as_table_like_mut() {
                put(table, rest, value);
            }
        }
    }
}

/// Puts a value in place of the one that is there, between the same comments.
fn put_here(table: &mut dyn TableLike, key: &str, mut value: Value) {
    if let Some(old) = table.get(key).and_then(Item::as_value) {
        if let (Value::Array(old), Value::Array(new)) = (old, &value) {
            value = Value::Array(joined(old, new));
        }
        *value.decor_mut() = old.decor().clone();
    }
    match table.get_mut(key) {
        Some(item) => *item = Item::Value(value),
        None => {
            table.insert(key, Item::Value(value));
        }
    }
}

/// A list with the elements of another, in which those that were there keep their places and what is said of them: above
/// them, and behind them on their line.
fn joined(old: &Array, new: &Array) -> Array {
    let left: Vec<&Value> = old.iter().collect();
    let said = Said::of(old, &left);
    let mut kept = vec![false; left.len()];
    // The elements of the new list, each with where it stood in the old one.
    let mut found = Vec::new();
    for value in new {
        let known = left.iter().zip(&kept);
        let mut known = known.map(|(old, is_taken)| !is_taken && is_same(old, value));
        let at = known.position(|is_it| is_it);
        if let Some(at) = at {
            kept[at] = true;
        }
        found.push((at, value));
    }
    // What is said of an element that goes is said above the next that stays.
    let mut homeless = String::new();
    let mut above: Vec<String> = Vec::new();
    for (at, is_kept) in kept.iter().enumerate() {
        if *is_kept {
            above.push(after(&homeless, &said.above[at]));
            homeless.clear();
            continue;
        }
        above.push(String::new());
        if said.above[at].contains('#') {
            homeless = after(&homeless, said.above[at].trim_end());
        }
        if said.behind[at].contains('#') {
            let line = said.line.as_deref().unwrap_or("\n");
            homeless = format!("{homeless}{line}{}", said.behind[at].trim());
        }
    }
    let mut array = old.clone();
    array.clear();
    // What is said behind the one before, or behind the bracket, ends before the next.
    let mut behind = said.head.clone();
    for (number, (at, value)) in found.iter().enumerate() {
        let mut value = at.map_or(*value, |at| left[at]).clone();
        let above = match (at, &said.line) {
            // The first may stand on the line of the bracket, and the others elsewhere.
            (Some(at), Some(line)) if (number == 0) != (*at == 0) && !above[*at].contains('\n') => {
                line
            }
            (Some(at), Some(_)) => &above[*at],
            (None, Some(line)) => line,
            (_, None) if number == 0 => "",
            (_, None) => " ",
        };
        value.decor_mut().set_prefix(after(&behind, above));
        let last = left.len().saturating_sub(1);
        if at.is_none_or(|at| at == last) {
            value.decor_mut().set_suffix("");
        }
        behind = at.map_or_else(String::new, |at| said.behind[at].clone());
        array.push_formatted(value);
    }
    array.set_trailing(after(&behind, &after(&homeless, &said.end)));
    array.set_trailing_comma(old.trailing_comma() && !found.is_empty());
    array
}

/// What stands between the elements of a list. The text behind a comma is, up to the end of its line, of the element before
/// it, and from there on of the next.
struct Said {
    /// Behind the bracket with which the list begins, on its line.
    head: String,
    above: Vec<String>,
    behind: Vec<String>,
    /// What is before the bracket at the end.
    end: String,
    /// How an element begins on a line of its own, where the list has more than one line.
    line: Option<String>,
}

impl Said {
    fn of(list: &Array, elements: &[&Value]) -> Self {
        let prefix = |value: &&Value| raw(value.decor().prefix()).to_owned();
        let mut between: Vec<String> = elements.iter().map(prefix).collect();
        let line = between
            .iter()
            .find_map(|it| Some(it[it.rfind('\n')?..].to_owned()));
        let last = elements.last();
        let end = last.map_or("", |value| raw(value.decor().suffix()));
        between.push(format!("{end}{}", raw(Some(list.trailing()))));
        let halves = between.iter().map(|it| match it.find('\n') {
            Some(at) if it[..at].contains('#') => it.split_at(at),
            _ => ("", it.as_str()),
        });
        let (mut behind, mut above): (Vec<String>, Vec<String>) = halves
            .map(|(behind, above)| (behind.to_owned(), above.to_owned()))
            .unzip();
        let head = behind.remove(0);
        let end = above.pop().unwrap_or_default();
        Self {
            head,
            above,
            behind,
            end,
            line,
        }
    }
}

/// One after the other; what is said ends with its line.
fn after(said: &str, next: &str) -> String {
    let needs_line = said.contains('#') && !next.starts_with('\n');
    format!("{said}{}{next}", if needs_line { "\n" } else { "" })
}

fn raw(raw: Option<&toml_edit::RawString>) -> &str {
    raw.and_then(toml_edit::RawString::as_str).unwrap_or("")
}

fn is_same(one: &Value, other: &Value) -> bool {
    let plain = |value: &Value| value.clone().decorated("", "").to_string();
    match (one.as_str(), other.as_str()) {
        (Some(one), Some(other)) => one == other,
        _ => plain(one) == plain(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str, path: &[String], value: &toml::Value) -> String {
        let value = value.to_string().parse().unwrap();
        edited(text, &(path.to_vec(), Some(value))).unwrap()
    }

    fn unset(text: &str, path: &[String]) -> String {
        edited(text, &(path.to_vec(), None)).unwrap()
    }

    /// Collection files that people were shown: of the manuals, and every setting with its meaning.
    fn examples() -> Vec<String> {
        let manuals = [
            include_str!("../../../README.md"),
            include_str!("../../../docs/logins.md"),
            include_str!("../../../docs/sites.md"),
        ];
        let mut found = Vec::new();
        for manual in manuals {
            for block in manual.split("```toml\n").skip(1) {
                found.push(block.split("```").next().unwrap().to_owned());
            }
        }
        assert!(found.len() >= 4, "{}", found.len());
        found.push(crate::annotated(&crate::CollectionConfig::default()));
        found.push(BY_HAND.to_owned());
        found
    }

    /// As a person writes it, who cares for order and for what is said of it.
    const BY_HAND: &str = "\
# Birds of the river.
#   Ask Ann before you change anything here.

mode = \"once\"  # for now
seeds = [
  # The society, and its sister.
  \"a.example\", # since 1901
  'b.example',

  \"c.example\", # new
  # more to come
]
filter.max-depth = 3 # dotted

[run] # not too fast
\thosts-at-once = 4\t# tabs
retries=0

# They asked for this.
#
# Twice.
[politeness]

# In March.
delay = \"5s\"
# The end of it.

# A place of its own:
[archive.warc]
operator = \"\"\"
Ann
[not a header]
\"\"\"

# The library.
[[site]]
match = \"lib.example\" # since May
[site.politeness]
delay = \"5s\" # they asked

# The rest.
[[site]]
match = [\"*.example\"]
# behind everything
";

    fn comments(text: &str) -> Vec<&str> {
        let said = text
            .lines()
            .filter_map(|line| line.find('#').map(|at| &line[at..]));
        let mut said: Vec<&str> = said.filter(|line| !line.contains("(unset)")).collect();
        said.sort_unstable();
        said
    }

    /// Every setting of a text, with the way to it.
    fn settings(table: &toml::Table, above: &[String]) -> Vec<(Vec<String>, toml::Value)> {
        let mut found = Vec::new();
        for (key, value) in table {
            let way = [above, std::slice::from_ref(key)].concat();
            match value {
                toml::Value::Table(inner) => found.extend(settings(inner, &way)),
                toml::Value::Array(entries) if is_list(key) => {
                    for (place, entry) in entries.iter().enumerate() {
                        let way = [&way[..], &[(place + 1).to_string()]].concat();
                        found.extend(settings(entry.as_table().unwrap(), &way));
                    }
                }
                value => found.push((way, value.clone())),
            }
        }
        found
    }

    #[test]
    fn whatever_is_taken_out_and_set_again_comes_back_and_everything_else_stays() {
        let mut tried = 0;
        for text in examples() {
            let table: toml::Table = text.parse().unwrap();
            for (path, value) in settings(&table, &[]) {
                let without = unset(&text, &path);
                let left: toml::Table = without.parse().unwrap();
                let is_left = settings(&left, &[]);
                assert!(!is_left.iter().any(|(way, _)| *way == path), "{path:?}");
                assert_eq!(is_left.len() + 1, settings(&table, &[]).len(), "{path:?}");
                assert!(is_kept(&text, &without), "{path:?}: {without}");
                let again = set(&without, &path, &value);
                assert_eq!(again.parse::<toml::Table>().unwrap(), table, "{path:?}");
                assert!(is_kept(&text, &again), "{path:?}: {again}");
                let order = |text: &str| -> Vec<String> {
                    let lines = text.lines().filter(|line| !line.starts_with('#'));
                    let keys = lines.filter_map(|line| line.split_once('='));
                    keys.map(|(key, _)| key.trim().to_owned()).collect()
                };
                let is_simple = !text.contains("filter.max-depth") || path[0] != "filter";
                if is_simple {
                    assert_eq!(order(&again), order(&text), "{path:?}: {again}");
                }
                // To the same value it stays what it was, to the letter.
                assert_eq!(
                    set(&text, &path, &value).matches('#').count(),
                    text.matches('#').count()
                );
                tried += 1;
            }
        }
        assert!(tried > 150, "{tried}");
    }

    /// Whether all that a text says is said in another, too; but for the comment of the setting's own line, which its
    /// place has.
    fn is_kept(text: &str, other: &str) -> bool {
        let lines: Vec<&str> = other.lines().collect();
        comments(text)
            .iter()
            .all(|said| lines.iter().any(|line| line.ends_with(said)))
    }

    #[test]
    fn a_list_changes_by_its_elements() {
        let path = ["seeds".to_owned()];
        let list = |names: &[&str]| toml::Value::try_from(names).unwrap();
        let more = set(
            BY_HAND,
            &path,
            &list(&["a.example", "b.example", "c.example", "d.example"]),
        );
        let expected = "  \"c.example\", # new\n  # more to come\n  \"d.example\",\n]";
        let other = "  \"c.example\", # new\n  \"d.example\",\n  # more to come\n]";
        assert!(more.contains(expected) || more.contains(other), "{more}");
        assert!(is_kept(BY_HAND, &more), "{more}");
        let fewer = set(BY_HAND, &path, &list(&["a.example", "c.example"]));
        assert!(is_kept(BY_HAND, &fewer), "{fewer}");
        assert!(fewer.contains("\"a.example\", # since 1901\n"), "{fewer}");
        let none = set(BY_HAND, &path, &list(&[]));
        assert!(is_kept(BY_HAND, &none), "{none}");
        let one_line = set("seeds = [\"a\", \"b\"] # two\n", &path, &list(&["b", "c"]));
        assert_eq!(one_line, "seeds = [\"b\", \"c\"] # two\n");
        // Without a comma at the end, and with a comment there.
        let open = "seeds = [\n  \"a\",\n  \"b\" # two\n]\n";
        let more = set(open, &path, &list(&["a", "b", "c"]));
        assert_eq!(more, "seeds = [\n  \"a\",\n  \"b\", # two\n  \"c\"\n]\n");
        let fewer = set(open, &path, &list(&["a"]));
        assert_eq!(fewer, "seeds = [\n  \"a\"\n  # two\n]\n");
    }

    #[test]
    fn what_is_said_behind_an_element_of_a_list_stays_with_it() {
        let list = |names: &[&str]| toml::Value::try_from(names).unwrap();
        let path = ["exclude".to_owned()];
        let text = "exclude = [\n  \"/calendar/\", # endless, ask Ann before removing\n  \"/print/\", # copies\n]\n";
        assert_eq!(
            set(text, &path, &list(&["/calendar/", "/tmp/"])),
            "exclude = [\n  \"/calendar/\", # endless, ask Ann before removing\n  \"/tmp/\",\n  # copies\n]\n"
        );
        // Whatever stays, goes, comes and changes places.
        let texts = [
            "exclude = [ # head\n  # above a\n  \"a\", # behind a\n  # above b\n  \"b\", # behind b\n  # above c\n  \"c\", # behind c\n  # end\n]\n",
            "exclude = [\n  # above a\n  \"a\", # behind a\n\n  # above b\n  \"b\", # behind b\n  # above c\n  \"c\" # behind c\n]\n",
            "exclude = [\"a\", # behind a\n  \"b\", # behind b\n  \"c\" # behind c\n]\n",
        ];
        let names = ["a", "b", "c", "new"];
        for text in texts {
            for number in 0..5_usize.pow(4) {
                let digits = (0..4).map(|place| number / 5_usize.pow(place) % 5);
                let mut wanted: Vec<&str> =
                    digits.filter_map(|at| names.get(at).copied()).collect();
                let mut seen = Vec::new();
                wanted.retain(|name| {
                    !seen.contains(name) && {
                        seen.push(name);
                        true
                    }
                });
                let out = set(text, &path, &list(&wanted));
                let table: toml::Table = out.parse().unwrap();
                assert_eq!(table["exclude"], list(&wanted), "{out}");
                assert!(is_kept(text, &out), "{out}");
                assert_eq!(comments(&out).len(), comments(text).len(), "{out}");
                let lines: Vec<&str> = out.lines().collect();
                for name in &wanted {
                    let at = lines
                        .iter()
                        .position(|line| line.contains(&format!("\"{name}\"")));
                    let at = at.unwrap();
                    let behind = lines[at].split('#').nth(1).map(str::trim);
                    let own = format!("behind {name}");
                    assert_eq!(behind, (*name != "new").then_some(own.as_str()), "{out}");
                    if text.contains(&format!("# above {name}")) {
                        assert_eq!(lines[at - 1].trim(), format!("# above {name}"), "{out}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_new_section_leaves_what_is_said_where_it_is() {
        let way = |path: &str| path.split('.').map(str::to_owned).collect::<Vec<_>>();
        let value = toml::Value::from("9s");
        let last = set(BY_HAND, &way("schedule.deadline"), &value);
        let end = "\n# behind everything\n\n[schedule]\ndeadline = \"9s\"\n";
        assert_eq!(
            last.strip_prefix(BY_HAND.trim_end()),
            end.strip_prefix("\n# behind everything")
        );
        let of_site = set(BY_HAND, &way("site.1.fetch.timeout"), &value);
        let inner =
            "delay = \"5s\" # they asked\n\n[site.fetch]\ntimeout = \"9s\"\n\n# The rest.\n";
        assert!(of_site.contains(inner), "{of_site}");
        // What is unset in the section before it stays there.
        let without = unset(BY_HAND, &way("site.1.politeness.delay"));
        let of_site = set(&without, &way("site.1.fetch.timeout"), &value);
        let again = set(
            &of_site,
            &way("site.1.politeness.delay"),
            &toml::Value::from("5s"),
        );
        assert!(again.contains(inner), "{again}");
        let third = set(
            BY_HAND,
            &way("site.3.match"),
            &toml::Value::from("x.example"),
        );
        assert!(
            third.ends_with("# behind everything\n\n[[site]]\nmatch = \"x.example\"\n"),
            "{third}"
        );
    }

    #[test]
    fn a_site_goes_with_what_is_said_right_above_it_and_nothing_else() {
        let way = |number: &str| ["site".to_owned(), number.to_owned()];
        let without = unset(BY_HAND, &way("1"));
        let gone = "# The library.\n[[site]]\nmatch = \"lib.example\" # since May\n[site.politeness]\ndelay = \"5s\" # they asked\n\n";
        assert_eq!(without, BY_HAND.replace(gone, ""));
        let without = unset(&without, &way("1"));
        assert!(without.ends_with("\n# behind everything\n"), "{without}");
        assert!(!without.contains("site"), "{without}");
    }
}
