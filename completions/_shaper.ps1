using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'shaper' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'shaper'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'shaper' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help; -h is shorter')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help; -h is shorter')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('run', 'run', [CompletionResultType]::ParameterValue, 'Do the jobs under the limits, write one result per job, report')
            [CompletionResult]::new('compare', 'compare', [CompletionResultType]::ParameterValue, 'The same jobs under several disciplines, side by side; in virtual time, nothing is sent')
            [CompletionResult]::new('verify', 'verify', [CompletionResultType]::ParameterValue, 'Prove from the recorded send times that no limit was exceeded')
            [CompletionResult]::new('report', 'report', [CompletionResultType]::ParameterValue, 'Report again from results: of a run, or of shards together; or copy the jobs that failed, to run them again')
            [CompletionResult]::new('mock', 'mock', [CompletionResultType]::ParameterValue, 'Serve the modelled API over HTTP')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print the script that completes this command line in a shell')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Say how a command is used, or (help limits) which limit suits which server')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print the manual, for man')
            break
        }
        'shaper;run' {
            [CompletionResult]::new('-c', '-c', [CompletionResultType]::ParameterName, 'Slots: requests in flight')
            [CompletionResult]::new('--concurrency', '--concurrency', [CompletionResultType]::ParameterName, 'Slots: requests in flight')
            [CompletionResult]::new('--qps', '--qps', [CompletionResultType]::ParameterName, 'Requests per time, a token bucket')
            [CompletionResult]::new('--rate', '--rate', [CompletionResultType]::ParameterName, 'Requests per time, a token bucket')
            [CompletionResult]::new('--rpm', '--rpm', [CompletionResultType]::ParameterName, 'Requests per minute, a token bucket; with --qps both hold')
            [CompletionResult]::new('--burst', '--burst', [CompletionResultType]::ParameterName, 'Capacity and start level of --qps and --rpm; a time (4s) is that time''s worth; 1 is smooth')
            [CompletionResult]::new('--tpm', '--tpm', [CompletionResultType]::ParameterName, 'Units (LLM tokens) per minute; a job says its own or is estimated')
            [CompletionResult]::new('--tps', '--tps', [CompletionResultType]::ParameterName, 'Units per second')
            [CompletionResult]::new('--token-burst', '--token-burst', [CompletionResultType]::ParameterName, 'Capacity and start level of --tpm and --tps; default one minute''s (second''s) worth')
            [CompletionResult]::new('--window', '--window', [CompletionResultType]::ParameterName, 'At most N sends in ANY window of DUR; repeatable')
            [CompletionResult]::new('--sliding-window', '--sliding-window', [CompletionResultType]::ParameterName, 'At most N sends in ANY window of DUR; repeatable')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'Any limit; repeatable, all hold: "[requests|tokens|input-tokens|output-tokens] N/DUR [bucket|leaky|window|window-counter|fixed] [burst=N] [start=N] [anchor=epoch|first] [guard=DUR] [per=KEY] [at=send|reply] [name=WORD]"; see `shaper help limits`')
            [CompletionResult]::new('--per', '--per', [CompletionResultType]::ParameterName, 'Keep each rate limit apart for each value of host, header:NAME or field:NAME (a pointer, too: `field:/body/model`)')
            [CompletionResult]::new('--per-host', '--per-host', [CompletionResultType]::ParameterName, 'Slots of each origin (scheme, host and port), besides --concurrency')
            [CompletionResult]::new('--queue-timeout', '--queue-timeout', [CompletionResultType]::ParameterName, 'A job that would wait longer than this fails, kind `queue_timeout`; 0s is now or never')
            [CompletionResult]::new('--max-wait', '--max-wait', [CompletionResultType]::ParameterName, 'A job that would wait longer than this fails, kind `queue_timeout`; 0s is now or never')
            [CompletionResult]::new('--guard', '--guard', [CompletionResultType]::ParameterName, 'Room that windows keep for the jitter on the way; default: measured, at least 5 ms, at most 1 % of the period; 0 is none')
            [CompletionResult]::new('--arrivals', '--arrivals', [CompletionResultType]::ParameterName, 'When jobs are due: closed (as slots and limits allow), once (all at the start)')
            [CompletionResult]::new('--lookahead', '--lookahead', [CompletionResultType]::ParameterName, 'Most jobs held at once: waiting, resting, in flight, unwritten')
            [CompletionResult]::new('--estimate', '--estimate', [CompletionResultType]::ParameterName, 'How jobs that do not say their tokens are estimated: chars (bytes of text / 4 + the most output); o200k, cl100k, openai in a build with the feature bpe')
            [CompletionResult]::new('--usage', '--usage', [CompletionResultType]::ParameterName, 'Where an answer says what it used, a JSON pointer; the usual `usage` objects are found by themselves')
            [CompletionResult]::new('--refund', '--refund', [CompletionResultType]::ParameterName, 'What was reserved and not used: unused (it is given back), never')
            [CompletionResult]::new('--oversize', '--oversize', [CompletionResultType]::ParameterName, 'A job that costs more than a limit ever holds: fail, wait (until the limit is full; it owes the rest)')
            [CompletionResult]::new('--max-attempts', '--max-attempts', [CompletionResultType]::ParameterName, 'Tries of a job, 1 is no retry; --retries N is one more')
            [CompletionResult]::new('--retries', '--retries', [CompletionResultType]::ParameterName, 'The same as --max-attempts N+1')
            [CompletionResult]::new('--backoff', '--backoff', [CompletionResultType]::ParameterName, 'The rest before the k-th retry is MIN x 2^(k-1), at most MAX; a server''s Retry-After is a floor')
            [CompletionResult]::new('--jitter', '--jitter', [CompletionResultType]::ParameterName, 'How rests are spread: full, equal, decorrelated, none')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of the jitter; default: a new one for each run')
            [CompletionResult]::new('--retry-unsafe', '--retry-unsafe', [CompletionResultType]::ParameterName, 'Repeat a try that was sent and got no status line: never, idempotent, always')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'The longest a try may take, from its grant to the last byte; queueing never counts')
            [CompletionResult]::new('--connect-timeout', '--connect-timeout', [CompletionResultType]::ParameterName, 'The longest that connecting may take: within it nothing was sent, so every job may try again')
            [CompletionResult]::new('--read-timeout', '--read-timeout', [CompletionResultType]::ParameterName, 'The longest gap between bytes of an answer')
            [CompletionResult]::new('-H', '-H ', [CompletionResultType]::ParameterName, 'A header for every job; a job''s own wins')
            [CompletionResult]::new('--header', '--header', [CompletionResultType]::ParameterName, 'A header for every job; a job''s own wins')
            [CompletionResult]::new('--bearer-env', '--bearer-env', [CompletionResultType]::ParameterName, 'Send `authorization: Bearer` with the value of this environment variable')
            [CompletionResult]::new('-X', '-X ', [CompletionResultType]::ParameterName, 'The method of jobs that name none')
            [CompletionResult]::new('--method', '--method', [CompletionResultType]::ParameterName, 'The method of jobs that name none')
            [CompletionResult]::new('--data', '--data', [CompletionResultType]::ParameterName, 'The body of jobs that have none')
            [CompletionResult]::new('--base-url', '--base-url', [CompletionResultType]::ParameterName, 'What relative URLs are relative to')
            [CompletionResult]::new('--max-body', '--max-body', [CompletionResultType]::ParameterName, 'The longest body that is taken')
            [CompletionResult]::new('--mock', '--mock', [CompletionResultType]::ParameterName, 'Send everything to the modelled API, in this process; SPEC after a =: latency=50ms, limit=10/1s window, fail=503:1%, …')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'jsonl or urls; default: by content')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Read only the first N jobs')
            [CompletionResult]::new('--limit-jobs', '--limit-jobs', [CompletionResultType]::ParameterName, 'Read only the first N jobs')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Results, one JSON line per job; default: stdout, if that is not a terminal')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Results, one JSON line per job; default: stdout, if that is not a terminal')
            [CompletionResult]::new('--fsync', '--fsync', [CompletionResultType]::ParameterName, 'When results have to be on the disk, not only in the file: never, end, or each DUR')
            [CompletionResult]::new('--grace', '--grace', [CompletionResultType]::ParameterName, 'After Ctrl-C or SIGTERM what is in flight may take so long; default: no limit but --timeout')
            [CompletionResult]::new('--body', '--body', [CompletionResultType]::ParameterName, 'Bodies of answers in the results: keep, none')
            [CompletionResult]::new('--headers', '--headers', [CompletionResultType]::ParameterName, 'Headers of answers in the results: keep, none')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'The report: text, json, csv (a table: metric, label, value, unit), none')
            [CompletionResult]::new('--report-file', '--report-file', [CompletionResultType]::ParameterName, 'Where the report goes; default: stdout, but after a run stderr, where messages stand, too: programs name a FILE')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'The report as one page with charts, which needs no other file and no network')
            [CompletionResult]::new('--hdr', '--hdr', [CompletionResultType]::ParameterName, 'Latencies as a log of `HdrHistogram`; FILE.hgrm or FILE.txt: percentiles to plot, of `service_ok`, or as in `x.since_due_ok.hgrm`; repeatable')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour: auto (in a terminal, unless `NO_COLOR` is set), always, never')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'Progress on stderr: auto, bar (a line that is redrawn), plain (a line each 10 s), none')
            [CompletionResult]::new('--metrics', '--metrics', [CompletionResultType]::ParameterName, 'Serve the figures of the run for Prometheus, at `/metrics` of PORT (for this machine alone) or IP:PORT; port 0 is any free one')
            [CompletionResult]::new('--stop-if', '--stop-if', [CompletionResultType]::ParameterName, 'End the run as by Ctrl-C when this is true, exit 1; repeatable, besides `401,403>=20 in a row before ok`, which none takes away: `failed>50`, `failed>10%`, `429>100`, `5xx>=10 in a row`')
            [CompletionResult]::new('--fail-if', '--fail-if', [CompletionResultType]::ParameterName, 'Exit with 5 if this is true at the end, else with 0 whatever failed; repeatable: `p99>500ms`, `due_p99>1s`, `failed>1%`, `429>0`, `rate<9.5/s`')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Check the whole input first; any bad line stops before the first send')
            [CompletionResult]::new('--allow-empty', '--allow-empty', [CompletionResultType]::ParameterName, 'An input without jobs is no error')
            [CompletionResult]::new('--overwrite', '--overwrite', [CompletionResultType]::ParameterName, 'Replace a file of results')
            [CompletionResult]::new('--ordered', '--ordered', [CompletionResultType]::ParameterName, 'Results in the order of the input; one that waits for an older one keeps its slot')
            [CompletionResult]::new('--ascii', '--ascii', [CompletionResultType]::ParameterName, 'No characters outside ASCII')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more: every failed job')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more: every failed job')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Nothing on stderr but what ends the run')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Nothing on stderr but what ends the run')
            [CompletionResult]::new('--resume', '--resume', [CompletionResultType]::ParameterName, 'Send only what has no result in the file of -o yet; without that file, begin')
            [CompletionResult]::new('--retry-failed', '--retry-failed', [CompletionResultType]::ParameterName, 'With --resume: jobs that failed are run again, and their later result counts')
            [CompletionResult]::new('--force-resume', '--force-resume', [CompletionResultType]::ParameterName, 'With --resume: take results that belong to another input')
            [CompletionResult]::new('--repair', '--repair', [CompletionResultType]::ParameterName, 'With --resume: lines of the results that are damaged are set aside in FILE.bad, and their jobs run again')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help; -h is shorter')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help; -h is shorter')
            break
        }
        'shaper;compare' {
            [CompletionResult]::new('--discipline', '--discipline', [CompletionResultType]::ParameterName, 'Only these, with commas between them; --help lists them all')
            [CompletionResult]::new('-c', '-c', [CompletionResultType]::ParameterName, 'Slots of the semaphores')
            [CompletionResult]::new('--concurrency', '--concurrency', [CompletionResultType]::ParameterName, 'Slots of the semaphores')
            [CompletionResult]::new('--qps', '--qps', [CompletionResultType]::ParameterName, 'The rate of the buckets')
            [CompletionResult]::new('--rate', '--rate', [CompletionResultType]::ParameterName, 'The rate of the buckets')
            [CompletionResult]::new('--burst', '--burst', [CompletionResultType]::ParameterName, 'Capacity of the large bucket (burst, storm, retry); default: 4 periods of --qps')
            [CompletionResult]::new('--window', '--window', [CompletionResultType]::ParameterName, 'What the windows hold (fixed, drop, counter, sliding); default: --qps, per its period')
            [CompletionResult]::new('--tpm', '--tpm', [CompletionResultType]::ParameterName, 'Tokens per minute (tpm); default without JOBS: half of what --qps carries')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'A limit of a discipline of your own, as for `run`; repeatable, all hold')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'How many jobs come at once, each of 100 tokens; default 1000, with --live 100')
            [CompletionResult]::new('--api', '--api', [CompletionResultType]::ParameterName, 'How it behaves, as for --mock; what is left out is latency=50ms and a limit that accepts --qps in any window of its period')
            [CompletionResult]::new('--latency', '--latency', [CompletionResultType]::ParameterName, 'Latencies of the first table; the first is that of the second, unless --api has one')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of latencies, failures and rests')
            [CompletionResult]::new('-H', '-H ', [CompletionResultType]::ParameterName, 'A header for every job; a job''s own wins')
            [CompletionResult]::new('--header', '--header', [CompletionResultType]::ParameterName, 'A header for every job; a job''s own wins')
            [CompletionResult]::new('--bearer-env', '--bearer-env', [CompletionResultType]::ParameterName, 'Send `authorization: Bearer` with the value of this environment variable')
            [CompletionResult]::new('-X', '-X ', [CompletionResultType]::ParameterName, 'The method of jobs that name none')
            [CompletionResult]::new('--method', '--method', [CompletionResultType]::ParameterName, 'The method of jobs that name none')
            [CompletionResult]::new('--data', '--data', [CompletionResultType]::ParameterName, 'The body of jobs that have none')
            [CompletionResult]::new('--base-url', '--base-url', [CompletionResultType]::ParameterName, 'What relative URLs are relative to')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'jsonl or urls; default: by content')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Read only the first N jobs')
            [CompletionResult]::new('--limit-jobs', '--limit-jobs', [CompletionResultType]::ParameterName, 'Read only the first N jobs')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'The report: text, json, csv (a table: metric, label, value, unit), none')
            [CompletionResult]::new('--report-file', '--report-file', [CompletionResultType]::ParameterName, 'Where the report goes; default: stdout, but after a run stderr, where messages stand, too: programs name a FILE')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour: auto (in a terminal, unless `NO_COLOR` is set), always, never')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'The report as one page with charts, which needs no other file and no network')
            [CompletionResult]::new('--hdr', '--hdr', [CompletionResultType]::ParameterName, 'Latencies as a log of `HdrHistogram`; FILE.hgrm or FILE.txt: percentiles to plot, of `service_ok`, or as in `x.since_due_ok.hgrm`; repeatable')
            [CompletionResult]::new('--live', '--live', [CompletionResultType]::ParameterName, 'Send over HTTP, one discipline after the other')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Send what --live announces')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Check the whole input first; any bad line stops before the first send')
            [CompletionResult]::new('--allow-empty', '--allow-empty', [CompletionResultType]::ParameterName, 'An input without jobs is no error')
            [CompletionResult]::new('--ascii', '--ascii', [CompletionResultType]::ParameterName, 'No characters outside ASCII')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help; -h is shorter')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help; -h is shorter')
            break
        }
        'shaper;verify' {
            [CompletionResult]::new('--qps', '--qps', [CompletionResultType]::ParameterName, 'Requests per time, a token bucket')
            [CompletionResult]::new('--rate', '--rate', [CompletionResultType]::ParameterName, 'Requests per time, a token bucket')
            [CompletionResult]::new('--rpm', '--rpm', [CompletionResultType]::ParameterName, 'Requests per minute, a token bucket; with --qps both hold')
            [CompletionResult]::new('--burst', '--burst', [CompletionResultType]::ParameterName, 'Capacity and start level of --qps and --rpm; a time (4s) is that time''s worth; 1 is smooth')
            [CompletionResult]::new('--tpm', '--tpm', [CompletionResultType]::ParameterName, 'Units (LLM tokens) per minute; a job says its own or is estimated')
            [CompletionResult]::new('--tps', '--tps', [CompletionResultType]::ParameterName, 'Units per second')
            [CompletionResult]::new('--token-burst', '--token-burst', [CompletionResultType]::ParameterName, 'Capacity and start level of --tpm and --tps; default one minute''s (second''s) worth')
            [CompletionResult]::new('--window', '--window', [CompletionResultType]::ParameterName, 'At most N sends in ANY window of DUR; repeatable')
            [CompletionResult]::new('--sliding-window', '--sliding-window', [CompletionResultType]::ParameterName, 'At most N sends in ANY window of DUR; repeatable')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'Any limit; repeatable, all hold: "[requests|tokens|input-tokens|output-tokens] N/DUR [bucket|leaky|window|window-counter|fixed] [burst=N] [start=N] [anchor=epoch|first] [guard=DUR] [per=KEY] [at=send|reply] [name=WORD]"; see `shaper help limits`')
            [CompletionResult]::new('--per', '--per', [CompletionResultType]::ParameterName, 'Keep each rate limit apart for each value of host, header:NAME or field:NAME (a pointer, too: `field:/body/model`)')
            [CompletionResult]::new('--slack', '--slack', [CompletionResultType]::ParameterName, 'How long before a grant a bucket may have been charged; default: that of FILE.run, else 2ms')
            [CompletionResult]::new('--clock-skew', '--clock-skew', [CompletionResultType]::ParameterName, 'How far apart the clocks of the files may be: a limit is proved if it holds for any such clocks')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'The form of the proof: text, json, csv, none')
            [CompletionResult]::new('-c', '-c', [CompletionResultType]::ParameterName, 'Slots: requests in flight')
            [CompletionResult]::new('--concurrency', '--concurrency', [CompletionResultType]::ParameterName, 'Slots: requests in flight')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help; -h is shorter')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help; -h is shorter')
            break
        }
        'shaper;report' {
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'The report: text, json, csv (a table: metric, label, value, unit), none')
            [CompletionResult]::new('--report-file', '--report-file', [CompletionResultType]::ParameterName, 'Where the report goes; default: stdout, but after a run stderr, where messages stand, too: programs name a FILE')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'The report as one page with charts, which needs no other file and no network')
            [CompletionResult]::new('--hdr', '--hdr', [CompletionResultType]::ParameterName, 'Latencies as a log of `HdrHistogram`; FILE.hgrm or FILE.txt: percentiles to plot, of `service_ok`, or as in `x.since_due_ok.hgrm`; repeatable')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour: auto (in a terminal, unless `NO_COLOR` is set), always, never')
            [CompletionResult]::new('--fail-if', '--fail-if', [CompletionResultType]::ParameterName, 'Exit with 5 if this is true at the end, else with 0 whatever failed; repeatable: `p99>500ms`, `due_p99>1s`, `failed>1%`, `429>0`, `rate<9.5/s`')
            [CompletionResult]::new('--qps', '--qps', [CompletionResultType]::ParameterName, 'Requests per time, a token bucket')
            [CompletionResult]::new('--rate', '--rate', [CompletionResultType]::ParameterName, 'Requests per time, a token bucket')
            [CompletionResult]::new('--rpm', '--rpm', [CompletionResultType]::ParameterName, 'Requests per minute, a token bucket; with --qps both hold')
            [CompletionResult]::new('--burst', '--burst', [CompletionResultType]::ParameterName, 'Capacity and start level of --qps and --rpm; a time (4s) is that time''s worth; 1 is smooth')
            [CompletionResult]::new('--tpm', '--tpm', [CompletionResultType]::ParameterName, 'Units (LLM tokens) per minute; a job says its own or is estimated')
            [CompletionResult]::new('--tps', '--tps', [CompletionResultType]::ParameterName, 'Units per second')
            [CompletionResult]::new('--token-burst', '--token-burst', [CompletionResultType]::ParameterName, 'Capacity and start level of --tpm and --tps; default one minute''s (second''s) worth')
            [CompletionResult]::new('--window', '--window', [CompletionResultType]::ParameterName, 'At most N sends in ANY window of DUR; repeatable')
            [CompletionResult]::new('--sliding-window', '--sliding-window', [CompletionResultType]::ParameterName, 'At most N sends in ANY window of DUR; repeatable')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'Any limit; repeatable, all hold: "[requests|tokens|input-tokens|output-tokens] N/DUR [bucket|leaky|window|window-counter|fixed] [burst=N] [start=N] [anchor=epoch|first] [guard=DUR] [per=KEY] [at=send|reply] [name=WORD]"; see `shaper help limits`')
            [CompletionResult]::new('--per', '--per', [CompletionResultType]::ParameterName, 'Keep each rate limit apart for each value of host, header:NAME or field:NAME (a pointer, too: `field:/body/model`)')
            [CompletionResult]::new('--base-url', '--base-url', [CompletionResultType]::ParameterName, 'What relative URLs were relative to')
            [CompletionResult]::new('-X', '-X ', [CompletionResultType]::ParameterName, 'The method of jobs that name none')
            [CompletionResult]::new('--method', '--method', [CompletionResultType]::ParameterName, 'The method of jobs that name none')
            [CompletionResult]::new('--data', '--data', [CompletionResultType]::ParameterName, 'The body of jobs that have none')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'jsonl or urls: of several job files only those in this format')
            [CompletionResult]::new('-c', '-c', [CompletionResultType]::ParameterName, 'Slots: requests in flight')
            [CompletionResult]::new('--concurrency', '--concurrency', [CompletionResultType]::ParameterName, 'Slots: requests in flight')
            [CompletionResult]::new('--ascii', '--ascii', [CompletionResultType]::ParameterName, 'No characters outside ASCII')
            [CompletionResult]::new('--failed-jobs', '--failed-jobs', [CompletionResultType]::ParameterName, 'Copy the lines of failed jobs to stdout, byte for byte; needs FILE.run')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help; -h is shorter')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help; -h is shorter')
            break
        }
        'shaper;mock' {
            [CompletionResult]::new('--listen', '--listen', [CompletionResultType]::ParameterName, 'Where to listen; loopback by default')
            [CompletionResult]::new('--latency', '--latency', [CompletionResultType]::ParameterName, '50ms, exp:50ms (exponential), p50:80ms/p99:400ms (log-normal)')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'A limit of the server, e.g. "10/1s window"; repeatable')
            [CompletionResult]::new('--slots', '--slots', [CompletionResultType]::ParameterName, 'Requests served at once; more wait inside')
            [CompletionResult]::new('--fail', '--fail', [CompletionResultType]::ParameterName, 'A share of requests that fails: 503:1%; repeatable')
            [CompletionResult]::new('--tokens', '--tokens', [CompletionResultType]::ParameterName, 'The usage that every reply reports')
            [CompletionResult]::new('--retry-after', '--retry-after', [CompletionResultType]::ParameterName, 'The form of Retry-After: seconds, date, none')
            [CompletionResult]::new('--arrivals-file', '--arrivals-file', [CompletionResultType]::ParameterName, 'Write what arrived, as result lines')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of latencies and failures')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help; -h is shorter')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help; -h is shorter')
            break
        }
        'shaper;completions' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help; -h is shorter')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help; -h is shorter')
            break
        }
        'shaper;help' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help; -h is shorter')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help; -h is shorter')
            break
        }
        'shaper;man' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help; -h is shorter')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help; -h is shorter')
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
