//! Drawings served as SVG files: the sites' marks, what the museum shows, the habitats.

/// What the museum's pieces look like, by the `art` field of their entries: name, colour, shapes on 240 by 180.
pub(super) const MUSEUM: [(&str, &str, &str); 13] = [
    (
        "crystal",
        "#7d5ba6",
        "<path d=\"M96 150l-14-76 22-44 24 44-8 76z\" fill=\"C\"/><path d=\"M104 30l24 44-8 76-16 0z\" fill=\"#000\" opacity=\".2\"/><path d=\"M126 150l10-56 20-28 14 30-12 54z\" fill=\"C\" opacity=\".8\"/><path d=\"M156 66l14 30-12 54h-10z\" fill=\"#000\" opacity=\".18\"/><path d=\"M72 150l-8-40 10-22 14 24 2 38z\" fill=\"C\" opacity=\".65\"/><path d=\"M48 152h144l-10 12H60z\" fill=\"#8b8378\"/>",
    ),
    (
        "stone",
        "#3f7d6d",
        "<path d=\"M52 132c-12-40 22-84 72-86c48 0 76 34 66 74c-8 34-50 42-84 40c-26 0-48-10-54-28z\" fill=\"C\"/><g fill=\"none\" stroke=\"#fff\" stroke-width=\"5\" opacity=\".45\"><path d=\"M68 126c-4-30 20-58 58-60c34 0 52 22 46 50\"/><path d=\"M86 124c-2-20 14-38 40-40c22 0 34 14 30 32\"/><path d=\"M104 122c0-10 8-18 22-20c12 0 16 8 14 16\"/></g>",
    ),
    (
        "ammonite",
        "#a0763d",
        "<circle cx=\"120\" cy=\"92\" r=\"69\" fill=\"C\"/><path d=\"M186 92a66 66 0 1 0-74 66q-2-16 4-20a46 46 0 1 1 50-46a32 32 0 1 1-32-32a18 18 0 1 1-14 26\" fill=\"none\" stroke=\"#000\" stroke-opacity=\".35\" stroke-width=\"5\"/><g stroke=\"#fff\" stroke-opacity=\".4\" stroke-width=\"4\"><path d=\"M120 26v20M166 46l-14 14M74 46l14 14M54 92h20M74 138l14-14M186 92h-20\"/></g>",
    ),
    (
        "fern",
        "#3f7d4e",
        "<path d=\"M120 164C122 110 118 70 132 20\" stroke=\"C\" stroke-width=\"6\" fill=\"none\" stroke-linecap=\"round\"/><g fill=\"C\"><path d=\"M120 140q-46-6-58-30q44 2 58 30zM120 140q46-6 58-30q-44 2-58 30zM121 106q-40-4-50-28q38 2 50 28zM121 106q42-6 52-28q-40 2-52 28zM123 76q-30-4-38-22q30 2 38 22zM123 76q36-4 44-24q-36 2-44 24zM127 48q-22-2-28-18q24 2 28 18zM127 48q26-4 32-18q-26 2-32 18z\"/></g>",
    ),
    (
        "bone",
        "#8a8072",
        "<g transform=\"rotate(-24 120 90)\"><path d=\"M70 80h100c-4-22 26-28 30-8c18 0 18 36 0 36c-4 20-34 14-30-8H70c4 22-26 28-30 8c-18 0-18-36 0-36c4-20 34-14 30 8z\" fill=\"C\"/><path d=\"M74 88h92\" stroke=\"#fff\" stroke-width=\"5\" opacity=\".5\" stroke-linecap=\"round\"/></g>",
    ),
    (
        "beetle",
        "#4f6f3f",
        "<g stroke=\"#2b2b2b\" stroke-width=\"5\" fill=\"none\" stroke-linecap=\"round\"><path d=\"M88 80L56 62M84 104H48M90 128l-30 22M152 80l32-18M156 104h36M150 128l30 22M112 46l-14-24M128 46l14-24\"/></g><ellipse cx=\"120\" cy=\"108\" rx=\"40\" ry=\"52\" fill=\"C\"/><path d=\"M84 74a38 30 0 0 1 72 0z\" fill=\"#2f3a2a\"/><circle cx=\"120\" cy=\"52\" r=\"15\" fill=\"#2b2b2b\"/><path d=\"M120 74v86\" stroke=\"#000\" opacity=\".4\" stroke-width=\"4\"/><path d=\"M98 88q-12 24 0 52\" stroke=\"#fff\" opacity=\".35\" stroke-width=\"5\" fill=\"none\" stroke-linecap=\"round\"/>",
    ),
    (
        "butterfly",
        "#c9822f",
        "<path d=\"M116 88C100 30 40 24 40 62c0 28 36 40 76 32zM124 88c16-58 76-64 76-26c0 28-36 40-76 32z\" fill=\"C\"/><path d=\"M116 94c-44 2-60 26-46 48c16 22 44-10 46-40zM124 94c44 2 60 26 46 48c-16 22-44-10-46-40z\" fill=\"C\" opacity=\".75\"/><g fill=\"#fff\" opacity=\".7\"><circle cx=\"66\" cy=\"60\" r=\"8\"/><circle cx=\"174\" cy=\"60\" r=\"8\"/><circle cx=\"86\" cy=\"126\" r=\"6\"/><circle cx=\"154\" cy=\"126\" r=\"6\"/></g><path d=\"M120 62v74M120 64l-14-26M120 64l14-26\" stroke=\"#2b2b2b\" stroke-width=\"6\" stroke-linecap=\"round\"/>",
    ),
    (
        "leaf",
        "#2f7d62",
        "<path d=\"M120 160c-8-12-40-10-40-36c-20-6-22-34-4-42c-8-22 16-38 32-26c4-16 10-26 12-32c2 6 8 16 12 32c16-12 40 4 32 26c18 8 16 36-4 42c0 26-32 24-40 36z\" fill=\"C\"/><path d=\"M120 158V60M120 140l-24-14M120 140l24-14M120 112l-28-16M120 112l28-16M120 84l-14-10M120 84l14-10\" stroke=\"#fff\" opacity=\".5\" stroke-width=\"4\" fill=\"none\" stroke-linecap=\"round\"/>",
    ),
    (
        "flower",
        "#b8568a",
        "<path d=\"M120 168c-2-30 2-44 0-70\" stroke=\"#4f8a3f\" stroke-width=\"6\" fill=\"none\"/><path d=\"M120 148q30-26 48-12q-14 20-48 12z\" fill=\"#4f8a3f\"/><g fill=\"C\"><ellipse cx=\"120\" cy=\"42\" rx=\"17\" ry=\"26\"/><ellipse cx=\"120\" cy=\"42\" rx=\"17\" ry=\"26\" transform=\"rotate(72 120 76)\"/><ellipse cx=\"120\" cy=\"42\" rx=\"17\" ry=\"26\" transform=\"rotate(144 120 76)\"/><ellipse cx=\"120\" cy=\"42\" rx=\"17\" ry=\"26\" transform=\"rotate(216 120 76)\"/><ellipse cx=\"120\" cy=\"42\" rx=\"17\" ry=\"26\" transform=\"rotate(288 120 76)\"/></g><circle cx=\"120\" cy=\"76\" r=\"15\" fill=\"#f0c24a\"/>",
    ),
    (
        "shell",
        "#c0708a",
        "<path d=\"M120 152l-18-8c-40-16-54-60-30-88c26-28 70-28 96 0c24 28 10 72-30 88z\" fill=\"C\"/><g stroke=\"#fff\" stroke-opacity=\".5\" stroke-width=\"5\" fill=\"none\" stroke-linecap=\"round\"><path d=\"M120 142V42M112 140L84 54M128 140l28-86M106 136L66 78M134 136l40-58\"/></g><path d=\"M98 146h44l8 16H90z\" fill=\"C\"/>",
    ),
    (
        "track",
        "#8f7a5e",
        "<path d=\"M30 40h180v116H30z\" fill=\"C\" opacity=\".55\"/><g fill=\"#4a3d2c\" opacity=\".75\"><path d=\"M120 150c-16 0-22-14-18-26c4-14 10-20 8-40c-2-16 4-34 10-38c6 4 12 22 10 38c-2 20 4 26 8 40c4 12-2 26-18 26z\"/><path d=\"M104 130c-18-6-26-24-42-56c-2-6 4-8 8-4c22 20 34 30 40 44zM136 130c18-6 26-24 42-56c2-6-4-8-8-4c-22 20-34 30-40 44z\"/></g><path d=\"M42 52l20 8m116 76l22 6M50 140l14-6\" stroke=\"#fff\" stroke-opacity=\".5\" stroke-width=\"4\" stroke-linecap=\"round\"/>",
    ),
    (
        "feather",
        "#3c6f9c",
        "<path d=\"M62 152c-6-50 30-110 120-128c-2 70-50 122-104 118z\" fill=\"C\"/><path d=\"M48 168C80 128 120 84 166 44\" stroke=\"#fff\" stroke-opacity=\".75\" stroke-width=\"4\" fill=\"none\" stroke-linecap=\"round\"/><path d=\"M92 118l-20-4M112 96l-24-8M132 76l-20-10M100 112l6 22M122 90l10 22M144 68l14 16\" stroke=\"#fff\" stroke-opacity=\".4\" stroke-width=\"3\"/>",
    ),
    (
        "tool",
        "#b08a3a",
        "<path d=\"M70 156h92\" stroke=\"#5b4a3c\" stroke-width=\"12\" stroke-linecap=\"round\"/><path d=\"M146 152c22-20 22-60-6-76\" stroke=\"C\" stroke-width=\"11\" fill=\"none\"/><path d=\"M84 122h58\" stroke=\"#5b4a3c\" stroke-width=\"8\" stroke-linecap=\"round\"/><g transform=\"rotate(24 122 70)\"><path d=\"M110 34h24v60h-24z\" fill=\"C\"/><path d=\"M106 22h32v14h-32zM114 94h16v16h-16z\" fill=\"#5b4a3c\"/></g>",
    ),
];

/// The habitats of the bird pages: slug, sky, three layers.
pub(super) const HABITATS: [(&str, [&str; 4]); 6] = [
    ("woodland", ["#d8e8dc", "#8fb89a", "#5a8f6a", "#2f6044"]),
    ("farmland", ["#f3e8c8", "#d9c07a", "#b8963f", "#7f6a2c"]),
    ("river", ["#d6e8f2", "#93bcd2", "#4f8fb0", "#2f6785"]),
    ("estuary", ["#e6e4e0", "#b5bcc2", "#8295a2", "#566c7b"]),
    ("heath", ["#efe0ea", "#c99abf", "#9a5f92", "#5f3a5c"]),
    ("town", ["#f2e2d8", "#d9a58c", "#b0654a", "#6f3d2c"]),
];

/// The mark of each site: theme, colour, shape in white on 40 by 40.
pub(super) const MARKS: [(&str, &str, &str); 6] = [
    (
        "museu",
        "#8a5a2b",
        "<path d=\"M8 17L20 9l12 8zM11 19h3v9h-3zm7 0h4v9h-4zm8 0h3v9h-3zM8 30h24v3H8z\" fill=\"#fff\"/>",
    ),
    (
        "birds",
        "#2f7a63",
        "<path d=\"M8 24c4-10 12-14 18-12c3 1 5 3 5 5l4 1-4 2c0 7-6 11-12 11H10l5-4z\" fill=\"#fff\"/><circle cx=\"26\" cy=\"16.500\" r=\"1.500\" fill=\"#2f7a63\"/>",
    ),
    (
        "biblioteca",
        "#8c3b4a",
        "<path d=\"M9 11c4-1 8 0 10 2v18c-2-2-6-3-10-2zM31 11c-4-1-8 0-10 2v18c2-2 6-3 10-2z\" fill=\"#fff\"/>",
    ),
    (
        "noticias",
        "#2c4a7c",
        "<path d=\"M9 11h22v4H9zm0 7h10v12H9zm13 0h9v3h-9zm0 5h9v3h-9zm0 5h9v2h-9z\" fill=\"#fff\"/>",
    ),
    (
        "recipes",
        "#b8502c",
        "<path d=\"M8 19h24c0 7-4 11-8 12h-8c-4-1-8-5-8-12zM15 8c3 3-2 5 1 8m7-8c3 3-2 5 1 8\" fill=\"#fff\" stroke=\"#fff\" stroke-width=\"2\" fill-rule=\"evenodd\"/>",
    ),
    (
        "cdn",
        "#5a5f6b",
        "<path d=\"M10 12h20v6H10zm0 9h20v6H10z\" fill=\"#fff\"/>",
    ),
];

/// A museum drawing as a file.
pub(super) fn museum(colour: &str, shapes: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 240 180\" width=\"240\" height=\"180\">\
         <rect width=\"240\" height=\"180\" fill=\"#f3efe6\"/>\
         <ellipse cx=\"120\" cy=\"166\" rx=\"84\" ry=\"7\" fill=\"#000\" opacity=\".10\"/>{}</svg>\n",
        shapes.replace("\"C\"", &format!("\"{colour}\""))
    )
}

/// A site's mark as a file.
pub(super) fn mark(colour: &str, shape: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 40 40\" width=\"40\" height=\"40\">\
         <rect width=\"40\" height=\"40\" rx=\"9\" fill=\"{colour}\"/>{shape}</svg>\n"
    )
}

/// A habitat as a file: sky, two distances, and what stands in front.
pub(super) fn habitat(slug: &str, [sky, far, middle, near]: [&str; 4]) -> String {
    let front = match slug {
        "woodland" => (0..9)
            .map(|tree| {
                let x = 30 + tree * 72 + (tree * 37) % 29;
                let top = 96 + (tree * 53) % 60;
                format!("<path d=\"M{x} {top}l34 124h-68z\" fill=\"{near}\"/>")
            })
            .collect(),
        "town" => (0..8)
            .map(|house| {
                let x = house * 82 - 10;
                let top = 170 + (house * 41) % 48;
                format!(
                    "<path d=\"M{x} 260V{top}l36-30 36 30v90z\" fill=\"{near}\"/>\
                     <rect x=\"{window}\" y=\"{sill}\" width=\"14\" height=\"18\" fill=\"#ffe2a0\"/>",
                    window = x + 29,
                    sill = top + 14,
                )
            })
            .collect(),
        "estuary" => (0..26)
            .map(|reed| {
                let x = 8 + reed * 25;
                let top = 168 + (reed * 31) % 44;
                format!("<path d=\"M{x} 270q2-50 6-{}\" transform=\"translate(0 -4)\" stroke=\"{near}\" stroke-width=\"4\" fill=\"none\"/><ellipse cx=\"{}\" cy=\"{top}\" rx=\"4\" ry=\"13\" fill=\"{near}\"/>", 270 - top, x + 6)
            })
            .collect(),
        "river" => format!("<path d=\"M330 180c-60 22 90 44-30 64S90 280 60 320h420c-40-40 60-60 40-84s-120-30-90-56z\" fill=\"#fff\" opacity=\".55\"/><path d=\"M0 262q70-18 130 8t120 50H0z\" fill=\"{near}\"/>"),
        _ => (0..16)
            .map(|bush| {
                let x = bush * 44;
                let y = 250 + (bush * 29) % 34;
                format!("<ellipse cx=\"{x}\" cy=\"{y}\" rx=\"38\" ry=\"24\" fill=\"{near}\" opacity=\".85\"/>")
            })
            .collect::<String>(),
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 300\" width=\"640\" height=\"300\">\
         <rect width=\"640\" height=\"300\" fill=\"{sky}\"/><circle cx=\"500\" cy=\"76\" r=\"34\" fill=\"#fff\" opacity=\".8\"/>\
         <path d=\"M0 170q90-60 190-26t190-20t260 10v166H0z\" fill=\"{far}\"/>\
         <path d=\"M0 214q120-50 250-14t390-22v122H0z\" fill=\"{middle}\"/>{front}</svg>\n"
    )
}
