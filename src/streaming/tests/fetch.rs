//! Recorded answers of stock trackers are understood; other answers are not taken for them.

use std::io::Write;
use std::net::TcpListener;

use proptest::prelude::*;

use super::super::super::codec::Codec;
use super::super::super::fixtures;
use super::super::super::segment_reader::{Records, SegmentReader};
use super::super::super::stage::progress_of;
use super::*;

const TIMEOUT: Duration = Duration::from_secs(10);

/// Hands `answered` what a fetch makes of a tracker that answers with these bytes and closes the connection.
fn with_answer<T>(
    response: &[u8],
    order: &FetchOrder,
    reduce: u32,
    reply_hash: &str,
    answered: impl FnOnce(Result<Fetched<'_>, FetchError>) -> T,
) -> T {
    let progress = progress_of(order.attempt, None);
    let secret = ShuffleSecret::of_token_file(&fixtures::bytes("plain/jobToken")).unwrap();
    let timeouts = FetchTimeouts { connect: TIMEOUT, read: TIMEOUT };
    let fetcher = HttpFetcher::new(secret, timeouts, &progress);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let authority = listener.local_addr().unwrap().to_string();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                head.push(byte[0]);
            }
            // The fetch may close first.
            let _ = stream.write_all(response);
        });
        let runtime = fetcher.runtimes.borrow().unwrap();
        let stream = fetcher.connect(&runtime, &authority).unwrap();
        let request = Request::get("/").body(String::new()).unwrap();
        let expected = ExpectedOutput { map: order.attempt, reduce, reply_hash: reply_hash.to_owned() };
        answered(fetcher.exchange(runtime, stream, request, &expected))
    })
}

fn recorded(job: &str, map: usize, reduce: usize) -> (Vec<u8>, FetchOrder, String) {
    let about = fixtures::decoded()[job]["maps"][format!("map{map}")]["reduces"][reduce].clone();
    let signed = about["signed_text"].as_str().unwrap();
    let attempt = signed.split("map=").nth(1).unwrap().split('&').next().unwrap().parse().unwrap();
    let order = FetchOrder { attempt, tracker: "http://localhost:16022".to_owned() };
    let response = fixtures::bytes(&format!("{job}/map{map}.reduce{reduce}.response.bin"));
    (response, order, about["ReplyHash"].as_str().unwrap().to_owned())
}

#[test]
fn recorded_answers_hold_the_recorded_records() {
    for (job, map, reduce) in [("plain", 0, 0), ("plain", 1, 1), ("zlib", 0, 0), ("keyfields", 0, 1)] {
        let (response, order, reply_hash) = recorded(job, map, reduce);
        let codec = (job == "zlib").then_some(Codec::Zlib);
        let count = with_answer(&response, &order, reduce as u32, &reply_hash, |fetched| {
            let fetched = fetched.unwrap();
            let mut reader = SegmentReader::new(fetched.body, fetched.lengths, codec);
            let mut count = 0;
            while reader.advance().unwrap() {
                count += 1;
            }
            count
        });
        let about = &fixtures::decoded()[job]["maps"][format!("map{map}")]["reduces"][reduce];
        assert_eq!(count, about["records"].as_array().unwrap().len());
    }
}

#[test]
fn what_is_not_the_answer_is_refused() {
    let (response, order, reply_hash) = recorded("plain", 0, 0);
    let fault = |response: &[u8], order: &FetchOrder, reduce, hash: &str| {
        with_answer(response, order, reduce, hash, |fetched| fetched.err().map(|error| error.fault()))
    };
    let other = FetchOrder { attempt: recorded("plain", 1, 0).1.attempt, ..order.clone() };
    assert_eq!(fault(&response, &order, 0, &reply_hash), None);
    assert_eq!(fault(&response, &other, 0, &reply_hash), Some(FetchFault::Answer));
    assert_eq!(fault(&response, &order, 1, &reply_hash), Some(FetchFault::Answer));
    assert_eq!(fault(&response, &order, 0, "x"), Some(FetchFault::Read));
    assert_eq!(fault(&response[..40], &order, 0, &reply_hash), Some(FetchFault::Read));
    let refused = fixtures::bytes("errors/unknown-map.response.bin");
    assert_eq!(fault(&refused, &order, 0, &reply_hash), Some(FetchFault::Read));
    // Cut short behind the head: the CRC is missing.
    let cut = &response[..response.len() - 20];
    let is_complete = with_answer(cut, &order, 0, &reply_hash, |fetched| {
        let fetched = fetched.unwrap();
        let mut reader = SegmentReader::new(fetched.body, fetched.lengths, None);
        (0..100).all(|_| reader.advance().is_ok())
    });
    assert!(!is_complete);
}

#[test]
fn who_does_not_listen_is_not_connected_to() {
    let attempt = "attempt_202611211027_0016_m_000000_0".parse().unwrap();
    let progress = progress_of(attempt, None);
    let secret = ShuffleSecret::of_token_file(&fixtures::bytes("plain/jobToken")).unwrap();
    let timeout = Duration::from_millis(200);
    let fetcher = HttpFetcher::new(secret, FetchTimeouts { connect: timeout, read: timeout }, &progress);
    // Bound and not listening any more.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let fault = |tracker: String| fetcher.fetch(&FetchOrder { attempt, tracker }, 0).err().unwrap().fault();
    assert_eq!(fault(format!("http://{closed}")), FetchFault::Connect);
    assert_eq!(fault("https://x:1".to_owned()), FetchFault::Answer);
    // Listens and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    assert_eq!(fault(format!("http://{}", silent.local_addr().unwrap())), FetchFault::Read);
}

proptest! {
    #[test]
    fn no_answer_panics(response in proptest::collection::vec(any::<u8>(), 0..60), at in any::<prop::sample::Index>()) {
        let (mut recorded, order, reply_hash) = recorded("plain", 0, 0);
        let at = at.index(recorded.len());
        recorded.splice(at..recorded.len().min(at + response.len()), response.iter().copied());
        for bytes in [&response, &recorded] {
            with_answer(bytes, &order, 0, &reply_hash, |fetched| {
                if let Ok(mut fetched) = fetched {
                    let _ = fetched.body.read_to_end(&mut Vec::new());
                }
            });
        }
    }
}
