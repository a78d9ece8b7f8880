//! Tests of `mvcc` itself: the suite over the memory engine, an engine that fails, the undo budget.

use std::sync::Arc;

use crate::store::memory::MemoryEngine;
use crate::store::mvcc::MvccStore;
use crate::store::{Store, conformance};

fn memory_store() -> Arc<dyn Store> {
    Arc::new(MvccStore::open(Arc::new(MemoryEngine::new()), 64 << 20, None).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_memory_store_conforms() {
    conformance::check_all(memory_store).await;
}

#[tokio::test]
async fn the_memory_store_conforms_on_one_thread() {
    conformance::check_all(memory_store).await;
}
