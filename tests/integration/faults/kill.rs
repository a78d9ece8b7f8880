//! kill -9: of a server under load, and of one that is just starting after that.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tempfile::TempDir;

use super::process::{Launch, Refusal};
use super::workload::{Stop, Workload, enough};
use super::{assert_none, seed, stores, variable};

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_has_lost_nothing_when_it_starts_again() {
    let rounds: usize = variable("KEYSPAN_KILL_ROUNDS", 3);
    for store in stores() {
        let folder = TempDir::new().expect("a temporary folder");
        let launch = Launch::new(store, folder.path().join("data"));
        let workload = Workload::new(seed(), true);
        let mut random = StdRng::seed_from_u64(seed());
        let findings = kill_and_check(&launch, &workload, rounds, &mut random).await;
        assert_none(
            &findings,
            rounds,
            &format!("KEYSPAN_FAULTS_STORE={store} KEYSPAN_KILL_ROUNDS={rounds}"),
        );
        assert!(workload.acknowledged() >= rounds, "commits were acknowledged");
    }
}

async fn kill_and_check(
    launch: &Launch,
    workload: &Workload,
    rounds: usize,
    random: &mut StdRng,
) -> Vec<String> {
    for round in 0..=rounds {
        let server = match launch.start(None) {
            Ok(server) => server,
            Err(refusal) => return vec![format!("round {round}: the start failed: {refusal:?}")],
        };
        if round == 0 {
            workload.make_tables(server.addr(), None).await;
        }
        let findings = workload.check(server.addr(), u64::MAX, true).await;
        if !findings.is_empty() || round == rounds {
            return at_round(round, findings);
        }
        let stop = Stop::after(random.random_range(5..80));
        let (addr, sessions) = (server.addr(), workload.clone());
        let running = {
            let stop = stop.clone();
            tokio::spawn(async move { sessions.run(addr, &stop, None).await })
        };
        enough(&stop).await;
        server.kill();
        running.await.expect("sessions end with their server");
        if let Some(finding) = launch.check_files() {
            return at_round(round, vec![finding]);
        }
        // Killed again while it recovers; one that listens in time is killed as well.
        let moment = Duration::from_millis(random.random_range(1..150));
        if round % 2 == 1
            && let Err(Refusal::Ended(said)) = launch.start_within(None, moment)
        {
            return at_round(round, vec![format!("the start failed: {said}")]);
        }
    }
    Vec::new()
}

fn at_round(round: usize, findings: Vec<String>) -> Vec<String> {
    findings
        .into_iter()
        .map(|finding| format!("round {round}: {finding}"))
        .collect()
}
