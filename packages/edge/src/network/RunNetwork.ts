/**
 * The way out of one confined run's network: a folder that only this run sees, with the socket of its proxy and one socket for each granted
 * port of this machine. Also the keys of the run: its placeholders, its authority, the proxy that replaces the placeholders, and the files with the
 * authority's certificate for its programs.
 *
 * Guarantees: the sockets and the folder are removed when the scope closes, and connections end. Without keys no authority is made, and asn1js is not
 * loaded.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import type { RuntimeKey, RuntimeNetwork } from "@corral/domain/run/RuntimeNetwork"
import { mint } from "@corral/service/Identifiers"
import { Clock, Effect, FiberSet, type Scope } from "effect"
import { readFileSync, writeFileSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { rootCertificates } from "node:tls"
import type { GrantRule } from "@corral/domain/approval/Grant"
import type { RunMode } from "@corral/domain/run/Run"
import { createServer } from "node:net"
import type { KeyEntry } from "../config/EdgeConfig.ts"
import { KeyProxy } from "./KeyProxy.ts"
import { type KeyedService, keysOfRun, type KeySources, PlaceholderKeys } from "./KeyServices.ts"
import { isLoopbackHost, type NetworkTarget, showTarget } from "./NetworkTarget.ts"
import { type ProxyConnectionOptions, ProxyCredentials } from "./ProxyConnection.ts"
import { type SignedCertificate, makeRunAuthority } from "./RunAuthority.ts"
import { carryBytes, connectLoopback } from "../preview/Loopback.ts"
import { ownLife, type RunLife, openTemporary, removeTemporary } from "../process/TemporaryFolder.ts"
import { type HostAnswer, HostDecisions, type RefusalReason, timelineOf } from "./HostDecisions.ts"
import { grantedPorts, rulesOfRun } from "./HostEntry.ts"
import { NetworkAccess } from "./NetworkAccess.ts"
import { listening, MAX_CONNECTIONS, serveRunProxy } from "./RunProxy.ts"

// Files with the certificate of a run's authority, and the variables by which programs find them. Some programs add the file to what they
// trust, others trust nothing else: the second file has the authorities of the system, too.

/** Files of the authorities that a system trusts: Debian, Red Hat, SUSE, Alpine. */
const SYSTEM_FILES = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/ssl/cert.pem"
]
const ADDED = "authority.pem"
const WHOLE = "authorities.pem"

const BEGIN = "-----BEGIN CERTIFICATE-----"
const END = "-----END CERTIFICATE-----"

/** The certificates of a text, and not a private key that is in the same file. */
const certificatesIn = (text: string): string => {
  const found: Array<string> = []
  for (let at = text.indexOf(BEGIN); at !== -1;) {
    const end = text.indexOf(END, at)
    if (end === -1) break
    found.push(text.slice(at, end + END.length))
    at = text.indexOf(BEGIN, end)
  }
  return found.join("\n")
}

const textOf = (path: string | undefined): string | undefined => {
  try {
    return path === undefined || path === "" ? undefined : certificatesIn(readFileSync(path, "utf8"))
  } catch {
    return undefined
  }
}

const trustedBySystem = (file: string | undefined): string => {
  for (const path of [file, ...SYSTEM_FILES]) {
    const text = textOf(path)
    if (text !== undefined && text !== "") return text
  }
  return rootCertificates.join("\n")
}

/** Writes the files. `environment`: the Edge's own, which may name files of authorities. Throws the system's error. */
const writeTrustFiles = (
  folder: string,
  certificate: string,
  environment: Readonly<Record<string, string>>
): void => {
  const added = [certificate, textOf(environment["NODE_EXTRA_CA_CERTS"]) ?? ""].join("\n")
  writeFileSync(join(folder, ADDED), added, { mode: 0o400 })
  const whole = [added, trustedBySystem(environment["SSL_CERT_FILE"])].join("\n")
  writeFileSync(join(folder, WHOLE), whole, { mode: 0o400 })
}

/** Variables of the run. `folder`: where the run sees the files. Node and Bun read the first one, Codex the last one. */
const trustVariables = (folder: string): Readonly<Record<string, string>> => {
  const [added, whole] = [join(folder, ADDED), join(folder, WHOLE)]
  return {
    NODE_EXTRA_CA_CERTS: added,
    SSL_CERT_FILE: whole,
    CURL_CA_BUNDLE: whole,
    REQUESTS_CA_BUNDLE: whole,
    CODEX_CA_CERTIFICATE: whole
  }
}

/** The setting for the adapter of a run, and what the adapter declares. */
export interface RunKeyOptions {
  readonly entry: KeyEntry
  readonly declared: ReadonlyArray<RuntimeKey>
  /** Environment of the run, with its keys. */
  readonly env: Readonly<Record<string, string>>
}

interface RunKeys {
  /** The proxy for the services; `undefined` without keys. */
  readonly makeProxy: (
    options: ProxyConnectionOptions
  ) => Effect.Effect<KeyProxy | undefined, never, Scope.Scope>
  /** Services that the setting lists, which the run reaches in every mode. */
  readonly listed: ReadonlyArray<NetworkTarget>
  /** The environment of the run without its keys. `folder`: where the run sees the folder of its network. */
  readonly environmentOf: (
    env: Readonly<Record<string, string>>,
    folder: string
  ) => Readonly<Record<string, string>>
}

const noKeys: RunKeys = {
  makeProxy: () => Effect.undefined,
  listed: [],
  environmentOf: (env) => env
}

const namesOf = ({ target: { host } }: KeyedService): ReadonlyArray<string> =>
  isLoopbackHost(host) ? [...new Set([host, "localhost", "127.0.0.1", "::1"])] : [host]

/** Replaces the keys of a run. Writes the certificate of its authority to the folder. */
export const openRunKeys = Effect.fnUntraced(function* (
  folder: string,
  { declared, entry, env }: RunKeyOptions,
  environment: KeySources["environment"]
): Effect.fn.Return<RunKeys, string> {
  const found = keysOfRun({ declared, entry, env, environment })
  if ("problem" in found) return yield* Effect.fail(found.problem)
  if (found.length === 0) return noKeys
  const placeholders = new PlaceholderKeys(found)
  const { services } = placeholders
  const now = yield* Clock.currentTimeMillis
  const secure = services.filter(({ isSecure }) => isSecure)
  const authority = yield* Effect.tryPromise({
    try: async () => {
      if (secure.length === 0) return undefined
      const issued = await makeRunAuthority(secure.map(namesOf), now)
      writeTrustFiles(folder, issued.certificate, environment)
      return issued
    },
    catch: String
  })
  const certificates = new Map<KeyedService, SignedCertificate>()
  for (const [at, service] of secure.entries()) {
    const certificate = authority?.signed[at]
    if (certificate !== undefined) certificates.set(service, certificate)
  }
  const { addresses = {} } = entry
  return {
    makeProxy: (options) => makeKeyProxy(services, certificates, options),
    listed: found
      .filter(({ variable }) => addresses[variable] !== undefined)
      .flatMap((key) => key.services.map(({ target }) => target)),
    environmentOf: (before, seen) => ({
      ...placeholders.environmentOf(before),
      ...(authority === undefined ? {} : trustVariables(seen))
    })
  }
})

const makeKeyProxy = Effect.fnUntraced(function* (
  services: ReadonlyArray<KeyedService>,
  certificates: ReadonlyMap<KeyedService, SignedCertificate>,
  options: ProxyConnectionOptions
) {
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const clock = yield* Clock.Clock
  const newId = () => mint<RequestId>("req", clock.currentTimeMillisUnsafe())
  return new KeyProxy(services, certificates, { ...options, fork: (effect) => void fork(effect), newId })
})

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
