//! Products at the same time on one prepared plan: the scratch for sums of split windows serves one, and
//! others do without it.

use std::sync::Arc;

use loom::thread;

use crate::{Marks, fails};

/// A window of two parts. A product that is lent the scratch has its helper write one part and adds both up
/// once the helper is joined; another adds up one after the other. `early` is a fault: it gives the scratch
/// back too early.
macro_rules! product {
    ($early:expr) => {
        |scratch: &source::Lending<Arc<Marks>>, factor: usize| {
            let Some(lent) = scratch.lend() else { return 3 * factor };
            let sums = Arc::clone(&lent);
            let helper = thread::spawn(move || sums.set(1, 2 * factor));
            let sums = Arc::clone(&lent);
            let mut lent = Some(lent).filter(|_| !$early);
            sums.set(0, factor);
            helper.join().unwrap();
            let sum = sums.get(0) + sums.get(1);
            lent.take();
            sum
        }
    };
}

/// Two products at the same time, and one after them, which must be lent the scratch.
macro_rules! two_products {
    ($source:path, $early:expr) => {
        || {
            use $source as source;
            let product = product!($early);
            let scratch = Arc::new(source::Lending::new([Arc::new(Marks::new(2))]));
            let other = {
                let scratch = scratch.clone();
                thread::spawn(move || product(&scratch, 100))
            };
            assert_eq!(product(&scratch, 1), 3);
            assert_eq!(other.join().unwrap(), 300);
            assert!(scratch.lend().is_some(), "it was given back");
        }
    };
}

/// A product in the middle of another on the same thread, which rayon may have lent it.
macro_rules! nested_product {
    ($source:path) => {
        || {
            use $source as source;
            let product = product!(false);
            let scratch = source::Lending::new([Arc::new(Marks::new(2))]);
            let lent = scratch.lend();
            assert_eq!(product(&scratch, 1), 3);
            drop(lent);
        }
    };
}

#[test]
fn products_share_no_scratch() {
    loom::model(two_products!(crate::lending, false));
    assert!(fails(two_products!(crate::lending, true)));
}

#[test]
fn a_product_within_another_does_not_wait() {
    loom::model(nested_product!(crate::lending));
    assert!(fails(nested_product!(crate::planted::waiting_for_the_lock)));
}
