//! The line of waiters against plain rules, with random steps; and what one hand-over costs.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::limits::CLAIM_WINDOW;
use super::locks::{self, Busy, Kept, Place, Tried, live_permits};
use super::row::{ClientId, Intent, NewRow, Row, RowStore, Rows, Table};
use super::value;
use crate::Result;
use crate::backend::{Ask, Crash, Hold};
use crate::clock::{Clock, ManualClock, Moment};
use crate::store::memory::MemoryStore;

const NAME: &str = "n";
const TTL: Duration = Duration::from_secs(5);
const WAITERS: usize = 7;
/// How often a waiter looks without a reason.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
enum Step {
    /// Somebody comes and waits.
    Come(usize),
    /// Somebody gives up waiting.
    Leave(usize),
    /// Somebody who holds gives back.
    Release(usize),
    /// Somebody who holds renews.
    Renew(usize),
    /// Somebody stops doing anything, waiting or holding.
    Stop(usize),
    /// Somebody who stopped goes on.
    Continue(usize),
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let who = 0..WAITERS;
    let step = prop_oneof![
        6 => who.clone().prop_map(Step::Come),
        1 => who.clone().prop_map(Step::Leave),
        4 => who.clone().prop_map(Step::Release),
        2 => who.clone().prop_map(Step::Renew),
        1 => who.clone().prop_map(Step::Stop),
        1 => who.prop_map(Step::Continue),
        3 => (0u64..3_000).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 1..150)
}

#[derive(Default)]
struct Waiter {
    place: Option<Place>,
    hold: Option<Hold>,
    stopped: bool,
    woken: bool,
    /// When it looks again without being woken.
    due: Option<Moment>,
    /// Its number in line; nothing while that may have been taken from it.
    number: Option<u64>,
}

struct World {
    store: Arc<MemoryStore>,
    clock: ManualClock,
    permits: u32,
    waiters: Vec<Waiter>,
    highest: u64,
}

impl World {
    fn new(permits: u32) -> Self {
        let clock = ManualClock::default();
        let store = MemoryStore::private(Clock::Manual(clock.clone()));
        let waiters = (0..WAITERS).map(|_| Waiter::default()).collect();
        Self { store, clock, permits, waiters, highest: 0 }
    }

    /// One transaction of `who`; whoever it wakes is marked.
    fn run<T>(&mut self, who: usize, body: impl Fn(&mut dyn Rows, &Ask<'_>, &mut Vec<u32>) -> Result<T>) -> T {
        let owner = format!("o{who}");
        let ask = Ask {
            name: NAME,
            permits: self.permits,
            owner: &owner,
            label: None,
            ttl: TTL,
            crash: Crash::Takeover,
            fair: true,
        };
        let (mut answer, mut wakes) = (None, Vec::new());
        self.store
            .transact(Intent::Grow, Moment::NEVER, &mut |rows| {
                wakes.clear();
                answer = Some(body(rows, &ask, &mut wakes)?);
                Ok(())
            })
            .expect("a store in memory");
        for word in wakes {
            self.waiters[word as usize].woken = true;
        }
        answer.expect("it ran")
    }

    /// Whether a permit is held by somebody, as the store sees it.
    fn held(&mut self) -> usize {
        let permits = self.permits;
        self.run(0, move |rows, _, _| Ok(live_permits(rows, NAME, permits)?.len()))
    }

    /// One look of somebody who waits.
    fn look(&mut self, who: usize) {
        let free = self.permits as usize - self.held();
        let mut place = self.waiters[who].place.take().expect("it waits");
        let number = place.number;
        let before = (number, place.value.clone());
        let (tried, after) = self.run(who, move |rows, ask, wakes| {
            let mut place = Place { number: before.0, value: before.1.clone() };
            if place.value.is_empty() {
                place.value = value::ticket(ask.owner, None, rows.wall_micros(), who as u32);
            }
            let tried = locks::attempt(rows, ask, Some(&mut place), wakes)?;
            Ok((tried, (place.number, place.value)))
        });
        (place.number, place.value) = after;
        self.waiters[who].woken = false;
        match tried {
            Tried::Granted { hold, already } => {
                assert!(!already, "nobody asks twice here");
                assert!(free > 0, "granted although nothing was free");
                assert!(hold.token > self.highest, "the token fell");
                self.highest = hold.token;
                let mine = number.unwrap_or(u64::MAX);
                let is_first =
                    |other: &&Waiter| other.place.is_some() && other.number.is_some_and(|number| number < mine);
                let first = self.waiters.iter().filter(is_first).count();
                assert!(first < free, "{first} were in front and ready, and {free} were free");
                self.waiters[who].hold = Some(hold);
                self.waiters[who].due = None;
            }
            Tried::Busy(Busy { due, .. }) => {
                self.waiters[who].number = place.number;
                self.waiters[who].place = Some(place);
                // Whoever is not told by a release or its own timer looks from time to time.
                let look = self.clock.now().after(LOOK);
                self.waiters[who].due = Some(due.map_or(look, |due| due.min(look)));
            }
        }
    }

    /// Lets everybody look who was woken or whose time has come, until nobody has to.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            let now = self.clock.now();
            let next = (0..WAITERS).find(|who| {
                let waiter = &self.waiters[*who];
                let is_due = waiter.due.is_some_and(|due| due <= now);
                waiter.place.is_some() && !waiter.stopped && (waiter.woken || is_due)
            });
            match next {
                Some(who) => self.look(who),
                None => return,
            }
        }
        panic!("they never come to rest");
    }

    /// How many permits are free for those who are ready, and how many of these there are.
    fn idle(&mut self) -> (usize, usize) {
        let held = self.held();
        assert!(held <= self.permits as usize, "{held} hold");
        let ready = self.waiters.iter().filter(|waiter| waiter.place.is_some() && !waiter.stopped).count();
        let stopped = self.waiters.iter().filter(|waiter| waiter.place.is_some() && waiter.stopped).count();
        // Whoever was called and does not come holds up one permit, and for one window only.
        ((self.permits as usize - held).saturating_sub(stopped), ready)
    }

    fn check(&mut self) {
        // A lease that ends by itself is noticed by looking; others may end in the meantime.
        while let (1.., ready @ 1..) = self.idle() {
            self.pass(u64::try_from(LOOK.as_millis()).expect("short"));
            let (free, still) = self.idle();
            assert!(free == 0 || still < ready, "{free} are free, and {still} of {ready} still wait");
        }
    }

    fn pass(&mut self, millis: u64) {
        // Whoever waits wakes up at its own time, so time passes in small steps.
        let end = self.clock.now().after(Duration::from_millis(millis));
        while self.clock.now() < end {
            let left = end.since(self.clock.now());
            self.clock.advance(left.min(Duration::from_millis(50)));
            self.settle();
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Come(who) if self.waiters[who].place.is_none() && self.waiters[who].hold.is_none() => {
                let place = Place { number: None, value: Vec::new() };
                self.waiters[who] = Waiter { place: Some(place), ..Waiter::default() };
                self.look(who);
            }
            Step::Leave(who) if !self.waiters[who].stopped => {
                if let Some(place) = self.waiters[who].place.take() {
                    self.run(who, move |rows, ask, wakes| locks::leave(rows, ask, &place, wakes));
                }
            }
            Step::Release(who) if !self.waiters[who].stopped => {
                if let Some(hold) = self.waiters[who].hold.take() {
                    self.run(who, move |rows, ask, wakes| locks::release(rows, ask, hold, wakes).map(drop));
                }
            }
            Step::Renew(who) if !self.waiters[who].stopped => {
                if let Some(hold) = self.waiters[who].hold {
                    let kept = self.run(who, move |rows, ask, _| locks::renew(rows, ask, hold));
                    self.waiters[who].hold = match kept {
                        Kept::Done(token) => {
                            assert!(token > hold.token, "the token fell");
                            self.highest = self.highest.max(token);
                            Some(Hold { token, ..hold })
                        }
                        Kept::Lost(_) => None,
                    };
                }
            }
            Step::Stop(who) => {
                self.waiters[who].stopped = true;
                self.waiters[who].number = None;
            }
            Step::Continue(who) => {
                let waiter = &mut self.waiters[who];
                waiter.stopped = false;
                // It looks, and may find that it has to line up again.
                waiter.woken = waiter.place.is_some();
            }
            Step::Pass(millis) => self.pass(millis),
            Step::Come(_) | Step::Leave(_) | Step::Release(_) | Step::Renew(_) => {}
        }
        self.settle();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Never more holders than permits, tokens rise, who comes first is served first among those who
    /// are ready, nobody who is ready waits while a permit is free, and whoever stands still holds
    /// nobody up for longer than the window.
    #[test]
    fn the_line_keeps_its_rules(permits in 1u32..4, steps in steps()) {
        let mut world = World::new(permits);
        for step in steps {
            world.step(step);
            world.check();
        }
        // Whatever happened: once everybody who stands still has lost its turn and its lease, all
        // who are ready get theirs.
        let window = u64::try_from((CLAIM_WINDOW + LOOK).as_millis()).expect("short");
        world.pass(u64::try_from(TTL.as_millis()).expect("short"));
        for _ in 0..WAITERS * 2 {
            for who in 0..WAITERS {
                world.step(Step::Release(who));
            }
            world.pass(window);
        }
        let waiting = world.waiters.iter().filter(|waiter| waiter.place.is_some() && !waiter.stopped).count();
        prop_assert_eq!(waiting, 0);
    }
}

/// Counts the rows that go through it.
struct Counted<'a> {
    rows: &'a mut dyn Rows,
    touched: usize,
}

impl Rows for Counted<'_> {
    fn now(&self) -> Moment {
        self.rows.now()
    }
    fn wall_micros(&self) -> i64 {
        self.rows.wall_micros()
    }
    fn get(&mut self, table: Table, key: &[u8]) -> Result<Option<Row>> {
        self.touched += 1;
        self.rows.get(table, key)
    }
    fn scan(
        &mut self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        visit: &mut dyn FnMut(&[u8], Row) -> ControlFlow<()>,
    ) -> Result<()> {
        let touched = &mut self.touched;
        self.rows.scan(table, prefix, after, &mut |key, row| {
            *touched += 1;
            visit(key, row)
        })
    }
    fn last(&mut self, table: Table, prefix: &[u8]) -> Result<Option<(Vec<u8>, Row)>> {
        self.touched += 1;
        self.rows.last(table, prefix)
    }
    fn put(&mut self, table: Table, key: &[u8], row: NewRow<'_>) -> Result<u64> {
        self.touched += 1;
        self.rows.put(table, key, row)
    }
    fn delete(&mut self, table: Table, key: &[u8]) -> Result<bool> {
        self.touched += 1;
        self.rows.delete(table, key)
    }
    fn client(&self) -> ClientId {
        self.rows.client()
    }
    fn is_alive(&mut self, client: ClientId) -> bool {
        self.rows.is_alive(client)
    }
}

/// One hand-over in a line of `length`: how many are woken, and how many rows are touched.
fn hand_over(length: usize) -> (usize, usize) {
    let store = MemoryStore::private(Clock::Manual(ManualClock::default()));
    let owners: Vec<String> = (0..=length).map(|number| format!("o{number}")).collect();
    let (mut woken, mut touched) = (0, 0);
    store
        .transact(Intent::Grow, Moment::NEVER, &mut |rows| {
            let ask = |number: usize| Ask {
                name: NAME,
                permits: 1,
                owner: &owners[number],
                label: None,
                ttl: TTL,
                crash: Crash::Takeover,
                fair: true,
            };
            let Tried::Granted { hold, .. } = locks::attempt(rows, &ask(0), None, &mut Vec::new())? else {
                panic!("it was free");
            };
            let mut places = Vec::new();
            for (number, owner) in owners.iter().enumerate().skip(1) {
                let value = value::ticket(owner, None, 0, number as u32);
                let mut place = Place { number: None, value };
                assert!(matches!(
                    locks::attempt(rows, &ask(number), Some(&mut place), &mut Vec::new())?,
                    Tried::Busy(_)
                ));
                places.push(place);
            }
            let mut counted = Counted { rows, touched: 0 };
            let mut wakes = Vec::new();
            locks::release(&mut counted, &ask(0), hold, &mut wakes)?;
            assert_eq!(wakes, [1], "the first in line and nobody else");
            let tried = locks::attempt(&mut counted, &ask(1), Some(&mut places[0]), &mut wakes)?;
            assert!(matches!(tried, Tried::Granted { already: false, .. }));
            (woken, touched) = (wakes.len(), counted.touched);
            Ok(())
        })
        .expect("a store in memory");
    (woken, touched)
}

#[test]
fn a_hand_over_costs_the_same_however_long_the_line_is() {
    let short = hand_over(10);
    assert_eq!(short.0, 1);
    assert_eq!(hand_over(100), short);
    assert_eq!(hand_over(1_000), short);
}
