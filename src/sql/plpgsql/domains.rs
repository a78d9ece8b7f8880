//! Values of variables that are of domains.

use std::sync::Arc;

use super::frame::Frame;
use crate::Result;
use crate::catalog::TypeDef;
use crate::sql::routine_run::{assigned, domain_cast};
use crate::types::{SqlType, Value};

impl Frame {
    /// What a variable is to be given, under the conditions of the domain if it is of one. Errors: 23514, 23502, those of the assignment.
    pub(super) async fn of_domain(
        &mut self,
        domain: Option<Arc<TypeDef>>,
        value: Value,
        from: SqlType,
    ) -> Result<(Value, SqlType)> {
        let Some(domain) = domain else {
            return Ok((value, from));
        };
        let ty = domain.sql_type();
        let value = assigned(&self.ctx, value, &from, &ty)?;
        let cast = match self.domain_casts.get(&domain.oid) {
            Some(known) => Arc::clone(known),
            None => {
                let made = domain_cast(&domain)?;
                self.domain_casts.insert(domain.oid, Arc::clone(&made));
                made
            }
        };
        self.bind(vec![(value.clone(), ty.clone())]);
        let mut ran = self.run_entered(&cast, false, true).await?;
        while ran.rows.next().await?.is_some() {}
        Ok((value, ty))
    }
}
