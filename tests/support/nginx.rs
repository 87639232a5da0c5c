//! A real nginx of a test's own: on free ports, with all its files in a folder of its own, ended with the test.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use super::secure::fixture;

/// Where it is; the second is on no path but that of root.
const PROGRAMS: [&str; 2] = ["nginx", "/usr/sbin/nginx"];

/// What is said where there is none.
const MISSING: &str = "no nginx: this test talks to a real one. Install it: \
    apt-get install nginx-light, dnf install nginx, or brew install nginx";

/// How often it is looked for after its start, and how often its log is looked at for what is to stand there.
const LOOKS: u32 = 2_000;
const EACH: Duration = Duration::from_millis(5);

/// A server that answers everything with 200, in HTTP/1.1 and HTTP/2.
pub(crate) struct Nginx {
    folder: TempDir,
    child: Child,
    /// Of HTTP/1.1 in the clear, of HTTP/2 in the clear, and of both over TLS.
    ports: [u16; 3],
}

impl Nginx {
    /// One that closes each connection after so many requests.
    pub(crate) fn closing_after(requests: u32) -> Self {
        let folder = tempfile::tempdir().expect("a folder for it");
        // All are held until all are known, so that they differ.
        let free = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let ports = free.map(|port| port.local_addr().expect("it is bound").port());
        let text = configuration(folder.path(), ports, requests);
        fs::write(folder.path().join("nginx.conf"), text).expect("the folder is ours");
        let mut nginx = Self {
            child: launch(folder.path()),
            folder,
            ports,
        };
        nginx.wait_for_it();
        nginx
    }

    pub(crate) fn http_1(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports[0])
    }

    pub(crate) fn http_2(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports[1])
    }

    pub(crate) fn https(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports[2])
    }

    /// What it was asked for, each as often as it was, sorted, with the version; when there are so many. It writes that
    /// down when it has answered.
    pub(crate) fn log(&self, most: usize) -> Vec<String> {
        let read = || fs::read_to_string(self.folder.path().join("access.log")).unwrap_or_default();
        for _ in 0..LOOKS {
            if read().lines().count() >= most {
                break;
            }
            thread::sleep(EACH);
        }
        let mut lines: Vec<String> = read().lines().map(ToOwned::to_owned).collect();
        lines.sort_unstable();
        lines
    }

    fn wait_for_it(&mut self) {
        let address = SocketAddr::from(([127, 0, 0, 1], self.ports[2]));
        for _ in 0..LOOKS {
            if TcpStream::connect(address).is_ok() {
                return;
            }
            if let Ok(Some(end)) = self.child.try_wait() {
                let log = fs::read_to_string(self.folder.path().join("error.log"));
                panic!("nginx has ended: {end}\n{}", log.unwrap_or_default());
            }
            thread::sleep(EACH);
        }
        panic!("nginx does not answer");
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn launch(folder: &Path) -> Child {
    for program in PROGRAMS {
        let started = Command::new(program)
            .args(["-c", "nginx.conf", "-e", "error.log", "-p"])
            .arg(folder)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        if let Ok(child) = started {
            return child;
        }
    }
    panic!("{MISSING}");
}

/// One process, so that nothing outlives it.
fn configuration(folder: &Path, [http_1, http_2, https]: [u16; 3], requests: u32) -> String {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary = temporary
        .map(|of| format!("{of}_temp_path {of};\n"))
        .concat();
    let (certificate, key) = (fixture("server.pem"), fixture("server.key"));
    format!(
        "daemon off;
master_process off;
pid nginx.pid;
events {{ worker_connections 512; }}
http {{
    {temporary}
    log_format plain '$request_uri $server_protocol';
    access_log {log} plain;
    keepalive_requests {requests};
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    server {{
        listen 127.0.0.1:{http_1};
        listen 127.0.0.1:{http_2} http2;
        listen 127.0.0.1:{https} ssl http2;
        location / {{ return 200 ok; }}
    }}
}}
",
        log = folder.join("access.log").display(),
    )
}
