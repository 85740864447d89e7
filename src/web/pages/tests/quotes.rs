//! What the market's page quotes.

use axum::http::StatusCode;

use crate::web::pages::market;
use crate::web::pages::piece::iso_text;
use crate::web::pages::viewer::View;

use super::shown::prices;
use super::stage::{NOW_MS, asked, market_views, private, public};

#[tokio::test]
async fn a_quote_is_the_part_of_the_price_that_a_rate_would_be() {
    let view = private();
    let quote =
        async |rate| market::market_page(&view, &mut asked(&format!("/market?rate={rate}")), &prices(), 0).await;
    let page = format!("{:?}", quote("0.5").await.unwrap().sections);
    assert!(page.contains("0.250000000") && page.contains("25.0 %"), "{page}");
    assert!(page.contains("jobtracker queue set-spending QUEUE 0.5"), "{page}");
    assert_eq!(quote("-1").await.unwrap_err().status, StatusCode::BAD_REQUEST);
    assert_eq!(quote("x").await.unwrap_err().title, "x is no rate");
}

#[tokio::test]
async fn a_quote_of_a_queue_has_its_slots_its_money_and_the_command_to_copy() {
    let view = public().with_views(market_views());
    let quote = async |view: &View, address| market::market_page(view, &mut asked(address), &prices(), 0).await;
    let page = format!("{:?}", quote(&view, "/market?rate=0.5&queue=alice").await.unwrap().sections);
    // It alone has work: 3 slots run and 4 tasks wait, on 4 and 2 slots. 12.5 last 12.5 / 2.5 intervals from the next tick on.
    for part in [
        "value: \"1.000000000\", shown: \"100.0 %\"",
        "metric: \"quota.map\", value: \"4\"",
        "metric: \"quota.reduce\", value: \"1\"",
        "metric: \"budget.then\", value: \"12.5\"",
        &iso_text(NOW_MS + 10_000 + 100_000),
        "jobtracker queue set-spending alice 0.5",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // Bob bids 0.5 and wants nothing: the smallest unit buys alice all that there is, and there is no more.
    let none = format!("{:?}", quote(&view, "/market?more=4&queue=alice").await.unwrap().sections);
    assert!(none.contains("No bid gets queue alice 4 more"), "{none}");
    // An idle queue is quoted as if it could use all slots.
    let more = format!("{:?}", quote(&view, "/market?more=1&queue=bob").await.unwrap().sections);
    assert!(more.contains("The smallest bid that gets queue bob 1 more is"), "{more}");
    assert_eq!(quote(&view, "/market?more=0&queue=alice").await.unwrap_err().title, "0 is no more");
    assert_eq!(quote(&view, "/market?more=4&queue=zed").await.unwrap_err().status, StatusCode::NOT_FOUND);
    assert_eq!(
        quote(&view, "/market?rate=0.5&queue=zed").await.unwrap_err().title,
        "There is no queue of the market zed"
    );
    let hidden = private().with_views(market_views());
    let refused = quote(&hidden, "/market?more=1&queue=alice").await;
    assert!(format!("{refused:?}").contains("name one, or sign in"), "{refused:?}");
    let page = format!("{:?}", quote(&hidden, "/market?rate=0.5&queue=alice").await.unwrap().sections);
    assert!(!page.contains("budget.then") && page.contains("set-spending QUEUE 0.5"), "{page}");
}
