//! Examples at the end of each command's help: the command, then what it is for.

/// Examples by command.
pub(super) const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "jobtracker serve",
        &[
            ("jobtracker serve", "on this machine alone, with defaults"),
            ("jobtracker serve --conf /etc/hadoop/conf", "in place of the Java JobTracker"),
            ("jobtracker serve -D mapred.job.tracker=127.0.0.1:9001", "on another port"),
        ],
    ),
    (
        "jobtracker tasktracker",
        &[
            ("jobtracker tasktracker", "for the JobTracker of this machine"),
            ("jobtracker tasktracker --conf /etc/hadoop/conf --slots 8", "for that of a conf folder"),
        ],
    ),
    (
        "jobtracker demo",
        &[("jobtracker demo", ""), ("jobtracker demo --keep", "leave it running, to look at its pages")],
    ),
    (
        "jobtracker check-config",
        &[
            ("jobtracker check-config --conf /etc/hadoop/conf", ""),
            ("jobtracker check-config --conf /etc/hadoop/conf --all", "every value with its source"),
        ],
    ),
    ("jobtracker backup", &[("jobtracker backup /var/backups/jobtracker-monday.db --conf /etc/jobtracker", "")]),
    ("jobtracker restore", &[("jobtracker restore /var/backups/jobtracker-monday.db --conf /etc/jobtracker", "")]),
    (
        "jobtracker pages",
        &[
            ("jobtracker pages --state /var/backups/jobtracker-monday.db", "what the cluster was doing then"),
            ("jobtracker pages --state state.db --http 127.0.0.1:8080 --show-all", "with money, on another port"),
        ],
    ),
    (
        "jobtracker status",
        &[
            ("jobtracker status", ""),
            ("jobtracker status --server master:50030 --json", "from elsewhere, for a script"),
        ],
    ),
    (
        "jobtracker store init",
        &[
            ("jobtracker store init --conf /etc/jobtracker", ""),
            ("jobtracker store init --sql", "for a database administrator"),
        ],
    ),
    ("jobtracker reload", &[("jobtracker reload --conf /etc/jobtracker", "after an edit of its files")]),
    ("jobtracker stop", &[("jobtracker stop --conf /etc/jobtracker", "")]),
    (
        "jobtracker upgrade",
        &[
            ("jobtracker upgrade --conf /etc/jobtracker", "to this program"),
            ("jobtracker upgrade --conf /etc/jobtracker --program /opt/jobtracker/bin/jobtracker", "to another one"),
        ],
    ),
    ("jobtracker scheduler show", &[("jobtracker scheduler show --conf /etc/jobtracker", "")]),
    ("jobtracker scheduler plan", &[("jobtracker scheduler plan fair --conf /etc/jobtracker", "")]),
    ("jobtracker scheduler use", &[("jobtracker scheduler use capacity --move-to default --conf /etc/jobtracker", "")]),
    (
        "jobtracker user add",
        &[
            ("jobtracker user add alice --key-file alice.key --conf /etc/jobtracker", "a key for alice"),
            ("jobtracker user add bob --budget 100 --rate 0.5 --conf /etc/jobtracker", "with a queue and money"),
            ("jobtracker user add root --role admin --conf /etc/jobtracker", "an administrator"),
        ],
    ),
    ("jobtracker user list", &[("jobtracker user list --conf /etc/jobtracker", "")]),
    ("jobtracker user remove", &[("jobtracker user remove bob --conf /etc/jobtracker", "")]),
    ("jobtracker user key", &[("jobtracker user key alice --keep-old 12h --conf /etc/jobtracker", "")]),
    (
        "jobtracker open",
        &[
            ("jobtracker open", "the overview, signed in"),
            ("jobtracker open /market --as alice --print", "the link, for a browser elsewhere"),
            ("jobtracker open --token", "for programs that read /api/v1"),
        ],
    ),
    (
        "jobtracker sign",
        &[
            ("jobtracker sign info=alice --as alice", "query and signature on two lines"),
            ("jobtracker sign 'setSpending=0.5&queue=alice' --as alice --curl", "the whole command for curl"),
            ("jobtracker sign --job --as alice", "the properties of a job, for hadoop jar"),
        ],
    ),
    (
        "jobtracker queue list",
        &[("jobtracker queue list", ""), ("jobtracker queue list --as root --key-file root.key", "")],
    ),
    ("jobtracker queue info", &[("jobtracker queue info", "your own"), ("jobtracker queue info alice --json", "")]),
    ("jobtracker queue set-spending", &[("jobtracker queue set-spending alice 0.5", "")]),
    (
        "jobtracker queue add-budget",
        &[
            ("jobtracker queue add-budget alice 100 --note 'May'", ""),
            ("jobtracker queue add-budget alice -25.5", "take money out"),
        ],
    ),
    ("jobtracker queue transfer", &[("jobtracker queue transfer alice bob 25.5 --note 'project'", "")]),
    (
        "jobtracker queue allowance",
        &[
            ("jobtracker queue allowance alice 100 every 1d cap 500", ""),
            ("jobtracker queue allowance alice none", "end it"),
        ],
    ),
    ("jobtracker queue add", &[("jobtracker queue add alice", "")]),
    ("jobtracker queue remove", &[("jobtracker queue remove alice", "")]),
    ("jobtracker queue pause", &[("jobtracker queue pause alice", "before its data moves")]),
    ("jobtracker queue resume", &[("jobtracker queue resume alice", "")]),
    ("jobtracker queue quote", &[("jobtracker queue quote alice 0.5", "")]),
    (
        "jobtracker queue statement",
        &[
            ("jobtracker queue statement", "of your own queue"),
            ("jobtracker queue statement alice --since 2026-11-01 --csv", "for a spreadsheet"),
        ],
    ),
    (
        "jobtracker report",
        &[
            ("jobtracker report users --since 2026-11-01", "what each used since then"),
            ("jobtracker report jobs -u alice -s FAILED", "alice's failed jobs"),
            ("jobtracker report queues --by month --csv", "for a spreadsheet"),
        ],
    ),
    (
        "jobtracker job submit",
        &[
            ("jobtracker job submit --input in --output out --mapper 'cut -f1' --reducer 'uniq -c'", ""),
            (
                "jobtracker job submit --input in --output out --mapper ./map.py --reducer NONE --file map.py --detach",
                "print the id and return",
            ),
            (
                "jobtracker job submit --input in --output out --mapper cat --reducer NONE --deadline 18:00",
                "due at six, local time",
            ),
        ],
    ),
    ("jobtracker job follow", &[("jobtracker job follow job_202611211200_0001", "")]),
    ("jobtracker job wait", &[("jobtracker job wait job_202611211200_0001 job_202611211200_0002", "")]),
    (
        "jobtracker job list",
        &[
            ("jobtracker job list", "all that have not ended"),
            ("jobtracker job list -u alice -a", "alice's, ended ones too"),
            ("jobtracker job list -q research -n 'sweep-*' -s failed", ""),
        ],
    ),
    ("jobtracker job status", &[("jobtracker job status job_202611211200_0001", "")]),
    (
        "jobtracker job kill",
        &[
            ("jobtracker job kill job_202611211200_0001", ""),
            ("jobtracker job kill -u alice -n 'sweep-*'", "all of alice's of that name, once you say yes"),
        ],
    ),
    ("jobtracker job kill-task", &[("jobtracker job kill-task attempt_202611211200_0001_m_000000_0", "")]),
    ("jobtracker job fail-task", &[("jobtracker job fail-task attempt_202611211200_0001_m_000000_0", "")]),
    ("jobtracker job hold", &[("jobtracker job hold job_202611211200_0001", "")]),
    ("jobtracker job release", &[("jobtracker job release job_202611211200_0001", "")]),
    (
        "jobtracker job priority",
        &[
            ("jobtracker job priority job_202611211200_0001 HIGH", ""),
            ("jobtracker job priority -u alice LOW", "all of alice's unfinished jobs, once you say yes"),
        ],
    ),
    (
        "jobtracker job deadline",
        &[
            ("jobtracker job deadline job_202611211200_0001 18:00", "at six, local time"),
            ("jobtracker job deadline job_202611211200_0001 20m", "in 20 minutes"),
            ("jobtracker job deadline job_202611211200_0001 --clear", ""),
        ],
    ),
    ("jobtracker job events", &[("jobtracker job events job_202611211200_0001", "")]),
    ("jobtracker job counters", &[("jobtracker job counters job_202611211200_0001", "")]),
    (
        "jobtracker job logs",
        &[
            ("jobtracker job logs job_202611211200_0001", "of its failed attempts"),
            ("jobtracker job logs job_202611211200_0001 -f", "of running attempts, as they grow"),
            ("jobtracker job logs attempt_202611211200_0001_m_000000_0 --log stderr", ""),
        ],
    ),
    ("jobtracker job tasks", &[("jobtracker job tasks job_202611211200_0001 --running", "")]),
    ("jobtracker job output", &[("jobtracker job output job_202611211200_0001", "")]),
    (
        "jobtracker job resubmit",
        &[("jobtracker job resubmit job_202611211200_0001 --overwrite", "in place of its earlier output")],
    ),
    (
        "jobtracker run",
        &[
            ("jobtracker run -- ./simulate 7", "one command; its output comes out here"),
            ("jobtracker run --array 1-1000 -m 2048 -- ./simulate {}", "a thousand items, 2 GB each"),
            ("jobtracker run --each-line names.txt -d -- ./greet {}", "an item for each line; print the id and return"),
        ],
    ),
    (
        "jobtracker app list",
        &[
            ("jobtracker app list", "all that are not over"),
            ("jobtracker app list -u alice -a", "alice's, also those that are"),
        ],
    ),
    ("jobtracker app status", &[("jobtracker app status application_1700000000000_0001", "")]),
    ("jobtracker app logs", &[("jobtracker app logs application_1700000000000_0001", "")]),
    (
        "jobtracker app kill",
        &[
            ("jobtracker app kill application_1700000000000_0001", ""),
            ("jobtracker app kill -u alice", "all of alice's that are not over, once you say yes"),
        ],
    ),
    ("jobtracker workers list", &[("jobtracker workers list", "")]),
    ("jobtracker workers drain", &[("jobtracker workers drain w1 --wait", "until nothing runs there")]),
    ("jobtracker workers resume", &[("jobtracker workers resume w1", "")]),
    ("jobtracker explain", &[("jobtracker explain job_202611211200_0001", "")]),
    (
        "jobtracker price",
        &[("jobtracker price", "now"), ("jobtracker price --history --since 2026-11-21", "since then")],
    ),
    ("jobtracker time", &[("jobtracker time", "")]),
    (
        "jobtracker completion",
        &[("jobtracker completion bash > ~/.local/share/bash-completion/completions/jobtracker", "")],
    ),
    ("jobtracker simulate", &[("jobtracker simulate", ""), ("jobtracker simulate --policy fair", "")]),
    (
        "jobtracker what-if",
        &[
            ("jobtracker what-if --policy fair --conf /etc/jobtracker", "the jobs of the past under another scheduler"),
            ("jobtracker what-if --nodes 20 --since 2026-11-20 --jobs", "on 20 workers, job by job"),
        ],
    ),
];
