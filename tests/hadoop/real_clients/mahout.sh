# Sourced by real_clients.sh: RecommenderJob of Mahout 0.9, ten jobs one after the other, of its published job jar.
# shellcheck shell=bash

mahout_fetch() { "$CLIENTS_DIR/fetch.sh" mahout; }

mahout_run() {
    # user,item,preference
    awk 'BEGIN { for (user = 1; user <= 12; user++) for (item = 1; item <= 9; item++)
        if ((user * 7 + item * 5) % 4 < 2) printf "%d,%d,%d\n", user, item, (user * item) % 5 + 1 }' >"$WORK/preferences.csv"
    fs_shell alice -put "$WORK/preferences.csv" mahout/preferences.csv 2>>"$CLUSTER/put.log"
    run recommends 0 hadoop jar "$FETCHED/mahout/lib/mahout-core-0.9-job.jar" org.apache.mahout.cf.taste.hadoop.item.RecommenderJob \
        --input mahout/preferences.csv --output mahout/recommended --tempDir mahout/temp --similarityClassname SIMILARITY_COOCCURRENCE \
        --numRecommendations 3
    fs_shell alice -cat 'mahout/recommended/part-*' 2>>"$CLUSTER/cat.log" | keep_file recommended
    check "users got recommendations" test "$(grep -c '^[0-9]*'$'\t''\[' "$OUT/recommended")" -ge 10
}
