//! NUMREGIONS, STARTKEY, ENDKEY and SPLITKEYS: where a new table is split, as its statement says it. Knows no types: `sql::ddl` reads
//! the values as those of the key.

/// Regions of a table at most.
pub const REGIONS_MAX: usize = 500;

/// The options of a table that split it from the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct SplitOptions {
    /// NUMREGIONS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regions: Option<u16>,
    /// STARTKEY: where the second region begins, as it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_key: Option<String>,
    /// ENDKEY: where the last one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_key: Option<String>,
    /// SPLITKEYS: where all but the first do, with commas between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_keys: Option<String>,
}

impl SplitOptions {
    /// Whether nothing was said.
    pub fn is_default(&self) -> bool {
        *self == SplitOptions::default()
    }

    /// NUMREGIONS; `None` for what is no number that it takes.
    pub(super) fn set_regions(&mut self, value: &str) -> Option<()> {
        let regions: u16 = value.parse().ok()?;
        self.regions = (1..=REGIONS_MAX)
            .contains(&usize::from(regions))
            .then_some(regions);
        self.regions.map(|_| ())
    }
}
