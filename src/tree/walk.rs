//! Walks over trees: expressions, and plans by their inputs.

use super::with_stack;
use crate::Result;

/// How a walk goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeNodeRecursion {
    /// To what is below, then beside.
    Continue,
    /// Past what is below.
    Jump,
    /// Not at all.
    Stop,
}

/// What became of a part of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transformed<T> {
    /// The part.
    pub data: T,
    /// Whether it is another one than before.
    pub transformed: bool,
    /// How the walk goes on.
    pub tnr: TreeNodeRecursion,
}

impl<T> Transformed<T> {
    /// Of these parts.
    pub fn new(data: T, transformed: bool, tnr: TreeNodeRecursion) -> Transformed<T> {
        Transformed {
            data,
            transformed,
            tnr,
        }
    }

    /// Another one.
    pub fn yes(data: T) -> Transformed<T> {
        Transformed::new(data, true, TreeNodeRecursion::Continue)
    }

    /// The same.
    pub fn no(data: T) -> Transformed<T> {
        Transformed::new(data, false, TreeNodeRecursion::Continue)
    }

    /// As part of something else.
    pub fn update_data<U>(self, update: impl FnOnce(T) -> U) -> Transformed<U> {
        Transformed::new(update(self.data), self.transformed, self.tnr)
    }

    /// Then changed once more.
    pub fn transform_data<U>(
        self,
        change: impl FnOnce(T) -> Result<Transformed<U>>,
    ) -> Result<Transformed<U>> {
        change(self.data).map(|mut changed| {
            changed.transformed |= self.transformed;
            changed
        })
    }
}

/// What became of a tree, without whether it is another.
pub trait TransformedResult<T> {
    /// The tree.
    fn data(self) -> Result<T>;
}

impl<T> TransformedResult<T> for Result<Transformed<T>> {
    fn data(self) -> Result<T> {
        self.map(|transformed| transformed.data)
    }
}

/// Changes parts one by one until one says stop; tells whether any changed.
pub(super) struct Mapping<'a, T> {
    pub(super) map: &'a mut dyn FnMut(T) -> Result<Transformed<T>>,
    pub(super) transformed: bool,
    pub(super) tnr: TreeNodeRecursion,
}

impl<'a, T> Mapping<'a, T> {
    pub(super) fn new(map: &'a mut dyn FnMut(T) -> Result<Transformed<T>>) -> Mapping<'a, T> {
        Mapping {
            map,
            transformed: false,
            tnr: TreeNodeRecursion::Continue,
        }
    }

    pub(super) fn one(&mut self, part: T) -> Result<T> {
        if self.tnr == TreeNodeRecursion::Stop {
            return Ok(part);
        }
        let mapped = (self.map)(part)?;
        self.transformed |= mapped.transformed;
        self.tnr = mapped.tnr;
        Ok(mapped.data)
    }

    pub(super) fn boxed(&mut self, mut part: Box<T>) -> Result<Box<T>>
    where
        T: Default,
    {
        *part = self.one(std::mem::take(&mut *part))?;
        Ok(part)
    }

    pub(super) fn all(&mut self, parts: Vec<T>) -> Result<Vec<T>> {
        parts.into_iter().map(|part| self.one(part)).collect()
    }

    pub(super) fn done<U>(self, whole: U) -> Transformed<U> {
        Transformed::new(whole, self.transformed, self.tnr)
    }
}

/// Calls `visit` with one part after the other until one says stop.
pub(super) fn visit_each<'n, T>(
    parts: Vec<&'n T>,
    mut visit: impl FnMut(&'n T) -> Result<TreeNodeRecursion>,
) -> Result<TreeNodeRecursion> {
    for part in parts {
        if visit(part)? == TreeNodeRecursion::Stop {
            return Ok(TreeNodeRecursion::Stop);
        }
    }
    Ok(TreeNodeRecursion::Continue)
}

/// A tree.
pub trait TreeNode: Sized {
    /// Calls `visit` with each part right below, in order, until one says stop.
    fn apply_children<'n, F>(&'n self, visit: F) -> Result<TreeNodeRecursion>
    where
        F: FnMut(&'n Self) -> Result<TreeNodeRecursion>;

    /// The tree with other parts right below.
    fn map_children<F>(self, map: F) -> Result<Transformed<Self>>
    where
        F: FnMut(Self) -> Result<Transformed<Self>>;

    /// Calls `visit` with the tree and all below it, from above.
    fn apply<'n, F>(&'n self, mut visit: F) -> Result<TreeNodeRecursion>
    where
        F: FnMut(&'n Self) -> Result<TreeNodeRecursion>,
    {
        apply(self, &mut visit)
    }

    /// Whether there is a part for which it holds.
    fn exists<F>(&self, mut holds: F) -> Result<bool>
    where
        F: FnMut(&Self) -> Result<bool>,
    {
        let mut found = false;
        self.apply(|node| {
            found = holds(node)?;
            Ok(match found {
                true => TreeNodeRecursion::Stop,
                false => TreeNodeRecursion::Continue,
            })
        })?;
        Ok(found)
    }

    /// The tree changed from above: what became of a part is walked into.
    fn transform_down<F>(self, mut change: F) -> Result<Transformed<Self>>
    where
        F: FnMut(Self) -> Result<Transformed<Self>>,
    {
        transform_down(self, &mut change)
    }

    /// The tree changed from below.
    fn transform_up<F>(self, mut change: F) -> Result<Transformed<Self>>
    where
        F: FnMut(Self) -> Result<Transformed<Self>>,
    {
        transform_up(self, &mut change)
    }
}

fn apply<'n, T: TreeNode>(
    node: &'n T,
    visit: &mut dyn FnMut(&'n T) -> Result<TreeNodeRecursion>,
) -> Result<TreeNodeRecursion> {
    with_stack(|| match visit(node)? {
        TreeNodeRecursion::Continue => node.apply_children(|child| apply(child, visit)),
        TreeNodeRecursion::Jump => Ok(TreeNodeRecursion::Continue),
        TreeNodeRecursion::Stop => Ok(TreeNodeRecursion::Stop),
    })
}

fn transform_down<T: TreeNode>(
    node: T,
    change: &mut dyn FnMut(T) -> Result<Transformed<T>>,
) -> Result<Transformed<T>> {
    with_stack(|| {
        let mut changed = change(node)?;
        match changed.tnr {
            TreeNodeRecursion::Continue => {
                let below = changed.data.map_children(|child| transform_down(child, change))?;
                Ok(Transformed::new(
                    below.data,
                    below.transformed || changed.transformed,
                    below.tnr,
                ))
            }
            TreeNodeRecursion::Jump => {
                changed.tnr = TreeNodeRecursion::Continue;
                Ok(changed)
            }
            TreeNodeRecursion::Stop => Ok(changed),
        }
    })
}

fn transform_up<T: TreeNode>(
    node: T,
    change: &mut dyn FnMut(T) -> Result<Transformed<T>>,
) -> Result<Transformed<T>> {
    with_stack(|| {
        let below = node.map_children(|child| transform_up(child, change))?;
        match below.tnr {
            TreeNodeRecursion::Continue => below.transform_data(change),
            TreeNodeRecursion::Jump | TreeNodeRecursion::Stop => Ok(below),
        }
    })
}
