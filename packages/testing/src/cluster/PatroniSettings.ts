/** Settings of one node of a PostgreSQL cluster under Patroni, and of the proxy in front. The same as in `docs/high-availability.md`. */

export interface NodeSettings {
  readonly name: string
  readonly address: string
  /** Addresses of all nodes, this one included, by name. */
  readonly nodes: Readonly<Record<string, string>>
  /** Network of the nodes and of the Hubs. */
  readonly range: string
  readonly folder: string
  readonly binaries: string
  readonly password: string
}

/**
 * A dead primary loses its place 5 s after its last sign of life. Commits wait for a standby, and do so even if there is none: what is acknowledged
 * is on two machines.
 */
export const patroniSettings = (node: NodeSettings): object => ({
  scope: "corral",
  name: node.name,
  restapi: { listen: `${node.address}:8008`, connect_address: `${node.address}:8008` },
  etcd3: { hosts: Object.values(node.nodes).map((address) => `${address}:2379`) },
  bootstrap: {
    dcs: {
      ttl: 5,
      loop_wait: 1,
      retry_timeout: 2,
      primary_start_timeout: 0,
      failsafe_mode: true,
      synchronous_mode: true,
      synchronous_mode_strict: true,
      postgresql: {
        use_pg_rewind: true,
        parameters: {
          max_connections: 200,
          wal_log_hints: "on",
          wal_keep_size: "64MB",
          max_wal_size: "256MB",
          tcp_keepalives_idle: 5,
          tcp_keepalives_interval: 2,
          tcp_keepalives_count: 3,
          tcp_user_timeout: 10_000
        }
      }
    },
    initdb: [{ encoding: "UTF8" }, { locale: "C.UTF-8" }, "data-checksums"]
  },
  postgresql: {
    listen: `${node.address}:5432`,
    connect_address: `${node.address}:5432`,
    data_dir: `${node.folder}/data`,
    bin_dir: node.binaries,
    pgpass: `${node.folder}/pgpass`,
    authentication: {
      superuser: { username: "corral", password: node.password },
      replication: { username: "replicator", password: node.password },
      rewind: { username: "rewind", password: node.password }
    },
    pg_hba: [
      `host all all ${node.range} scram-sha-256`,
      `host replication replicator ${node.range} scram-sha-256`
    ],
    parameters: { unix_socket_directories: node.folder }
  }
})

/**
 * The defaults of etcd, spelled out. A disk that stalls for more than a second changes the leader of etcd; with `failsafe_mode`, PostgreSQL continues without it.
 */
export const etcdArguments = ({ address, folder, name, nodes }: NodeSettings): ReadonlyArray<string> => [
  "--name",
  name,
  "--data-dir",
  `${folder}/etcd`,
  "--listen-peer-urls",
  `http://${address}:2380`,
  "--initial-advertise-peer-urls",
  `http://${address}:2380`,
  "--listen-client-urls",
  `http://${address}:2379`,
  "--advertise-client-urls",
  `http://${address}:2379`,
  "--initial-cluster",
  Object.entries(nodes)
    .map(([each, at]) => `${each}=http://${at}:2380`)
    .join(","),
  "--initial-cluster-token",
  "corral",
  "--heartbeat-interval",
  "100",
  "--election-timeout",
  "1000",
  "--log-level",
  "error"
]

/** The proxy asks each node whether it is the primary, and closes the connections of one that no longer is. */
export const proxySettings = (port: number, nodes: Readonly<Record<string, string>>): string => `
global
  maxconn 1000
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 1s
  option clitcpka
  option srvtcpka
listen primary
  bind 127.0.0.1:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 500ms fall 3 rise 1 on-marked-down shutdown-sessions
${Object.entries(nodes)
  .map(([name, address]) => `  server ${name} ${address}:5432 check port 8008`)
  .join("\n")}
`
