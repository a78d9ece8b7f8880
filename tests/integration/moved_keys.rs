//! UPDATEs that give rows the keys of other rows, over many more rows than a page has: every index must lead to exactly the rows that
//! are there, whatever the key is made of. By seed; `KEYSPAN_RANDOM_SEED=7` begins elsewhere.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::client::TextClient;
use crate::server::{TestServer, run};

/// Rows of each table: several pages.
const ROWS: i32 = 700;
/// UPDATEs of each table.
const UPDATES: usize = 6;

/// Tables whose keys move: the columns and options behind `(a int, b int, v int, u int, …)`.
const SHAPES: [&str; 6] = [
    "PRIMARY KEY (a))",
    "PRIMARY KEY (a DESC))",
    "PRIMARY KEY (b, a))",
    "PRIMARY KEY (a)) WITH (BUCKETS = 4)",
    "PRIMARY KEY (hash32(a), a))",
    "g int GENERATED ALWAYS AS (a % 7) STORED, PRIMARY KEY (g, a))",
];

const INDEXES: [&str; 4] = [
    "CREATE INDEX by_v ON t (v)",
    "CREATE INDEX by_v_desc ON t (v DESC, a) INCLUDE (b)",
    "CREATE INDEX by_b ON t (b, v DESC)",
    "CREATE UNIQUE INDEX by_u ON t (u)",
];

fn update(random: &mut StdRng) -> String {
    let shift = *[1, -1, 2, 127, 128, 129, -300].choose(random).unwrap();
    let from = random.random_range(0..ROWS);
    let set = match random.random_range(0..7) {
        0 => format!("a = a + {shift}"),
        1 => format!("a = {} - a", ROWS + 1),
        2 => format!("a = a + {shift}, v = v + 1"),
        3 => format!("a = {ROWS} - a, u = {ROWS} - u"),
        4 => format!("u = u + {shift}, v = 0"),
        5 => return "UPDATE t SET a = m.n FROM m WHERE m.o = t.a".to_string(),
        _ => format!("b = {} - b, a = a + {shift}", random.random_range(0..5)),
    };
    match random.random_range(0..4) {
        // Then it may take keys that stay, which is 23505.
        0 => format!("UPDATE t SET {set} WHERE a > {from}"),
        _ => format!("UPDATE t SET {set}"),
    }
}

/// What the table holds as one way to it gives it.
async fn held(client: &mut TextClient, hint: &str) -> Vec<Vec<Option<String>>> {
    let sql = format!(
        "SELECT /*+ {hint} */ count(*), sum(a), sum(b), sum(a * v), sum(u * a) FROM t WHERE v >= 0 AND b >= 0 AND u > -100000"
    );
    run(client, &sql).await.unwrap().rows
}

async fn assert_alike(client: &mut TextClient, said: &str) {
    let expected = held(client, "_l_ignore_index_").await;
    for index in ["by_v", "by_v_desc", "by_b", "by_u"] {
        let found = held(client, &format!("_l_force_index_('{index}')")).await;
        assert_eq!(found, expected, "by {index} {said}");
    }
}

async fn move_keys(store: &str) {
    let seed = std::env::var("KEYSPAN_RANDOM_SEED").ok();
    let seed = seed.and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut random = StdRng::seed_from_u64(seed);
    for shape in SHAPES {
        let server = TestServer::start(store).await;
        let mut client = server.connect_text().await;
        let mut statements = vec![
            "SET keyspan.full_scan = allow".to_string(),
            format!("CREATE TABLE t (a int, b int, v int, u int, {shape}"),
            "CREATE TABLE m (o int PRIMARY KEY, n int)".to_string(),
            format!(
                "INSERT INTO m SELECT g, {} - g FROM generate_series(-2000, 3000) g",
                ROWS + 1
            ),
            format!("INSERT INTO t SELECT g, g % 5, g % 3, g FROM generate_series(1, {ROWS}) g"),
        ];
        statements.extend(INDEXES.map(str::to_string));
        for statement in &statements {
            run(&mut client, statement).await.unwrap();
        }
        let mut moved = 0;
        for _ in 0..UPDATES {
            let update = update(&mut random);
            match run(&mut client, &update).await {
                Ok(_) => moved += 1,
                Err(error) => assert_eq!(error.sqlstate, "23505", "{update}"),
            }
            assert_alike(&mut client, &format!("after {update}, key {shape}, seed {seed}")).await;
        }
        assert!(moved > 0, "nothing moved, seed {seed}");
        run(&mut client, "DELETE FROM t WHERE v >= 0 AND b < 3")
            .await
            .unwrap();
        assert_alike(&mut client, &format!("after DELETE, key {shape}, seed {seed}")).await;
        client.close().await;
        if store == "sled" {
            server.stop_sound(&format!("key {shape}, seed {seed}")).await;
        } else {
            server.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_move_leave_indexes_sound_in_memory() {
    move_keys("memory").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_move_leave_indexes_sound_on_sled() {
    move_keys("sled").await;
}
