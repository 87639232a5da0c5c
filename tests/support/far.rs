//! A long way to a server: what is sent through it arrives so much later, in both directions.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// It goes on as long as the process that made it.
pub(crate) struct Far {
    address: SocketAddr,
}

impl Far {
    /// To this place, so long in each direction.
    pub(crate) fn from(place: &str, delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let place = place.to_owned();
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                // Nobody is there: whoever has come sees it.
                if let Ok(there) = TcpStream::connect(&place) {
                    let both = (near.try_clone(), there.try_clone());
                    if let (Ok(other_near), Ok(other_there)) = both {
                        carry(near, other_there, delay);
                        carry(there, other_near, delay);
                    }
                }
            }
        });
        Self { address }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}/0", self.address)
    }
}

/// Each piece is as long on its way as every other.
fn carry(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let (sends, arrives) = channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut piece = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from.read(&mut piece) {
            if sends
                .send((Instant::now(), piece[..length].into()))
                .is_err()
            {
                break;
            }
        }
    });
    thread::spawn(move || {
        let _ = to.set_nodelay(true);
        while let Ok((left, piece)) = arrives.recv() {
            thread::sleep((left + delay).saturating_duration_since(Instant::now()));
            if to.write_all(&piece).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}
