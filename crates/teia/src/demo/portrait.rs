//! Drawings made for one page and put into it as inline SVG: birds, book covers, dishes.

use super::answer::choose;
use super::html::escape;

/// A bird: five colours (back, breast, head, bill, wing) separated by spaces, in one of five shapes.
pub(super) fn bird(name: &str, shape: &str, colours: &str) -> String {
    let mut colours = colours.split(' ');
    let mut next = || colours.next().unwrap_or("#777777");
    let (back, breast, head, bill, wing) = (next(), next(), next(), next(), next());
    let figure = match shape {
        "wader" => wader(back, breast, head, bill, wing),
        "swimmer" => swimmer(back, breast, head, bill, wing),
        "raptor" => raptor(back, breast, head, bill, wing),
        "owl" => owl(back, breast, head, bill, wing),
        _ => percher(back, breast, head, bill, wing),
    };
    format!(
        "<svg class=\"art\" viewBox=\"0 0 320 240\" role=\"img\" aria-label=\"{}\">\
         <rect width=\"320\" height=\"240\" fill=\"#f4f1ea\"/>\
         <rect width=\"320\" height=\"240\" fill=\"{wing}\" opacity=\".14\"/>\
         <circle cx=\"{}\" cy=\"62\" r=\"34\" fill=\"{breast}\" opacity=\".30\"/>{figure}</svg>",
        escape(name),
        50 + choose(name, 60),
    )
}

fn percher(back: &str, breast: &str, head: &str, bill: &str, wing: &str) -> String {
    format!(
        "<path d=\"M20 206C90 190 190 214 300 192\" stroke=\"#7a5c43\" stroke-width=\"9\" fill=\"none\" stroke-linecap=\"round\"/>\
         <path d=\"M262 197q14-18 30-16q-6 16-30 16\" fill=\"#6f9a4e\"/>\
         <path d=\"M150 176l-6 26m30-28l2 26\" stroke=\"#5b4a3c\" stroke-width=\"4\" fill=\"none\" stroke-linecap=\"round\"/>\
         <path d=\"M104 150L34 204l16 8 76-40z\" fill=\"{wing}\"/>\
         <path d=\"M84 168C92 112 140 84 184 70c30-10 62 8 60 40c-2 44-44 74-92 72c-30-1-58-2-68-14z\" fill=\"{back}\"/>\
         <path d=\"M241 98c8 44-34 84-89 84c-14 0-22-2-30-5c54-4 92-30 100-82c6 6 12 7 19 3z\" fill=\"{breast}\"/>\
         <path d=\"M172 92c6-24 30-34 50-28c20 5 26 24 20 36c-10 16-34 14-48 8c-12-4-18-8-22-16z\" fill=\"{head}\"/>\
         <path d=\"M96 168c6-36 40-62 78-58c6 30-22 60-78 58z\" fill=\"{wing}\"/>\
         <path d=\"M112 160c14-4 34-14 46-32M122 164c16-4 34-14 44-28\" stroke=\"#000\" opacity=\".16\" stroke-width=\"3\" fill=\"none\" stroke-linecap=\"round\"/>\
         <path d=\"M240 80l32 10-30 10c-4-6-5-14-2-20z\" fill=\"{bill}\"/>{eye}",
        eye = eye(220, 84, 5),
    )
}

fn wader(back: &str, breast: &str, head: &str, bill: &str, wing: &str) -> String {
    format!(
        "<path d=\"M0 208h320v32H0z\" fill=\"#6f9fb5\" opacity=\".45\"/>\
         <path d=\"M60 214h70m60 8h80m-230 8h50\" stroke=\"#fff\" opacity=\".5\" stroke-width=\"3\" stroke-linecap=\"round\"/>\
         <path d=\"M142 156l-4 62m26-64l8 62\" stroke=\"{bill}\" stroke-width=\"5\" fill=\"none\" stroke-linecap=\"round\"/>\
         <g stroke=\"#4a4f58\" stroke-opacity=\".38\" fill=\"none\"><path d=\"M196 128c22-14 10-46 20-72\" stroke-width=\"24\" stroke-linecap=\"round\"/>\
         <path d=\"M66 132c30-30 84-40 122-22c22 12 16 40-12 48c-40 12-90 2-110-26z\" stroke-width=\"5\"/>\
         <path d=\"M203 58c0-16 12-25 25-22c12 3 16 14 11 23c-6 10-18 12-26 9c-6-2-10-5-10-10z\" stroke-width=\"5\"/></g>\
         <path d=\"M196 128c22-14 10-46 20-72\" stroke=\"{breast}\" stroke-width=\"19\" fill=\"none\" stroke-linecap=\"round\"/>\
         <path d=\"M66 132c30-30 84-40 122-22c22 12 16 40-12 48c-40 12-90 2-110-26z\" fill=\"{breast}\"/>\
         <path d=\"M58 134c32-34 82-44 120-24c2 4 2 6 0 8c-30 24-84 28-120 16z\" fill=\"{back}\"/>\
         <path d=\"M48 142c34-18 74-22 108-12c-26 20-74 26-108 12z\" fill=\"{wing}\"/>\
         <path d=\"M203 58c0-16 12-25 25-22c12 3 16 14 11 23c-6 10-18 12-26 9c-6-2-10-5-10-10z\" fill=\"{head}\"/>\
         <path d=\"M238 46l54 16c-20 2-40 0-56-5z\" fill=\"{bill}\"/>{eye}",
        eye = eye(227, 48, 4),
    )
}

fn swimmer(back: &str, breast: &str, head: &str, bill: &str, wing: &str) -> String {
    format!(
        "<path d=\"M60 160c-14-8-22-22-24-34c22 4 36 6 50 14z\" fill=\"{wing}\"/>\
         <path d=\"M52 148c40-24 90-24 128-12c20 6 40-4 46-20c14 30 6 66-26 76c-46 12-120 8-148-44z\" fill=\"{breast}\"/>\
         <path d=\"M52 148c40-28 96-32 132-10c-8 28-50 42-82 40c-24-2-40-12-50-30z\" fill=\"{back}\"/>\
         <path d=\"M66 148c30-14 66-14 92-2c-16 18-66 24-92 2z\" fill=\"{wing}\"/>\
         <path d=\"M186 140c8-16 0-36 6-54c6-20 30-28 46-16c14 10 14 30 2 40c-8 8-10 22-14 32c-12 8-30 6-40-2z\" fill=\"{head}\"/>\
         <path d=\"M240 84c12 2 26 6 36 10c-8 8-26 10-40 8z\" fill=\"{bill}\"/>{eye}\
         <path d=\"M0 186c30 8 50 8 80 0s50-8 80 0s50 8 80 0s50-8 80 0v54H0z\" fill=\"#5f93ad\"/>\
         <path d=\"M40 206h60m70 8h90m-190 12h60\" stroke=\"#fff\" opacity=\".4\" stroke-width=\"3\" stroke-linecap=\"round\"/>",
        eye = eye(222, 84, 4),
    )
}

fn raptor(back: &str, breast: &str, head: &str, bill: &str, wing: &str) -> String {
    format!(
        "<path d=\"M120 206h90v34h-90z\" fill=\"#7a6a58\"/><path d=\"M112 200h106v10H112z\" fill=\"#8d7c68\"/>\
         <path d=\"M126 176l-20 52 26 4 20-44z\" fill=\"{wing}\"/>\
         <path d=\"M152 186l-4 16m28-18l4 18\" stroke=\"{bill}\" stroke-width=\"8\" stroke-linecap=\"round\"/>\
         <path d=\"M122 184c-16-50 0-104 44-122c34 4 46 44 38 84c-6 30-44 52-82 38z\" fill=\"{breast}\"/>\
         <path d=\"M164 110v4m14 6v4m-24 4v4m22 10v4m-14 4v4m20-36v4\" stroke=\"#000\" opacity=\".25\" stroke-width=\"4\" stroke-linecap=\"round\"/>\
         <path d=\"M124 192c-24-48-8-106 36-122c10 50-2 96-36 122z\" fill=\"{wing}\"/>\
         <path d=\"M120 160c-2-40 12-74 40-88c4 34-8 66-40 88z\" fill=\"{back}\"/>\
         <path d=\"M150 72c-2-22 14-36 32-35c20 1 30 17 25 33c-8 16-46 20-57 2z\" fill=\"{head}\"/>\
         <path d=\"M204 56c12 0 18 8 16 20c-4-4-10-5-17-5z\" fill=\"#33302d\"/>\
         <path d=\"M200 56q8-2 9 1l-4 9z\" fill=\"{bill}\"/>{eye}",
        eye = eye(190, 56, 5),
    )
}

fn owl(back: &str, breast: &str, head: &str, bill: &str, wing: &str) -> String {
    format!(
        "<path d=\"M20 214C90 200 190 220 300 204\" stroke=\"#7a5c43\" stroke-width=\"10\" fill=\"none\" stroke-linecap=\"round\"/>\
         <path d=\"M102 130c-8 40 14 78 58 78s66-38 58-78c-6-30-110-30-116 0z\" fill=\"{back}\"/>\
         <path d=\"M122 130c-6 36 10 70 38 70s44-34 38-70z\" fill=\"{breast}\"/>\
         <path d=\"M144 148v4m30 0v4m-16 6v4m-20 8v4m36-4v4m-18 10v4\" stroke=\"{wing}\" stroke-width=\"5\" stroke-linecap=\"round\"/>\
         <path d=\"M104 122c-14 30-8 62 12 78c8-30 6-56-12-78zM216 122c14 30 8 62-12 78c-8-30-6-56 12-78z\" fill=\"{wing}\"/>\
         <path d=\"M160 132c-44 12-70-12-66-46c4-30 30-46 66-46s62 16 66 46c4 34-22 58-66 46z\" fill=\"{back}\"/>\
         <path d=\"M160 128c-36 8-56-10-54-36c2-22 34-34 54-14c20-20 52-8 54 14c2 26-18 44-54 36z\" fill=\"{head}\"/>\
         <path d=\"M160 96l7 9c1 10-4 16-7 18c-3-2-8-8-7-18z\" fill=\"{bill}\"/>{left}{right}\
         <path d=\"M146 206v8m10-8v8m10-8v8m10-8v8\" stroke=\"#5b4a3c\" stroke-width=\"5\" stroke-linecap=\"round\"/>",
        left = eye(134, 92, 10),
        right = eye(186, 92, 10),
    )
}

fn eye(x: u32, y: u32, radius: u32) -> String {
    format!(
        "<circle cx=\"{x}\" cy=\"{y}\" r=\"{ring}\" fill=\"#f4efe2\" opacity=\".85\"/>\
         <circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"#16161a\"/>\
         <circle cx=\"{glint_x}\" cy=\"{glint_y}\" r=\"1.6\" fill=\"#fff\"/>",
        ring = radius + 2,
        glint_x = x + 1,
        glint_y = y - 2,
    )
}

/// A book's cover: its title in lines, its author, and a pattern that follows from the title.
pub(super) fn cover(title: &str, author: &str, colour: &str) -> String {
    let mut lines = vec![String::new()];
    for word in title.split(' ') {
        let last = lines.last_mut().expect("there is always a line");
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + word.chars().count() < 12 {
            *last += &format!(" {word}");
        } else {
            lines.push(word.to_owned());
        }
    }
    let title_lines: String = lines
        .iter()
        .enumerate()
        .map(|(index, line)| {
            format!(
                "<text x=\"22\" y=\"{}\" font-size=\"21\" font-weight=\"700\">{}</text>",
                52 + 25 * index,
                escape(line)
            )
        })
        .collect();
    format!(
        "<svg class=\"cover\" viewBox=\"0 0 200 280\" role=\"img\" aria-label=\"{label}\">\
         <rect width=\"200\" height=\"280\" rx=\"4\" fill=\"{colour}\"/>\
         <g fill=\"none\" stroke=\"#fff\" stroke-width=\"2\" opacity=\".38\">{pattern}</g>\
         <rect width=\"10\" height=\"280\" fill=\"#000\" opacity=\".18\"/>\
         <g fill=\"#fff\" font-family=\"Georgia, serif\">{title_lines}\
         <text x=\"22\" y=\"262\" font-size=\"13\" opacity=\".9\">{author}</text></g></svg>",
        label = escape(title),
        pattern = pattern(title),
        author = escape(author),
    )
}

fn pattern(title: &str) -> String {
    let shift = choose(title, 40);
    (0..6)
        .map(|index| match choose(title, 4) {
            0 => format!(
                "<circle cx=\"{}\" cy=\"184\" r=\"{}\"/>",
                90 + shift,
                8 + 9 * index
            ),
            1 => format!(
                "<path d=\"M10 {y}q48-{bend} 95 0t95 0\"/>",
                y = 175 + 12 * index,
                bend = 12 + shift
            ),
            2 => format!(
                "<path d=\"M{x} 240V{top}\" stroke-width=\"8\"/>",
                x = 36 + 27 * index,
                top = 160 + (shift * (index + 3)) % 64
            ),
            _ => format!(
                "<path d=\"M10 {y}l{x} -52L200 {y}\"/>",
                y = 200 + 9 * index,
                x = 50 + shift * 2
            ),
        })
        .collect()
}

/// A loaf on a board, in three colours separated by spaces.
pub(super) fn loaf(name: &str, colours: &str) -> String {
    let mut colours = colours.split(' ');
    let mut next = || colours.next().unwrap_or("#c9822f");
    let (crust, flour, cut) = (next(), next(), next());
    let turn = choose(name, 40);
    format!(
        "<svg class=\"art\" viewBox=\"0 0 320 240\" role=\"img\" aria-label=\"{}\">\
         <rect width=\"320\" height=\"240\" fill=\"#f7f3ec\"/>\
         <rect width=\"320\" height=\"240\" fill=\"{flour}\" opacity=\".4\"/>\
         <g transform=\"rotate(-{turn} 160 120)\"><rect x=\"44\" y=\"56\" width=\"232\" height=\"128\" rx=\"22\" fill=\"#b98d5e\"/>\
         <path d=\"M60 92h200m-200 28h200m-200 28h200\" stroke=\"#9d7448\" stroke-width=\"3\" opacity=\".5\"/>\
         <ellipse cx=\"164\" cy=\"126\" rx=\"92\" ry=\"48\" opacity=\".22\"/>\
         <ellipse cx=\"160\" cy=\"118\" rx=\"92\" ry=\"48\" fill=\"{crust}\"/>\
         <ellipse cx=\"152\" cy=\"108\" rx=\"70\" ry=\"30\" fill=\"{flour}\" opacity=\".4\"/>\
         <g stroke-width=\"9\" fill=\"none\" stroke-linecap=\"round\" stroke=\"{cut}\">\
         <path d=\"M104 136q14-22 18-44m24 56q14-26 18-60m24 60q14-24 18-50\"/></g></g></svg>",
        escape(name),
    )
}

/// A dish seen from above, in three colours separated by spaces.
pub(super) fn dish(name: &str, colours: &str) -> String {
    let mut colours = colours.split(' ');
    let mut next = || colours.next().unwrap_or("#c9822f");
    let (base, light, dots) = (next(), next(), next());
    let mut pieces = String::new();
    for piece in 0..22_usize {
        let turn = choose(&format!("{name}{piece}turn"), 360);
        let reach = 10 + choose(&format!("{name}{piece}reach"), 54);
        let size = 4 + choose(&format!("{name}{piece}size"), 6);
        let fill = if piece % 3 == 0 { light } else { dots };
        pieces += &format!(
            "<ellipse cx=\"{x}\" cy=\"120\" rx=\"{size}\" ry=\"{half}\" fill=\"{fill}\" transform=\"rotate({turn} 160 120)\"/>",
            x = 160 + reach,
            half = size / 2 + 2,
        );
    }
    format!(
        "<svg class=\"art\" viewBox=\"0 0 320 240\" role=\"img\" aria-label=\"{}\">\
         <rect width=\"320\" height=\"240\" fill=\"#f7f3ec\"/>\
         <rect width=\"320\" height=\"240\" fill=\"{light}\" opacity=\".28\"/>\
         <ellipse cx=\"166\" cy=\"128\" rx=\"103\" ry=\"103\" opacity=\".18\"/>\
         <circle cx=\"160\" cy=\"120\" r=\"102\" fill=\"#fdfbf7\"/>\
         <circle cx=\"160\" cy=\"120\" r=\"90\" fill=\"#ece5d9\"/>\
         <circle cx=\"160\" cy=\"120\" r=\"82\" fill=\"{base}\"/>\
         <circle cx=\"148\" cy=\"106\" r=\"56\" fill=\"{light}\" opacity=\".35\"/>{pieces}</svg>",
        escape(name),
    )
}
