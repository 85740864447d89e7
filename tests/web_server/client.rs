//! Our own client of the market against our own server.

use jobtracker::client::market::{MarketClient, MarketClientError, Signer};
use jobtracker::market::Key;

use crate::stage::Stage;

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
        client.ask_signed("addBudget=1&queue=alice", &root).await.unwrap();
    }
    let at_once = (0..4).map(|_| {
        let (client, root) = (client.clone(), root.clone());
        tokio::spawn(async move { client.ask_signed("addBudget=10&queue=alice", &root).await })
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
    assert_eq!(client.ask("price").await.unwrap().price.as_deref(), Some("1.5"));
    let info = client.ask_signed("info", &alice).await.unwrap().queues.remove(0);
    assert_eq!((info.queue.as_str(), info.budget.as_str(), info.spending.as_str()), ("alice", "100.0", "0.5"));
    let denied = client.ask_signed("infos", &alice).await.unwrap_err().to_string();
    assert!(denied.starts_with("access denied: infos needs the role admin, which alice has not;"), "{denied}");
    let wrong_key = client.ask_signed("info", &signer("alice", "wrong")).await.unwrap_err();
    assert!(matches!(wrong_key, MarketClientError::Denied { reason: None }), "{wrong_key}");
    let refused = client.ask_signed("setSpending=-1&queue=alice", &alice).await.unwrap_err();
    assert!(
        matches!(&refused, MarketClientError::Refused(text) if text == "setSpending: -1.0 is negative"),
        "{refused}"
    );
}
