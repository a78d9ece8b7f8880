//! Older versions of rows across kills and starts, on every store that has files.

use keyspan::check_data_dir;
use tempfile::TempDir;

use crate::client::TextClient;
use crate::server::{ServerProcess, ok, target};

/// The rows of a query, the columns of each joined by bars.
async fn rows(client: &mut TextClient, query: &str) -> Vec<String> {
    let rows = ok(client, query).await;
    let text = |row: &Vec<Option<String>>| {
        let columns = row.iter().map(|column| column.clone().unwrap_or_default());
        columns.collect::<Vec<_>>().join("|")
    };
    rows.iter().map(text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_are_there_after_a_kill() {
    for store in ["sled", "fjall"] {
        let folder = TempDir::new().unwrap();
        let at = folder.path().join("data");
        let server = ServerProcess::start(&at, &["--store", store]);
        let mut client = TextClient::connect(&target(server.addr())).await.unwrap();
        for statement in [
            "CREATE TABLE v (k int PRIMARY KEY, u int UNIQUE, c text) WITH (versions = 3)",
            "CREATE TABLE h (k int PRIMARY KEY, c text) WITH (history = '1 day')",
            "UPSERT /*+ _l_ts_(1000) */ INTO v VALUES (1, 1, 'a'), (2, 2, 'b')",
            "UPSERT /*+ _l_ts_(2000) */ INTO v (k, c) VALUES (1, 'aa')",
            "UPSERT /*+ _l_ts_(1500) */ INTO v (k, c) VALUES (1, 'past')",
            "INSERT INTO h VALUES (1, 'old'), (2, 'gone')",
        ] {
            ok(&mut client, statement).await;
        }
        let moment = rows(&mut client, "SELECT now()").await.remove(0);
        for statement in ["UPDATE h SET c = 'new' WHERE k = 1", "DELETE FROM h WHERE k = 2"] {
            ok(&mut client, statement).await;
        }
        server.kill();
        let report = check_data_dir(&at, &mut |_| ()).await.unwrap();
        assert!(report.is_sound(), "{report}");
        assert!(
            report.to_string().contains("older versions of rows: 5"),
            "{report}"
        );
        let server = ServerProcess::start(&at, &["--store", store]);
        let mut client = TextClient::connect(&target(server.addr())).await.unwrap();
        let versions = "SELECT /*+ _l_versions_(9) */ k, u, c, c_l_ts FROM v ORDER BY k, c_l_ts DESC";
        assert_eq!(
            rows(&mut client, versions).await,
            ["1|1|aa|2000", "1|1|past|1500", "1|1|a|1000", "2|2|b|1000"]
        );
        let past = format!("SELECT k, c FROM h FOR SYSTEM_TIME AS OF '{moment}' ORDER BY k");
        assert_eq!(rows(&mut client, &past).await, ["1|old", "2|gone"]);
        assert_eq!(rows(&mut client, "SELECT k, c FROM h").await, ["1|new"]);
        // Time goes on: what is written now is the newest.
        ok(&mut client, "UPDATE h SET c = 'newer' WHERE k = 1").await;
        assert_eq!(
            rows(&mut client, "SELECT /*+ _l_versions_(9) */ c FROM h").await,
            ["newer", "new", "old"]
        );
        ok(&mut client, "ALTER TABLE v RESET (versions)").await;
        server.kill();
        let report = check_data_dir(&at, &mut |_| ()).await.unwrap();
        assert!(report.is_sound(), "{report}");
    }
}
