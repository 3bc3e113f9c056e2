//! The stores, and which one a URL means.

pub(crate) mod etcd;
#[cfg(target_os = "linux")]
pub(crate) mod file;
mod http;
pub(crate) mod memory;
pub(crate) mod postgres;
pub(crate) mod zookeeper;

use std::sync::Arc;

use crate::Result;
use crate::backend::Backend;
use crate::client::Resolved;
use crate::clock::{Clock, ManualClock};
use crate::kv::backend::KvBackend;
use crate::url::StoreUrl;
use etcd::EtcdStore;
#[cfg(target_os = "linux")]
use file::FileStore;
use http::HttpStore;
use memory::MemoryStore;
use postgres::PostgresStore;
use zookeeper::ZooKeeperStore;

/// Opens the store that `url` names, without any I/O.
pub(crate) fn open(url: &StoreUrl, options: &Resolved) -> Result<Arc<dyn Backend>> {
    match url {
        StoreUrl::Memory { name, manual_clock } => {
            let clock = if *manual_clock { Clock::Manual(ManualClock::default()) } else { Clock::Boot };
            let store = match name {
                Some(name) => MemoryStore::named(name, clock),
                None => MemoryStore::private(clock),
            };
            Ok(Arc::new(KvBackend::new(store)))
        }
        #[cfg(target_os = "linux")]
        StoreUrl::File { path } => {
            let store = match path {
                Some(path) => FileStore::open(path, Clock::Boot)?,
                None => FileStore::open_own(Clock::Boot)?,
            };
            Ok(Arc::new(KvBackend::new(store)))
        }
        StoreUrl::Etcd(url) => Ok(Arc::new(EtcdStore::open(url, &options.access))),
        StoreUrl::ZooKeeper(url) => Ok(Arc::new(ZooKeeperStore::open(url, &options.access))),
        StoreUrl::Postgres(url) => Ok(Arc::new(KvBackend::new(PostgresStore::open(url, &options.access)))),
        StoreUrl::Http { servers } => Ok(Arc::new(HttpStore::open(servers, options)?)),
        #[cfg(not(target_os = "linux"))]
        StoreUrl::File { .. } => Err(crate::Error::new(
            crate::Kind::Unsupported,
            "unsupported",
            "stores in files are for Linux. Use a store on a server",
        )),
    }
}
