//! A very small PDF writer: A4 pages of text in Helvetica, one size for titles and one for lines.
//!
//! Layout: header, then the objects in order (1 catalogue, 2 page tree, 3 and 4 fonts, 5 information,
//! then a page and its content for each page), the cross-reference table, the trailer.

/// Lines that fit on a page below its title.
const LINES_PER_PAGE: usize = 44;

/// A PDF 1.4 document with this title and these lines; a line that begins with `# ` is a heading.
pub(super) fn write(title: &str, lang: &str, lines: &[String]) -> Vec<u8> {
    let pages: Vec<&[String]> = lines.chunks(LINES_PER_PAGE).collect();
    let kids: String = (0..pages.len())
        .map(|page| format!("{} 0 R ", 6 + 2 * page))
        .collect();
    let mut objects: Vec<Vec<u8>> = vec![
        format!("<< /Type /Catalog /Pages 2 0 R /Lang ({lang}) >>").into_bytes(),
        format!("<< /Type /Pages /Kids [ {kids}] /Count {} >>", pages.len()).into_bytes(),
        font("Helvetica"),
        font("Helvetica-Bold"),
        [
            b"<< /Title (",
            text(title).as_slice(),
            b") /Producer (teia demo) >>",
        ]
        .concat(),
    ];
    for (index, page) in pages.iter().enumerate() {
        objects.push(
            format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {} 0 R \
                 /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>",
                7 + 2 * index
            )
            .into_bytes(),
        );
        objects.push(content(title, page, index + 1));
    }
    assemble(&objects)
}

fn font(name: &str) -> Vec<u8> {
    format!("<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>")
        .into_bytes()
}

fn content(title: &str, lines: &[String], number: usize) -> Vec<u8> {
    let mut stream = b"BT\n/F2 20 Tf\n56 780 Td\n(".to_vec();
    stream.extend(text(title));
    stream.extend_from_slice(b") Tj\n/F1 11 Tf\n15 TL\n0 -34 Td\n");
    for line in lines {
        let (font, words) = match line.strip_prefix("# ") {
            Some(heading) => ("/F2 12 Tf", heading),
            None => ("/F1 11 Tf", line.as_str()),
        };
        stream.extend_from_slice(font.as_bytes());
        stream.extend_from_slice(b" (");
        stream.extend(text(words));
        stream.extend_from_slice(b") Tj T*\n");
    }
    stream.extend_from_slice(format!("ET\nBT /F1 9 Tf 290 32 Td ({number}) Tj ET\n").as_bytes());
    let mut object = format!("<< /Length {} >>\nstream\n", stream.len()).into_bytes();
    object.extend(stream);
    object.extend_from_slice(b"endstream");
    object
}

/// The bytes of a string: WinAnsi, of which Latin-1 is all that the demo needs, with brackets escaped.
fn text(words: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(words.len());
    for character in words.chars() {
        match character {
            '(' | ')' | '\\' => bytes.extend([b'\\', character as u8]),
            '–' => bytes.push(0x96),
            '’' => bytes.push(0x92),
            _ => bytes.push(u8::try_from(u32::from(character)).unwrap_or(b'?')),
        }
    }
    bytes
}

fn assemble(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut pdf = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec();
    let mut offsets = Vec::with_capacity(objects.len());
    for (index, object) in objects.iter().enumerate() {
        offsets.push(pdf.len());
        pdf.extend_from_slice(format!("{} 0 obj\n", index + 1).as_bytes());
        pdf.extend_from_slice(object);
        pdf.extend_from_slice(b"\nendobj\n");
    }
    let start = pdf.len();
    let count = objects.len() + 1;
    pdf.extend_from_slice(format!("xref\n0 {count}\n0000000000 65535 f \n").as_bytes());
    for offset in offsets {
        pdf.extend_from_slice(format!("{offset:010} 00000 n \n").as_bytes());
    }
    pdf.extend_from_slice(
        format!(
            "trailer\n<< /Size {count} /Root 1 0 R /Info 5 0 R >>\nstartxref\n{start}\n%%EOF\n"
        )
        .as_bytes(),
    );
    pdf
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_offset_of_the_table_points_at_its_object() {
        let lines: Vec<String> = (0..100).map(|line| format!("Linha {line} (ção)")).collect();
        let pdf = write("Guia", "pt", &lines);
        assert!(pdf.starts_with(b"%PDF-1.4"));
        // One character for each byte, so that offsets stay true: what is not ASCII becomes a question mark.
        let text: String = pdf
            .iter()
            .map(|&byte| if byte.is_ascii() { byte as char } else { '?' })
            .collect();
        let start: usize = text
            .rsplit("startxref\n")
            .next()
            .and_then(|tail| tail.lines().next())
            .unwrap()
            .parse()
            .unwrap();
        let mut rows = text[start..].lines();
        assert_eq!(rows.next(), Some("xref"));
        let count: usize = rows.next().unwrap()[2..].parse().unwrap();
        assert_eq!(count, 1 + 5 + 2 * 3);
        for (number, row) in rows.take(count).enumerate().skip(1) {
            assert_eq!(row.len(), 19, "a row is 20 bytes with its end");
            let offset: usize = row[..10].parse().unwrap();
            assert!(text[offset..].starts_with(&format!("{number} 0 obj\n")));
        }
        for (at, _) in text.match_indices("/Length ") {
            let length: usize = text[at + 8..].split(' ').next().unwrap().parse().unwrap();
            let body = at + text[at..].find("stream\n").unwrap() + 7;
            assert!(text[body + length..].starts_with("endstream"));
        }
    }
}
