//! Tests of what is read and written, with minutes of the tests' own.

use super::ends::EndCounts;
use super::*;

const SECOND: i64 = 1_000_000;

fn key(table: u32, index: u16, n: u32) -> Vec<u8> {
    let mut key = entry_prefix(table, index).to_vec();
    key.extend_from_slice(&n.to_be_bytes());
    key
}

fn heat() -> Arc<KeyHeat> {
    let heat = Arc::new(KeyHeat::default());
    heat.turn(100 * MINUTE);
    heat
}

fn put(keys: impl IntoIterator<Item = Vec<u8>>) -> Batch {
    let writes: Vec<Write> = keys
        .into_iter()
        .map(|key| Write::Put {
            key,
            value: Vec::new(),
        })
        .collect();
    Batch {
        known: (0..writes.len()).map(|at| (at, false)).collect(),
        writes,
        ..Batch::default()
    }
}

fn counts(heat: &KeyHeat, id: HeatId) -> Vec<Vec<(i64, u64, u64)>> {
    let (now, _) = heat.minute();
    let map = heat.slices();
    let slices = map.get(id).unwrap().slices.iter();
    slices
        .map(|slice| {
            let minutes = slice.minutes_since(0, now).into_iter();
            minutes.map(|one| (one.minute, one.reads, one.writes)).collect()
        })
        .collect()
}

const ROWS: HeatId = HeatId { table: 7, index: 0 };

#[test]
fn what_was_counted_is_of_the_minute_it_came_in() {
    let heat = heat();
    heat.view().count_gets(&[key(7, 0, 1), key(7, 0, 2)]);
    heat.view().count_writes(&put([key(7, 0, 3)]));
    heat.turn(100 * MINUTE + 59 * SECOND);
    heat.view().count_gets(&[key(7, 0, 1)]);
    assert_eq!(counts(&heat, ROWS), [vec![(100, 3, 1)]]);
    heat.turn(101 * MINUTE);
    heat.view().count_gets(&[key(7, 0, 1)]);
    assert_eq!(counts(&heat, ROWS), [vec![(100, 3, 1), (101, 1, 0)]]);
    // A clock that goes back turns nothing.
    heat.turn(90 * MINUTE);
    assert_eq!(heat.minute(), (101, 0.0));
    // A day later it is forgotten.
    heat.turn((101 + MINUTES_MAX) * MINUTE);
    assert_eq!(counts(&heat, ROWS), [vec![(101, 1, 0)]]);
    heat.turn((103 + MINUTES_MAX) * MINUTE);
    assert_eq!(counts(&heat, ROWS), [vec![]]);
}

#[test]
fn slices_are_cut_and_count_apart() {
    let heat = heat();
    heat.view().count_gets(&[key(7, 0, 10)]);
    heat.cut(ROWS, &[key(7, 0, 100), key(7, 0, 200)]);
    heat.cut(ROWS, &[key(7, 0, 100)]);
    heat.view()
        .count_gets(&[key(7, 0, 99), key(7, 0, 100), key(7, 0, 250)]);
    let found = counts(&heat, ROWS);
    assert_eq!(found, [vec![(100, 2, 0)], vec![(100, 1, 0)], vec![(100, 1, 0)]]);
    for backward in [false, true] {
        let mut page = Page::new();
        let mut rows: Vec<u32> = vec![98, 99, 100, 101, 300];
        if backward {
            rows.reverse();
        }
        rows.iter().for_each(|n| page.push(&key(7, 0, *n), b""));
        ScanHeat::of(Some(&heat.view()), Some(&key(7, 0, 0))).count(&page);
    }
    let found = counts(&heat, ROWS);
    assert_eq!(found, [vec![(100, 6, 0)], vec![(100, 5, 0)], vec![(100, 3, 0)]]);
    heat.keep(|id| id.table != 7);
    assert!(heat.slices().get(ROWS).is_none());
}

#[test]
fn what_is_hot_is_cut_where_it_is_accessed() {
    let heat = heat();
    for n in 0..10_000 {
        heat.view().count_gets(&[key(7, 0, n)]);
    }
    heat.turn(101 * MINUTE);
    let map = heat.slices();
    let slices = &map.get(ROWS).unwrap().slices;
    assert_eq!(slices.len(), 2);
    assert!(slices[1].start > key(7, 0, 7000), "of the last accesses");
    // One key cannot be cut.
    for _ in 0..10_000 {
        heat.view().count_gets(&[key(8, 0, 1)]);
    }
    heat.turn(102 * MINUTE);
    let id = HeatId { table: 8, index: 0 };
    assert_eq!(heat.slices().get(id).unwrap().slices.len(), 1);
}

#[test]
fn keys_that_grow_are_told_from_keys_that_do_not() {
    let heat = heat();
    let mut second = 0;
    let mut tick = || {
        second += 1;
        heat.turn(100 * MINUTE + second * SECOND / 100);
    };
    for n in 0..1000 {
        // Two sessions, one behind the other.
        heat.view()
            .count_writes(&put([key(7, 0, 10 * n + 15), key(7, 0, 10 * n + 20)]));
        heat.view().count_writes(&put([key(7, 1, u32::MAX - n)]));
        heat.view()
            .count_writes(&put([key(7, 2, n.wrapping_mul(2_654_435_761))]));
        tick();
    }
    let ends = |index| heat.slices().get(HeatId { table: 7, index }).unwrap().ends();
    assert_eq!(
        ends(0),
        EndCounts {
            added: 2000,
            above: 1998,
            below: 0
        }
    );
    assert_eq!((ends(1).added, ends(1).below), (1000, 999));
    assert!(ends(2).above + ends(2).below < 50, "{:?}", ends(2));
    heat.turn(111 * MINUTE);
    heat.turn(112 * MINUTE);
    assert_eq!(ends(0), EndCounts::default());
}

#[test]
fn slices_and_minutes_are_bounded() {
    let heat = heat();
    for table in 1..=2 * SLICES_MAX as u32 {
        heat.view().count_gets(&[key(table, 0, 1)]);
    }
    assert_eq!(heat.slices().slices, SLICES_MAX);
    heat.cut(HeatId { table: 1, index: 0 }, &[key(1, 0, 5)]);
    assert_eq!(heat.slices().slices, SLICES_MAX);
    for minute in 101..=400 {
        for table in 1..=SLICES_MAX as u32 {
            heat.view().count_gets(&[key(table, 0, 1)]);
        }
        heat.turn(minute * MINUTE);
    }
    let map = heat.slices();
    let slices = map.indexes.iter().flat_map(|index| &index.slices);
    let kept: usize = slices.map(|slice| slice.minutes_since(0, 400).len()).sum();
    assert!((FIGURES_MAX * 3 / 4..=FIGURES_MAX).contains(&kept), "{kept}");
}

#[test]
fn keys_of_the_system_are_not_counted() {
    let heat = heat();
    heat.view().count_gets(&[key(0, 3, 1)]);
    heat.view().count_writes(&put([key(0, 3, 1), b"x".to_vec()]));
    assert!(heat.slices().indexes.is_empty());
}
