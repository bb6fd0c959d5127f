//! Curves, drawn on the server: one idea each, from zero, with units, and the numbers behind them.
//!
//! The drawing needs no script; `live.js` adds a line under the pointer that reads the values, and takes
//! new drawings in while a run goes on.

use std::fmt::Write as _;

use teia_base::Timestamp;

use crate::words::Words;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 200.0;
/// Around the curve: left for the numbers, below for the times.
const LEFT: f64 = 84.0;
const RIGHT: f64 = 8.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 24.0;
/// Rows of the table under a curve, spread over its length.
const MOST_ROWS: usize = 60;

/// What is measured along the curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A count.
    Count,
    /// Bytes.
    Bytes,
}

/// A curve: moments in microseconds since 1970, rising, and values that are not negative.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// What it shows.
    pub(crate) title: String,
    unit: Unit,
    points: Vec<(i64, f64)>,
}

impl Chart {
    pub(crate) fn new(title: impl Into<String>, unit: Unit, points: Vec<(i64, f64)>) -> Self {
        Self {
            title: title.into(),
            unit,
            points,
        }
    }

    /// Two points make a curve.
    pub(crate) fn is_drawn(&self) -> bool {
        self.points.len() > 1
    }

    /// The newest value, as people read it.
    pub(crate) fn latest(&self, w: &Words) -> String {
        let latest = self.points.last().map_or(0.0, |(_, value)| *value);
        shown(w, self.unit, latest)
    }

    /// Some of its values, as a table.
    pub(crate) fn rows(&self, w: &Words) -> Vec<(String, String)> {
        let step = self.points.len().div_ceil(MOST_ROWS).max(1);
        // From the end, so that the newest is there.
        let mut rows: Vec<(String, String)> = self
            .points
            .iter()
            .rev()
            .step_by(step)
            .map(|(at, value)| (full_moment(*at), shown(w, self.unit, *value)))
            .collect();
        rows.reverse();
        rows
    }

    /// The drawing. Everything in it is ours: numbers, times and words.
    pub(crate) fn svg(&self, w: &Words) -> String {
        let mut svg = String::new();
        let (Some(first), Some(last)) = (self.points.first(), self.points.last()) else {
            return svg;
        };
        let most = self
            .points
            .iter()
            .map(|(_, value)| *value)
            .fold(0.0, f64::max);
        let (step, top) = scale(most, self.unit);
        let span = (last.0 - first.0).max(1);
        let x = |at: i64| LEFT + (WIDTH - LEFT - RIGHT) * (at - first.0) as f64 / span as f64;
        let y = |value: f64| TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - value / top);
        let _ = write!(
            svg,
            r#"<svg class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}: {}" data-left="{LEFT}" data-right="{RIGHT}">"#,
            escaped(&self.title),
            escaped(&self.latest(w)),
        );
        let mut value = 0.0;
        while value <= top * 1.001 {
            let at = y(value);
            let _ = write!(
                svg,
                r#"<line class="rule" x1="{LEFT}" x2="{:.0}" y1="{at:.1}" y2="{at:.1}"/><text class="unit" x="{:.0}" y="{:.1}">{}</text>"#,
                WIDTH - RIGHT,
                LEFT - 8.0,
                at + 4.0,
                escaped(&shown(w, self.unit, value)),
            );
            value += step;
        }
        for (half, anchor) in [(0, "start"), (1, "middle"), (2, "end")] {
            let at = first.0 + span * half / 2;
            let _ = write!(
                svg,
                r#"<text class="time" x="{:.1}" y="{:.0}" text-anchor="{anchor}">{}</text>"#,
                x(at),
                HEIGHT - 6.0,
                clock(at, span),
            );
        }
        let mut line = String::new();
        for (number, (at, value)) in self.points.iter().enumerate() {
            let letter = if number == 0 { 'M' } else { 'L' };
            let _ = write!(line, "{letter}{:.1} {:.1}", x(*at), y(*value));
        }
        let base = y(0.0);
        let _ = write!(
            svg,
            r#"<path class="area" d="{line}L{:.1} {base:.1}L{:.1} {base:.1}Z"/><path class="line" d="{line}"/></svg>"#,
            x(last.0),
            x(first.0),
        );
        svg
    }

    /// Moments and values for the line under the pointer, as JSON: `[[x, when, value], …]`.
    pub(crate) fn data(&self, w: &Words) -> String {
        let (Some(first), Some(last)) = (self.points.first(), self.points.last()) else {
            return "[]".to_owned();
        };
        let span = (last.0 - first.0).max(1) as f64;
        let rows: Vec<(f64, String, String)> = self
            .points
            .iter()
            .map(|(at, value)| {
                let share = (at - first.0) as f64 / span;
                (
                    (share * 1e4).round() / 1e4,
                    full_moment(*at),
                    shown(w, self.unit, *value),
                )
            })
            .collect();
        serde_json::to_string(&rows).unwrap_or_else(|_| "[]".to_owned())
    }
}

/// Changes a second of something that only grows, over each step.
pub(crate) fn per_second(points: &[(i64, f64)]) -> Vec<(i64, f64)> {
    let rate = |two: &[(i64, f64)]| {
        let seconds = (two[1].0 - two[0].0).max(1) as f64 / 1e6;
        // After a restart a sum may begin anew.
        (two[1].0, (two[1].1 - two[0].1).max(0.0) / seconds)
    };
    points.windows(2).map(rate).collect()
}

/// The step between rules, and where the uppermost is: three to six rules, at round numbers.
fn scale(most: f64, unit: Unit) -> (f64, f64) {
    let most = if most > 0.0 { most } else { 1.0 };
    let rough = most / 4.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= rough)
        .unwrap_or(10.0 * power);
    // There is no half of a page, and no half of a byte.
    let step = if unit == Unit::Count && step < 1.0 && most >= 1.0 {
        1.0
    } else {
        step
    };
    (step, (most / step).ceil() * step)
}

/// A number for people, without its part behind the point; 0 where it is negative.
#[expect(
    clippy::cast_possible_truncation,
    reason = "beyond what fits the nearest number is meant"
)]
pub(crate) fn whole(number: f64) -> u64 {
    number.round() as u64
}

fn shown(w: &Words, unit: Unit, value: f64) -> String {
    match unit {
        Unit::Bytes => w.bytes(whole(value)),
        Unit::Count if value >= 100.0 || value.fract() == 0.0 => w.number(whole(value)),
        Unit::Count if value >= 10.0 => w.decimal(format!("{value:.1}")),
        Unit::Count => w.decimal(format!("{value:.2}")),
    }
}

/// `14:05`, with seconds where little time is shown and a date where much is; in UTC.
fn clock(at: i64, span: i64) -> String {
    let digits = Timestamp::from_micros(at).to_digits();
    let (hour, minute, second) = (&digits[8..10], &digits[10..12], &digits[12..14]);
    if span < 600_000_000 {
        format!("{hour}:{minute}:{second}")
    } else if span < 172_800_000_000 {
        format!("{hour}:{minute}")
    } else {
        format!("{}-{}-{}", &digits[..4], &digits[4..6], &digits[6..8])
    }
}

fn full_moment(at: i64) -> String {
    let digits = Timestamp::from_micros(at).to_digits();
    format!(
        "{}-{}-{} {}:{}:{}",
        &digits[..4],
        &digits[4..6],
        &digits[6..8],
        &digits[8..10],
        &digits[10..12],
        &digits[12..14]
    )
}

fn escaped(text: &str) -> String {
    htmlize::escape_attribute(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Tongue;

    #[test]
    fn rules_are_few_and_round() {
        for (most, unit, expected) in [
            (0.0, Unit::Count, (1.0, 1.0)),
            (0.3, Unit::Count, (0.1, 0.3)),
            (3.0, Unit::Count, (1.0, 3.0)),
            (412.0, Unit::Count, (200.0, 600.0)),
            (1e9, Unit::Bytes, (2.5e8, 1e9)),
        ] {
            let (step, top) = scale(most, unit);
            assert!((step - expected.0).abs() < 1e-9, "{most}: {step}");
            assert!((top - expected.1).abs() < 1e-9, "{most}: {top}");
            assert!(top >= most);
        }
    }

    #[test]
    fn a_curve_of_any_values_is_drawn_within_its_frame() {
        let w = Tongue::English.words();
        let points = (0..500)
            .map(|at| (at * 1_000_000, (at % 17) as f64))
            .collect();
        let chart = Chart::new("a <b> & \"c\"", Unit::Count, points);
        let svg = chart.svg(w);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(!svg.contains("<b>"), "{svg}");
        assert!(chart.rows(w).len() <= MOST_ROWS);
        assert_eq!(chart.rows(w).last().unwrap().0, "1970-01-01 00:08:19");
        let one = Chart::new("one", Unit::Bytes, vec![(5, 0.0)]);
        assert!(!one.is_drawn() && !one.svg(w).contains("NaN"));
    }

    #[test]
    fn a_rate_is_never_negative() {
        let sums = [
            (0, 0.0),
            (1_000_000, 5.0),
            (2_000_000, 2.0),
            (4_000_000, 12.0),
        ];
        assert_eq!(
            per_second(&sums),
            [(1_000_000, 5.0), (2_000_000, 0.0), (4_000_000, 5.0)]
        );
    }
}
