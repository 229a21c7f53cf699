//! A disk in memory that records, stops, tears and fails each operation.
