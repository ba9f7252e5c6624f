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
import { createServer } from "node:net"
import { join } from "node:path"
import { carryBytes } from "../preview/CarriedBytes.ts"
import { connectLoopback } from "../preview/Loopback.ts"
import { makeTemporary, removeTemporary } from "../process/TemporaryFolder.ts"
import { type HostAnswer, HostDecisions } from "./HostDecisions.ts"
import { grantedPorts, rulesOfRun } from "./HostRules.ts"
import { NetworkAccess } from "./NetworkAccess.ts"
import { type RefusalReason, timelineOf } from "./NetworkRefusal.ts"
import { type NetworkTarget, showTarget } from "./NetworkTarget.ts"
import { ProxyCredentials } from "./ProxyCredentials.ts"
import { MAX_CONNECTIONS, type RunProxyOptions, serveRunProxy } from "./RunProxy.ts"
import { listening } from "./UnixListener.ts"

/** How a run asks its user, and what it shows. */
export interface NetworkUser {
  /** Requests an approval. */
  readonly ask: (target: NetworkTarget) => Effect.Effect<HostAnswer>
  /** Adds a line to the run's timeline. */
  readonly report: (id: string, text: string) => void
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
}

/** Socket of the proxy in the folder. */
export const PROXY_SOCKET = "proxy"
/** Refusals that the timeline shows. */
const MAX_REPORTED = 20

/** Opens the network. Returns the ports of this machine that the run reaches, each with a socket of that name. */
export const openRunNetwork = Effect.fnUntraced(function* (
  options: RunNetworkOptions
): Effect.fn.Return<ReadonlyArray<number>, string, Scope.Scope> {
  const { folder } = options
  yield* Effect.acquireRelease(
    Effect.try({
      try: () => makeTemporary(folder),
      catch: String
    }),
    () => removeTemporary(folder)
  )
  const { ports, proxy } = yield* decide(options)
  yield* serveRunProxy(join(folder, PROXY_SOCKET), proxy)
  for (const port of ports) yield* servePort(join(folder, String(port)), port)
  return ports
})

/** A way out without a namespace: a port of this machine for the proxy. */
export interface LoopbackNetwork {
  /** Address of the proxy, with the run's credentials. */
  readonly proxy: string
  /** Ports of this machine that the run reaches, the proxy's among them. */
  readonly ports: ReadonlyArray<number>
}

/** Opens the network for a run that shares the network of this machine, and is limited to some ports of it. */
export const openLoopbackNetwork = Effect.fnUntraced(function* (
  options: RunNetworkOptions
): Effect.fn.Return<LoopbackNetwork, string, Scope.Scope> {
  const { ports, proxy } = yield* decide(options)
  const credentials = new ProxyCredentials()
  const port = yield* serveRunProxy({ host: "127.0.0.1", port: 0 }, { ...proxy, credentials })
  if (port === undefined) return yield* Effect.fail("its proxy has no port")
  return { proxy: credentials.addressOf(port), ports: [port, ...ports] }
})

/** What the run reaches: ports of this machine, and hosts by the decisions of its proxy. */
const decide = Effect.fnUntraced(function* (options: RunNetworkOptions) {
  const { user } = options
  const rules = rulesOfRun(options)
  const decisions = new HostDecisions(rules, user.ask, yield* Effect.scope)
  const proxy: RunProxyOptions = {
    access: yield* NetworkAccess,
    permissionFor: (target) => decisions.permissionFor(target),
    onRefused: reporter(user)
  }
  return { proxy, ports: grantedPorts(rules.owned) }
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

/** Carries connections to a port of this machine. */
const servePort = Effect.fnUntraced(function* (path: string, port: number) {
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    client.on("error", () => undefined)
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
