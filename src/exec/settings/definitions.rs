//! Every setting there is.

use std::sync::LazyLock;

use super::definition::SettingDef;
use super::{own, postgresql};

static DEFINITIONS: LazyLock<Vec<SettingDef>> = LazyLock::new(|| {
    postgresql::SETTINGS
        .iter()
        .chain(own::SETTINGS)
        .cloned()
        .collect()
});

/// Every setting. The order is that of `Settings::values`.
pub fn definitions() -> &'static [SettingDef] {
    &DEFINITIONS
}
