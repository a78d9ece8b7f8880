//! `Replay`: what an implicit transaction ran, so that it can be run again when its commit loses a race. Clients that
//! pipeline single statements never said BEGIN, and must not see 40001.
//!
//! Only statements that answer with nothing but their command tag are run again: rows that have left cannot be taken
//! back. And the tags must be the same again, for they have left too.

use std::sync::Arc;

use super::statement_run::Run;
use super::{Reply, Session};
use crate::sql::Statement;
use crate::system::Parameters;
use crate::{Error, Result};

/// Statements that are remembered at most: a longer pipeline shows its lost race.
const STATEMENTS_MAX: usize = 10_000;
/// How often they are run again. Losers queue for the key that they lost.
const ATTEMPTS_MAX: usize = 50;

/// What an implicit transaction ran so far.
#[derive(Debug, Default)]
pub(super) struct Replay {
    statements: Vec<Ran>,
    /// Something ran that cannot be run again.
    impossible: bool,
}

#[derive(Debug)]
struct Ran {
    statement: Arc<Statement>,
    parameters: Parameters,
    tag: String,
}

impl Replay {
    /// A statement ran.
    pub(super) fn ran(&mut self, statement: &Arc<Statement>, parameters: &Parameters, reply: &Reply) {
        match reply {
            Reply::Done { tag }
                if statement.parsed.command.is_none() && self.statements.len() < STATEMENTS_MAX =>
            {
                self.statements.push(Ran {
                    statement: statement.clone(),
                    parameters: parameters.clone(),
                    tag: tag.clone(),
                });
            }
            Reply::Done { .. } | Reply::Rows(_) => self.impossible = true,
        }
    }
}

impl Session {
    /// Runs an implicit transaction again, whose commit lost a race for `key`. Errors: the lost race, when it cannot be
    /// run again or answers otherwise.
    pub(super) async fn replay(&mut self, replay: Replay, mut key: Vec<u8>) -> Result<()> {
        if replay.impossible {
            return Err(Error::Conflict { key });
        }
        let (instance, interrupt) = (self.instance.clone(), self.interrupt.clone());
        let mut turn = None;
        for _ in 0..ATTEMPTS_MAX {
            drop(turn.take());
            let deadline = self.deadline();
            turn = Some(
                interrupt
                    .guard(deadline, async { Ok(instance.turn(&key).await) })
                    .await?,
            );
            self.open_implicit();
            for ran in &replay.statements {
                let run = Run {
                    statement: &ran.statement,
                    parameters: ran.parameters.clone(),
                    described: None,
                    deadline,
                };
                match self.run_in_block(&run).await? {
                    Reply::Done { tag } if tag == ran.tag => {}
                    Reply::Done { .. } | Reply::Rows(_) => return Err(Error::Conflict { key }),
                }
            }
            match self.commit_transaction().await {
                Err(Error::Conflict { key: lost }) => key = lost,
                ended => return ended,
            }
        }
        Err(Error::Contention {
            attempts: ATTEMPTS_MAX,
        })
    }
}
