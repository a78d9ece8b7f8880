//! `WITH (…)` of views, set and reset: by CREATE VIEW and by ALTER VIEW. What a value means stands in `catalog::ViewOptions`.

use sqlparser::ast::{CreateTableOptions, Query};

use super::options::{NewOption, check_names, written};
use super::storage::{StoredKind, is_parameter};
use crate::catalog::{CHECK_OPTION, ViewOptions};
use crate::error::StatementFault;
use crate::sql::dml;
use crate::system::StatementContext;
use crate::{Error, Result};

/// What views are told by options.
const VIEW_OPTIONS: [&str; 3] = [CHECK_OPTION, "security_barrier", "security_invoker"];

/// The options of a CREATE VIEW. `query`: what the view stands for. Errors: as [`change`].
pub(super) fn read(
    ctx: &StatementContext,
    options: &CreateTableOptions,
    query: &Query,
) -> Result<ViewOptions> {
    let mut read = ViewOptions::default();
    match options {
        CreateTableOptions::None => {}
        CreateTableOptions::With(list) => {
            change(
                ctx,
                &mut read,
                &written(list)?,
                (query, &ctx.settings.search_path),
            )?;
        }
        other => {
            return Err(Error::unsupported(
                format!("{other} of a view"),
                Some("Write the options of a view as WITH (name = value, ...)."),
            ));
        }
    }
    Ok(read)
}

/// Sets options, or takes them away where they have no value. `query`: what the view stands for, and the path that its names are looked for
/// along. Errors: 22023, 0A000 for WITH CHECK OPTION of a view that nothing is written through.
pub(super) fn change(
    ctx: &StatementContext,
    options: &mut ViewOptions,
    changes: &[NewOption],
    (query, path): (&Query, &[String]),
) -> Result<()> {
    let is_known = |name: &str| VIEW_OPTIONS.contains(&name);
    let set: Vec<NewOption> = changes
        .iter()
        .filter(|(_, value)| value.is_some())
        .cloned()
        .collect();
    check_names(&set, is_known, &VIEW_OPTIONS, "The options of views are")?;
    for (name, value) in changes {
        if let Some(value) = value {
            is_parameter(StoredKind::View, name, value)?;
            if name == CHECK_OPTION {
                check_updatable(ctx, query, path)?;
            }
        }
        options.change(name, value.as_deref());
    }
    Ok(())
}

/// Errors: 0A000 where no rows are written through a view of the query.
fn check_updatable(ctx: &StatementContext, query: &Query, path: &[String]) -> Result<()> {
    match dml::why_not_updatable(ctx, query, path)? {
        None => Ok(()),
        Some(why) => Err(Error::InvalidStatement {
            state: StatementFault::NotImplemented,
            message: "WITH CHECK OPTION is supported only on automatically updatable views".to_string(),
            hint: Some(why),
        }),
    }
}
