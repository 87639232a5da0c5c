# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_shaper_global_optspecs
    string join \n h/help V/version
end

function __fish_shaper_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_shaper_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_shaper_using_subcommand
    set -l cmd (__fish_shaper_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c shaper -n "__fish_shaper_needs_command" -s h -l help -d 'Print help; -h is shorter'
complete -c shaper -n "__fish_shaper_needs_command" -s V -l version -d 'Print version'
complete -c shaper -n "__fish_shaper_needs_command" -f -a "run" -d 'Do the jobs under the limits, write one result per job, report'
complete -c shaper -n "__fish_shaper_needs_command" -f -a "replay" -d 'Do recorded jobs at their recorded times: run --replay'
complete -c shaper -n "__fish_shaper_needs_command" -f -a "compare" -d 'The same jobs under several disciplines, in virtual time'
complete -c shaper -n "__fish_shaper_needs_command" -f -a "plan" -d 'How long a run will take and what will bind; sends nothing'
complete -c shaper -n "__fish_shaper_needs_command" -f -a "check" -d 'List every problem of an input with its place; sends nothing'
complete -c shaper -n "__fish_shaper_needs_command" -f -a "verify" -d 'Prove from the recorded send times that no limit was exceeded'
complete -c shaper -n "__fish_shaper_needs_command" -f -a "report" -d 'Report again from results, or copy the jobs that failed'
complete -c shaper -n "__fish_shaper_needs_command" -f -a "status" -d 'Tell who shares limits through Redis, and what is left of each'
complete -c shaper -n "__fish_shaper_needs_command" -f -a "mock" -d 'Serve the modelled API over HTTP'
complete -c shaper -n "__fish_shaper_needs_command" -f -a "completions" -d 'Print the script that completes this command line in a shell'
complete -c shaper -n "__fish_shaper_needs_command" -f -a "help" -d 'Help on a command, or (help limits) which limit suits a server'
complete -c shaper -n "__fish_shaper_needs_command" -f -a "man" -d 'Print the manual, for man'
complete -c shaper -n "__fish_shaper_using_subcommand run" -l qps -l rate -d 'Requests per time (10/s, 600/m), a token bucket' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l tpm -d 'Units (LLM tokens) per minute; a job says its own or is estimated' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l window -l sliding-window -d 'At most N sends in ANY window of DUR; repeatable' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l max-attempts -d 'Tries of a job; 1 is no retry, --retries N is N + 1' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l bearer-env -d 'Send `authorization: Bearer` with the value of this environment variable' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l mock -d 'Send everything to the modelled API, in this process; SPEC after a =: latency=50ms, limit=10/1s window, fail=503:1%, …' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -s o -l output -d 'Results, one JSON line per job; default: stdout, if that is not a terminal' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand run" -l fail-if -d 'Exit with 5 if this is true at the end, else with 0 whatever failed; repeatable: `p99>500ms`, `due_p99>1s`, `late_p99>100ms`, `failed>1%`, `429>0`, `rate<9.5/s`' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -s c -l concurrency -d 'Slots: requests in flight' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l rpm -d 'Requests per minute, a token bucket; with --qps both hold' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l burst -d 'Capacity and start level of --qps and --rpm; a time (4s) is that time\'s worth; 1 is smooth' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l tps -d 'Units per second' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l token-burst -d 'Capacity and start level of --tpm and --tps; default one minute\'s (second\'s) worth' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l limit -d 'Any limit; repeatable, all hold: "[requests|tokens|input-tokens|output-tokens] N/DUR [bucket|leaky|window|window-counter|fixed] [burst=N] [start=N] [anchor=epoch|first] [guard=DUR] [per=host|header:NAME|field:NAME] [at=send|reply] [name=WORD]"; see `shaper help limits`' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l per -d 'Keep each rate limit apart for each value of host, header:NAME or field:NAME (a pointer, too: `field:/body/model`)' -r -f -a "host\t''
header:\t''
field:\t''"
complete -c shaper -n "__fish_shaper_using_subcommand run" -l per-host -d 'Slots of each origin (scheme, host and port), besides --concurrency' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l queue-timeout -l max-wait -d 'A job that would wait longer than this fails, kind `queue_timeout`; 0s is now or never' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l guard -d 'Room that windows keep for the jitter on the way; default: measured, at least 5 ms, at most 1 % of the period; 0 is none' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l lookahead -d 'Most jobs held at once: waiting, resting, in flight, unwritten' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l redis -d 'All rate limits, and what --adaptive learns, are kept together with every process that gives this Redis (or Valkey) and the same --redis-key: redis://[USER:PASSWORD@]HOST[:PORT][/DB], rediss:// for TLS, `unix:///PATH`, redis+sentinel://, redis+cluster://' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l redis-key -d 'The name of what is shared; default: made of the origin and the credentials of the first job, and then a job with others ends the run' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l redis-cacert -d 'For rediss: trust the authorities of this PEM file, in place of those of the system' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand run" -l shared-concurrency -d 'Requests in flight of all processes together; -c is that of each' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l on-store-fail -d 'While Redis is away: stop (nothing is sent; after --store-grace the run ends), local (each process keeps its part of the limits), open (no shared limit holds)' -r -f -a "stop\t''
local\t''
open\t''"
complete -c shaper -n "__fish_shaper_using_subcommand run" -l store-grace -d 'The longest that a run waits for Redis to come back' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l store-timeout -d 'The longest that one command may take' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l estimate -d 'How jobs that do not say their tokens are estimated: chars (bytes of text / 4 + the most output); o200k, cl100k, openai in a build with the feature bpe' -r -f -a "chars\t''
o200k\t''
cl100k\t''
openai\t''"
complete -c shaper -n "__fish_shaper_using_subcommand run" -l refund -d 'What was reserved and not used: unused (it is given back), never' -r -f -a "unused\t''
never\t''"
complete -c shaper -n "__fish_shaper_using_subcommand run" -l oversize -d 'A job that costs more than a limit ever holds: fail, wait (until the limit is full; it owes the rest)' -r -f -a "fail\t''
wait\t''"
complete -c shaper -n "__fish_shaper_using_subcommand run" -l usage -d 'Where an answer says what it used, a JSON pointer; the usual `usage` objects are found by themselves' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l retries -d 'The same as --max-attempts N+1' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l backoff -d 'The rest before the k-th retry is MIN x 2^(k-1), at most MAX; a server\'s Retry-After is a floor' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l jitter -d 'How rests are spread: full, equal, decorrelated, none' -r -f -a "full\t''
equal\t''
decorrelated\t''
none\t''"
complete -c shaper -n "__fish_shaper_using_subcommand run" -l retry-on -d 'After what a job is tried again; default: 408, 425, 429, 500, 502, 503, 504, 529, connect, timeout, reset and incomplete bodies' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l ok -d 'Statuses of answers that are successes: 200-299,404' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l max-retry-after -d 'The longest wait that a server may ask for; a longer one closes its key, and the run ends when no key is open' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l max-elapsed -d 'The longest that a job may take, from its first send to its last byte, all tries and rests; default: none' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l provider -d 'Whose headers the answers have; default: by the host, or by the headers' -r -f -a "azure\t''
openai\t''
groq\t''
together\t''
anthropic\t''
github\t''
discord\t''
gemini\t''
gorgias\t''
shopify\t''
ietf\t''
generic\t''"
complete -c shaper -n "__fish_shaper_using_subcommand run" -l seed -d 'Seed of the jitter, and of --arrivals poisson; default: a new one for each run' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l retry-unsafe -d 'Repeat a try that was sent and got no status line: never, idempotent, always; default: idempotent, and always in the formats of batches' -r -f -a "never\t''
idempotent\t''
always\t''"
complete -c shaper -n "__fish_shaper_using_subcommand run" -l timeout -d 'The longest a try may take, from its grant to the last byte; queueing never counts' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l connect-timeout -d 'The longest that connecting may take: within it nothing was sent, so every job may try again' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l read-timeout -d 'The longest gap between bytes of an answer' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l retry-if-json -d 'Where a body says that its answer is no success, a JSON pointer: what stands there, but for null and nothing, is an error' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -s H -l header -d 'A header for every job, or @FILE with one in each line; a job\'s own wins; with names of columns as in --url' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -s X -l method -d 'The method of jobs that name none' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l data -d 'The body of jobs that have none; with names of columns as in --url, whose values are escaped if it is JSON' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l base-url -d 'What stands before relative URLs, with its path' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l transport -d 'What carries the requests: direct (HTTP/1.1 of our own, past every proxy), reqwest, or auto: direct, and reqwest where a proxy of the environment stands before the server' -r -f -a "auto\t''
direct\t''
reqwest\t''"
complete -c shaper -n "__fish_shaper_using_subcommand run" -l proxy -d 'The proxy for all but what `NO_PROXY` names: http://, https:// or socks5://, with user and password if it wants them; none goes past those of the environment' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l connect-to -d 'Send what is for one place to another, as HOST1:PORT1:HOST2:PORT2; an empty part is any, or stays; repeatable' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l pool-idle -d 'The longest that a connection waits for its next request: less than the server has it wait, or one may be closed as it is used' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l unix-socket -d 'Send everything through this socket of the system' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand run" -l cacert -d 'Trust the authorities of this PEM file, in place of those of the system' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand run" -l cert -d 'Show servers that ask for it the certificate of this PEM file' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand run" -l key -d 'The key of --cert, if it stands in a file of its own' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand run" -l max-body -d 'The longest body that is taken' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l format -d 'har, anthropic-batch, openai-batch, cookbook, vegeta, access-log, gor, json, jsonl, csv, tsv, urls; default: by content, else by the name' -r -f -a "har\t''
anthropic-batch\t''
openai-batch\t''
cookbook\t''
vegeta\t''
access-log\t''
gor\t''
json\t''
jsonl\t''
csv\t''
tsv\t''
urls\t''"
complete -c shaper -n "__fish_shaper_using_subcommand run" -l url -l url-template -d 'The URL of each row of a table or of JSON objects, with names of columns as in `http://HOST/items/{{id}}`, also {{seq}}, {{uuid}}, {{env:NAME}}; --data and -H may have them, too; other columns come back as `meta`' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l log-fields -d 'Which fields of a JSON log tell what a request was, as in `url=/http/url,method=verb,at=ts`: url (a path or whole), method, host, at (its end: RFC 3339, or seconds or milliseconds since 1970), took (seconds) or `took_ms`, body; each a name or a JSON pointer' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l request-url -d 'Where lines that are bodies and nothing else (cookbook) are sent' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -s n -l limit-jobs -d 'Read only the first N jobs' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l filter -d 'Take only jobs whose method, host or path is one of these, as in path=/api/*,/v1/*; != leaves them out; repeatable, all hold' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l sample -d 'Take so many of the jobs, the same ones each time' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l shard -d 'Take part I of N, from 0: every Nth line; auto/N takes I from `JOB_COMPLETION_INDEX`, as indexed jobs of Kubernetes have it' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l rewrite -d 'What becomes of URLs: s#PATTERN#TO#, as in s#^https://api.test#http://127.0.0.1:8080#; repeatable, one after the other' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l speed -d 'So many times as fast as it was recorded: 2x, 0.5x' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l arrivals -d 'When jobs are due: closed (as slots and limits allow), once (all at the start), even or poisson (at --qps, which is then no limit, or at the rates of --ramp)' -r -f -a "closed\t''
once\t''
even\t''
poisson\t''"
complete -c shaper -n "__fish_shaper_using_subcommand run" -l ramp -d 'Jobs are due at these rates, linear between the times and the same before and behind them: 10@0s,100@30s,100@5m' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -s z -l for -d 'After this time nothing new is sent, and what is in flight ends' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l repeat -d 'Read the files so many times, one round after the other: N, forever; ids may come again in each' -r -f -a "forever\t''"
complete -c shaper -n "__fish_shaper_using_subcommand run" -l output-format -d 'How results are written: shaper, openai-batch, anthropic-batch, cookbook, vegeta-json, vegeta-csv, csv; report and verify read those of shaper' -r -f -a "shaper\t''
openai-batch\t''
anthropic-batch\t''
cookbook\t''
vegeta-json\t''
vegeta-csv\t''
csv\t''"
complete -c shaper -n "__fish_shaper_using_subcommand run" -l fsync -d 'When results have to be on the disk, not only in the file: never, end, or each DUR' -r -f -a "never\t''
end\t''"
complete -c shaper -n "__fish_shaper_using_subcommand run" -l grace -d 'After Ctrl-C or SIGTERM what is in flight may take so long; default: no limit but --timeout' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l body -d 'Bodies of answers in the results: keep, none' -r -f -a "keep\t''
none\t''"
complete -c shaper -n "__fish_shaper_using_subcommand run" -l headers -d 'Headers of answers in the results: keep, none' -r -f -a "keep\t''
none\t''"
complete -c shaper -n "__fish_shaper_using_subcommand run" -l report -d 'The report: text, json, csv (a table: metric, label, value, unit), none' -r -f -a "text\t'For people'
json\t'For programs'
csv\t'For spreadsheets'
none\t'No report'"
complete -c shaper -n "__fish_shaper_using_subcommand run" -l report-file -d 'Where the report goes; default: stdout, but of a run stderr, among its messages: programs that read it name a FILE' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand run" -l html -d 'The report as one page with charts, which needs no other file and no network' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand run" -l hdr -d 'FILE.hlog: latencies as a log of `HdrHistogram`; FILE.hgrm or FILE.txt: percentiles to plot, of `service_ok`, or as in `x.since_due_ok.hgrm`; repeatable' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand run" -l color -d 'Colour: auto (in a terminal, unless `NO_COLOR` is set), always, never' -r -f -a "auto\t'In a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c shaper -n "__fish_shaper_using_subcommand run" -l stop-if -d 'End the run as by Ctrl-C when this is true, exit 1; repeatable, besides `401,403>=20 in a row before ok`, which none takes away: `failed>50`, `failed>10%`, `429>100`, `5xx>=10 in a row`' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l progress -d 'Progress on stderr: auto, bar (a line that is redrawn), plain (a line each 10 s), none' -r -f -a "auto\t'A line that is redrawn in a terminal, else plain lines'
bar\t'The line that is redrawn'
plain\t'Plain lines, one each 10 s'
none\t'Nothing'"
complete -c shaper -n "__fish_shaper_using_subcommand run" -l metrics -d 'Serve the figures of the run for Prometheus, at `/metrics` of PORT (for this machine alone) or IP:PORT; port 0 is any free one' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand run" -l resume -d 'Send only what has no result in the file of -o yet; without that file, begin'
complete -c shaper -n "__fish_shaper_using_subcommand run" -l adaptive -d 'Learn the limits of the server from its answers, and keep them beside those that are given'
complete -c shaper -n "__fish_shaper_using_subcommand run" -l idempotency-key -d 'Send each job with an idempotency-key of its own, the same for all tries, also after --resume: then POSTs may be sent again'
complete -c shaper -n "__fish_shaper_using_subcommand run" -l http2 -d 'HTTP/2: by https where the server agrees, else HTTP/1.1; by http at once'
complete -c shaper -n "__fish_shaper_using_subcommand run" -l http1 -d 'HTTP/1.1, which is the default'
complete -c shaper -n "__fish_shaper_using_subcommand run" -l deny-private -d 'Ask no address of this machine or of a private network, whatever jobs, names and redirects say'
complete -c shaper -n "__fish_shaper_using_subcommand run" -s k -l insecure -d 'Take whatever certificate a server shows: whoever is on the way may read and change all'
complete -c shaper -n "__fish_shaper_using_subcommand run" -s L -l follow -d 'Follow redirects, at most 10; without it they are failed results'
complete -c shaper -n "__fish_shaper_using_subcommand run" -l strict -d 'Check the whole input first; any bad line stops before the first send'
complete -c shaper -n "__fish_shaper_using_subcommand run" -l allow-empty -d 'An input without jobs is no error'
complete -c shaper -n "__fish_shaper_using_subcommand run" -l replay -d 'Each job is due when it was recorded, `at`: seconds from the first, or RFC 3339; what is late is sent all the same'
complete -c shaper -n "__fish_shaper_using_subcommand run" -l overwrite -d 'Replace a file of results'
complete -c shaper -n "__fish_shaper_using_subcommand run" -l ordered -d 'Results in the order of the input; one that waits for an older one keeps its slot'
complete -c shaper -n "__fish_shaper_using_subcommand run" -l retry-failed -d 'With --resume: jobs that failed are run again, and their later result counts'
complete -c shaper -n "__fish_shaper_using_subcommand run" -l force-resume -d 'With --resume: take results that belong to another input'
complete -c shaper -n "__fish_shaper_using_subcommand run" -l repair -d 'With --resume: lines of the results that are damaged are set aside in FILE.bad, and their jobs run again'
complete -c shaper -n "__fish_shaper_using_subcommand run" -l ascii -d 'No characters outside ASCII'
complete -c shaper -n "__fish_shaper_using_subcommand run" -s v -l verbose -d 'Say more: every failed job'
complete -c shaper -n "__fish_shaper_using_subcommand run" -s q -l quiet -d 'Nothing on stderr but what ends the run'
complete -c shaper -n "__fish_shaper_using_subcommand run" -s h -l help -d 'Print help; -h is shorter'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l qps -l rate -d 'Requests per time (10/s, 600/m), a token bucket' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l tpm -d 'Units (LLM tokens) per minute; a job says its own or is estimated' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l window -l sliding-window -d 'At most N sends in ANY window of DUR; repeatable' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l max-attempts -d 'Tries of a job; 1 is no retry, --retries N is N + 1' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l bearer-env -d 'Send `authorization: Bearer` with the value of this environment variable' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l mock -d 'Send everything to the modelled API, in this process; SPEC after a =: latency=50ms, limit=10/1s window, fail=503:1%, …' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -s o -l output -d 'Results, one JSON line per job; default: stdout, if that is not a terminal' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l fail-if -d 'Exit with 5 if this is true at the end, else with 0 whatever failed; repeatable: `p99>500ms`, `due_p99>1s`, `late_p99>100ms`, `failed>1%`, `429>0`, `rate<9.5/s`' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -s c -l concurrency -d 'Slots: requests in flight' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l rpm -d 'Requests per minute, a token bucket; with --qps both hold' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l burst -d 'Capacity and start level of --qps and --rpm; a time (4s) is that time\'s worth; 1 is smooth' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l tps -d 'Units per second' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l token-burst -d 'Capacity and start level of --tpm and --tps; default one minute\'s (second\'s) worth' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l limit -d 'Any limit; repeatable, all hold: "[requests|tokens|input-tokens|output-tokens] N/DUR [bucket|leaky|window|window-counter|fixed] [burst=N] [start=N] [anchor=epoch|first] [guard=DUR] [per=host|header:NAME|field:NAME] [at=send|reply] [name=WORD]"; see `shaper help limits`' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l per -d 'Keep each rate limit apart for each value of host, header:NAME or field:NAME (a pointer, too: `field:/body/model`)' -r -f -a "host\t''
header:\t''
field:\t''"
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l per-host -d 'Slots of each origin (scheme, host and port), besides --concurrency' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l queue-timeout -l max-wait -d 'A job that would wait longer than this fails, kind `queue_timeout`; 0s is now or never' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l guard -d 'Room that windows keep for the jitter on the way; default: measured, at least 5 ms, at most 1 % of the period; 0 is none' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l lookahead -d 'Most jobs held at once: waiting, resting, in flight, unwritten' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l redis -d 'All rate limits, and what --adaptive learns, are kept together with every process that gives this Redis (or Valkey) and the same --redis-key: redis://[USER:PASSWORD@]HOST[:PORT][/DB], rediss:// for TLS, `unix:///PATH`, redis+sentinel://, redis+cluster://' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l redis-key -d 'The name of what is shared; default: made of the origin and the credentials of the first job, and then a job with others ends the run' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l redis-cacert -d 'For rediss: trust the authorities of this PEM file, in place of those of the system' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l shared-concurrency -d 'Requests in flight of all processes together; -c is that of each' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l on-store-fail -d 'While Redis is away: stop (nothing is sent; after --store-grace the run ends), local (each process keeps its part of the limits), open (no shared limit holds)' -r -f -a "stop\t''
local\t''
open\t''"
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l store-grace -d 'The longest that a run waits for Redis to come back' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l store-timeout -d 'The longest that one command may take' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l estimate -d 'How jobs that do not say their tokens are estimated: chars (bytes of text / 4 + the most output); o200k, cl100k, openai in a build with the feature bpe' -r -f -a "chars\t''
o200k\t''
cl100k\t''
openai\t''"
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l refund -d 'What was reserved and not used: unused (it is given back), never' -r -f -a "unused\t''
never\t''"
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l oversize -d 'A job that costs more than a limit ever holds: fail, wait (until the limit is full; it owes the rest)' -r -f -a "fail\t''
wait\t''"
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l usage -d 'Where an answer says what it used, a JSON pointer; the usual `usage` objects are found by themselves' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l retries -d 'The same as --max-attempts N+1' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l backoff -d 'The rest before the k-th retry is MIN x 2^(k-1), at most MAX; a server\'s Retry-After is a floor' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l jitter -d 'How rests are spread: full, equal, decorrelated, none' -r -f -a "full\t''
equal\t''
decorrelated\t''
none\t''"
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l retry-on -d 'After what a job is tried again; default: 408, 425, 429, 500, 502, 503, 504, 529, connect, timeout, reset and incomplete bodies' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l ok -d 'Statuses of answers that are successes: 200-299,404' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l max-retry-after -d 'The longest wait that a server may ask for; a longer one closes its key, and the run ends when no key is open' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l max-elapsed -d 'The longest that a job may take, from its first send to its last byte, all tries and rests; default: none' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l provider -d 'Whose headers the answers have; default: by the host, or by the headers' -r -f -a "azure\t''
openai\t''
groq\t''
together\t''
anthropic\t''
github\t''
discord\t''
gemini\t''
gorgias\t''
shopify\t''
ietf\t''
generic\t''"
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l seed -d 'Seed of the jitter, and of --arrivals poisson; default: a new one for each run' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l retry-unsafe -d 'Repeat a try that was sent and got no status line: never, idempotent, always; default: idempotent, and always in the formats of batches' -r -f -a "never\t''
idempotent\t''
always\t''"
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l timeout -d 'The longest a try may take, from its grant to the last byte; queueing never counts' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l connect-timeout -d 'The longest that connecting may take: within it nothing was sent, so every job may try again' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l read-timeout -d 'The longest gap between bytes of an answer' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l retry-if-json -d 'Where a body says that its answer is no success, a JSON pointer: what stands there, but for null and nothing, is an error' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -s H -l header -d 'A header for every job, or @FILE with one in each line; a job\'s own wins; with names of columns as in --url' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -s X -l method -d 'The method of jobs that name none' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l data -d 'The body of jobs that have none; with names of columns as in --url, whose values are escaped if it is JSON' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l base-url -d 'What stands before relative URLs, with its path' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l transport -d 'What carries the requests: direct (HTTP/1.1 of our own, past every proxy), reqwest, or auto: direct, and reqwest where a proxy of the environment stands before the server' -r -f -a "auto\t''
direct\t''
reqwest\t''"
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l proxy -d 'The proxy for all but what `NO_PROXY` names: http://, https:// or socks5://, with user and password if it wants them; none goes past those of the environment' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l connect-to -d 'Send what is for one place to another, as HOST1:PORT1:HOST2:PORT2; an empty part is any, or stays; repeatable' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l pool-idle -d 'The longest that a connection waits for its next request: less than the server has it wait, or one may be closed as it is used' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l unix-socket -d 'Send everything through this socket of the system' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l cacert -d 'Trust the authorities of this PEM file, in place of those of the system' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l cert -d 'Show servers that ask for it the certificate of this PEM file' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l key -d 'The key of --cert, if it stands in a file of its own' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l max-body -d 'The longest body that is taken' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l format -d 'har, anthropic-batch, openai-batch, cookbook, vegeta, access-log, gor, json, jsonl, csv, tsv, urls; default: by content, else by the name' -r -f -a "har\t''
anthropic-batch\t''
openai-batch\t''
cookbook\t''
vegeta\t''
access-log\t''
gor\t''
json\t''
jsonl\t''
csv\t''
tsv\t''
urls\t''"
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l url -l url-template -d 'The URL of each row of a table or of JSON objects, with names of columns as in `http://HOST/items/{{id}}`, also {{seq}}, {{uuid}}, {{env:NAME}}; --data and -H may have them, too; other columns come back as `meta`' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l log-fields -d 'Which fields of a JSON log tell what a request was, as in `url=/http/url,method=verb,at=ts`: url (a path or whole), method, host, at (its end: RFC 3339, or seconds or milliseconds since 1970), took (seconds) or `took_ms`, body; each a name or a JSON pointer' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l request-url -d 'Where lines that are bodies and nothing else (cookbook) are sent' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -s n -l limit-jobs -d 'Read only the first N jobs' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l filter -d 'Take only jobs whose method, host or path is one of these, as in path=/api/*,/v1/*; != leaves them out; repeatable, all hold' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l sample -d 'Take so many of the jobs, the same ones each time' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l shard -d 'Take part I of N, from 0: every Nth line; auto/N takes I from `JOB_COMPLETION_INDEX`, as indexed jobs of Kubernetes have it' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l rewrite -d 'What becomes of URLs: s#PATTERN#TO#, as in s#^https://api.test#http://127.0.0.1:8080#; repeatable, one after the other' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l speed -d 'So many times as fast as it was recorded: 2x, 0.5x' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l arrivals -d 'When jobs are due: closed (as slots and limits allow), once (all at the start), even or poisson (at --qps, which is then no limit, or at the rates of --ramp)' -r -f -a "closed\t''
once\t''
even\t''
poisson\t''"
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l ramp -d 'Jobs are due at these rates, linear between the times and the same before and behind them: 10@0s,100@30s,100@5m' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -s z -l for -d 'After this time nothing new is sent, and what is in flight ends' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l repeat -d 'Read the files so many times, one round after the other: N, forever; ids may come again in each' -r -f -a "forever\t''"
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l output-format -d 'How results are written: shaper, openai-batch, anthropic-batch, cookbook, vegeta-json, vegeta-csv, csv; report and verify read those of shaper' -r -f -a "shaper\t''
openai-batch\t''
anthropic-batch\t''
cookbook\t''
vegeta-json\t''
vegeta-csv\t''
csv\t''"
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l fsync -d 'When results have to be on the disk, not only in the file: never, end, or each DUR' -r -f -a "never\t''
end\t''"
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l grace -d 'After Ctrl-C or SIGTERM what is in flight may take so long; default: no limit but --timeout' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l body -d 'Bodies of answers in the results: keep, none' -r -f -a "keep\t''
none\t''"
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l headers -d 'Headers of answers in the results: keep, none' -r -f -a "keep\t''
none\t''"
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l report -d 'The report: text, json, csv (a table: metric, label, value, unit), none' -r -f -a "text\t'For people'
json\t'For programs'
csv\t'For spreadsheets'
none\t'No report'"
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l report-file -d 'Where the report goes; default: stdout, but of a run stderr, among its messages: programs that read it name a FILE' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l html -d 'The report as one page with charts, which needs no other file and no network' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l hdr -d 'FILE.hlog: latencies as a log of `HdrHistogram`; FILE.hgrm or FILE.txt: percentiles to plot, of `service_ok`, or as in `x.since_due_ok.hgrm`; repeatable' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l color -d 'Colour: auto (in a terminal, unless `NO_COLOR` is set), always, never' -r -f -a "auto\t'In a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l stop-if -d 'End the run as by Ctrl-C when this is true, exit 1; repeatable, besides `401,403>=20 in a row before ok`, which none takes away: `failed>50`, `failed>10%`, `429>100`, `5xx>=10 in a row`' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l progress -d 'Progress on stderr: auto, bar (a line that is redrawn), plain (a line each 10 s), none' -r -f -a "auto\t'A line that is redrawn in a terminal, else plain lines'
bar\t'The line that is redrawn'
plain\t'Plain lines, one each 10 s'
none\t'Nothing'"
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l metrics -d 'Serve the figures of the run for Prometheus, at `/metrics` of PORT (for this machine alone) or IP:PORT; port 0 is any free one' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l resume -d 'Send only what has no result in the file of -o yet; without that file, begin'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l adaptive -d 'Learn the limits of the server from its answers, and keep them beside those that are given'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l idempotency-key -d 'Send each job with an idempotency-key of its own, the same for all tries, also after --resume: then POSTs may be sent again'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l http2 -d 'HTTP/2: by https where the server agrees, else HTTP/1.1; by http at once'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l http1 -d 'HTTP/1.1, which is the default'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l deny-private -d 'Ask no address of this machine or of a private network, whatever jobs, names and redirects say'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -s k -l insecure -d 'Take whatever certificate a server shows: whoever is on the way may read and change all'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -s L -l follow -d 'Follow redirects, at most 10; without it they are failed results'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l strict -d 'Check the whole input first; any bad line stops before the first send'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l allow-empty -d 'An input without jobs is no error'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l replay -d 'Each job is due when it was recorded, `at`: seconds from the first, or RFC 3339; what is late is sent all the same'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l overwrite -d 'Replace a file of results'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l ordered -d 'Results in the order of the input; one that waits for an older one keeps its slot'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l retry-failed -d 'With --resume: jobs that failed are run again, and their later result counts'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l force-resume -d 'With --resume: take results that belong to another input'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l repair -d 'With --resume: lines of the results that are damaged are set aside in FILE.bad, and their jobs run again'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -l ascii -d 'No characters outside ASCII'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -s v -l verbose -d 'Say more: every failed job'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -s q -l quiet -d 'Nothing on stderr but what ends the run'
complete -c shaper -n "__fish_shaper_using_subcommand replay" -s h -l help -d 'Print help; -h is shorter'
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l discipline -d 'Only these, with commas between them; --help lists them all' -r -f -a "(__fish_append , semaphore\t'slots and no rate' sleep\t'who finds all slots taken sleeps for 1 s, then queues' processes\t'4 processes with --qps each' burst\t'a bucket that holds --burst' fixed\t'fixed windows; what does not fit waits' drop\t'fixed windows; what does not fit is dropped' counter\t'two counts, the older one weighed' sliding\t'at most so many in ANY window' leaky\t'a leaky bucket: evenly spaced' qps\t'a bucket that holds 1: evenly spaced' both\t'slots and --qps' tpm\t'slots, --qps and --tpm' early\t'--qps permits taken at queueing; then the sender stalls' late\t'--qps permits taken at the send; the same stall' storm\t'--burst; what is refused goes again at once, past the limits' retry\t'--burst; what is refused rests and meets every limit again' limit\t'the limits of --limit together')"
complete -c shaper -n "__fish_shaper_using_subcommand compare" -s c -l concurrency -d 'Slots of the semaphores' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l qps -l rate -d 'The rate of the buckets' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l burst -d 'Capacity of the large bucket (burst, storm, retry); default: 4 periods of --qps' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l window -d 'What the windows hold (fixed, drop, counter, sliding); default: --qps, per its period' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l tpm -d 'Tokens per minute (tpm); default without JOBS: half of what --qps carries' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l limit -d 'A limit of a discipline of your own, as for `run`; repeatable, all hold' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l jobs -d 'How many jobs come at once, each of 100 tokens; default 1000, with --live 100' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l ramp -d 'At these rates, linear between the times: 5@0s,50@1m; behind a last rate of 0 none comes' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l speed -d 'So many times as fast as their "at" says: 2x, 0.5x' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l api -d 'How it behaves, as for --mock; what is left out is latency=50ms and a limit that accepts --qps in any window of its period' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l latency -d 'Latencies of the first table; the first is that of the second, unless --api has one' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l seed -d 'Seed of latencies, failures and rests' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l transport -d 'What carries the requests: direct (HTTP/1.1 of our own, past every proxy), reqwest, or auto: direct, and reqwest where a proxy of the environment stands before the server' -r -f -a "auto\t''
direct\t''
reqwest\t''"
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l proxy -d 'The proxy for all but what `NO_PROXY` names: http://, https:// or socks5://, with user and password if it wants them; none goes past those of the environment' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l connect-to -d 'Send what is for one place to another, as HOST1:PORT1:HOST2:PORT2; an empty part is any, or stays; repeatable' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l pool-idle -d 'The longest that a connection waits for its next request: less than the server has it wait, or one may be closed as it is used' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l unix-socket -d 'Send everything through this socket of the system' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l cacert -d 'Trust the authorities of this PEM file, in place of those of the system' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l cert -d 'Show servers that ask for it the certificate of this PEM file' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l key -d 'The key of --cert, if it stands in a file of its own' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand compare" -s H -l header -d 'A header for every job, or @FILE with one in each line; a job\'s own wins; with names of columns as in --url' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l bearer-env -d 'Send `authorization: Bearer` with the value of this environment variable' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -s X -l method -d 'The method of jobs that name none' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l data -d 'The body of jobs that have none; with names of columns as in --url, whose values are escaped if it is JSON' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l base-url -d 'What stands before relative URLs, with its path' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l format -d 'har, anthropic-batch, openai-batch, cookbook, vegeta, access-log, gor, json, jsonl, csv, tsv, urls; default: by content, else by the name' -r -f -a "har\t''
anthropic-batch\t''
openai-batch\t''
cookbook\t''
vegeta\t''
access-log\t''
gor\t''
json\t''
jsonl\t''
csv\t''
tsv\t''
urls\t''"
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l url -l url-template -d 'The URL of each row of a table or of JSON objects, with names of columns as in `http://HOST/items/{{id}}`, also {{seq}}, {{uuid}}, {{env:NAME}}; --data and -H may have them, too; other columns come back as `meta`' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l log-fields -d 'Which fields of a JSON log tell what a request was, as in `url=/http/url,method=verb,at=ts`: url (a path or whole), method, host, at (its end: RFC 3339, or seconds or milliseconds since 1970), took (seconds) or `took_ms`, body; each a name or a JSON pointer' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l request-url -d 'Where lines that are bodies and nothing else (cookbook) are sent' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -s n -l limit-jobs -d 'Read only the first N jobs' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l filter -d 'Take only jobs whose method, host or path is one of these, as in path=/api/*,/v1/*; != leaves them out; repeatable, all hold' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l sample -d 'Take so many of the jobs, the same ones each time' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l shard -d 'Take part I of N, from 0: every Nth line; auto/N takes I from `JOB_COMPLETION_INDEX`, as indexed jobs of Kubernetes have it' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l rewrite -d 'What becomes of URLs: s#PATTERN#TO#, as in s#^https://api.test#http://127.0.0.1:8080#; repeatable, one after the other' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l report -d 'The report: text, json, csv (a table: metric, label, value, unit), none' -r -f -a "text\t'For people'
json\t'For programs'
csv\t'For spreadsheets'
none\t'No report'"
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l report-file -d 'Where the report goes; default: stdout, but of a run stderr, among its messages: programs that read it name a FILE' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l html -d 'The report as one page with charts, which needs no other file and no network' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l color -d 'Colour: auto (in a terminal, unless `NO_COLOR` is set), always, never' -r -f -a "auto\t'In a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l hdr -d 'FILE.hlog: latencies as a log of `HdrHistogram`; FILE.hgrm or FILE.txt: percentiles to plot, of `service_ok`, or as in `x.since_due_ok.hgrm`; repeatable' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l live -d 'Send over HTTP, one discipline after the other'
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l yes -d 'Send what --live announces'
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l http2 -d 'HTTP/2: by https where the server agrees, else HTTP/1.1; by http at once'
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l http1 -d 'HTTP/1.1, which is the default'
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l deny-private -d 'Ask no address of this machine or of a private network, whatever jobs, names and redirects say'
complete -c shaper -n "__fish_shaper_using_subcommand compare" -s k -l insecure -d 'Take whatever certificate a server shows: whoever is on the way may read and change all'
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l strict -d 'Check the whole input first; any bad line stops before the first send'
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l allow-empty -d 'An input without jobs is no error'
complete -c shaper -n "__fish_shaper_using_subcommand compare" -l ascii -d 'No characters outside ASCII'
complete -c shaper -n "__fish_shaper_using_subcommand compare" -s h -l help -d 'Print help; -h is shorter'
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l latency -d 'How long an answer takes: 2s, exp:50ms (exponential), p50:80ms/p99:400ms (log-normal)' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l latency-from -d 'The same from the results of a run: as long as its `ok` answers took' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l api -d 'A whole API, as for --mock: latency=50ms,limit=10/1s window,slots=8,fail=503:1%,tokens=N,…' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l price -d 'What units cost: PRICE/UNITS (2.5/1M), or of the parts input:2.5/1M,output:10/1M' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l qps -l rate -d 'Requests per time (10/s, 600/m), a token bucket' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l rpm -d 'Requests per minute, a token bucket; with --qps both hold' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l burst -d 'Capacity and start level of --qps and --rpm; a time (4s) is that time\'s worth; 1 is smooth' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l tpm -d 'Units (LLM tokens) per minute; a job says its own or is estimated' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l tps -d 'Units per second' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l token-burst -d 'Capacity and start level of --tpm and --tps; default one minute\'s (second\'s) worth' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l window -l sliding-window -d 'At most N sends in ANY window of DUR; repeatable' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l limit -d 'Any limit; repeatable, all hold: "[requests|tokens|input-tokens|output-tokens] N/DUR [bucket|leaky|window|window-counter|fixed] [burst=N] [start=N] [anchor=epoch|first] [guard=DUR] [per=host|header:NAME|field:NAME] [at=send|reply] [name=WORD]"; see `shaper help limits`' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l per -d 'Keep each rate limit apart for each value of host, header:NAME or field:NAME (a pointer, too: `field:/body/model`)' -r -f -a "host\t''
header:\t''
field:\t''"
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l speed -d 'So many times as fast as it was recorded: 2x, 0.5x' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l arrivals -d 'When jobs are due: closed (as slots and limits allow), once (all at the start), even or poisson (at --qps, which is then no limit, or at the rates of --ramp)' -r -f -a "closed\t''
once\t''
even\t''
poisson\t''"
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l ramp -d 'Jobs are due at these rates, linear between the times and the same before and behind them: 10@0s,100@30s,100@5m' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l repeat -d 'Read the files so many times, one round after the other: N, forever; ids may come again in each' -r -f -a "forever\t''"
complete -c shaper -n "__fish_shaper_using_subcommand plan" -s z -l for -d 'After this time nothing new is sent, and what is in flight ends' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l per-host -d 'Slots of each origin (scheme, host and port), besides --concurrency' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l queue-timeout -l max-wait -d 'A job that would wait longer than this fails, kind `queue_timeout`; 0s is now or never' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l guard -d 'Room that windows keep for the jitter on the way; default: measured, at least 5 ms, at most 1 % of the period; 0 is none' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l lookahead -d 'Most jobs held at once: waiting, resting, in flight, unwritten' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l estimate -d 'How jobs that do not say their tokens are estimated: chars (bytes of text / 4 + the most output); o200k, cl100k, openai in a build with the feature bpe' -r -f -a "chars\t''
o200k\t''
cl100k\t''
openai\t''"
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l refund -d 'What was reserved and not used: unused (it is given back), never' -r -f -a "unused\t''
never\t''"
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l oversize -d 'A job that costs more than a limit ever holds: fail, wait (until the limit is full; it owes the rest)' -r -f -a "fail\t''
wait\t''"
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l max-attempts -d 'Tries of a job; 1 is no retry, --retries N is N + 1' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l retries -d 'The same as --max-attempts N+1' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l backoff -d 'The rest before the k-th retry is MIN x 2^(k-1), at most MAX; a server\'s Retry-After is a floor' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l jitter -d 'How rests are spread: full, equal, decorrelated, none' -r -f -a "full\t''
equal\t''
decorrelated\t''
none\t''"
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l retry-on -d 'After what a job is tried again; default: 408, 425, 429, 500, 502, 503, 504, 529, connect, timeout, reset and incomplete bodies' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l ok -d 'Statuses of answers that are successes: 200-299,404' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l max-retry-after -d 'The longest wait that a server may ask for; a longer one closes its key, and the run ends when no key is open' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l max-elapsed -d 'The longest that a job may take, from its first send to its last byte, all tries and rests; default: none' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l provider -d 'Whose headers the answers have; default: by the host, or by the headers' -r -f -a "azure\t''
openai\t''
groq\t''
together\t''
anthropic\t''
github\t''
discord\t''
gemini\t''
gorgias\t''
shopify\t''
ietf\t''
generic\t''"
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l seed -d 'Seed of the jitter, and of --arrivals poisson; default: a new one for each run' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l retry-unsafe -d 'Repeat a try that was sent and got no status line: never, idempotent, always; default: idempotent, and always in the formats of batches' -r -f -a "never\t''
idempotent\t''
always\t''"
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l timeout -d 'The longest a try may take, from its grant to the last byte; queueing never counts' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -s H -l header -d 'A header for every job, or @FILE with one in each line; a job\'s own wins; with names of columns as in --url' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l bearer-env -d 'Send `authorization: Bearer` with the value of this environment variable' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -s X -l method -d 'The method of jobs that name none' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l data -d 'The body of jobs that have none; with names of columns as in --url, whose values are escaped if it is JSON' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l base-url -d 'What stands before relative URLs, with its path' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l format -d 'har, anthropic-batch, openai-batch, cookbook, vegeta, access-log, gor, json, jsonl, csv, tsv, urls; default: by content, else by the name' -r -f -a "har\t''
anthropic-batch\t''
openai-batch\t''
cookbook\t''
vegeta\t''
access-log\t''
gor\t''
json\t''
jsonl\t''
csv\t''
tsv\t''
urls\t''"
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l url -l url-template -d 'The URL of each row of a table or of JSON objects, with names of columns as in `http://HOST/items/{{id}}`, also {{seq}}, {{uuid}}, {{env:NAME}}; --data and -H may have them, too; other columns come back as `meta`' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l log-fields -d 'Which fields of a JSON log tell what a request was, as in `url=/http/url,method=verb,at=ts`: url (a path or whole), method, host, at (its end: RFC 3339, or seconds or milliseconds since 1970), took (seconds) or `took_ms`, body; each a name or a JSON pointer' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l request-url -d 'Where lines that are bodies and nothing else (cookbook) are sent' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -s n -l limit-jobs -d 'Read only the first N jobs' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l filter -d 'Take only jobs whose method, host or path is one of these, as in path=/api/*,/v1/*; != leaves them out; repeatable, all hold' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l sample -d 'Take so many of the jobs, the same ones each time' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l shard -d 'Take part I of N, from 0: every Nth line; auto/N takes I from `JOB_COMPLETION_INDEX`, as indexed jobs of Kubernetes have it' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l rewrite -d 'What becomes of URLs: s#PATTERN#TO#, as in s#^https://api.test#http://127.0.0.1:8080#; repeatable, one after the other' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l report -d 'The report: text, json, csv (a table: metric, label, value, unit), none' -r -f -a "text\t'For people'
json\t'For programs'
csv\t'For spreadsheets'
none\t'No report'"
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l report-file -d 'Where the report goes; default: stdout, but of a run stderr, among its messages: programs that read it name a FILE' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l color -d 'Colour: auto (in a terminal, unless `NO_COLOR` is set), always, never' -r -f -a "auto\t'In a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l html -d 'The report as one page with charts, which needs no other file and no network' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l hdr -d 'FILE.hlog: latencies as a log of `HdrHistogram`; FILE.hgrm or FILE.txt: percentiles to plot, of `service_ok`, or as in `x.since_due_ok.hgrm`; repeatable' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand plan" -s c -l concurrency -d 'Slots: requests in flight' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l ordered -d 'Results in the order of the input, as for run: one that waits for an older one keeps its slot'
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l replay -d 'Each job is due when it was recorded, `at`: seconds from the first, or RFC 3339; what is late is sent all the same'
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l adaptive -d 'Learn the limits of the server from its answers, and keep them beside those that are given'
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l strict -d 'Check the whole input first; any bad line stops before the first send'
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l allow-empty -d 'An input without jobs is no error'
complete -c shaper -n "__fish_shaper_using_subcommand plan" -l ascii -d 'No characters outside ASCII'
complete -c shaper -n "__fish_shaper_using_subcommand plan" -s q -l quiet -d 'Nothing on stderr but what ends the plan'
complete -c shaper -n "__fish_shaper_using_subcommand plan" -s h -l help -d 'Print help; -h is shorter'
complete -c shaper -n "__fish_shaper_using_subcommand check" -l format -d 'har, anthropic-batch, openai-batch, cookbook, vegeta, access-log, gor, json, jsonl, csv, tsv, urls; default: by content, else by the name' -r -f -a "har\t''
anthropic-batch\t''
openai-batch\t''
cookbook\t''
vegeta\t''
access-log\t''
gor\t''
json\t''
jsonl\t''
csv\t''
tsv\t''
urls\t''"
complete -c shaper -n "__fish_shaper_using_subcommand check" -l url -l url-template -d 'The URL of each row of a table or of JSON objects, with names of columns as in `http://HOST/items/{{id}}`, also {{seq}}, {{uuid}}, {{env:NAME}}; --data and -H may have them, too; other columns come back as `meta`' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand check" -l log-fields -d 'Which fields of a JSON log tell what a request was, as in `url=/http/url,method=verb,at=ts`: url (a path or whole), method, host, at (its end: RFC 3339, or seconds or milliseconds since 1970), took (seconds) or `took_ms`, body; each a name or a JSON pointer' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand check" -l request-url -d 'Where lines that are bodies and nothing else (cookbook) are sent' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand check" -s n -l limit-jobs -d 'Read only the first N jobs' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand check" -l filter -d 'Take only jobs whose method, host or path is one of these, as in path=/api/*,/v1/*; != leaves them out; repeatable, all hold' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand check" -l sample -d 'Take so many of the jobs, the same ones each time' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand check" -l shard -d 'Take part I of N, from 0: every Nth line; auto/N takes I from `JOB_COMPLETION_INDEX`, as indexed jobs of Kubernetes have it' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand check" -l rewrite -d 'What becomes of URLs: s#PATTERN#TO#, as in s#^https://api.test#http://127.0.0.1:8080#; repeatable, one after the other' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand check" -s H -l header -d 'A header for every job, or @FILE with one in each line; a job\'s own wins; with names of columns as in --url' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand check" -l bearer-env -d 'Send `authorization: Bearer` with the value of this environment variable' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand check" -s X -l method -d 'The method of jobs that name none' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand check" -l data -d 'The body of jobs that have none; with names of columns as in --url, whose values are escaped if it is JSON' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand check" -l base-url -d 'What stands before relative URLs, with its path' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand check" -l estimate -d 'How jobs that do not say their tokens are estimated: chars (bytes of text / 4 + the most output); o200k, cl100k, openai in a build with the feature bpe' -r -f -a "chars\t''
o200k\t''
cl100k\t''
openai\t''"
complete -c shaper -n "__fish_shaper_using_subcommand check" -l report -d 'The form of the report: text (all problems, then the counts), json, csv, none' -r -f -a "text\t'For people'
json\t'For programs'
csv\t'For spreadsheets'
none\t'No report'"
complete -c shaper -n "__fish_shaper_using_subcommand check" -l color -d 'Colour: auto (in a terminal, unless `NO_COLOR` is set), always, never' -r -f -a "auto\t'In a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c shaper -n "__fish_shaper_using_subcommand check" -l allow-empty -d 'An input without jobs is no error'
complete -c shaper -n "__fish_shaper_using_subcommand check" -l replay -d 'Check for a replay: every line needs a moment at which it was recorded, and all count from the same'
complete -c shaper -n "__fish_shaper_using_subcommand check" -l ascii -d 'No characters outside ASCII'
complete -c shaper -n "__fish_shaper_using_subcommand check" -l strict -d 'Check the whole input first; any bad line stops before the first send'
complete -c shaper -n "__fish_shaper_using_subcommand check" -s h -l help -d 'Print help; -h is shorter'
complete -c shaper -n "__fish_shaper_using_subcommand verify" -l qps -l rate -d 'Requests per time (10/s, 600/m), a token bucket' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand verify" -l rpm -d 'Requests per minute, a token bucket; with --qps both hold' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand verify" -l burst -d 'Capacity and start level of --qps and --rpm; a time (4s) is that time\'s worth; 1 is smooth' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand verify" -l tpm -d 'Units (LLM tokens) per minute; a job says its own or is estimated' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand verify" -l tps -d 'Units per second' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand verify" -l token-burst -d 'Capacity and start level of --tpm and --tps; default one minute\'s (second\'s) worth' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand verify" -l window -l sliding-window -d 'At most N sends in ANY window of DUR; repeatable' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand verify" -l limit -d 'Any limit; repeatable, all hold: "[requests|tokens|input-tokens|output-tokens] N/DUR [bucket|leaky|window|window-counter|fixed] [burst=N] [start=N] [anchor=epoch|first] [guard=DUR] [per=host|header:NAME|field:NAME] [at=send|reply] [name=WORD]"; see `shaper help limits`' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand verify" -l per -d 'Keep each rate limit apart for each value of host, header:NAME or field:NAME (a pointer, too: `field:/body/model`)' -r -f -a "host\t''
header:\t''
field:\t''"
complete -c shaper -n "__fish_shaper_using_subcommand verify" -l slack -d 'How long before a grant a bucket may have been charged; default: that of FILE.run, else 2ms' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand verify" -l clock-skew -d 'How far apart the clocks of the files may be: a limit is proved if it holds for any such clocks' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand verify" -l report -d 'The form of the proof: text, json, csv, none' -r -f -a "text\t'For people'
json\t'For programs'
csv\t'For spreadsheets'
none\t'No report'"
complete -c shaper -n "__fish_shaper_using_subcommand verify" -s c -l concurrency -d 'Slots: requests in flight' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand verify" -s h -l help -d 'Print help; -h is shorter'
complete -c shaper -n "__fish_shaper_using_subcommand report" -l against -d 'The results of another run, or its shards: what has changed since, and whether that is more than chance; repeatable' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand report" -l report -d 'The report: text, json, csv (a table: metric, label, value, unit), none' -r -f -a "text\t'For people'
json\t'For programs'
csv\t'For spreadsheets'
none\t'No report'"
complete -c shaper -n "__fish_shaper_using_subcommand report" -l report-file -d 'Where the report goes; default: stdout, but of a run stderr, among its messages: programs that read it name a FILE' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand report" -l html -d 'The report as one page with charts, which needs no other file and no network' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand report" -l hdr -d 'FILE.hlog: latencies as a log of `HdrHistogram`; FILE.hgrm or FILE.txt: percentiles to plot, of `service_ok`, or as in `x.since_due_ok.hgrm`; repeatable' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand report" -l color -d 'Colour: auto (in a terminal, unless `NO_COLOR` is set), always, never' -r -f -a "auto\t'In a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c shaper -n "__fish_shaper_using_subcommand report" -l fail-if -d 'Exit with 5 if this is true at the end, else with 0 whatever failed; repeatable: `p99>500ms`, `due_p99>1s`, `late_p99>100ms`, `failed>1%`, `429>0`, `rate<9.5/s`' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand report" -l qps -l rate -d 'Requests per time (10/s, 600/m), a token bucket' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand report" -l rpm -d 'Requests per minute, a token bucket; with --qps both hold' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand report" -l burst -d 'Capacity and start level of --qps and --rpm; a time (4s) is that time\'s worth; 1 is smooth' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand report" -l tpm -d 'Units (LLM tokens) per minute; a job says its own or is estimated' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand report" -l tps -d 'Units per second' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand report" -l token-burst -d 'Capacity and start level of --tpm and --tps; default one minute\'s (second\'s) worth' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand report" -l window -l sliding-window -d 'At most N sends in ANY window of DUR; repeatable' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand report" -l limit -d 'Any limit; repeatable, all hold: "[requests|tokens|input-tokens|output-tokens] N/DUR [bucket|leaky|window|window-counter|fixed] [burst=N] [start=N] [anchor=epoch|first] [guard=DUR] [per=host|header:NAME|field:NAME] [at=send|reply] [name=WORD]"; see `shaper help limits`' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand report" -l per -d 'Keep each rate limit apart for each value of host, header:NAME or field:NAME (a pointer, too: `field:/body/model`)' -r -f -a "host\t''
header:\t''
field:\t''"
complete -c shaper -n "__fish_shaper_using_subcommand report" -l base-url -d 'What relative URLs were relative to' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand report" -l request-url -d 'Where lines that are bodies and nothing else were sent' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand report" -s X -l method -d 'The method of jobs that name none' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand report" -l data -d 'The body of jobs that have none' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand report" -l url -l url-template -d 'The URL of each row' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand report" -s H -l header -d 'With --url: headers with names of columns' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand report" -l rewrite -d 'What became of URLs' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand report" -l format -d 'Of several job files only those in this format' -r -f -a "har\t''
anthropic-batch\t''
openai-batch\t''
cookbook\t''
vegeta\t''
access-log\t''
gor\t''
json\t''
jsonl\t''
csv\t''
tsv\t''
urls\t''"
complete -c shaper -n "__fish_shaper_using_subcommand report" -s c -l concurrency -d 'Slots: requests in flight' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand report" -l ascii -d 'No characters outside ASCII'
complete -c shaper -n "__fish_shaper_using_subcommand report" -l failed-jobs -d 'Copy the lines of failed jobs to stdout, byte for byte; needs FILE.run'
complete -c shaper -n "__fish_shaper_using_subcommand report" -s h -l help -d 'Print help; -h is shorter'
complete -c shaper -n "__fish_shaper_using_subcommand status" -l redis -d 'The Redis (or Valkey) through which limits are shared, as to the run' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand status" -l redis-key -d 'The name of what is shared' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand status" -l redis-cacert -d 'For rediss: trust the authorities of this PEM file, in place of those of the system' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand status" -l store-timeout -d 'The longest that one command may take' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand status" -l report -d 'The form: text, json, csv, none' -r -f -a "text\t'For people'
json\t'For programs'
csv\t'For spreadsheets'
none\t'No report'"
complete -c shaper -n "__fish_shaper_using_subcommand status" -s h -l help -d 'Print help; -h is shorter'
complete -c shaper -n "__fish_shaper_using_subcommand mock" -l listen -d 'Where to listen; loopback by default' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand mock" -l latency -d '50ms, exp:50ms (exponential), p50:80ms/p99:400ms (log-normal)' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand mock" -l limit -d 'A limit of the server, e.g. "10/1s window"; repeatable' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand mock" -l slots -d 'Requests served at once; more wait inside' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand mock" -l fail -d 'A share of requests that fails: 503:1%; repeatable' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand mock" -l tokens -d 'The usage that every reply reports' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand mock" -l retry-after -d 'The form of Retry-After: seconds, date, none' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand mock" -l arrivals-file -d 'Write what arrived, as result lines' -r -F
complete -c shaper -n "__fish_shaper_using_subcommand mock" -l seed -d 'Seed of latencies and failures' -r -f
complete -c shaper -n "__fish_shaper_using_subcommand mock" -s h -l help -d 'Print help; -h is shorter'
complete -c shaper -n "__fish_shaper_using_subcommand completions" -s h -l help -d 'Print help; -h is shorter'
complete -c shaper -n "__fish_shaper_using_subcommand help" -s h -l help -d 'Print help; -h is shorter'
complete -c shaper -n "__fish_shaper_using_subcommand man" -s h -l help -d 'Print help; -h is shorter'
complete -c shaper -n "__fish_shaper_using_subcommand completions" -f -a "bash elvish fish powershell zsh"
complete -c shaper -n "__fish_shaper_using_subcommand help" -f -a "run replay compare plan check verify report status mock completions man help limits"
complete -c shaper -n "__fish_shaper_using_subcommand man" -f -a "run replay compare plan check verify report status mock completions man help"
