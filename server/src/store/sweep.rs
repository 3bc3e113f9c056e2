//! Clearing away rows whose time is over. They count as absent long before that.

use fencehold::Result;
use fencehold::internal::{Table, tidy};

use super::Step;
use super::encoding::Area;
use crate::metrics::Loss;
use crate::queues::Tidy;

/// How many rows of a table are looked at in one round.
const ROUND: usize = 4000;

/// Where the next round begins in each table.
#[derive(Default)]
pub(crate) struct Sweep {
    locks: Option<Vec<u8>>,
    values: Option<Vec<u8>>,
    queues: Tidy,
}

impl Sweep {
    /// Looks at the next rows of each table.
    pub(crate) fn run(&mut self, step: &mut Step<'_, '_>) -> Result<()> {
        let locks = |step: &Step<'_, '_>| step.rows.counts()[Area::Locks as usize];
        let before = locks(step);
        if before > 0 {
            self.locks = tidy::sweep(&mut step.rows, Table::Locks, self.locks.as_deref(), ROUND)?;
        }
        if step.rows.counts()[Area::Values as usize] > 0 {
            self.values = tidy::sweep(&mut step.rows, Table::Values, self.values.as_deref(), ROUND)?;
        }
        step.metrics.lost(Loss::Expired, before - locks(step));
        self.queues.run(step)
    }
}
