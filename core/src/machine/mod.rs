//! The lease state machine: events in, actions out; no clock, no I/O, no thread.
