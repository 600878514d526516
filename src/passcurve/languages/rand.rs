//! The crate `rand` as published tests know it: its function `gen_range` takes two bounds, as before version 0.8.

pub use rand08::*;

use rand08::distributions::uniform::SampleUniform;
use rand08::distributions::{Distribution, Standard};

pub trait Rng: RngCore {
    fn gen<T>(&mut self) -> T
    where
        Standard: Distribution<T>,
    {
        rand08::Rng::gen(self)
    }

    fn gen_range<T>(&mut self, low: T, high: T) -> T
    where
        T: SampleUniform + PartialOrd,
    {
        rand08::Rng::gen_range(self, low..high)
    }

    fn gen_bool(&mut self, p: f64) -> bool {
        rand08::Rng::gen_bool(self, p)
    }
}

impl<R: RngCore + ?Sized> Rng for R {}
