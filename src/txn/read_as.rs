//! What a transaction is read as: as it is now, with all that it writes later, or by what only measures and is nobody's work with the
//! rows.

use std::sync::Arc;

use super::{Transaction, View};

impl Transaction {
    /// The same transaction, whose reads see what is there now and nothing that is written later.
    pub fn as_it_is(&self) -> Transaction {
        Transaction {
            view: Some(View::open(&self.whole.buffer)),
            ..self.with_own_writes()
        }
    }

    /// The same, if its reads do not see only what was there at some moment already.
    pub fn as_it_was(&self) -> Transaction {
        match &self.view {
            Some(view) => Transaction {
                view: Some(view.again()),
                ..self.with_own_writes()
            },
            None => self.as_it_is(),
        }
    }

    /// The same transaction, whose reads see all that it has written by then, though this one's may not.
    pub fn with_own_writes(&self) -> Transaction {
        Transaction {
            number: self.number,
            snapshot: Arc::clone(&self.snapshot),
            view: None,
            visibility: self.visibility.clone(),
            heat: self.heat.clone(),
            is_noted: self.is_noted,
            open: self.open.clone(),
            began_at: self.began_at,
            whole: Arc::clone(&self.whole),
        }
    }

    /// The same transaction, whose reads see all that it has written by then, are not counted (`heat`), and bind no
    /// serializable transaction: nothing that it answers may depend on them.
    pub fn uncounted(&self) -> Transaction {
        Transaction {
            heat: None,
            is_noted: false,
            ..self.with_own_writes()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::codec::keyspace::{entry_prefix, index_range};
    use crate::store::memory::MemoryEngine;
    use crate::store::mvcc::MvccStore;
    use crate::store::{Page, ScanRequest, Store, StoreOptions, Write};
    use crate::txn::{Transaction, TransactionOptions};

    const TABLE: u32 = 9;

    async fn serializable(store: &Arc<dyn Store>) -> Transaction {
        let options = TransactionOptions {
            bytes_max: 1 << 20,
            is_serializable: true,
            ..TransactionOptions::default()
        };
        let txn = Transaction::begin_with(Arc::clone(store), options).await;
        txn.expect("it begins")
    }

    async fn read_all(txn: &Transaction) {
        let mut scan = txn.scan(ScanRequest {
            read_ahead: false,
            ranges: vec![index_range(TABLE, 0)],
            reverse: false,
            keys_only: false,
            page_rows_max: 100,
            page_bytes_max: 1 << 20,
        });
        scan.next_page(&mut Page::new()).await.expect("it reads");
    }

    /// Whether a serializable transaction commits that reads a range, measuring or not, where another has written since it began.
    async fn commits_after_reading(measures: bool) -> bool {
        let store = MvccStore::open(Arc::new(MemoryEngine::new()), &StoreOptions::default(), None);
        let store: Arc<dyn Store> = Arc::new(store.expect("it opens"));
        let (reader, writer) = (serializable(&store).await, serializable(&store).await);
        match measures {
            true => read_all(&reader.uncounted()).await,
            false => read_all(&reader).await,
        }
        for (txn, last) in [(&writer, 1), (&reader, 2)] {
            let write = Write::Put {
                key: [entry_prefix(TABLE, 0).as_slice(), &[last]].concat(),
                value: vec![1],
            };
            txn.write(write, None).expect("it writes");
        }
        writer
            .commit(false)
            .await
            .expect("nobody has written where it read");
        reader.commit(false).await.is_ok()
    }

    #[tokio::test]
    async fn what_is_measured_binds_no_serializable_transaction() {
        assert!(commits_after_reading(true).await);
        assert!(!commits_after_reading(false).await);
    }
}
