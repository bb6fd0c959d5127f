//! Texts of several dictionaries in one order, each once.

use std::sync::Arc;

use crate::GraphError;
use crate::bits::Bits;
use crate::dictionary::Entries;

/// A dictionary that takes part, with the numbers that are wanted of it (all, if none are given).
#[derive(Debug)]
struct Input {
    entries: Entries,
    wanted: Option<Arc<Bits>>,
    ended: bool,
}

impl Input {
    fn step(&mut self) -> Result<(), GraphError> {
        loop {
            if !self.entries.step()? {
                self.ended = true;
                return Ok(());
            }
            let number = self.entries.number();
            if self
                .wanted
                .as_ref()
                .is_none_or(|wanted| wanted.contains(number))
            {
                return Ok(());
            }
        }
    }
}

/// Texts in order. After [`MergedTexts::step`]: the text, the sum of its values, who has it.
#[derive(Debug)]
pub(crate) struct MergedTexts {
    inputs: Vec<Input>,
    pub(crate) text: Vec<u8>,
    pub(crate) value: i64,
    /// Each input that has the text, and its number there.
    pub(crate) members: Vec<(usize, u32)>,
}

impl MergedTexts {
    pub(crate) fn new(
        inputs: impl IntoIterator<Item = (Entries, Option<Arc<Bits>>)>,
    ) -> Result<Self, GraphError> {
        let mut inputs: Vec<Input> = inputs
            .into_iter()
            .map(|(entries, wanted)| Input {
                entries,
                wanted,
                ended: false,
            })
            .collect();
        inputs.iter_mut().try_for_each(Input::step)?;
        Ok(Self {
            inputs,
            text: Vec::new(),
            value: 0,
            members: Vec::new(),
        })
    }

    /// Moves on; false at the end.
    pub(crate) fn step(&mut self) -> Result<bool, GraphError> {
        self.members.clear();
        self.value = 0;
        let mut least: Option<&[u8]> = None;
        for (index, input) in self.inputs.iter().enumerate() {
            if input.ended {
                continue;
            }
            let order = least.map_or(std::cmp::Ordering::Less, |least| {
                (*input.entries.text).cmp(least)
            });
            if order.is_lt() {
                self.members.clear();
                least = Some(&input.entries.text);
            }
            if order.is_le() {
                self.members.push((index, input.entries.number()));
            }
        }
        let Some(least) = least else {
            return Ok(false);
        };
        self.text.clear();
        self.text.extend_from_slice(least);
        for (index, _) in &self.members {
            let input = &mut self.inputs[*index];
            self.value += input.entries.value;
            input.step()?;
        }
        Ok(true)
    }
}
