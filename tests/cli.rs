//! What users of the program are promised, tried on the program itself: files in, HTTP to a
//! scripted server, results, messages and exit codes out. Real time is only bounded from below.

mod support;

mod cli {
    mod input;
    mod limits;
    mod output;
    mod retry;
    mod signals;
    mod usage;
    mod verify;
}
