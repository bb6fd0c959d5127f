//! Pictures painted pixel by pixel and served as PNG: the valley at several hours, and dishes seen from above.

use std::ops::Range;

use super::png;

/// A colour, red, green, blue, each 0 to 255.
type Colour = [f32; 3];

/// A canvas of RGB pixels.
#[derive(Debug)]
struct Canvas {
    width: u16,
    height: u16,
    pixels: Vec<Colour>,
}

/// The colours of the valley at some hour.
#[derive(Debug)]
pub(super) struct Hour {
    /// Its file name, without the ending.
    pub(super) name: &'static str,
    /// What it shows, in Portuguese.
    pub(super) caption: &'static str,
    sky: [u32; 2],
    sun: (f32, f32, u32),
    hills: [u32; 4],
}

/// Six hours of the valley.
pub(super) const HOURS: [Hour; 6] = [
    Hour {
        name: "madrugada",
        caption: "O vale antes de nascer o sol",
        sky: [0x25355e, 0xe8a58a],
        sun: (0.72, 0.60, 0xffd9b0),
        hills: [0x6a6390, 0x4d4b78, 0x36385e, 0x232743],
    },
    Hour {
        name: "manha",
        caption: "Manhã limpa sobre o rio Lume",
        sky: [0x79b7e4, 0xe6f2f4],
        sun: (0.25, 0.28, 0xfff6d8),
        hills: [0x9cc0b8, 0x6fa38d, 0x4a8468, 0x2f664c],
    },
    Hour {
        name: "tarde",
        caption: "A encosta ao fim da tarde",
        sky: [0xf2c66d, 0xfbe9c4],
        sun: (0.62, 0.45, 0xfff4cf),
        hills: [0xd9a566, 0xb9814a, 0x8f5f38, 0x644327],
    },
    Hour {
        name: "poente",
        caption: "Pôr do sol visto da ponte",
        sky: [0x5b3b73, 0xf0835a],
        sun: (0.40, 0.58, 0xffe08a),
        hills: [0x8f4a68, 0x6b3758, 0x492845, 0x2c1a30],
    },
    Hour {
        name: "chuva",
        caption: "Chuva miúda na serra",
        sky: [0x8a98a3, 0xd3dadd],
        sun: (0.5, -0.4, 0xffffff),
        hills: [0xa7b3b6, 0x87979b, 0x667a7e, 0x485d61],
    },
    Hour {
        name: "noite",
        caption: "Lua cheia sobre a vila",
        sky: [0x0e1633, 0x3a4a78],
        sun: (0.78, 0.24, 0xf4f1dd),
        hills: [0x33406a, 0x263157, 0x1a2342, 0x10172d],
    },
];

/// The valley at an hour, 640 by 360.
pub(super) fn valley(hour: &Hour) -> Vec<u8> {
    let mut canvas = Canvas::new(640, 360);
    canvas.sky(hour.sky);
    let (x, y, colour) = hour.sun;
    let (width, height) = (f32::from(canvas.width), f32::from(canvas.height));
    canvas.disc(x * width, y * height, 46.0, colour, 0.25);
    canvas.disc(x * width, y * height, 28.0, colour, 1.0);
    for (layer, colour) in (0_u8..).zip(hour.hills) {
        canvas.hill(f32::from(layer), colour);
    }
    canvas.encode()
}

/// A dish seen from above, in three colours, `width` by three quarters of it.
pub(super) fn dish(width: u16, colours: [u32; 3], seed: u32) -> Vec<u8> {
    let height = width / 4 * 3;
    let mut canvas = Canvas::new(width, height);
    canvas.sky([0xefe6da, 0xe2d5c3]);
    let (x, y) = (f32::from(width) / 2.0, f32::from(height) / 2.0);
    let radius = y * 0.84;
    canvas.disc(x + radius * 0.04, y + radius * 0.07, radius, 0xb8a890, 0.6);
    canvas.disc(x, y, radius, 0xfdfbf7, 1.0);
    canvas.disc(x, y, radius * 0.86, 0xeee8de, 1.0);
    canvas.disc(x, y, radius * 0.80, colours[0], 1.0);
    canvas.disc(
        x - radius * 0.1,
        y - radius * 0.12,
        radius * 0.58,
        colours[1],
        0.35,
    );
    let mut state = seed;
    for piece in 0_u8..34 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [_, turn, reach, size] = state.to_be_bytes();
        let angle = f32::from(turn) / 255.0 * std::f32::consts::TAU;
        let distance = radius * 0.70 * (f32::from(reach) / 255.0).sqrt();
        let piece_radius = radius * (0.03 + f32::from(size) / 255.0 * 0.05);
        let (at_x, at_y) = (x + angle.cos() * distance, y + angle.sin() * distance);
        canvas.disc(at_x + 1.5, at_y + 2.0, piece_radius, 0x3a2a18, 0.22);
        canvas.disc(
            at_x,
            at_y,
            piece_radius,
            colours[1 + usize::from(piece % 2)],
            1.0,
        );
    }
    canvas.encode()
}

impl Canvas {
    fn new(width: u16, height: u16) -> Self {
        Self {
            width,
            height,
            pixels: vec![[0.0; 3]; usize::from(width) * usize::from(height)],
        }
    }

    /// A gradient from the top to the bottom.
    fn sky(&mut self, [top, bottom]: [u32; 2]) {
        let (top, bottom) = (rgb(top), rgb(bottom));
        for y in 0..self.height {
            let part = f32::from(y) / f32::from(self.height);
            let colour = mix(top, bottom, part);
            let start = usize::from(y) * usize::from(self.width);
            self.pixels[start..start + usize::from(self.width)].fill(colour);
        }
    }

    /// A disc with a soft edge of one pixel.
    fn disc(&mut self, x: f32, y: f32, radius: f32, colour: u32, opacity: f32) {
        let colour = rgb(colour);
        let reach = radius + 1.0;
        self.shade(y - reach..y + reach, x - reach..x + reach, |at_x, at_y| {
            let distance = (column(at_x) - x).hypot(at_y - y);
            (colour, (radius + 0.5 - distance).clamp(0.0, 1.0) * opacity)
        });
    }

    /// A range of hills; higher layers are nearer, lower and rougher.
    fn hill(&mut self, layer: f32, colour: u32) {
        let colour = rgb(colour);
        let height = f32::from(self.height);
        let base = height * (0.56 + layer * 0.115);
        let crest: Vec<f32> = (0..self.width)
            .map(f32::from)
            .map(|x| {
                base - (x * 0.0085 * (1.0 + layer * 0.35) + layer * 2.1).sin() * 22.0
                    - (x * 0.021 + layer * 4.7).sin() * 9.0
                    - (x * 0.052 + layer * 1.3).sin() * (1.0 + layer)
            })
            .collect();
        self.shade(base - 40.0..height, 0.0..f32::MAX, |x, y| {
            (colour, (y - crest[x]).clamp(0.0, 1.0))
        });
    }

    /// Mixes into each pixel of a box the colour that `paint` gives for its column and height, by as much as it says.
    fn shade(
        &mut self,
        rows: Range<f32>,
        columns: Range<f32>,
        paint: impl Fn(usize, f32) -> (Colour, f32),
    ) {
        let width = usize::from(self.width);
        for (y, row) in (0_u16..).zip(self.pixels.chunks_exact_mut(width)) {
            let y = f32::from(y);
            if !rows.contains(&y) {
                continue;
            }
            for (x, pixel) in row.iter_mut().enumerate() {
                if columns.contains(&column(x)) {
                    let (colour, part) = paint(x, y);
                    *pixel = mix(*pixel, colour, part);
                }
            }
        }
    }

    fn encode(&self) -> Vec<u8> {
        let bytes: Vec<u8> = self
            .pixels
            .iter()
            .flatten()
            .map(|&part| byte(part))
            .collect();
        png::encode(u32::from(self.width), &bytes)
    }
}

/// A column as a coordinate; pictures are far narrower than what a `u16` holds.
fn column(x: usize) -> f32 {
    f32::from(u16::try_from(x).unwrap_or(u16::MAX))
}

fn rgb(colour: u32) -> Colour {
    let [_, red, green, blue] = colour.to_be_bytes();
    [f32::from(red), f32::from(green), f32::from(blue)]
}

fn mix(from: Colour, to: Colour, part: f32) -> Colour {
    [0, 1, 2].map(|channel| from[channel] + (to[channel] - from[channel]) * part)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is clamped to a byte first"
)]
fn byte(part: f32) -> u8 {
    part.round().clamp(0.0, 255.0) as u8
}
