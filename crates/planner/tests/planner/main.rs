//! Plans: how they are chosen, cut, ordered and explained. Their files have a program of their own, which counts what is
//! allocated.

mod advantage;
mod balance;
mod choice;
mod common;
mod explain;
mod identical;
mod once;
mod ordering;
mod partitions;
mod precision;
mod progress;
mod schedule;
mod simulate;
mod transpose;
