/**
 * The way out of one confined run's network: a folder that only this run sees, with the socket of its proxy and one socket for each granted
 * port of this machine.
 *
 * Guarantees: the sockets and the folder are removed when the scope closes, and connections end.
 */
import type { RuntimeNetwork } from "@corral/domain/run/RuntimeNetwork"
import type { GrantRule } from "@corral/domain/approval/Grant"
import type { RunMode } from "@corral/domain/run/Run"
import { Effect, FiberSet, type Scope } from "effect"
import { readdirSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { carryBytes, connectLoopback } from "../preview/Loopback.ts"
import { ownLife, type RunLife } from "../process/RunLife.ts"
import { openTemporary, removeTemporary } from "../process/TemporaryFolder.ts"
import { type HostAnswer, HostDecisions } from "./HostDecisions.ts"
import { grantedPorts, rulesOfRun } from "./HostEntry.ts"
import type { KeyProxy } from "./KeyProxy.ts"
import { NetworkAccess } from "./NetworkAccess.ts"
import { type RefusalReason, timelineOf } from "./NetworkRefusal.ts"
import { type NetworkTarget, showTarget } from "./NetworkTarget.ts"
import { type ProxyConnectionOptions, ProxyCredentials } from "./ProxyConnection.ts"
import { noKeys, openRunKeys, type RunKeyOptions, type RunKeys } from "./RunKeys.ts"
import { listening, MAX_CONNECTIONS, serveRunProxy } from "./RunProxy.ts"

/** How a run asks its user, and what it shows. */
export interface NetworkUser {
  /** Requests an approval. */
  readonly ask: (target: NetworkTarget) => Effect.Effect<HostAnswer>
  /** Adds a line to the run's timeline. */
  readonly report: (id: string, text: string) => void
  /** Answers to what an earlier Edge asked, by host and port. */
  readonly answers?: ReadonlyMap<string, Effect.Effect<HostAnswer>> | undefined
}

export interface RunNetworkOptions {
  readonly folder: string
  readonly mode: RunMode
  readonly declared: RuntimeNetwork | undefined
  /** Entries of the Edge's setting. */
  readonly hosts: ReadonlyArray<string>
  /** Rules of the configuration for the run's workspace and agent. */
  readonly grants: ReadonlyArray<GrantRule>
  /** The Edge's own environment. */
  readonly environment: Readonly<Record<string, string>>
  readonly user: NetworkUser
  /** For a run whose keys stay outside. */
  readonly keys?: RunKeyOptions | undefined
  readonly life?: RunLife | undefined
}

export interface RunNetwork {
  /** Ports of this machine that the run reaches, each with a socket of that name. */
  readonly ports: ReadonlyArray<number>
  /** The environment of the run. `folder`: where the run sees the network's folder. */
  readonly environmentOf: RunKeys["environmentOf"]
}

/** Socket of the proxy in the folder. */
export const PROXY_SOCKET = "proxy"
const NO_KEYS = "No key stays outside of this run, because the Edge has none for its runtime."
/** Refusals that the timeline shows. */
const MAX_REPORTED = 20

/** Opens the network. */
export const openRunNetwork = Effect.fnUntraced(function* (
  options: RunNetworkOptions
): Effect.fn.Return<RunNetwork, string, Scope.Scope> {
  const { environment, folder, life = ownLife, user } = options
  yield* Effect.acquireRelease(
    Effect.try({
      try: () => {
        openTemporary(folder, life)
        // Sockets of an Edge that ended. Nothing else is in the folder.
        if (life.isAdopted) readdirSync(folder).forEach((name) => rmSync(join(folder, name), { force: true }))
      },
      catch: String
    }),
    () => (life.isLeft() ? Effect.void : removeTemporary(folder))
  )
  const keys = options.keys === undefined ? noKeys : yield* openRunKeys(folder, options.keys, environment)
  if (options.keys !== undefined && keys === noKeys) user.report("keys", NO_KEYS)
  const { connection, ports } = yield* decide(options, keys.listed)
  const keyed = yield* keys.makeProxy(connection)
  yield* serveRunProxy(join(folder, PROXY_SOCKET), { ...connection, keyed })
  for (const port of ports) yield* servePort(join(folder, String(port)), port, keyed)
  return { ports, environmentOf: keys.environmentOf }
})

/** A way out without a namespace: a port of this machine for the proxy. */
export interface LoopbackNetwork {
  /** Address of the proxy, with the run's credentials. */
  readonly proxy: string
  /** Ports of this machine that the run reaches, the proxy's among them. */
  readonly ports: ReadonlyArray<number>
}

/** Opens the network for a run that shares the network of this machine, and is limited to some ports of it. Its keys are in the run. */
export const openLoopbackNetwork = Effect.fnUntraced(function* (
  options: RunNetworkOptions
): Effect.fn.Return<LoopbackNetwork, string, Scope.Scope> {
  const { connection, ports } = yield* decide(options, noKeys.listed)
  const credentials = new ProxyCredentials()
  const port = yield* serveRunProxy({ host: "127.0.0.1", port: 0 }, { ...connection, credentials })
  if (port === undefined) return yield* Effect.fail("its proxy has no port")
  return { proxy: credentials.addressOf(port), ports: [port, ...ports] }
})

/** What the run reaches: ports of this machine, and hosts by the decisions of its proxy. `services`: those of its keys. */
const decide = Effect.fnUntraced(function* (options: RunNetworkOptions, services: RunKeys["listed"]) {
  const { user } = options
  const rules = rulesOfRun({ ...options, services })
  const decisions = new HostDecisions(rules, user.ask, yield* Effect.scope)
  for (const [address, answer] of user.answers ?? []) yield* decisions.continueWith(address, answer)
  const connection: ProxyConnectionOptions = {
    access: yield* NetworkAccess,
    permissionFor: (target) => decisions.permissionFor(target),
    onRefused: reporter(user)
  }
  return { connection, ports: grantedPorts(rules.owned) }
})

/** Reports each refused host once. */
const reporter = ({ report }: NetworkUser) => {
  const reported = new Set<string>()
  return (reason: RefusalReason, target: NetworkTarget | undefined): void => {
    const text = timelineOf(reason, target)
    const key = `${reason} ${target === undefined ? "" : showTarget(target)}`
    if (text === undefined || reported.has(key) || reported.size > MAX_REPORTED) return
    reported.add(key)
    const isLast = reported.size > MAX_REPORTED
    report(`network:${reported.size}`, isLast ? "More connections were refused. They are not listed." : text)
  }
}

/** Carries connections to a port of this machine. Connections to a service of the run's keys are read. */
const servePort = Effect.fnUntraced(function* (path: string, port: number, keyed: KeyProxy | undefined) {
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const service = keyed?.serviceAt({ host: "localhost", port })
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    client.on("error", () => undefined)
    if (keyed !== undefined && service !== undefined) return void fork(keyed.serve(service, client))
    fork(
      connectLoopback(port).pipe(
        Effect.flatMap((upstream) => carryBytes(client, upstream)),
        Effect.catchTag("Unreachable", () => Effect.void),
        Effect.scoped,
        Effect.ensuring(Effect.sync(() => void client.destroy()))
      )
    )
  })
  server.maxConnections = MAX_CONNECTIONS
  yield* listening(server, path)
})
