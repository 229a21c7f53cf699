//! A generator of numbers that is the same on every machine: integers, and floats made of exactly rounded operations.

/// splitmix64: one word of state, good enough for test data, trivially reproducible.
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    /// Starts a sequence.
    pub fn new(seed: u64) -> Draw {
        Draw(seed)
    }

    /// A sequence for a part of the work, independent of how much of this one is used.
    pub(crate) fn of(seed: u64, part: u64) -> Draw {
        Draw(mix(seed ^ mix(part.wrapping_add(0x51_7C_C1_B7_27_22_0A_95))))
    }

    /// The next 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `n` (0 when `n` is 0).
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.word()) * n as u128) >> 64) as usize
    }

    /// A number in `low..=high`.
    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True in `per_mille` of 1000 cases.
    pub(crate) fn chance(&mut self, per_mille: usize) -> bool {
        self.below(1000) < per_mille
    }

    /// One of a list that is not empty.
    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// About normal, mean 0 and deviation 1: the sum of twelve uniform numbers less six.
    fn normal(&mut self) -> f64 {
        let uniform = |bits: u64| (bits >> 11) as f64 / (1u64 << 53) as f64;
        (0..12).map(|_| uniform(self.word())).sum::<f64>() - 6.0
    }

    /// About log-normal with the given median; `sigma` is the deviation of its logarithm.
    pub(crate) fn log_normal(&mut self, median: f64, sigma: f64) -> usize {
        (median * exp(sigma * self.normal())) as usize
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// e to the power `x` for |x| below 700, of additions and multiplications only: the one of the platform's library
/// may differ in the last bit, and with it the size of a file.
fn exp(x: f64) -> f64 {
    let twos = (x * std::f64::consts::LOG2_E).floor();
    let rest = x - twos * std::f64::consts::LN_2;
    let mut term = 1.0;
    let mut sum = 1.0;
    for i in 1..18 {
        term = term * rest / f64::from(i);
        sum += term;
    }
    let exponent = (twos as i64 + 1023) as u64;
    sum * f64::from_bits(exponent << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_exp_agrees_with_the_library() {
        for i in -80..80 {
            let x = f64::from(i) / 9.0;
            let ratio = exp(x) / x.exp();
            assert!((ratio - 1.0).abs() < 1e-12, "exp({x}): ratio {ratio}");
        }
    }

    #[test]
    fn log_normal_has_its_median_and_mean() {
        let mut rng = Draw::new(7);
        let mut values: Vec<usize> = (0..40_000).map(|_| rng.log_normal(3000.0, 1.4)).collect();
        values.sort_unstable();
        let median = values[values.len() / 2];
        let mean = values.iter().sum::<usize>() / values.len();
        assert!((2850..3150).contains(&median), "median {median}");
        assert!((7000..9000).contains(&mean), "mean {mean}");
    }
}
