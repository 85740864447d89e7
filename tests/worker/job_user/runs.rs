//! A job from its input to its output: whose processes, files and folders these are.

use std::process::Command;

use crate::tasktracker::secrets::all_in;

use super::stage::{Stage, cached, owner_and_mode};

/// Prints who runs it and where, and whether it sees what is root's.
const WHO: &str = r#"
cat > /dev/null
echo "ids $(id -u) $(id -g) $(id -G)"
echo "name $USER $LOGNAME $HOME"
echo "capabilities $(grep -E 'Cap(Inh|Prm|Eff|Amb)' /proc/self/status | cut -f 2 | sort -u | tr '\n' ' ')"
echo "folders $(stat -c '%U %a' . .. ../.. "$job_local_dir" | sort -u | tr '\n' ' ')"
echo "files $(stat -Lc '%U %a' "$HADOOP_TOKEN_FILE_LOCATION" who.sh ../output | sort -u | tr '\n' ' ')"
echo "cache $(cat side) $(cat packed/tarred)"
ls "$(dirname "$(dirname "$HADOOP_TOKEN_FILE_LOCATION")")" > /dev/null 2>&1 && echo "sees other jobs"
attempt=$(ps -o ppid= -p $PPID | tr -d ' ')
tr '\0' ' ' < /proc/$attempt/cmdline | grep -q run-attempt && echo "runs below run-attempt"
ls /proc/$attempt/fd > /dev/null 2>&1 && echo "looks into $attempt"
cat /proc/$attempt/mem > /dev/null 2> error; grep -q denied error && echo "memory is closed"
echo done
"#;

/// Lines of an output that begin with a word.
fn lines<'a>(output: &'a [String], word: &str) -> Vec<&'a str> {
    output.iter().filter_map(|line| line.trim_end().strip_prefix(word)?.strip_prefix(' ')).collect()
}

#[test]
fn a_job_is_its_users_from_its_input_to_its_output() {
    let Some(mut stage) = Stage::of_test("a_job_is_its_users_from_its_input_to_its_output") else { return };
    stage.add_worker(&[]);
    let users = stage.users.clone();
    let alice = &users.alice;
    for (name, text) in [("in", "a\n"), ("side.txt", "hers"), ("who.sh", WHO)] {
        stage.write(alice, name, text);
    }
    let home = stage.home(alice);
    stage.write(alice, "tarred", "packed");
    let tar = Command::new("tar").args(["-czf", "packed.tgz", "tarred"]).current_dir(&home).status().unwrap();
    assert!(tar.success());
    alice.owns(&home.join("packed.tgz"), 0o600);
    let side = cached(&home.join("side.txt"), "side");
    let archive = cached(&home.join("packed.tgz"), "packed").replace("files", "archives");
    let words = ["submit", "--input", "in", "--output", "out", "--file", "who.sh", "-D", &side];
    let once = ["--mapper", "sh who.sh", "--reducer", "cat", "-D", "mapred.map.tasks=1"];
    let archive = ["-D", archive.as_str()];
    let said = stage.job(alice, &[&words[..], &once, &archive].concat());
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let out = stage.home(alice).join("out");
    let part = std::fs::read_to_string(out.join("part-00000")).unwrap();
    let output: Vec<String> = part.lines().map(str::to_owned).collect();
    let (uid, gid, name) = (alice.uid, alice.gid, &alice.name);
    let ids = lines(&output, "ids")[0];
    assert!(ids.starts_with(&format!("{uid} {gid} {gid} ")) && ids.split(' ').count() == 4, "{ids}");
    assert_eq!(lines(&output, "name"), [format!("{name} {name} /nonexistent")]);
    assert_eq!(lines(&output, "capabilities"), ["0000000000000000"]);
    assert_eq!(lines(&output, "folders"), [format!("{name} 700")]);
    assert_eq!(lines(&output, "files"), [format!("{name} 600 {name} 700")]);
    assert_eq!(lines(&output, "cache"), ["hers packed"]);
    for line in ["runs below run-attempt", "memory is closed"] {
        assert!(output.iter().any(|found| found.trim_end() == line), "{line} is not in {part}");
    }
    assert!(part.contains("done") && !part.contains("sees other jobs") && !part.contains("looks into"), "{part}");
    let files = all_in(&out);
    assert!(files.iter().any(|file| file.ends_with("_SUCCESS")), "{files:?}");
    files.iter().for_each(|file| assert_eq!(owner_and_mode(file).0, uid, "{}", file.display()));
    let logs = stage.disk().join("userlogs");
    assert_eq!(owner_and_mode(&logs), (0, 0o700));
    let said = &stage.cluster.workers[0].said;
    assert!(
        said.iter().any(|line| line.contains("commands of each job run as its user, uid 1000 and above")),
        "{said:?}"
    );
}

#[test]
fn counters_status_and_many_maps_reach_the_jobtracker() {
    let Some(mut stage) = Stage::of_test("counters_status_and_many_maps_reach_the_jobtracker") else { return };
    stage.add_worker_with_umask("077");
    let users = stage.users.clone();
    let mapper = "while read -r word; do printf '%s\\t1\\n' \"$word\"; echo reporter:counter:Words,seen,1 >&2; done";
    stage.write(&users.bob, "map.sh", mapper);
    let names: Vec<String> = (0..3).map(|number| format!("in{number}")).collect();
    for name in &names {
        stage.write(&users.bob, name, "a\nb\n");
    }
    let inputs: Vec<&str> = names.iter().flat_map(|name| ["--input", name.as_str()]).collect();
    let words = ["submit", "--output", "out", "--file", "map.sh", "--mapper", "sh map.sh", "--reducer", "uniq -c"];
    let said = stage.job(&users.bob, &[&words[..], &["-D", "mapred.reduce.tasks=2"], &inputs].concat());
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let job = super::stage::id_of(&said.stdout);
    let counters = stage.cluster.job(&["counters", &job]).done();
    let has = |name: &str, count: &str| {
        counters.lines().any(|line| line.contains(name) && line.split_whitespace().any(|word| word == count))
    };
    assert!(has("seen", "6") && has("Map input records", "6") && has("Reduce input records", "6"), "{counters}");
    let mut output = String::new();
    for part in ["part-00000", "part-00001"] {
        output += &std::fs::read_to_string(stage.home(&users.bob).join("out").join(part)).unwrap();
    }
    assert_eq!(output.matches("3 ").count(), 2, "{output}");
    let out = stage.home(&users.bob).join("out");
    let modes = ["", "part-00000", "_SUCCESS"].map(|name| owner_and_mode(&out.join(name)));
    let of_bob = |mode| (users.bob.uid, mode);
    assert_eq!(modes, [of_bob(0o700), of_bob(0o600), of_bob(0o600)], "as the umask of the worker says");
}
