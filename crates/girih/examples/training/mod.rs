//! What networks are trained with: a loss, Adam, and how many labels are found.

use girih::ndarray::{Array2, Zip};

pub(crate) type Matrix = Array2<f32>;

/// Vertices with words that hint at their label, of which the first ones are shown.
pub(crate) struct Labels {
    pub(crate) of: Vec<usize>,
    pub(crate) classes: usize,
    pub(crate) shown: usize,
}

impl Labels {
    /// The loss of scores, a row a vertex, and its gradient: softmax of each row minus 1 at the label, for vertices
    /// that are shown; zero for others.
    pub(crate) fn cross_entropy(&self, scores: &Matrix) -> (f32, Matrix) {
        let (mut loss, mut gradient) = (0.0, Array2::zeros(scores.dim()));
        for (i, row) in scores.rows().into_iter().enumerate().take(self.shown) {
            let most = row.fold(f32::NEG_INFINITY, |most, &x| most.max(x));
            let sum: f32 = row.iter().map(|x| (x - most).exp()).sum();
            for j in 0..self.classes {
                let share = (row[j] - most).exp() / sum;
                let label = f32::from(u8::from(j == self.of[i]));
                gradient[[i, j]] = (share - label) / self.shown as f32;
                loss -= label * share.ln() / self.shown as f32;
            }
        }
        (loss, gradient)
    }

    /// The share of vertices not shown whose best score is that of their label.
    pub(crate) fn accuracy(&self, scores: &Matrix) -> f64 {
        let best =
            |i: usize| (0..self.classes).max_by(|&j, &k| scores[[i, j]].total_cmp(&scores[[i, k]]));
        let hidden = self.shown..self.of.len();
        let count = hidden.len();
        hidden.filter(|&i| best(i) == Some(self.of[i])).count() as f64 / count as f64
    }
}

/// Adam (Kingma & Ba, ICLR 2015).
pub(crate) struct Adam {
    moments: Vec<[Matrix; 2]>,
    step: i32,
}

impl Adam {
    pub(crate) fn new(weights: &[Matrix]) -> Self {
        let zero = |w: &Matrix| [Array2::zeros(w.dim()), Array2::zeros(w.dim())];
        Self { moments: weights.iter().map(zero).collect(), step: 0 }
    }

    pub(crate) fn update(&mut self, weights: &mut [Matrix], gradients: &[Matrix]) {
        self.step += 1;
        let (b1, b2) = (0.9f32, 0.999f32);
        let [c1, c2] = [b1, b2].map(|b| 1.0 - b.powi(self.step));
        for ((w, gradient), [first, second]) in
            weights.iter_mut().zip(gradients).zip(&mut self.moments)
        {
            Zip::from(w).and(gradient).and(first).and(second).for_each(|w, &g, m, v| {
                *m = b1 * *m + (1.0 - b1) * g;
                *v = b2 * *v + (1.0 - b2) * g * g;
                *w -= 0.02 * (*m / c1) / ((*v / c2).sqrt() + 1e-8);
            });
        }
    }
}

/// Compares some derivatives of a loss with central differences: `gradients` are those of `loss(weights)`.
pub(crate) fn check_gradients<E>(
    weights: &[Matrix],
    gradients: &[Matrix],
    mut loss: impl FnMut(&[Matrix]) -> Result<f32, E>,
) -> Result<(), E> {
    for (which, gradient) in gradients.iter().enumerate() {
        let (m, n) = gradient.dim();
        for place in [[m / 3, n / 2], [m - 1, n - 1]] {
            let mut moved = |by: f32| {
                let mut weights = weights.to_vec();
                weights[which][place] += by;
                loss(&weights)
            };
            let (found, expected) = (gradient[place], (moved(0.005)? - moved(-0.005)?) / 0.01);
            // The loss has kinks, where an activation changes sides, and f32 few digits.
            let allowed = 1e-3 + 0.1 * expected.abs();
            assert!((found - expected).abs() < allowed, "{found} where {expected} is expected");
        }
    }
    Ok(())
}
