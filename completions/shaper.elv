use builtin;
use str;

set edit:completion:arg-completer[shaper] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'shaper'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'shaper'= {
            cand -h 'Print help; -h is shorter'
            cand --help 'Print help; -h is shorter'
            cand -V 'Print version'
            cand --version 'Print version'
            cand run 'Do the jobs under the limits, write one result per job, report'
            cand compare 'The same 1000 jobs under several disciplines, side by side; virtual time, nothing is sent'
            cand verify 'Prove from the recorded send times that no limit was exceeded'
            cand report 'Copy the lines of the jobs that failed out of the job files, to run them again'
            cand mock 'Serve the modelled API over HTTP'
            cand completions 'Print the script that completes this command line in a shell'
            cand help 'Say how a command is used, or (help limits) which limit suits which server'
            cand man 'Print the manual, for man'
        }
        &'shaper;run'= {
            cand -c 'Slots: requests in flight'
            cand --concurrency 'Slots: requests in flight'
            cand --qps 'Requests per time, a token bucket'
            cand --rate 'Requests per time, a token bucket'
            cand --rpm 'Requests per minute, a token bucket; with --qps both hold'
            cand --burst 'Capacity and start level of --qps and --rpm; a time (4s) is that time''s worth; 1 is smooth'
            cand --tpm 'Units (LLM tokens) per minute; a job says its own or is estimated'
            cand --tps 'Units per second'
            cand --token-burst 'Capacity and start level of --tpm and --tps; default one minute''s (second''s) worth'
            cand --window 'At most N sends in ANY window of DUR; repeatable'
            cand --sliding-window 'At most N sends in ANY window of DUR; repeatable'
            cand --limit 'Any limit; repeatable, all hold: "[requests|tokens|input-tokens|output-tokens] N/DUR [bucket|leaky|window|window-counter|fixed] [burst=N] [start=N] [anchor=epoch|first] [guard=DUR] [per=KEY] [at=send|reply] [name=WORD]"; see `shaper help limits`'
            cand --per 'Keep each rate limit apart for each value of host, header:NAME or field:NAME (a pointer, too: `field:/body/model`)'
            cand --per-host 'Slots of each origin (scheme, host and port), besides --concurrency'
            cand --queue-timeout 'A job that would wait longer than this fails, kind `queue_timeout`; 0s is now or never'
            cand --max-wait 'A job that would wait longer than this fails, kind `queue_timeout`; 0s is now or never'
            cand --guard 'Room that windows keep for the jitter on the way; default: measured, at least 5 ms, at most 1 % of the period; 0 is none'
            cand --arrivals 'When jobs are due: closed (as slots and limits allow), once (all at the start)'
            cand --lookahead 'Most jobs held at once: waiting, resting, in flight, unwritten'
            cand --estimate 'How jobs that do not say their tokens are estimated: chars (bytes of text / 4 + the most output); o200k, cl100k, openai in a build with the feature bpe'
            cand --usage 'Where an answer says what it used, a JSON pointer; the usual `usage` objects are found by themselves'
            cand --refund 'What was reserved and not used: unused (it is given back), never'
            cand --oversize 'A job that costs more than a limit ever holds: fail, wait (until the limit is full; it owes the rest)'
            cand --max-attempts 'Tries of a job, 1 is no retry; --retries N is one more'
            cand --retries 'The same as --max-attempts N+1'
            cand --backoff 'The rest before the k-th retry is MIN x 2^(k-1), at most MAX; a server''s Retry-After is a floor'
            cand --jitter 'How rests are spread: full, equal, decorrelated, none'
            cand --seed 'Seed of the jitter; default: a new one for each run'
            cand --retry-unsafe 'Repeat a try that was sent and got no status line: never, idempotent, always'
            cand --timeout 'The longest a try may take, from its grant to the last byte; queueing never counts'
            cand --connect-timeout 'The longest that connecting may take: within it nothing was sent, so every job may try again'
            cand --read-timeout 'The longest gap between bytes of an answer'
            cand -H 'A header for every job; a job''s own wins'
            cand --header 'A header for every job; a job''s own wins'
            cand --bearer-env 'Send `authorization: Bearer` with the value of this environment variable'
            cand -X 'The method of jobs that name none'
            cand --method 'The method of jobs that name none'
            cand --data 'The body of jobs that have none'
            cand --base-url 'What relative URLs are relative to'
            cand --max-body 'The longest body that is taken'
            cand --mock 'Send everything to the modelled API, in this process; SPEC after a =: latency=50ms, limit=10/1s window, fail=503:1%, …'
            cand --format 'jsonl or urls; default: by content'
            cand -n 'Read only the first N jobs'
            cand --limit-jobs 'Read only the first N jobs'
            cand -o 'Results, one JSON line per job; default: stdout, if that is not a terminal'
            cand --output 'Results, one JSON line per job; default: stdout, if that is not a terminal'
            cand --fsync 'When results have to be on the disk, not only in the file: never, end, or each DUR'
            cand --grace 'After Ctrl-C or SIGTERM what is in flight may take so long; default: no limit but --timeout'
            cand --body 'Bodies of answers in the results: keep, none'
            cand --headers 'Headers of answers in the results: keep, none'
            cand --report 'The report: text, json, csv (a table: metric, label, value, unit), none'
            cand --report-file 'Where the report goes; default: stderr after a run, else stdout'
            cand --hdr 'Latencies as a log of `HdrHistogram`; FILE.hgrm or FILE.txt: percentiles to plot, of `service_ok`, or as in `x.since_due_ok.hgrm`; repeatable'
            cand --color 'Colour: auto (in a terminal, unless `NO_COLOR` is set), always, never'
            cand --progress 'Progress on stderr: auto, bar (a line that is redrawn), plain (a line each 10 s), none'
            cand --stop-if 'End the run as by Ctrl-C when this is true, exit 1; repeatable, besides `401,403>=20 in a row before ok`, which none takes away: `failed>50`, `failed>10%`, `429>100`, `5xx>=10 in a row`'
            cand --fail-if 'Exit with 5 if this is true at the end, else with 0 whatever failed; repeatable: `p99>500ms`, `due_p99>1s`, `failed>1%`, `429>0`, `rate<9.5/s`'
            cand --strict 'Check the whole input first; any bad line stops before the first send'
            cand --allow-empty 'An input without jobs is no error'
            cand --overwrite 'Replace a file of results'
            cand --ordered 'Results in the order of the input; one that waits for an older one keeps its slot'
            cand --ascii 'No characters outside ASCII'
            cand -v 'Say more: every failed job'
            cand --verbose 'Say more: every failed job'
            cand -q 'Nothing on stderr but what ends the run'
            cand --quiet 'Nothing on stderr but what ends the run'
            cand --resume 'Send only what has no result in the file of -o yet; without that file, begin'
            cand --retry-failed 'With --resume: jobs that failed are run again, and their later result counts'
            cand --force-resume 'With --resume: take results that belong to another input'
            cand --repair 'With --resume: lines of the results that are damaged are set aside in FILE.bad, and their jobs run again'
            cand -h 'Print help; -h is shorter'
            cand --help 'Print help; -h is shorter'
        }
        &'shaper;compare'= {
            cand -c 'Slots of the semaphores'
            cand --concurrency 'Slots of the semaphores'
            cand --qps 'The rate of the limiters, and what the modelled API accepts in any window of its period'
            cand --rate 'The rate of the limiters, and what the modelled API accepts in any window of its period'
            cand --jobs 'How many jobs come at once'
            cand --ascii 'No characters outside ASCII'
            cand -h 'Print help; -h is shorter'
            cand --help 'Print help; -h is shorter'
        }
        &'shaper;verify'= {
            cand --qps 'Requests per time, a token bucket'
            cand --rate 'Requests per time, a token bucket'
            cand --rpm 'Requests per minute, a token bucket; with --qps both hold'
            cand --burst 'Capacity and start level of --qps and --rpm; a time (4s) is that time''s worth; 1 is smooth'
            cand --tpm 'Units (LLM tokens) per minute; a job says its own or is estimated'
            cand --tps 'Units per second'
            cand --token-burst 'Capacity and start level of --tpm and --tps; default one minute''s (second''s) worth'
            cand --window 'At most N sends in ANY window of DUR; repeatable'
            cand --sliding-window 'At most N sends in ANY window of DUR; repeatable'
            cand --limit 'Any limit; repeatable, all hold: "[requests|tokens|input-tokens|output-tokens] N/DUR [bucket|leaky|window|window-counter|fixed] [burst=N] [start=N] [anchor=epoch|first] [guard=DUR] [per=KEY] [at=send|reply] [name=WORD]"; see `shaper help limits`'
            cand --per 'Keep each rate limit apart for each value of host, header:NAME or field:NAME (a pointer, too: `field:/body/model`)'
            cand --slack 'How long before a grant a bucket may have been charged; default: that of FILE.run, else 2ms'
            cand --clock-skew 'How far apart the clocks of the files may be: a limit is proved if it holds for any such clocks'
            cand --report 'The form of the proof: text, json, csv, none'
            cand -c 'Slots: requests in flight'
            cand --concurrency 'Slots: requests in flight'
            cand -h 'Print help; -h is shorter'
            cand --help 'Print help; -h is shorter'
        }
        &'shaper;report'= {
            cand --base-url 'What relative URLs were relative to'
            cand -X 'The method of jobs that name none'
            cand --method 'The method of jobs that name none'
            cand --data 'The body of jobs that have none'
            cand --format 'jsonl or urls: of several job files only those in this format'
            cand --failed-jobs 'Copy the lines of failed jobs to stdout, byte for byte'
            cand -h 'Print help; -h is shorter'
            cand --help 'Print help; -h is shorter'
        }
        &'shaper;mock'= {
            cand --listen 'Where to listen; loopback by default'
            cand --latency '50ms, exp:50ms (exponential), p50:80ms/p99:400ms (log-normal)'
            cand --limit 'A limit of the server, e.g. "10/1s window"; repeatable'
            cand --slots 'Requests served at once; more wait inside'
            cand --fail 'A share of requests that fails: 503:1%; repeatable'
            cand --tokens 'The usage that every reply reports'
            cand --retry-after 'The form of Retry-After: seconds, date, none'
            cand --arrivals-file 'Write what arrived, as result lines'
            cand --seed 'Seed of latencies and failures'
            cand -h 'Print help; -h is shorter'
            cand --help 'Print help; -h is shorter'
        }
        &'shaper;completions'= {
            cand -h 'Print help; -h is shorter'
            cand --help 'Print help; -h is shorter'
        }
        &'shaper;help'= {
            cand -h 'Print help; -h is shorter'
            cand --help 'Print help; -h is shorter'
        }
        &'shaper;man'= {
            cand -h 'Print help; -h is shorter'
            cand --help 'Print help; -h is shorter'
        }
    ]
    $completions[$command]
}
