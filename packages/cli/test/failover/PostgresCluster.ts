/**
 * PostgreSQL on three machines under Patroni with etcd, and a proxy that leads to the primary: real programs, with the settings of
 * `docs/high-availability.md`.
 *
 * Owns all processes, namespaces and folders; `close` removes them. Needs root, and Debian's `patroni`, `etcd-server` and `haproxy`.
 */
import { freePort } from "@corral/testing/postgres/PostgresServer"
import { until } from "@corral/testing/time/Until"
import { canMakeNetworks, NodeNetwork } from "./Machines.ts"
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import {
  chownSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

interface NodeSettings {
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
const patroniSettings = (node: NodeSettings): object => ({
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
const etcdArguments = ({ address, folder, name, nodes }: NodeSettings): ReadonlyArray<string> => [
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
const proxySettings = (port: number, nodes: Readonly<Record<string, string>>): string => `
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

const NAMES = ["db1", "db2", "db3"]
const LEAVE_FULL_DISK = fileURLToPath(
  new URL("../../../../deploy/high-availability/leave-full-disk.sh", import.meta.url)
)
const PROGRAMS = ["etcd", "patroni", "haproxy", "setpriv", "curl"]

interface Member {
  readonly name: string
  readonly role: string
  readonly state: string
}

/** Why there can be no cluster on this machine. */
export const clusterProblem = (): string | undefined => {
  const missing = PROGRAMS.filter((program) => spawnSync("which", [program]).status !== 0)
  if (missing.length > 0) return `${missing.join(", ")} not installed`
  return canMakeNetworks() ? undefined : "no namespaces of the network for this user"
}

const idOf = (kind: "-u" | "-g"): number =>
  Number(execFileSync("id", [kind, "postgres"], { encoding: "utf8" }))

/** Programs of the newest server in Debian's place. */
const binaries = (): string => {
  const root = "/usr/lib/postgresql"
  const [version] = readdirSync(root).toSorted((a, b) => Number(b) - Number(a))
  return `${root}/${version}/bin`
}

export class PostgresCluster {
  readonly network = new NodeNetwork(NAMES)
  readonly #folder = mkdtempSync(join(tmpdir(), "corral-cluster-"))
  readonly #password = randomBytes(12).toString("hex")
  readonly #user = { uid: idOf("-u"), gid: idOf("-g") }
  readonly #diskMegabytes: number | undefined
  #proxy: ChildProcess | undefined
  #port = 0

  /** `diskMegabytes`: size of each machine's disk, which is in memory then. */
  static async open({ diskMegabytes }: { readonly diskMegabytes?: number } = {}): Promise<PostgresCluster> {
    const cluster = new PostgresCluster(diskMegabytes)
    try {
      await cluster.#start()
      return cluster
    } catch (error) {
      cluster.close()
      throw error
    }
  }

  private constructor(diskMegabytes: number | undefined) {
    this.#diskMegabytes = diskMegabytes
  }

  /** URL of the primary, through the proxy. */
  get url(): string {
    return `postgres://corral:${this.#password}@127.0.0.1:${this.#port}/postgres`
  }

  /** As any node of the cluster reports it. */
  async members(): Promise<ReadonlyArray<Member>> {
    for (const name of NAMES) {
      try {
        const response = await fetch(`http://${this.network.addressOf(name)}:8008/cluster`, {
          signal: AbortSignal.timeout(1_000)
        })
        return ((await response.json()) as { readonly members: ReadonlyArray<Member> }).members
      } catch {
        // Another one may answer.
      }
    }
    return []
  }

  /** The primary, once it and a synchronous standby are there: a commit then returns. */
  async primary(): Promise<string> {
    return until(
      async () => {
        const members = await this.members()
        const isSafe = members.some(
          ({ role, state }) => role === "sync_standby" && /running|streaming/.test(state)
        )
        return isSafe
          ? members.find(({ role, state }) => role === "leader" && state === "running")?.name
          : undefined
      },
      "a primary with a synchronous standby",
      120_000
    )
  }

  /** Waits until all nodes are there again. */
  async whole(): Promise<void> {
    await until(
      async () => {
        const members = await this.members()
        const running = members.filter(({ state }) => /running|streaming/.test(state))
        return running.length === NAMES.length ? true : undefined
      },
      "all nodes",
      120_000
    )
    await this.primary()
  }

  /** The whole machine. */
  kill(name: string): void {
    this.network.kill(name)
  }

  /** PostgreSQL and Patroni; etcd stays. */
  killDatabase(name: string): void {
    this.network.kill(name, "etcd")
  }

  /** Starts etcd and Patroni on a node where nothing runs. */
  start(name: string): void {
    this.startEtcd(name)
    this.startDatabase(name)
  }

  startDatabase(name: string): void {
    const { address, folder } = this.#settings(name)
    this.#spawn(name, "patroni", ["patroni", this.#settingsFile(name)])
    this.#spawn(name, "disk", [LEAVE_FULL_DISK, folder, `http://${address}:8008`, name, "64"])
  }

  startEtcd(name: string): ChildProcess {
    return this.#spawn(name, "etcd", ["etcd", ...etcdArguments(this.#settings(name))])
  }

  killEtcd(name: string): void {
    this.network.killProgram(name, "etcd")
  }

  /** The node whose etcd leads the others. */
  async etcdLeader(): Promise<string> {
    for (const name of NAMES) {
      const response = await fetch(`http://${this.network.addressOf(name)}:2379/v3/maintenance/status`, {
        method: "POST",
        body: "{}"
      })
      const { header, leader } = (await response.json()) as {
        readonly header: { readonly member_id: string }
        readonly leader: string
      }
      if (header.member_id === leader) return name
    }
    throw new Error("etcd has no leader")
  }

  /** Uses up the disk of a node, until `freeDisk`. */
  fillDisk(name: string): void {
    spawnSync("dd", ["if=/dev/zero", `of=${this.#ballast(name)}`, "bs=1M"], { stdio: "ignore" })
  }

  freeDisk(name: string): void {
    rmSync(this.#ballast(name), { force: true })
  }

  close(): void {
    this.#proxy?.kill("SIGKILL")
    this.network.close()
    if (this.#diskMegabytes !== undefined)
      for (const name of NAMES) spawnSync("umount", ["-l", join(this.#folder, name)])
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  }

  async #start(): Promise<void> {
    // Others may pass through, to the folders of the nodes.
    execFileSync("chmod", ["755", this.#folder])
    for (const name of NAMES) {
      const folder = this.#settings(name).folder
      mkdirSync(folder, { mode: 0o700 })
      if (this.#diskMegabytes !== undefined)
        execFileSync("mount", ["-t", "tmpfs", "-o", `size=${this.#diskMegabytes}m,mode=700`, "tmpfs", folder])
      writeFileSync(this.#settingsFile(name), JSON.stringify(patroniSettings(this.#settings(name))))
      for (const path of [folder, this.#settingsFile(name)]) chownSync(path, this.#user.uid, this.#user.gid)
      this.start(name)
    }
    this.#port = await freePort()
    const file = join(this.#folder, "haproxy.cfg")
    writeFileSync(file, proxySettings(this.#port, this.#nodes))
    this.#proxy = spawn("haproxy", ["-db", "-f", file], { stdio: "ignore" })
    await once(this.#proxy, "spawn")
    await this.whole()
  }

  get #nodes(): Readonly<Record<string, string>> {
    return Object.fromEntries(NAMES.map((name) => [name, this.network.addressOf(name)]))
  }

  #settings(name: string): NodeSettings {
    return {
      name,
      address: this.network.addressOf(name),
      nodes: this.#nodes,
      range: this.network.range,
      folder: join(this.#folder, name),
      binaries: binaries(),
      password: this.#password
    }
  }

  #ballast(name: string): string {
    return join(this.#settings(name).folder, "ballast")
  }

  #settingsFile(name: string): string {
    return join(this.#folder, name, "patroni.yml")
  }

  #spawn(name: string, program: string, command: ReadonlyArray<string>): ChildProcess {
    const { gid, uid } = this.#user
    const log = openSync(join(this.#folder, `${name}-${program}.log`), "a")
    const child = this.network.spawn(
      name,
      ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", ...command],
      {
        stdio: ["ignore", log, log],
        cwd: this.#folder,
        env: { PATH: "/usr/bin:/bin:/usr/sbin", LANG: "C.UTF-8" }
      }
    )
    closeSync(log)
    return child
  }
}
