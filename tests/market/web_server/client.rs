//! Our own client of the market against our own server.

use crate::web_server::stage::Stage;

use jobtracker::client::market::{MarketClient, MarketClientError, Signer};
use jobtracker::market::Key;

fn signer(user: &str, key: &str) -> Signer {
    Signer { user: user.to_owned(), key: Key::new(key) }
}

/// The server's clock stands still, so every request but the first collides with the one before.
#[tokio::test]
async fn many_requests_of_one_millisecond_all_arrive_once() {
    let stage = Stage::new().await;
    let client = MarketClient::new(stage.address.to_string());
    let root = signer("root", "rootkey");
    for _ in 0..5 {
        client.request_signed("addBudget=1&queue=alice", &root).await.unwrap();
    }
    let at_once = (0..4).map(|_| {
        let (client, root) = (client.clone(), root.clone());
        tokio::spawn(async move { client.request_signed("addBudget=10&queue=alice", &root).await })
    });
    for asked in at_once.collect::<Vec<_>>() {
        asked.await.unwrap().unwrap();
    }
    assert_eq!(stage.balance("alice").as_deref(), Some("145.0"));
}

#[tokio::test]
async fn what_the_server_says_reaches_the_caller() {
    let stage = Stage::new().await;
    let client = MarketClient::new(stage.address.to_string());
    let alice = signer("alice", "alicekey-abc");
    assert_eq!(client.request("price").await.unwrap().price.as_deref(), Some("1.5"));
    let info = client.request_signed("info", &alice).await.unwrap().queues.remove(0);
    assert_eq!((info.queue.as_str(), info.budget.as_str(), info.spending.as_str()), ("alice", "100.0", "0.5"));
    let denied = client.request_signed("infos", &alice).await.unwrap_err().to_string();
    assert!(denied.starts_with("access denied: infos needs the role admin, which alice has not"), "{denied}");
    let wrong_key = client.request_signed("info", &signer("alice", "wrong")).await.unwrap_err();
    assert!(matches!(wrong_key, MarketClientError::Denied { reason: None }), "{wrong_key}");
    let refused = client.request_signed("setSpending=-1&queue=alice", &alice).await.unwrap_err();
    assert!(
        matches!(&refused, MarketClientError::Refused(text) if text == "setSpending: -1.0 is negative"),
        "{refused}"
    );
}

/// The program itself as a user calls it: exit code, standard output, standard error.
async fn called(stage: &Stage, user: &str, key: &str, arguments: &[&str]) -> (i32, String, String) {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_jobtracker"));
    command.args(arguments).args(["--server", &stage.address.to_string(), "--user", user]);
    let output = command.env("HADOOP_KEY", key).output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[tokio::test]
async fn the_commands_print_tables_and_end_with_their_codes() {
    let stage = Stage::new().await;
    let root = async |arguments: &[&str]| called(&stage, "root", "rootkey", arguments).await;
    let alice = async |arguments: &[&str]| called(&stage, "alice", "alicekey-abc", arguments).await;
    assert_eq!(root(&["price"]).await, (0, "1.5\n".to_owned(), String::new()));
    let (code, table, _) = root(&["queue", "list"]).await;
    assert_eq!(code, 0);
    insta::assert_snapshot!(table, @"
    QUEUE  BUDGET  BID  RATE        SHARE  USED  PENDING   LASTS
    alice   100.0  0.5   0.5  0.333333333     1        3   1h 6m
    bob      10.0  1.0   1.0  0.666666666     1        3  3m 20s
    ");
    let (code, table, _) = alice(&["queue", "set-spending", "alice", "2.25"]).await;
    assert_eq!(code, 0);
    insta::assert_snapshot!(table, @r"
    QUEUE  BUDGET   BID        SHARE  USED  PENDING
    alice   100.0  2.25  0.333333333     0        3
    ");
    assert_eq!(root(&["queue", "add-budget", "alice", "-25.5"]).await.0, 0);
    // At once, and her own queue only; the rate follows at the next tick.
    let (code, table, _) = alice(&["queue", "list"]).await;
    assert_eq!(code, 0);
    insta::assert_snapshot!(table, @r"
    QUEUE  BUDGET   BID  RATE        SHARE  USED  PENDING    LASTS
    alice    74.5  2.25   0.5  0.333333333     1        3  49m 40s
    ");
    assert_eq!(stage.balance("alice").as_deref(), Some("74.5"));
    assert_eq!(root(&["queue", "add", "carol"]).await.0, 0);
    assert_eq!(root(&["queue", "remove", "carol", "--json"]).await.1, "{\n  \"removed\": \"carol\"\n}\n");
    for (call, code, told) in [
        (alice(&["queue", "info"]).await, 0, ""),
        (
            called(&stage, "alice", "wrong", &["queue", "info"]).await,
            3,
            "jobtracker: access denied; signed as alice with the key in $HADOOP_KEY\n",
        ),
        (called(&stage, "alice", " ", &["queue", "info"]).await, 2, "jobtracker: the key in $HADOOP_KEY is empty"),
        (root(&["queue", "info", "nobody"]).await, 2, "jobtracker: there is no queue nobody"),
        (root(&["queue", "remove", "bob"]).await, 2, "jobtracker: queue bob has unfinished jobs or applications"),
        (root(&["queue", "add-budget", "alice", "1e9"]).await, 2, "jobtracker: addBudget: \"1e9\" is not a decimal"),
        (root(&["queue", "statement", "--since", "then"]).await, 2, "jobtracker: --since \"then\" is not a date"),
        (root(&["queue", "statement", "nobody"]).await, 2, "jobtracker: there is no queue nobody"),
        (root(&["queue", "sell"]).await, 2, "error: unrecognized subcommand"),
    ] {
        assert_eq!(call.0, code, "{call:?}");
        assert!(call.2.starts_with(told), "{call:?}");
    }
    let mut unreachable = tokio::process::Command::new(env!("CARGO_BIN_EXE_jobtracker"));
    let output = unreachable.args(["price", "--server", "127.0.0.1:1"]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(4));
}
