//! `LargeObjectDescriptors`: the large objects that a session has open, each at a place in it. They end with their transaction; a
//! savepoint that is rolled back closes those that were opened after it. `functions::large_object` opens and moves them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Error, Result};

/// Large objects that a session may have open at a time.
const DESCRIPTORS_MAX: usize = 1024;

/// An open large object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LargeObjectDescriptor {
    /// Its oid.
    pub oid: u32,
    /// Where the next byte is read or written.
    pub position: u64,
    /// Whether it may be written.
    pub is_writable: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub struct LargeObjectDescriptors(Mutex<Vec<Option<LargeObjectDescriptor>>>);

impl LargeObjectDescriptors {
    /// Opens an object; the lowest number that is free. Errors: 53000 for too many.
    pub fn open(&self, descriptor: LargeObjectDescriptor) -> Result<i32> {
        let mut all = self.lock();
        let at = all.iter().position(Option::is_none).unwrap_or(all.len());
        if at >= DESCRIPTORS_MAX {
            return Err(Error::DataException {
                state: "53000",
                message: format!("more than {DESCRIPTORS_MAX} large objects are open"),
            });
        }
        match all.get_mut(at) {
            Some(free) => *free = Some(descriptor),
            None => all.push(Some(descriptor)),
        }
        Ok(i32::try_from(at).unwrap_or(i32::MAX))
    }

    /// Errors: 42704.
    pub fn get(&self, number: i32) -> Result<LargeObjectDescriptor> {
        let all = self.lock();
        let found = usize::try_from(number).ok().and_then(|at| *all.get(at)?);
        found.ok_or_else(|| invalid(number))
    }

    /// Moves one. Errors: 42704.
    pub fn seek(&self, number: i32, position: u64) -> Result<()> {
        self.change(number, |descriptor| {
            if let Some(descriptor) = descriptor {
                descriptor.position = position;
            }
        })
    }

    /// Closes one. Errors: 42704.
    pub fn close(&self, number: i32) -> Result<()> {
        self.change(number, |descriptor| *descriptor = None)
    }

    /// Closes all of an object.
    pub fn close_all_of(&self, oid: u32) {
        for descriptor in self.lock().iter_mut() {
            descriptor.take_if(|descriptor| descriptor.oid == oid);
        }
    }

    /// How many there are or were: what a savepoint keeps.
    pub fn mark(&self) -> usize {
        self.lock().len()
    }

    /// Closes those of higher numbers than there were.
    pub fn roll_back_to(&self, mark: usize) {
        self.lock().truncate(mark);
    }

    fn change(&self, number: i32, change: impl FnOnce(&mut Option<LargeObjectDescriptor>)) -> Result<()> {
        let mut all = self.lock();
        let found = usize::try_from(number).ok().and_then(|at| all.get_mut(at));
        match found.filter(|descriptor| descriptor.is_some()) {
            Some(descriptor) => {
                change(descriptor);
                Ok(())
            }
            None => Err(invalid(number)),
        }
    }

    /// Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, Vec<Option<LargeObjectDescriptor>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn invalid(number: i32) -> Error {
    Error::DataException {
        state: "42704",
        message: format!("invalid large-object descriptor: {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_number_is_given() {
        let all = LargeObjectDescriptors::default();
        let descriptor = |oid| LargeObjectDescriptor {
            oid,
            position: 0,
            is_writable: false,
        };
        assert_eq!(all.open(descriptor(1)).unwrap(), 0);
        assert_eq!(all.open(descriptor(2)).unwrap(), 1);
        let mark = all.mark();
        assert_eq!(all.open(descriptor(2)).unwrap(), 2);
        all.close(0).unwrap();
        all.close(0).unwrap_err();
        assert_eq!(all.open(descriptor(3)).unwrap(), 0);
        all.seek(1, 5).unwrap();
        assert_eq!(all.get(1).unwrap().position, 5);
        all.roll_back_to(mark);
        all.get(2).unwrap_err();
        all.get(-1).unwrap_err();
        all.close_all_of(2);
        all.get(1).unwrap_err();
        while all.open(descriptor(4)).is_ok() {}
        assert_eq!(all.mark(), DESCRIPTORS_MAX);
    }
}
