//! What users of the program are promised, tried on the program itself: files in, HTTP to a
//! scripted server, results, messages and exit codes out. Real time is only bounded from below.

mod support;

mod cli {
    mod adaptive;
    mod bodies;
    mod check;
    mod compare;
    mod completions;
    mod conditions;
    mod crash;
    mod early;
    mod failed_jobs;
    mod files;
    mod formats;
    mod forms;
    mod help;
    mod hosts;
    mod input;
    mod keep_alive;
    mod keys;
    mod limit_flags;
    mod limits;
    mod man;
    mod messages;
    mod metrics;
    mod names;
    mod nginx;
    mod ordered;
    mod output;
    mod picks;
    mod pipes;
    mod plan;
    mod recorded;
    mod redirects;
    mod report;
    mod resume;
    mod retry;
    mod route;
    mod screen;
    mod secrets;
    mod shapes;
    mod signals;
    mod stops;
    mod streams;
    mod system;
    mod terminal;
    mod tls;
    mod transport;
    mod units;
    mod usage;
    mod verify;
    mod waiting;
    mod windows;
}
