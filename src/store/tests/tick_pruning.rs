//! Which ticks stay.

use super::*;
use crate::store::database::open_for_writing;

const START_MS: i64 = 20_000 * DAY_MS;

fn thinned(times_ms: &[i64], limit_rows: usize) -> Vec<i64> {
    let folder = tempfile::tempdir().unwrap();
    let mut database = open_for_writing(&folder.path().join("state.db")).unwrap();
    // No power fails here.
    database.pragma_update(None, "synchronous", "OFF").unwrap();
    for (number, at_ms) in (1_i64..).zip(times_ms) {
        let sql = "INSERT INTO tick VALUES (?1, ?2, '0.0', '0', 0, '0.0', '0', '0.0', '0', NULL)";
        database.execute(sql, [number, START_MS + at_ms]).unwrap();
    }
    let mut steps = 0;
    while prune_ticks(&mut database, limit_rows).unwrap() {
        steps += 1;
        assert!(steps <= 2 * times_ms.len(), "it never ends");
    }
    let mut statement = database.prepare("SELECT wall_ms FROM tick ORDER BY number").unwrap();
    statement.query_map([], |row| row.get::<_, i64>(0)).unwrap().map(|at_ms| at_ms.unwrap() - START_MS).collect()
}

#[test]
fn one_a_minute_stays_after_a_day_and_one_an_hour_after_thirty() {
    let seconds = |seconds: i64| seconds * 1000;
    let mut times: Vec<i64> = (0..360).map(|tick| seconds(tick * 20)).collect();
    // Two hours of ticks, then one a day later, then one a month later.
    times.push(seconds(7_200) + DAY_MS);
    let by_minute = thinned(&times, 1000);
    assert_eq!(by_minute.len(), 120 + 1);
    assert_eq!(by_minute[..3], [seconds(40), seconds(100), seconds(160)]);
    times.push(seconds(7_200) + 31 * DAY_MS);
    let by_hour = thinned(&times, 1000);
    assert_eq!(by_hour, [seconds(3_580), seconds(7_180), seconds(7_200) + DAY_MS, seconds(7_200) + 31 * DAY_MS]);
    for limit_rows in [2, 3, 7, 100] {
        assert_eq!(thinned(&times, limit_rows), by_hour, "{limit_rows} rows a step");
    }
}

#[test]
fn what_is_young_or_alone_stays() {
    assert_eq!(thinned(&[], 10), [] as [i64; 0]);
    assert_eq!(thinned(&[5], 10), [5]);
    assert_eq!(thinned(&[1, 2, 3, DAY_MS], 10), [1, 2, 3, DAY_MS]);
    // A clock that was set back.
    assert_eq!(thinned(&[DAY_MS, 5, 6, 7], 10), [DAY_MS, 5, 6, 7]);
}
