//! Showing the locks of a cluster, and ending one by hand.

use std::collections::BTreeMap;

use super::gateway::{Failure, Gateway};
use super::keys::{self, Contender};
use crate::clock::Moment;
use crate::info::{Holder, LockInfo, Refusal, RefusalReason, ReleaseId, Waiter};

/// The most keys that one look reads.
const MOST: u32 = 10_000;

/// Those who hold and those who wait: of a semaphore, who holds has said so.
fn parted(contenders: Vec<Contender>) -> (Vec<Contender>, Vec<Contender>) {
    if contenders.iter().any(Contender::holds) {
        return contenders.into_iter().partition(Contender::holds);
    }
    let mut contenders = contenders.into_iter();
    (contenders.next().into_iter().collect(), contenders.collect())
}

fn info(name: &str, contenders: Vec<Contender>) -> LockInfo {
    let (holding, waiting) = parted(contenders);
    let holders: Vec<Holder> = holding
        .iter()
        .map(|contender| {
            let facts = contender.facts();
            Holder {
                slot: 0,
                token: contender.token(),
                owner: facts.owner,
                label: facts.label,
                since: None,
                renewed_at: None,
                expires_at: None,
            }
        })
        .collect();
    let waiters = (1..)
        .zip(&waiting)
        .map(|(position, contender)| {
            let facts = contender.facts();
            Waiter { position, owner: facts.owner.unwrap_or_default(), label: facts.label, since: None }
        })
        .collect();
    LockInfo { name: name.to_string(), held: !holders.is_empty(), holders, waiters }
}

/// The contenders for one lock, first come first.
fn contenders(gateway: &Gateway, prefix: &str, name: &str, until: Moment) -> Result<Vec<Contender>, Failure> {
    let folder = keys::folder(prefix, name);
    let mut found = gateway.all(&folder, MOST, until)?.contenders;
    // Keys of names below this one begin like its own.
    found.retain(|contender| contender.name(prefix).as_deref() == Some(name));
    Ok(found)
}

/// Who holds the lock and who waits for it.
pub(super) fn show(gateway: &Gateway, prefix: &str, name: &str, until: Moment) -> Result<LockInfo, Failure> {
    Ok(info(name, contenders(gateway, prefix, name, until)?))
}

/// The answer to an acquire that got nothing.
pub(super) fn refusal(info: LockInfo, reason: RefusalReason) -> Refusal {
    let waiting = u32::try_from(info.waiters.len()).unwrap_or(u32::MAX);
    Refusal::new(reason, info.holders, waiting)
}

/// Up to `limit` locks that are held or waited for, by name.
pub(super) fn list(
    gateway: &Gateway,
    prefix: &str,
    starts: &str,
    limit: u32,
    after: &str,
    until: Moment,
) -> Result<Vec<LockInfo>, Failure> {
    let found = gateway.all(format!("{prefix}{starts}").as_bytes(), 0, until)?;
    let mut locks: BTreeMap<String, Vec<Contender>> = BTreeMap::new();
    for contender in found.contenders {
        if let Some(name) = contender.name(prefix)
            && name.starts_with(starts)
            && name.as_str() > after
        {
            locks.entry(name).or_default().push(contender);
        }
    }
    let locks = locks.into_iter().take(limit as usize);
    Ok(locks.map(|(name, contenders)| info(&name, contenders)).collect())
}

/// Ends the hold that `id` names, if it is still there.
pub(super) fn remove(
    gateway: &Gateway,
    prefix: &str,
    name: &str,
    id: &ReleaseId,
    until: Moment,
) -> Result<bool, Failure> {
    let (holding, _) = parted(contenders(gateway, prefix, name, until)?);
    let is_it = |contender: &&Contender| match id {
        ReleaseId::Token(token) => contender.token() == *token,
        ReleaseId::Owner(owner) => contender.facts().owner.as_ref() == Some(owner),
    };
    match holding.iter().find(is_it) {
        Some(contender) => gateway.remove(&contender.key, contender.created, until),
        None => Ok(false),
    }
}
