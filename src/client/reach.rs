//! Which addresses may be asked. Floor 4: doors.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::{Host, Url};

use super::Refused;
use crate::outcome::FailureKind;

/// Which addresses may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// All.
    #[default]
    Anywhere,
    /// Those that the whole internet has, and none of this machine or of a private network: jobs of strangers, and
    /// redirects of any server, may name what only this machine can reach.
    Public,
}

/// An address that may not be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a public address (--deny-private)")]
pub(super) struct Private(IpAddr);

impl From<Private> for Refused {
    fn from(private: Private) -> Self {
        Self {
            kind: FailureKind::Invalid,
            cause: private.to_string(),
        }
    }
}

impl Reach {
    fn check(self, address: IpAddr) -> Result<(), Private> {
        match self {
            Self::Public if is_private(address) => Err(Private(address)),
            Self::Anywhere | Self::Public => Ok(()),
        }
    }

    /// Checks an address that stands in a URL.
    pub(super) fn check_address(self, url: &Url) -> Result<(), Refused> {
        match url.host() {
            Some(Host::Ipv4(address)) => self.check(address.into())?,
            Some(Host::Ipv6(address)) => self.check(address.into())?,
            Some(Host::Domain(_)) | None => {}
        }
        Ok(())
    }

    /// Checks a name of which others find the address: `localhost` is known, RFC 6761 §6.3.
    pub(super) fn check_name(self, url: &Url) -> Result<(), Refused> {
        match url.host() {
            Some(Host::Domain(name)) if is_localhost(name) => {
                Ok(self.check(Ipv4Addr::LOCALHOST.into())?)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Those of the addresses of a name that may be asked. Fails if it has some, and may be asked at none.
    pub(super) fn of_name(
        self,
        all: impl Iterator<Item = SocketAddr>,
    ) -> io::Result<Vec<SocketAddr>> {
        let mut denied = None;
        let mut taken = Vec::new();
        for address in all {
            match self.check(address.ip()) {
                Ok(()) => taken.push(address),
                Err(private) => denied = Some(private),
            }
        }
        match denied {
            Some(private) if taken.is_empty() => Err(io::Error::other(private)),
            Some(_) | None => Ok(taken),
        }
    }
}

fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost")
}

/// Whether an address is not one of the whole internet: the IANA IPv4 and IPv6 Special-Purpose Address Registries
/// (RFC 6890), and multicast. An IPv6 address that stands for one of IPv4 is what that is.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => match within(address) {
            Some(address) => is_private_v4(address),
            None => is_private_v6(address),
        },
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || matches!(a, 0 | 224..)
        || matches!((a, b), (100, 64..128) | (198, 18 | 19))
        || (a, b, c) == (192, 0, 0)
}

/// Of IPv6 only `2000::/3` is given out, and there `2001::/23` and some others for special purposes.
fn is_private_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    a & 0xe000 != 0x2000
        || (a == 0x2001 && (b < 0x200 || b == 0xdb8))
        || (a == 0x3fff && b < 0x1000)
}

/// The IPv4 address within one that is mapped (RFC 4291 §2.5.5.2), compatible (§2.5.5.1), translated (RFC 6052 §2.1)
/// or of 6to4 (RFC 3056 §2).
fn within(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [first @ .., high, low] = address.segments();
    let of = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match first {
        [0, 0, 0, 0, 0, 0 | 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => Some(of(high, low)),
        [0x2002, high, low, ..] => Some(of(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_and_of_private_networks_are_known() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(is_private(address.parse().unwrap()), "{address}");
        }
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "192.167.0.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "2001:200::1",
            "2001:4860::1",
            "2002:101:101::",
            "2606:4700::1111",
            "2a00::1",
        ] {
            assert!(!is_private(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn of_a_name_the_addresses_that_are_public_are_taken() {
        let all = || {
            ["10.0.0.1:80", "1.1.1.1:80"]
                .map(|text| text.parse().unwrap())
                .into_iter()
        };
        assert_eq!(Reach::Anywhere.of_name(all()).unwrap().len(), 2);
        assert_eq!(
            Reach::Public.of_name(all()).unwrap(),
            ["1.1.1.1:80".parse().unwrap()]
        );
        let told = Reach::Public
            .of_name(all().take(1))
            .unwrap_err()
            .to_string();
        assert_eq!(told, "10.0.0.1 is not a public address (--deny-private)");
        assert!(Reach::Public.of_name(all().take(0)).unwrap().is_empty());
    }
}
