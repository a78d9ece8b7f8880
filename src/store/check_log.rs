//! Whether log and engine agree, for `keyspan check`: what the log says of a key last is what the store holds of it. Reads
//! the log of a directory whose store is open and takes no commits; knows nothing of what a key means.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::path::Path;

use super::Snapshot;
use super::disk::OsDisk;
use super::format::LOG_END;
use super::log::{ReadRecords, Record, Survey, Timestamp, Vouched, Writes};
use crate::Result;

/// The commits that wrote a key last, by a hash of the key. Of two keys with one hash only one is compared.
type LastCommits = HashMap<u64, Timestamp>;

/// Calls `fault` with each key of which the store behind `snapshot` does not hold what the log in `data_dir` says last, and
/// what is wrong. Memory: some 32 bytes for each key in the log, and one segment. Errors: `Corrupt`, `Io`.
pub async fn check_log(
    data_dir: &Path,
    snapshot: &dyn Snapshot,
    fault: &mut (dyn FnMut(&[u8], String) + Send),
) -> Result<()> {
    let (disk, directory) = (OsDisk::default(), data_dir.join("log"));
    let vouched = Vouched::read(&disk, &data_dir.join(LOG_END))?;
    let Some(survey) = Survey::read(&disk, &directory, vouched.as_ref())? else {
        return Ok(());
    };
    let records = ReadRecords::new(&disk, &directory, &survey);
    let hasher = RandomState::new();
    let mut last = LastCommits::new();
    for at in 0..survey.segments() {
        for_each_write(&records, &survey, at, |timestamp, key, _| {
            let newest = last.entry(hasher.hash_one(key)).or_default();
            *newest = timestamp.max(*newest);
        })?;
    }
    for at in 0..survey.segments() {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for_each_write(&records, &survey, at, |timestamp, key, value| {
            if last.get(&hasher.hash_one(key)) == Some(&timestamp) {
                keys.push(key.to_vec());
                values.push((timestamp, value.map(<[u8]>::to_vec)));
            }
        })?;
        let found = snapshot.get_many(&keys).await?;
        for (at, (key, (timestamp, value))) in keys.iter().zip(&values).enumerate() {
            if found.get(at) != value.as_deref() {
                fault(key, difference(*timestamp, value.as_deref(), found.get(at)));
            }
        }
    }
    Ok(())
}

/// Calls `visit` with each write of the commits in a segment.
fn for_each_write(
    records: &ReadRecords<'_>,
    survey: &Survey,
    at: usize,
    mut visit: impl FnMut(Timestamp, &[u8], Option<&[u8]>),
) -> Result<()> {
    let mut each = |timestamp: Timestamp, writes: Writes<'_>| {
        writes.for_each(|key, value| {
            visit(timestamp, key, value);
            Ok(())
        })
    };
    records.for_each_in(at, |_, record| match record {
        Record::Commit {
            timestamp, writes, ..
        } => each(timestamp, writes),
        // Parts of a commit that was never closed count for nothing.
        Record::Part { large, writes } => survey
            .closed_as(large)
            .map_or(Ok(()), |timestamp| each(timestamp, writes)),
        Record::Close { .. } | Record::Mark => Ok(()),
    })
}

fn difference(timestamp: Timestamp, logged: Option<&[u8]>, found: Option<&[u8]>) -> String {
    let shown = |value: Option<&[u8]>| match value {
        Some(value) => format!("a value of {} bytes", value.len()),
        None => "nothing".to_string(),
    };
    let (logged, found) = (shown(logged), shown(found));
    format!("the log has {logged} by commit {timestamp}, the storage engine another: {found}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Batch, StoreKind, StoreOptions, Write, open_store};

    fn put(key: u16, value: &[u8]) -> Write {
        Write::Put {
            key: key.to_be_bytes().to_vec(),
            value: value.to_vec(),
        }
    }

    async fn faults(data_dir: &Path, changes: Vec<Write>) -> Vec<(Vec<u8>, String)> {
        let store = open_store(StoreKind::Fjall, data_dir, &StoreOptions::default()).unwrap();
        // Another store's snapshot stands for an engine that holds something else.
        let other = open_store(StoreKind::Memory, data_dir, &StoreOptions::default()).unwrap();
        let mut kept = Vec::new();
        for n in 0..400u16 {
            let key = n.to_be_bytes().to_vec();
            let values = store
                .snapshot()
                .await
                .unwrap()
                .get_many(std::slice::from_ref(&key))
                .await;
            kept.extend(values.unwrap().get(0).map(|value| put(n, value)));
        }
        for writes in [kept, changes] {
            let batch = Batch {
                writes,
                ..Batch::default()
            };
            other.commit(batch).await.unwrap();
        }
        let mut found = Vec::new();
        let snapshot = other.snapshot().await.unwrap();
        check_log(data_dir, &*snapshot, &mut |key, reason| {
            found.push((key.to_vec(), reason))
        })
        .await
        .unwrap();
        found
    }

    #[tokio::test]
    async fn what_the_log_says_last_of_a_key_must_be_there() {
        let directory = tempfile::tempdir().unwrap();
        {
            let store = open_store(StoreKind::Fjall, directory.path(), &StoreOptions::default()).unwrap();
            let delete = Write::Delete {
                key: 7u16.to_be_bytes().to_vec(),
            };
            let large = (0..300u16).map(|n| put(n, b"large")).collect();
            for writes in [vec![put(5, b"old")], large, vec![delete, put(8, b"newer")]] {
                let batch = Batch {
                    writes,
                    ..Batch::default()
                };
                store.commit(batch).await.unwrap();
            }
            // Not closed: closing recycles the log, and dropping does, but for its last segment.
            assert!(faults_of(&*store, directory.path()).await.is_empty());
        }
        let lost = vec![put(8, b"other"), put(7, b"back from the dead")];
        let found = faults(directory.path(), lost).await;
        let keys: Vec<&[u8]> = found.iter().map(|(key, _)| &key[..]).collect();
        assert_eq!(keys, [&[0, 7][..], &[0, 8]], "{found:?}");
    }

    async fn faults_of(store: &dyn crate::store::Store, data_dir: &Path) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        let snapshot = store.snapshot().await.unwrap();
        check_log(data_dir, &*snapshot, &mut |key, _| found.push(key.to_vec()))
            .await
            .unwrap();
        found
    }
}
