//! Tests of records, lookups and changes over the memory store.
