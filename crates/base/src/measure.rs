//! Durations and sizes as people write them: `1s`, `10m`, `200KB`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Reads `500ms`, `1s`, `1.5m`, `2h`, `7d`, `0`, or several in a row (`1h30m`).
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let refuse = || {
        format!("`{text}` is not a duration; write for example `500ms`, `1s`, `10m`, `2h` or `7d`")
    };
    let trimmed = text.trim();
    if trimmed == "0" {
        return Ok(Duration::ZERO);
    }
    if trimmed.parse::<f64>().is_ok_and(|number| number > 0.0) {
        return Err(format!(
            "`{trimmed}` is a duration without its unit; write `{trimmed}s` for seconds, or `{trimmed}ms`, `{trimmed}m`, `{trimmed}h`, `{trimmed}d`"
        ));
    }
    let mut rest = trimmed;
    let mut total = 0.0_f64;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or_else(refuse)?;
        let number: f64 = rest[..digits].parse().map_err(|_| refuse())?;
        let unit_end = rest[digits..]
            .find(|c: char| !c.is_ascii_alphabetic())
            .map_or(rest.len(), |at| digits + at);
        let seconds = match &rest[digits..unit_end] {
            "us" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            "w" => 604_800.0,
            _ => return Err(refuse()),
        };
        total += number * seconds;
        rest = rest[unit_end..].trim_start();
    }
    if trimmed.is_empty() || !(0.0..=3.2e9).contains(&total) {
        return Err(refuse());
    }
    Ok(Duration::from_secs_f64(total))
}

/// Writes a duration so that [`parse_duration`] reads the same one (to the microsecond).
pub fn format_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    if !duration.as_micros().is_multiple_of(1000) {
        return format!("{}us", duration.as_micros());
    }
    for (unit, size) in [
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1000),
    ] {
        if millis >= size && millis.is_multiple_of(size) {
            return format!("{}{unit}", millis / size);
        }
    }
    if millis == 0 {
        "0s".to_owned()
    } else {
        format!("{millis}ms")
    }
}

/// Reads `512`, `200KB`, `16MB`, `1.5GB` (powers of 1,000) or `64KiB`, `16MiB` (powers of 1,024).
pub fn parse_size(text: &str) -> Result<u64, String> {
    let refuse = || {
        format!(
            "`{text}` is not a size; write for example `200KB`, `16MB`, `1GiB` or a number of bytes"
        )
    };
    let trimmed = text.trim();
    let digits = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(trimmed.len());
    let number: f64 = trimmed[..digits].parse().map_err(|_| refuse())?;
    let unit = match trimmed[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1_048_576.0,
        "gib" => 1_073_741_824.0,
        "tib" => 1_099_511_627_776.0,
        _ => return Err(refuse()),
    };
    let bytes = number * unit;
    if !(0.0..=9e18).contains(&bytes) {
        return Err(refuse());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked just above"
    )]
    Ok(bytes.round() as u64)
}

/// Writes a size so that [`parse_size`] reads the same one: `16MB`, `64KiB`, or bytes where no unit
/// fits.
pub fn exact_size(bytes: u64) -> String {
    for (unit, size) in [
        ("TiB", 1 << 40),
        ("TB", 1_000_000_000_000),
        ("GiB", 1 << 30),
        ("GB", 1_000_000_000),
        ("MiB", 1 << 20),
        ("MB", 1_000_000),
        ("KiB", 1 << 10),
        ("KB", 1000),
    ] {
        if bytes >= size && bytes.is_multiple_of(size) {
            return format!("{}{unit}", bytes / size);
        }
    }
    bytes.to_string()
}

/// Writes a size for people, three digits or fewer: `24.1 KB`.
pub fn format_size(bytes: u64) -> String {
    #[expect(
        clippy::cast_precision_loss,
        reason = "for people, three digits are enough"
    )]
    let mut value = bytes as f64;
    for unit in ["B", "KB", "MB", "GB", "TB"] {
        if value < 999.5 {
            return if unit == "B" || value >= 99.5 {
                format!("{value:.0} {unit}")
            } else {
                format!("{value:.1} {unit}")
            };
        }
        value /= 1000.0;
    }
    format!("{value:.1} PB")
}

/// For `#[serde(with = "duration")]`: durations as people write them.
pub mod duration {
    use std::fmt;

    use serde::de::{Error, Visitor};

    use super::{Deserializer, Duration, Serializer};

    struct Written;

    impl Visitor<'_> for Written {
        type Value = Duration;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a duration such as \"1s\" or \"10m\"")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Duration, E> {
            super::parse_duration(text).map_err(E::custom)
        }

        // Numbers are read only to say what is missing.
        fn visit_i64<E: Error>(self, number: i64) -> Result<Duration, E> {
            self.visit_str(&number.to_string())
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<Duration, E> {
            self.visit_str(&number.to_string())
        }

        fn visit_f64<E: Error>(self, number: f64) -> Result<Duration, E> {
            self.visit_str(&number.to_string())
        }
    }

    /// Reads `"1s"`.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        deserializer.deserialize_any(Written)
    }

    /// Writes `"1s"`.
    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::format_duration(*duration))
    }
}

/// For `#[serde(with = "size")]`: sizes as people write them, or plain numbers of bytes.
pub mod size {
    use std::fmt;

    use serde::de::{Error, Visitor};

    use super::{Deserializer, Serializer};

    struct Written;

    impl Visitor<'_> for Written {
        type Value = u64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a size such as \"200KB\" or \"16MB\", or a number of bytes")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
            super::parse_size(text).map_err(E::custom)
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
            self.visit_str(&number.to_string())
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
            Ok(number)
        }
    }

    /// Reads `"16MB"` or `16000000`.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_any(Written)
    }

    /// Writes `"16MB"`, or the number of bytes where no unit fits.
    pub fn serialize<S: Serializer>(bytes: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        let text = super::exact_size(*bytes);
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            serializer.serialize_u64(*bytes)
        } else {
            serializer.serialize_str(&text)
        }
    }
}

/// For `#[serde(with = "optional_size")]`: a size, or nothing.
pub mod optional_size {
    use super::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize, Serialize)]
    struct Size(#[serde(with = "super::size")] u64);

    /// Reads `"16MB"`, `16000000`, or nothing.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u64>, D::Error> {
        Ok(Option::<Size>::deserialize(deserializer)?.map(|size| size.0))
    }

    /// Writes what is there.
    pub fn serialize<S: Serializer>(bytes: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        bytes.map(Size).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_written() {
        assert_eq!(parse_duration("1s"), Ok(Duration::from_secs(1)));
        assert_eq!(parse_duration("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse_duration("0s"), Ok(Duration::ZERO));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        for bad in ["", "1", "s", "1x", "-1s", "1s!"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
        assert!(parse_duration("1").unwrap_err().contains("write `1s`"));
        for text in ["0s", "1500us", "500ms", "1s", "10m", "2h", "7d", "90s"] {
            assert_eq!(format_duration(parse_duration(text).unwrap()), text);
        }
    }

    #[test]
    fn sizes_read_as_written() {
        assert_eq!(parse_size("200KB"), Ok(200_000));
        assert_eq!(parse_size("16MiB"), Ok(16 << 20));
        assert_eq!(parse_size("7"), Ok(7));
        assert!(parse_size("big").is_err());
        assert!(parse_size("").is_err());
        assert_eq!(format_size(24_100), "24.1 KB");
        assert_eq!(format_size(999), "999 B");
        for text in ["200KB", "16MB", "16MiB", "64KiB", "1GiB", "7", "1025", "0"] {
            assert_eq!(exact_size(parse_size(text).unwrap()), text);
        }
    }
}
