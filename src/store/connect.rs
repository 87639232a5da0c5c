//! How a connection to a store is opened: alone, by sentinels, or to a cluster. Floor 4: doors.

use std::fmt;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::sentinel::{SentinelClientBuilder, SentinelServerType};
use redis::{AsyncConnectionConfig, Client, ConnectionAddr, RedisResult, TlsCertificates, TlsMode};

use super::address::{Address, Kind};

/// An open connection.
pub(super) enum Open {
    One(MultiplexedConnection),
    Cluster(Box<ClusterConnection>),
}

impl fmt::Debug for Open {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("open")
    }
}

/// Names are looked up each time: after a failover they may mean another server.
pub(super) async fn connect(address: &Address, timeout: Duration) -> RedisResult<Open> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(timeout))
        .set_response_timeout(Some(timeout));
    let certificates = TlsCertificates {
        client_tls: None,
        root_cert: address.authorities.clone(),
    };
    match &address.kind {
        Kind::One => {
            let client = if address.is_tls() {
                Client::build_with_tls(address.first().clone(), certificates)?
            } else {
                Client::open(address.first().clone())?
            };
            let connection = client.get_multiplexed_async_connection_with_config(&config);
            Ok(Open::One(connection.await?))
        }
        Kind::Sentinels { service } => {
            let sentinels = address.servers.iter().map(|server| server.addr().clone());
            let settings = address.first().redis_settings();
            let kind = SentinelServerType::Master;
            // Sentinels have no data bases, and names of their own for who may ask.
            let mut client = SentinelClientBuilder::new(sentinels, service, kind)?
                .set_client_to_redis_db(settings.db());
            if let Some(user) = settings.username() {
                client = client.set_client_to_redis_username(user);
            }
            if let Some(password) = settings.password() {
                client = client.set_client_to_redis_password(password);
            }
            if address.is_tls() {
                client = client
                    .set_client_to_redis_tls_mode(TlsMode::Secure)
                    .set_client_to_redis_certificates(certificates.clone())
                    .set_client_to_sentinel_tls_mode(TlsMode::Secure)
                    .set_client_to_sentinel_certificates(certificates);
            }
            let mut client = client.build()?;
            let connection = client.get_async_connection_with_config(&config);
            Ok(Open::One(connection.await?))
        }
        Kind::Cluster => {
            let mut client = ClusterClient::builder(address.servers.clone())
                .connection_timeout(timeout)
                .response_timeout(timeout)
                .retries(1);
            if address.is_tls() {
                client = client.certs(certificates);
            }
            let connection = client.build()?.get_async_connection().await?;
            Ok(Open::Cluster(Box::new(connection)))
        }
    }
}

impl Address {
    fn is_tls(&self) -> bool {
        let addr = |server: &redis::ConnectionInfo| server.addr().clone();
        self.servers
            .iter()
            .map(addr)
            .any(|addr| matches!(addr, ConnectionAddr::TcpTls { .. }))
    }
}
