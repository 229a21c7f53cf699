//! Times for people: UTC, to the second. Nothing here reads a clock.

const MS_PER_SECOND: i64 = 1000;
const SECONDS_PER_DAY: i64 = 86_400;

/// Unix milliseconds as `2026-11-30 19:54:02 UTC`.
pub(crate) fn utc(ms: i64) -> String {
    let seconds = ms.div_euclid(MS_PER_SECOND);
    let (year, month, day) = civil(seconds.div_euclid(SECONDS_PER_DAY));
    let of_day = seconds.rem_euclid(SECONDS_PER_DAY);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Unix milliseconds as `2026-11-30`, in UTC.
pub(crate) fn day(ms: i64) -> String {
    let (year, month, day) = civil(ms.div_euclid(MS_PER_SECOND).div_euclid(SECONDS_PER_DAY));
    format!("{year:04}-{month:02}-{day:02}")
}

/// Year, month and day of a day counted from 1970-01-01 in the Gregorian calendar.
fn civil(day: i64) -> (i64, i64, i64) {
    // Counted from 0000-03-01, so that a leap day is the last day of its year.
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn known_days() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(super::day(951_782_400_000), "2000-02-29");
        assert_eq!(utc(-1), "1969-12-31 23:59:59 UTC");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_767_225_599_999), "2025-12-31 23:59:59 UTC");
        // The ends of the range do not overflow.
        assert!(!utc(i64::MIN).is_empty() && !utc(i64::MAX).is_empty());
    }
}
