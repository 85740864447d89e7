//! Submissions to a market: signed when a key is at hand, denied when not.

use std::cell::Cell;
use std::rc::Rc;

use crate::daemon::child::DaemonFolders;
use crate::job_client::workers::{Maps, work};
use crate::program::{job_command, said};

#[test]
fn a_key_at_hand_signs_the_job_into_the_users_queue() {
    let place = DaemonFolders::new("alice 100 1\n");
    let serving = place.start();
    let rpc = serving.rpc();
    let folder = place.path("hadoop");
    std::fs::write(folder.join("in.txt"), "one two\n").unwrap();
    let line = format!(
        "submit --input in.txt --output out --mapper cat --reducer NONE --user alice --jobtracker {rpc} --server {}",
        serving.http
    );
    let arguments: Vec<_> = line.split(' ').collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    runtime.block_on(local.run_until(async {
        let denied = said(job_command(&folder, &arguments)).await.refused(3);
        assert!(denied.contains("ACCESS DENIED: ") && denied.contains("the job was not signed: no key in"), "{denied}");
        // What the job itself says of its signature is what counts.
        let by_hand = ["-D", "mapred.job.timestamp=1", "-D", "mapred.job.signature=AAAA"];
        let denied = said(job_command(&folder, &[&arguments[..], &by_hand].concat())).await.refused(3);
        assert!(denied.trim_end().ends_with("; signed by -D mapred.job.signature"), "{denied}");
        assert!(!denied.contains("was not signed"), "{denied}");
        // A key of no user.
        let of_dora = line.replace("--user alice", "--user dora");
        let mut homeless = job_command(&folder, &of_dora.split(' ').collect::<Vec<_>>());
        homeless.env("HADOOP_KEY", "dorakey");
        let denied = said(homeless).await.refused(3);
        let expected = "the user is unknown: an administrator adds it: jobtracker user add dora";
        assert!(denied.contains(expected), "{denied}");
        let mut wrong = job_command(&folder, &arguments);
        wrong.env("HADOOP_KEY", "notalices");
        let denied = said(wrong).await.refused(3);
        assert!(denied.contains("ACCESS DENIED: bad mapred.job.signature"), "{denied}");
        assert!(denied.trim_end().ends_with("; signed as alice with the key in $HADOOP_KEY"), "{denied}");

        tokio::task::spawn_local(work(rpc, Rc::new(Cell::new(Maps::Succeed))));
        let mut signed = job_command(&folder, &arguments);
        signed.env("HADOOP_KEY", "alicekey");
        let text = said(signed).await.done();
        assert!(text.contains("submitted: signed, 1 input file, maps "), "{text}");
        assert!(text.contains("\ncost    "), "{text}");

        // Two at once may meet in one millisecond of the server's clock; both are taken.
        let outputs = ["out2", "out3", "out4"].map(|output| {
            let line = line.replace("--output out", &format!("--output {output}"));
            let arguments: Vec<_> = line.split(' ').collect();
            let mut command = job_command(&folder, &arguments);
            command.arg("--detach").env("HADOOP_KEY", "alicekey");
            tokio::task::spawn_local(said(command))
        });
        for output in outputs {
            assert!(output.await.unwrap().done().starts_with("job_"));
        }
    }));
}
