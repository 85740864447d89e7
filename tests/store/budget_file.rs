//! The budget file as an image of the ledger.

use std::fs;
use std::path::PathBuf;

use crate::stage::{Scratch, incarnation, record};

use jobtracker::engine::Fact;
use jobtracker::market::{BudgetLine, Market, MarketConfig, budget_file};
use jobtracker::model::{FactNumber, Now};
use jobtracker::store::{BudgetAtStart, BudgetBackEndError, BudgetPublisher, LoadedState, Precedence, Store};

/// For stops after which the mark of a clean one does not matter.
const END: FactNumber = FactNumber(0);
const FIRST: &str = "# budgets\nalice 100 1\nbob 7.5 0.25\n";

fn lines(text: &str) -> Vec<BudgetLine> {
    budget_file::parse(text, "budget").unwrap()
}

struct Stage {
    scratch: Scratch,
    path: PathBuf,
    precedence: Precedence,
}

impl Stage {
    fn new() -> Self {
        let scratch = Scratch::new();
        let path = scratch.dir.path().join("budget");
        Self { scratch, path, precedence: Precedence::Ledger }
    }

    /// A first start, the endowment written, the image as well; then a clean stop.
    fn endowed() -> Self {
        let stage = Self::new();
        fs::write(&stage.path, FIRST).unwrap();
        let (store, loaded, image, found) = stage.start();
        let BudgetAtStart::Initial(lines) = found else { panic!("{found:?}") };
        let last = endow(&store, &loaded, lines.clone());
        image.publish(lines, 1);
        image.close(last).unwrap();
        store.close().unwrap();
        stage
    }

    /// The same, and then a crash: something has happened that no clean stop has followed.
    fn crashed() -> Self {
        let stage = Self::endowed();
        let (store, loaded) = stage.scratch.open();
        record(&store.fact_sender(), loaded.last_fact, vec![incarnation(1)]);
        stage
    }

    fn start(&self) -> (Store, LoadedState, BudgetPublisher, BudgetAtStart) {
        let (store, loaded) = self.scratch.open();
        let (image, found) = BudgetPublisher::open(&store, &loaded, &self.path, self.precedence).unwrap();
        (store, loaded, image, found)
    }

    fn read(&self, ending: &str) -> String {
        fs::read_to_string(format!("{}{ending}", self.path.display())).unwrap()
    }

    fn exists(&self, ending: &str) -> bool {
        fs::exists(format!("{}{ending}", self.path.display())).unwrap()
    }
}

fn endow(store: &Store, loaded: &LoadedState, lines: Vec<BudgetLine>) -> FactNumber {
    let config = MarketConfig { signature_window_ms: 300_000, job_signature_uses: 1, job_signature_window_ms: 300_000 };
    let facts = Market::new(config, 0).seed_budgets(lines, Now { mono_ms: 0, wall_ms: 0 });
    record(&store.fact_sender(), loaded.last_fact, facts.into_iter().map(Fact::Market).collect())
}

#[test]
fn money_comes_in_at_first_start_and_the_file_becomes_an_image() {
    let stage = Stage::endowed();
    assert_eq!(stage.read(""), budget_file::render(&lines(FIRST)));
    assert_eq!(stage.read(".previous"), FIRST);
    let (_store, loaded, _image, found) = stage.start();
    assert!(!loaded.first_start);
    assert_eq!(found, BudgetAtStart::Unchanged);
    assert!(!stage.exists(".rejected-1"));
}

#[test]
fn a_first_start_without_a_whole_file_is_refused() {
    let stage = Stage::new();
    let (store, loaded) = stage.scratch.open();
    let error = BudgetPublisher::open(&store, &loaded, &stage.path, Precedence::Ledger).unwrap_err();
    assert!(matches!(&error, BudgetBackEndError::Missing { path } if *path == stage.path), "{error}");
    fs::write(&stage.path, "alice 100 1\nbob 7.5\n").unwrap();
    let error = BudgetPublisher::open(&store, &loaded, &stage.path, Precedence::Ledger).unwrap_err().to_string();
    assert!(error.contains("budget:2"), "{error}");
    fs::write(&stage.path, b"alice 100 1\n\xff").unwrap();
    let error = BudgetPublisher::open(&store, &loaded, &stage.path, Precedence::Ledger).unwrap_err().to_string();
    assert!(error.contains("not UTF-8"), "{error}");
}

/// A crash after the money came in and before the image was written.
#[test]
fn the_source_of_the_endowment_is_no_foreign_file() {
    let stage = Stage::new();
    fs::write(&stage.path, FIRST).unwrap();
    let (store, loaded, image, found) = stage.start();
    let BudgetAtStart::Initial(lines) = found else { panic!("{found:?}") };
    endow(&store, &loaded, lines);
    drop((image, store));
    assert_eq!(stage.start().3, BudgetAtStart::Unchanged);
}

#[test]
fn an_edit_after_a_crash_is_kept_aside_and_the_ledger_wins() {
    let stage = Stage::crashed();
    fs::write(&stage.path, "alice 1000000 1\n").unwrap();
    let (_store, _, image, found) = stage.start();
    let BudgetAtStart::Overridden(line) = found else { panic!("{found:?}") };
    assert!(line.contains("budget.rejected-1") && line.contains("The ledger holds"), "{line}");
    assert!(line.contains("was not clean") && line.contains("--take-budget-file"), "{line}");
    image.publish(lines("alice 90 1\n"), 1);
    image.close(END).unwrap();
    assert_eq!(lines(&stage.read("")), lines("alice 90 1\n"));
    assert_eq!(stage.read(".rejected-1"), "alice 1000000 1\n");
}

#[test]
fn a_file_that_lay_aside_while_another_store_had_the_budgets_is_not_called_an_edit() {
    const OLD: &str = "alice 1000000 1\n";
    let stage = Stage::endowed();
    let (store, loaded) = stage.scratch.open();
    assert_eq!(loaded.budget_file.kept_in, None);
    store.note_budgets_in("database accounting").unwrap();
    record(&store.fact_sender(), loaded.last_fact, vec![incarnation(1)]);
    store.close().unwrap();
    fs::write(&stage.path, OLD).unwrap();
    let (store, _, image, found) = stage.start();
    let BudgetAtStart::Overridden(line) = found else { panic!("{found:?}") };
    assert!(line.contains("the budgets were in database accounting meanwhile"), "{line}");
    assert!(line.contains("budget.rejected-1") && !line.contains("--take-budget-file"), "{line}");
    image.publish(lines("alice 90 1\n"), 1);
    image.close(END).unwrap();
    store.close().unwrap();
    assert_eq!(stage.read(".rejected-1"), OLD);
    // From now on the file has them.
    let (store, loaded) = stage.scratch.open();
    assert_eq!(loaded.budget_file.kept_in, None);
    drop(store);
}

#[test]
fn an_edit_after_a_clean_stop_is_taken_over_once() {
    const EDITED: &str = "alice 150 1\nbob 7.5 0.25\n";
    let stage = Stage::endowed();
    fs::write(&stage.path, EDITED).unwrap();
    // As often as a start gets no further than this.
    for _ in 0..2 {
        assert_eq!(stage.start().3, BudgetAtStart::Edited(lines(EDITED)));
    }
    let (store, loaded, image, _) = stage.start();
    let last = record(&store.fact_sender(), loaded.last_fact, vec![incarnation(1)]);
    drop((image, store));
    // A crash after the changes came in and before the image was written: it must not come in twice.
    let (store, loaded, image, found) = stage.start();
    assert_eq!((loaded.last_fact, found), (last, BudgetAtStart::Unchanged));
    assert!(!stage.exists(".rejected-1"));
    image.publish(lines("alice 149 1\n"), 1);
    image.close(END).unwrap();
    assert_eq!(stage.read(".previous"), EDITED);
    drop(store);
    // The same content once more, after what is no clean stop, is an edit like any other.
    fs::write(&stage.path, EDITED).unwrap();
    let found = stage.start().3;
    assert!(matches!(&found, BudgetAtStart::Overridden(line) if line.contains("rejected-1")), "{found:?}");
}

#[test]
fn an_edit_that_cannot_be_understood_is_kept_aside_even_after_a_clean_stop() {
    for (edited, why) in [("alice 150 1\nbob 7.5\n", "budget:2"), ("", "names no queue"), ("alice 1e9 1\n", "budget:1")]
    {
        let stage = Stage::endowed();
        fs::write(&stage.path, edited).unwrap();
        let found = stage.start().3;
        let BudgetAtStart::Overridden(line) = found else { panic!("{found:?}") };
        assert!(line.contains(why) && line.contains("rejected-1"), "{line}");
        assert_eq!(stage.read(".rejected-1"), edited);
    }
}

#[test]
fn the_administrators_word_forces_the_file() {
    let mut stage = Stage::crashed();
    stage.precedence = Precedence::File;
    fs::write(&stage.path, "alice 150 1\n").unwrap();
    assert_eq!(stage.start().3, BudgetAtStart::Edited(lines("alice 150 1\n")));
    // Even our own image of before the crash.
    fs::write(&stage.path, budget_file::render(&lines(FIRST))).unwrap();
    assert_eq!(stage.start().3, BudgetAtStart::Edited(lines(FIRST)));
    let (store, loaded) = stage.scratch.open();
    let refused = |content: &str| {
        fs::write(&stage.path, content).unwrap();
        let refused = BudgetPublisher::open(&store, &loaded, &stage.path, Precedence::File).unwrap_err().to_string();
        assert_eq!(stage.read(""), content, "what is refused is left alone");
        refused
    };
    assert!(refused("alice 150\n").contains("budget:1"));
    assert!(refused("# nobody\n").contains("names no queue"));
    fs::remove_file(&stage.path).unwrap();
    let missing = BudgetPublisher::open(&store, &loaded, &stage.path, Precedence::File).unwrap_err();
    assert!(matches!(missing, BudgetBackEndError::Missing { .. }), "{missing}");
}

#[test]
fn an_edit_while_the_daemon_runs_is_kept_aside() {
    let stage = Stage::endowed();
    let (_store, _, image, _) = stage.start();
    fs::write(&stage.path, "mallory 1 1\n").unwrap();
    image.publish(lines("alice 90 1\n"), 1);
    image.close(END).unwrap();
    assert_eq!(stage.read(".rejected-1"), "mallory 1 1\n");
    assert_eq!(lines(&stage.read("")), lines("alice 90 1\n"));
}

#[test]
fn a_missing_file_is_rewritten() {
    let stage = Stage::endowed();
    fs::remove_file(&stage.path).unwrap();
    let (_store, _, image, found) = stage.start();
    assert!(matches!(&found, BudgetAtStart::Overridden(line) if line.contains("missing")), "{found:?}");
    image.publish(lines(FIRST), 1);
    image.close(END).unwrap();
    assert_eq!(lines(&stage.read("")), lines(FIRST));
}

/// The take-over is recorded before its differences are facts, and a crash comes after them.
#[test]
fn an_edit_that_was_taken_over_before_a_crash_is_not_taken_over_again() {
    let stage = Stage::endowed();
    fs::write(&stage.path, "alice 150 1\nbob 7.5 0.25\n").unwrap();
    let (store, loaded, image, found) = stage.start();
    assert!(matches!(found, BudgetAtStart::Edited(_)), "{found:?}");
    // Whatever the facts of the differences are.
    record(&store.fact_sender(), loaded.last_fact, vec![incarnation(1)]);
    drop((image, store));
    for _ in 0..2 {
        assert_eq!(stage.start().3, BudgetAtStart::Unchanged);
    }
    let (_store, _, image, _) = stage.start();
    image.publish(lines("alice 140 1\n"), 1);
    image.close(END).unwrap();
    assert!(!stage.exists(".rejected-1"), "it is no foreign file");
    assert_eq!(stage.read(".previous"), "alice 150 1\nbob 7.5 0.25\n");
}

/// Whether the crash came before or after the file was replaced, it is ours.
#[test]
fn a_crash_between_pending_and_confirmed_is_no_edit() {
    for is_replaced in [false, true] {
        let stage = Stage::crashed();
        let next = budget_file::render(&lines("alice 90 1\n"));
        let hash = <sha2::Sha256 as sha2::Digest>::digest(next.as_bytes());
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let noted = stage
            .scratch
            .look()
            .execute("UPDATE meta SET value = ?1 WHERE key = 'budget_file_pending'", [hash])
            .unwrap();
        assert_eq!(noted, 1);
        if is_replaced {
            fs::write(&stage.path, &next).unwrap();
        }
        // Twice: what the next write notes must not forget what is there.
        for _ in 0..2 {
            assert_eq!(stage.start().3, BudgetAtStart::Unchanged, "replaced: {is_replaced}");
        }
        let (_store, _, image, _) = stage.start();
        image.publish(lines("alice 80 1\n"), 1);
        image.close(END).unwrap();
        assert!(!stage.exists(".rejected-1"));
        assert_eq!(lines(&stage.read("")), lines("alice 80 1\n"));
    }
}

#[test]
fn a_file_that_cannot_be_written_is_tried_again() {
    let stage = Stage::endowed();
    let (_store, _, image, _) = stage.start();
    // A folder in the place of the temporary file: even root cannot open it for writing.
    let obstacle = format!("{}.new", stage.path.display());
    fs::create_dir(&obstacle).unwrap();
    image.publish(lines("alice 1 1\n"), 1);
    while image.watch().last_error().is_none() {
        std::thread::yield_now();
    }
    assert!(image.watch().last_error().unwrap().contains("budget.new"));
    fs::remove_dir(&obstacle).unwrap();
    image.publish(lines("alice 2 1\n"), 1);
    image.close(END).unwrap();
    assert_eq!(lines(&stage.read("")), lines("alice 2 1\n"));
}

#[test]
fn what_cannot_be_read_is_never_overwritten() {
    let stage = Stage::endowed();
    let (store, _, image, _) = stage.start();
    fs::remove_file(&stage.path).unwrap();
    fs::create_dir(&stage.path).unwrap();
    image.publish(lines("alice 1 1\n"), 1);
    let error = image.close(END).unwrap_err().to_string();
    assert!(error.contains("not a file"), "{error}");
    drop(store);
    let (store, loaded) = stage.scratch.open();
    let error = BudgetPublisher::open(&store, &loaded, &stage.path, Precedence::Ledger).unwrap_err().to_string();
    assert!(error.contains("not a file"), "{error}");
    assert!(fs::metadata(&stage.path).unwrap().is_dir());
    fs::remove_dir(&stage.path).unwrap();
    drop(store);
    assert!(matches!(stage.start().3, BudgetAtStart::Overridden(_)), "and then it is written from the ledger");
}

#[test]
fn a_file_that_is_deleted_while_the_daemon_runs_is_written_again() {
    let stage = Stage::endowed();
    let (_store, _, image, _) = stage.start();
    fs::remove_file(&stage.path).unwrap();
    image.publish(lines("alice 90 1\n"), 1);
    image.close(END).unwrap();
    assert_eq!(lines(&stage.read("")), lines("alice 90 1\n"));
}

#[test]
fn a_failing_store_does_not_hang_the_close() {
    let stage = Stage::endowed();
    let (store, _, image, _) = stage.start();
    let admin = stage.scratch.look();
    admin.execute_batch("BEGIN IMMEDIATE").unwrap();
    image.publish(lines("alice 1 1\n"), 1);
    let error = image.close(END).unwrap_err().to_string();
    assert!(error.contains("the store cannot write"), "{error}");
    assert_eq!(lines(&stage.read("")), lines(FIRST), "nothing is written that was not noted before");
    drop(admin);
    store.close().unwrap();
}
