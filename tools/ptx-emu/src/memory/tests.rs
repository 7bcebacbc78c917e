//! Clocks, shadows and messages, by hand.

use super::clock::{Clock, Epoch, Message, WarpClock};
use super::published::{Home, Messages, Reach};
use super::shadow::{Access, Actor, Page};

const READ: Access = Access { write: false, strong: false, volatile: false };
const WRITE: Access = Access { write: true, strong: false, volatile: false };
const ATOMIC: Access = Access { write: true, strong: true, volatile: false };
const ALL: u32 = u32::MAX;

/// Warps 0 and 1 of cluster 0.
fn two() -> (WarpClock, WarpClock) {
    (WarpClock::new(0, 0, ALL), WarpClock::new(0, 1, ALL))
}

fn touch(page: &mut Page, at: usize, bytes: usize, access: Access, who: (&WarpClock, u32)) -> bool {
    let (clock, lane) = who;
    let actor = Actor { epoch: clock.epoch(lane), seen: clock.seen(lane), pc: lane };
    page.access(at, bytes, access, &actor).is_ok()
}

fn page() -> Page {
    Page::new(usize::MAX)
}

#[test]
fn a_release_covers_what_was_before_it_only() {
    let (mut a, mut b) = two();
    let before = a.epoch(3);
    let mut message = Message::new(0);
    a.release(1 << 3, &mut message);
    let after = a.epoch(3);
    assert!(!b.seen(0).covers(before));
    b.acquire(1, &message);
    assert!(b.seen(0).covers(before));
    assert!(!b.seen(0).covers(after));
    // Neither other lanes of the releasing warp nor for other lanes of the acquiring one.
    assert!(!b.seen(0).covers(a.epoch(4)));
    assert!(!b.seen(1).covers(before));
}

#[test]
fn knowledge_is_passed_on() {
    let (mut a, mut b) = two();
    let mut c = WarpClock::new(0, 2, ALL);
    let first = a.epoch(0);
    let (mut one, mut two) = (Message::new(0), Message::new(0));
    a.release(1, &mut one);
    b.acquire(ALL, &one);
    b.release(1 << 9, &mut two);
    c.acquire(1 << 5, &two);
    assert!(c.seen(5).covers(first));
    assert!(!c.seen(6).covers(first));
}

#[test]
fn clusters_are_known_apart() {
    let mut a = WarpClock::new(0, 0, ALL);
    let mut b = WarpClock::new(7, 0, ALL);
    let (from_a, from_b) = (a.epoch(2), b.epoch(2));
    assert_ne!(from_a, from_b);
    let mut message = Message::new(0);
    a.release(ALL, &mut message);
    b.acquire(ALL, &message);
    assert!(b.seen(2).covers(from_a));
    assert!(!b.seen(1).covers(from_b));
    let mut back = Message::new(7);
    b.release(ALL, &mut back);
    a.acquire(1, &back);
    assert!(a.seen(0).covers(from_b));
}

#[test]
fn a_partial_warp_is_known_as_a_whole() {
    let mut a = WarpClock::new(0, 0, 0xFFFF);
    let mut message = Message::new(0);
    a.release(0xFFFF, &mut message);
    let mut b = WarpClock::new(0, 1, ALL);
    b.acquire(ALL, &message);
    assert!(b.seen(0).covers(Epoch::new(0, 0, 31, 1)));
}

#[test]
fn operations_are_known_by_their_agent() {
    let mut message = Message::new(0);
    let done = Epoch::of_agent(0, 40, 3);
    assert!(done.is_agent());
    message.completed(done);
    let (mut a, _) = two();
    a.acquire(ALL, &message);
    assert!(a.seen(0).covers(done));
    assert!(a.seen(0).covers(Epoch::of_agent(0, 40, 2)));
    assert!(!a.seen(0).covers(Epoch::of_agent(0, 40, 4)));
    assert!(!a.seen(0).covers(Epoch::of_agent(0, 41, 1)));
}

#[test]
fn proxy_fences_travel_with_releases() {
    let (mut a, mut b) = two();
    let fenced = a.epoch(0);
    a.fence_proxy_async(1);
    let unfenced = a.epoch(0);
    assert_ne!(fenced, unfenced);
    let mut message = Message::new(0);
    a.release(1, &mut message);
    b.acquire(1, &message);
    assert!(b.proxied(0).covers(fenced));
    assert!(!b.proxied(0).covers(unfenced));
    // The receiver may fence as well.
    assert!(b.seen(0).covers(unfenced));
    b.fence_proxy_async(1);
    assert!(b.proxied(0).covers(unfenced));
}

#[test]
fn fences_make_relaxed_accesses_tell() {
    let (mut a, mut b) = two();
    let before = a.epoch(0);
    assert!(a.told(0).is_none());
    a.fence(1, Reach::Gpu);
    let after = a.epoch(0);
    let Some((message, _)) = a.told(0) else { panic!("nothing told") };
    b.observe(4, message);
    assert!(!b.seen(4).covers(before));
    b.fence(1 << 4, Reach::Gpu);
    assert!(b.seen(4).covers(before));
    assert!(!b.seen(4).covers(after));
}

#[test]
fn scopes_must_include_each_other() {
    let (mut a, _) = two();
    let mut message = Message::new(0);
    a.release(1, &mut message);
    let home = |cluster, cta| Home { cluster, cta };
    let mut messages = Messages::default();
    messages.publish(64, Reach::Cluster, home(0, 0), &message);
    assert!(messages.read(64, Reach::Gpu, home(0, 1)).is_some());
    assert!(messages.read(64, Reach::Gpu, home(1, 0)).is_none());
    assert!(messages.read(64, Reach::Cta, home(0, 1)).is_none());
    assert!(messages.read(64, Reach::Cta, home(0, 0)).is_some());
    assert!(messages.read(68, Reach::Gpu, home(0, 0)).is_none());
    messages.overwrite(64);
    assert!(messages.read(64, Reach::Gpu, home(0, 0)).is_none());
}

#[test]
fn unordered_accesses_race() {
    let (a, b) = two();
    let mut page = page();
    assert!(touch(&mut page, 0, 4, WRITE, (&a, 0)));
    assert!(touch(&mut page, 0, 4, READ, (&a, 0)));
    assert!(!touch(&mut page, 0, 4, READ, (&b, 0)));
    assert!(!touch(&mut page, 0, 4, READ, (&a, 1)));
    // Reads do not race with reads, a write with each of them.
    assert!(touch(&mut page, 4, 4, READ, (&a, 0)));
    assert!(touch(&mut page, 4, 4, READ, (&b, 0)));
    assert!(!touch(&mut page, 4, 4, WRITE, (&a, 0)));
    assert!(!touch(&mut page, 4, 4, WRITE, (&b, 0)));
}

#[test]
fn synchronization_ends_races() {
    let (mut a, mut b) = two();
    let mut page = page();
    assert!(touch(&mut page, 0, 4, WRITE, (&a, 0)));
    let mut message = Message::new(0);
    a.release(ALL, &mut message);
    b.acquire(ALL, &message);
    assert!(touch(&mut page, 0, 4, READ, (&b, 7)));
    assert!(touch(&mut page, 0, 4, READ, (&b, 8)));
    // The next write must be told of both readers.
    let mut back = Message::new(0);
    b.release(1 << 7, &mut back);
    a.acquire(ALL, &back);
    assert!(!touch(&mut page, 0, 4, WRITE, (&a, 0)));
    b.release(1 << 8, &mut back);
    a.acquire(ALL, &back);
    assert!(touch(&mut page, 0, 4, WRITE, (&a, 0)));
}

#[test]
fn atomics_race_with_ordinary_accesses_only() {
    let (a, b) = two();
    let mut page = page();
    assert!(touch(&mut page, 0, 4, ATOMIC, (&a, 0)));
    assert!(touch(&mut page, 0, 4, ATOMIC, (&b, 0)));
    assert!(!touch(&mut page, 0, 4, READ, (&a, 0)));
    assert!(touch(&mut page, 8, 4, WRITE, (&a, 0)));
    assert!(!touch(&mut page, 8, 4, ATOMIC, (&b, 0)));
}

#[test]
fn neighbouring_bytes_are_apart() {
    let (a, b) = two();
    let mut page = page();
    assert!(touch(&mut page, 0, 4, READ, (&a, 5)));
    assert!(touch(&mut page, 8, 1, WRITE, (&a, 0)));
    assert!(touch(&mut page, 9, 1, WRITE, (&b, 0)));
    assert!(touch(&mut page, 10, 2, WRITE, (&b, 1)));
    assert!(!touch(&mut page, 8, 2, READ, (&a, 0)));
    // What words recorded holds for each of their bytes.
    assert!(!touch(&mut page, 3, 1, WRITE, (&b, 0)));
}

#[test]
fn many_readers_are_remembered() {
    let mut page = page();
    let mut warps: Vec<WarpClock> = (0..20).map(|warp| WarpClock::new(0, warp, ALL)).collect();
    for warp in &warps {
        for lane in 0..32 {
            assert!(touch(&mut page, 16, 4, READ, (warp, lane)));
        }
    }
    // Each but the last tells the last: then it may write.
    let mut message = Message::new(0);
    let mut last = WarpClock::new(0, 20, ALL);
    for warp in &mut warps {
        last.acquire(ALL, &message);
        assert!(!touch(&mut page, 16, 4, WRITE, (&last, 0)));
        warp.release(ALL, &mut message);
    }
    last.acquire(ALL, &message);
    assert!(touch(&mut page, 16, 4, WRITE, (&last, 0)));
}

#[test]
fn counts_that_run_over_make_up_no_races() {
    let nothing = Clock::new(0);
    assert!(nothing.covers(Epoch::new(0, 3, 3, u32::MAX)));
    assert!(!nothing.covers(Epoch::new(0, 3, 3, 1)));
}
