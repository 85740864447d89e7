# Sourced by several_users.sh: jobs that name what their users may not touch, as input, cache or output.
# shellcheck shell=bash

# As in tests/worker/job_user: the client, too, reads as its user, so that what a job names is its user's when it is submitted and another's
# when a worker gets to it.
WAYS=(input link cache archive output)
vault=$base/vault
# One line of USER OWNER WAY PLACE JOB for each job.
attempts=()

# forbid_paths: each way to root's and to another user's, dealt among the users.
forbid_paths() {
    local at=0 way owner user
    install -d -m 755 "$vault"
    check "the worker is drained" fails 0 shared operator workers drain shared
    for way in "${WAYS[@]}"; do
        for owner in root another; do
            user=${users[$((at % count))]}
            [[ $owner == root ]] || owner=${users[$(((at + 1) % count))]}
            offer "$user" "$owner" "$way" "$vault/$at"
            at=$((at + 1))
        done
    done
    vault_now >"$logs/vault-before"
    check "the worker is resumed" fails 0 shared operator workers resume shared
    judge_attempts
}

# offer USER OWNER WAY PLACE: submits a job and then gives the place to OWNER.
offer() {
    local user=$1 owner=$2 way=$3 place=$4 home=$base/home/$1 id
    local input=$home/in.txt output=$base/shared/stolen-${4##*/} options=()
    install -d -m 700 -o "$user" -g "$user" "$place"
    install -m 600 -o "$user" -g "$user" /dev/stdin "$place/secret" <<<"kept in ${place##*/}"
    case $way in
    input) input=$place/secret ;;
    link)
        by "$user" ln -s "$place/secret" "link-${place##*/}"
        input=$home/link-${place##*/}
        ;;
    cache) options=(-D "mapred.cache.files=file:$place/secret#stolen") ;;
    archive)
        by "$user" tar -C "$place" -czf "$place/packed.tgz" secret
        options=(-D "mapred.cache.archives=file:$place/packed.tgz#stolen")
        ;;
    output) output=$place/out ;;
    esac
    id=$(job "$user" submit --detach --input "$input" --output "$output" --mapper 'sh -c "cat; cat stolen stolen/*; true"' --reducer NONE \
        -D mapred.map.tasks=1 -D mapred.map.max.attempts=1 "${options[@]}" 2>"$logs/offer.log") || cat "$logs/offer.log"
    attempts+=("$user $owner $way $place $id")
    chown -R "$owner:" "$place"
    chmod -R go= "$place"
}

vault_now() {
    find "$vault" -printf '%p %u %g %m %s %T@\n' | sort
    find "$vault" -type f -exec sha256sum {} + | sort -k 2
}

judge_attempts() {
    local attempt user owner way place id whose
    for attempt in "${attempts[@]}"; do
        read -r user owner way place id <<<"$attempt"
        whose=$owner
        [[ $owner == root ]] || whose="another's ($owner)"
        check "$user: a job with $way of $whose fails" fails 1 "$place.*Permission denied|Permission denied.*$place|link-${place##*/}.*Permission denied" \
            job "$user" follow "$id"
    done
    check "nothing there was changed" diff "$logs/vault-before" <(vault_now)
    check "nothing of it came out" not grep --recursive --files-with-matches 'kept in [0-9]' "$base/shared" "$base/home" "$data" "$worker_folder"
}

# refused_at_once USER OWNER: where the client itself cannot read what it ships.
refused_at_once() {
    local options=(--detach --mapper cat --reducer NONE) mine=$base/home/$1 theirs=$base/home/$2
    check "$1: ships no file of $2" fails 2 'Permission denied' job "$1" submit "${options[@]}" --input "$mine/in.txt" \
        --output "$mine/none" --file "$theirs/in.txt"
    check "$1: names no input of $2" fails 2 'Permission denied' job "$1" submit "${options[@]}" --input "$theirs/in.txt" --output "$mine/none"
    check "$1: names no output at $2" fails 2 'Permission denied' job "$1" submit "${options[@]}" --input "$mine/in.txt" \
        --output "$theirs/none"
}
