# The command line
shaper nope
shaper rnu
shaper --nope
shaper run --qsp 5 jobs.urls
shaper run --zzz jobs.urls
shaper verify --mock r.jsonl
shaper mock here
shaper run -c
shaper run --report
shaper run --report jsno jobs.urls
shaper run --format yaml jobs.urls
shaper run --quiet=3 jobs.urls
shaper run --http1 --http2 jobs.urls
shaper run --qps 5 --qps 6 jobs.urls
shaper run jobs.urls --resume
shaper run jobs.urls -o r.jsonl --resume --overwrite
shaper verify
shaper status
shaper help nope
shaper help limit
shaper man nope
shaper completions csh

# Values of options
shaper run --qps 0 jobs.urls
shaper run --qps twenty jobs.urls
shaper run --qps 1e-9 jobs.urls
shaper run -c 0 jobs.urls
shaper run --rpm 0.5 jobs.urls
shaper run --qps 1 --burst 0 jobs.urls
shaper run --tpm -1 jobs.urls
shaper run --window 3 jobs.urls
shaper run --limit 5/x jobs.urls
shaper run --limit '5/s bukcet' jobs.urls
shaper run --limit '5/s burst=0' jobs.urls
shaper run --limit '5/s name=slot' jobs.urls
shaper run --per hsot --qps 1 jobs.urls
shaper run --timeout 0 jobs.urls
shaper run --timeout 3months jobs.urls
shaper run --backoff 2s..1s jobs.urls
shaper run --max-attempts 0 jobs.urls
shaper run --retry-on never jobs.urls
shaper run --ok 99 jobs.urls
shaper run --retry-if-json error jobs.urls
shaper run --usage total jobs.urls
shaper run --max-body lots jobs.urls
shaper run --seed -1 jobs.urls
shaper run --provider nobody jobs.urls
shaper run --estimate guess jobs.urls
shaper run --jitter some jobs.urls
shaper run --fail-if 'p99' jobs.urls
shaper run --fail-if 'p101>1s' jobs.urls
shaper run --fail-if 'speed>1s' jobs.urls
shaper run --stop-if 'failed<3' jobs.urls
shaper run -H nothing jobs.urls
shaper run -H ': x' jobs.urls
shaper run -X 'G ET' jobs.urls
shaper run --base-url nowhere jobs.urls
shaper run --url 'http://{{id' rows.csv
shaper run --proxy ftp://a jobs.urls
shaper run --connect-to a:b jobs.urls
shaper run --rewrite 's#a' jobs.urls
shaper run --filter color=red jobs.urls
shaper run --sample 0% jobs.urls
shaper run --shard 4/4 jobs.urls
shaper run --shard auto/4 jobs.urls
shaper run --log-fields nope=1 log.jsonl
shaper run --replay --speed 0x jobs.urls
shaper run --ramp 5 jobs.urls
shaper run --repeat 0 jobs.urls
shaper run --fsync often jobs.urls
shaper run --metrics nowhere jobs.urls
shaper run --progress some jobs.urls
shaper run --redis nowhere jobs.urls
shaper run --hdr x.csv jobs.urls
shaper run --mock=speed=3 jobs.urls
shaper run --mock=fail=503 jobs.urls
shaper plan --latency fast jobs.urls
shaper plan --price free jobs.urls
shaper compare --discipline nothing
shaper compare --api latency jobs.urls

# Options that do not go together
shaper run --burst 5 jobs.urls
shaper run --token-burst 5 jobs.urls
shaper run --per host jobs.urls
shaper run --speed 2x jobs.urls
shaper run --arrivals even jobs.urls
shaper run --arrivals once --ramp 5@0s jobs.urls
shaper run --guard 2s --window 5/1s jobs.urls
shaper run --limit '5/s name=a' --limit '6/s name=a' jobs.urls
shaper run --redis-key a jobs.urls
shaper run --redis redis://127.0.0.1:1 jobs.urls
shaper run --http2 --unix-socket s jobs.urls
shaper run --http2 --transport direct jobs.urls
shaper run --report-file - jobs.urls
shaper run --bearer-env TOKEN jobs.urls
shaper run -H @headers.txt jobs.urls
echo 'no colon' > headers.txt; shaper run -H @headers.txt jobs.urls
shaper run --cacert ca.pem jobs.urls
shaper run --cert cert.pem jobs.urls
echo http://a/ | shaper run --repeat 2 --mock
echo http://a/ > j.urls; shaper plan --repeat forever j.urls
shaper compare --discipline limit
shaper compare --live

# Files
shaper run nowhere.jsonl
shaper run .
shaper run http://api.test/
shaper run key=value
shaper run - - < /dev/null
shaper run < /dev/null
touch j.urls; shaper run j.urls
echo http://a/ > j.urls; shaper run j.urls --filter method=POST --mock
echo http://a/ > j.urls; echo '{}' > r.jsonl; shaper run j.urls -o r.jsonl --mock
echo http://a/ > j.urls; shaper run j.urls -o j.urls --mock
echo http://a/ > j.urls; shaper run j.urls -o nowhere/r.jsonl --mock
echo http://a/ > j.urls; shaper run j.urls -o . --mock
echo http://a/ > j.urls; shaper run j.urls -o /dev/full --mock --report none
echo http://a/ > j.urls; shaper run j.urls -o r.jsonl --mock --report-file r.jsonl
echo http://a/ > j.urls; shaper run j.urls -o r.jsonl --mock --html nowhere/r.html
printf '\3757zXZ\0\0' > j.urls.xz; shaper run j.urls.xz --mock
shaper check --help > /dev/full
echo http://a/ > j.urls; shaper run j.urls --mock --metrics 127.0.0.1:${HOST#*:}
shaper mock --listen $HOST
echo x > arrivals; shaper mock --arrivals-file arrivals

# Lines of the input, as check tells them
echo '{"url":"http://a/","metod":"GET"}' | shaper check
echo '{"method":"GET"}' | shaper check
echo '{"url":7}' | shaper check
echo '{"url":"api.test/x"}' | shaper check
echo '{"url":"ftp://a/"}' | shaper check
echo '{"url":"http://a/","tokens":-1}' | shaper check
echo '{"url":"http://a/","body":7}' | shaper check
echo '{"url":"http://a/","body_file":"nowhere"}' | shaper check
echo '{"url":"http://a/","body_base64":"?"}' | shaper check
echo '{"url":"http://a/","method":"G ET"}' | shaper check
echo '{"url":"http://a/","headers":{"a b":"1"}}' | shaper check
echo '{"url":"http://a/","headers":{"a":7}}' | shaper check
echo '{"url":"http://a/"' | shaper check
printf '{"url":"http://a/","id":"1"}\n{"url":"http://b/","id":"1"}\n' | shaper check
printf '{"url":"http://a/"}\n' | shaper check --replay
printf '{"url":"/x"}\n' | shaper check
printf 'id,name\n1,a\n' | shaper check --format csv
printf 'id,name\n1,a\n' | shaper check --format csv --url 'http://a/{{nam}}'
printf 'url,name\nhttp://a/,"x\n' | shaper check --format csv
printf '{"custom_id":"1"}\n' | shaper check --format openai-batch --base-url http://a/
printf '{"model":"m"}\n' | shaper check --format cookbook
printf 'http://a/\nnope\n' | shaper run --strict --mock
echo '{"url":"http://a/"}' | shaper run --tps 5 --mock
echo '{"url":"http://a/"}' | shaper check -H 'x: {{uuid}}'
echo 'id' | shaper check --format csv --url 'http://a/{{env:NOBODY}}'

# What became of requests
echo http://127.0.0.1:1/ | shaper run --max-attempts 1 --report none
echo http://nope.invalid/ | shaper run --max-attempts 1 --report none
echo https://$SECURE/ | shaper run --max-attempts 1 --report none
echo http://$HOST/hang | shaper run --max-attempts 1 --report none --timeout 3s
echo http://$HOST/reset | shaper run --max-attempts 1 --report none
echo http://$HOST/cut | shaper run --max-attempts 1 --report none
echo http://$HOST/loop | shaper run --max-attempts 1 --report none -L
echo http://$HOST/astray | shaper run --max-attempts 1 --report none -L
echo http://$HOST/302 | shaper run --max-attempts 1 --report none
echo http://$HOST/fault | shaper run --max-attempts 1 --report none --retry-if-json /error
echo http://$HOST/fault | shaper run --max-attempts 1 --report none --max-body 5
echo http://$HOST/400 | shaper run --max-attempts 1 --report none
echo http://$HOST/401 | shaper run --max-attempts 1 --report none
echo http://$HOST/404 | shaper run --max-attempts 1 --report none
echo http://$HOST/429 | shaper run --max-attempts 1 --report none
echo http://$HOST/503 | shaper run --max-attempts 1 --report none
echo http://$HOST/hour | shaper run --report none
echo http://$HOST/spent | shaper run --report none
echo http://$HOST/200 | shaper run --report none --deny-private
echo http://$HOST/200 | shaper run --report none --proxy http://127.0.0.1:1 --max-attempts 1
echo '{"url":"http://a/","tokens":50}' | shaper run --mock --tpm 10 --report none
printf 'http://a/\nhttp://a/\n' | shaper run --mock --qps 1 --queue-timeout 0s --report none
yes http://$HOST/401 | head -30 | shaper run -c 1 --report none
yes http://$HOST/404 | head -30 | shaper run -c 1 --report none --stop-if '404>=5 in a row'

# Going on, reporting and proving
echo http://a/ | shaper run --resume --mock
echo http://a/ > j.urls; shaper run j.urls -o r.jsonl --mock --quiet; echo http://b/ > j.urls; shaper run j.urls -o r.jsonl --resume --mock
echo http://a/ > j.urls; shaper run j.urls -o r.jsonl --mock --quiet; (echo broken; cat r.jsonl) > d.jsonl; shaper run j.urls -o d.jsonl --resume --mock
echo http://a/ > j.urls; shaper run j.urls -o r.jsonl --mock --quiet --shard 0/2; shaper run j.urls -o r.jsonl --resume --shard 1/2 --mock
shaper report nowhere.jsonl
echo nonsense > r.jsonl; shaper report r.jsonl
shaper report < /dev/null
echo http://a/ > j.urls; shaper run j.urls -o r.jsonl --mock --quiet; rm r.jsonl.run; shaper verify r.jsonl
echo http://a/ > j.urls; shaper run j.urls -o r.jsonl --mock --quiet; shaper verify r.jsonl r.jsonl --qps 5
touch r.jsonl; shaper verify r.jsonl --qps 5
echo http://a/ > j.urls; shaper run j.urls -o r.jsonl --mock=fail=400:100% --quiet; echo http://bb/ > j.urls; shaper report r.jsonl --failed-jobs
echo http://a/ > j.urls; shaper run j.urls -o r.jsonl --mock=fail=400:100% --quiet; rm j.urls; shaper report r.jsonl --failed-jobs
echo http://a/ > j.urls; shaper plan j.urls --latency-from nowhere.jsonl

# The store of shared limits
echo http://a/ > j.urls; shaper run j.urls --mock --qps 5 --redis redis://127.0.0.1:1 --store-grace 100ms --redis-key a --report none
shaper status --redis redis://127.0.0.1:1 --redis-key a
echo nope > j.urls; shaper run j.urls --qps 5 --redis redis://127.0.0.1:1
echo http://a/ > j.urls; shaper run j.urls --qps 5 --redis redis://127.0.0.1:1 --redis-key 'a b{'
