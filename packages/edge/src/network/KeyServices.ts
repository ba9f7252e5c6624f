/**
 * Keys of one run, and the services that accept them: from what its adapter declares, the Edge's settings, and its environment. Pure.
 *
 * Guarantees: the services of a key come from the adapter, the setting, or a variable of the Edge's own environment. A request for a run
 * cannot name one.
 */
import type { KeyHeader, RuntimeKey } from "@corral/domain/run/RuntimeNetwork"
import type { KeyEntry } from "../config/KeyEntries.ts"
import { isLoopbackHost } from "./NetworkAddress.ts"
import { canonicalHost, type NetworkTarget, portOf } from "./NetworkTarget.ts"

/** A server that accepts keys. */
export interface KeyService {
  readonly target: NetworkTarget
  readonly isSecure: boolean
}

/** A key that stays outside of a run. */
export interface RunKey {
  readonly variable: string
  readonly key: string
  readonly prefix: string
  readonly headers: ReadonlyArray<KeyHeader>
  readonly services: ReadonlyArray<KeyService>
}

export interface KeySources {
  readonly declared: ReadonlyArray<RuntimeKey>
  readonly entry: KeyEntry
  /** The Edge's own environment. */
  readonly environment: Readonly<Record<string, string>>
  /** Environment of the run, with its keys. */
  readonly env: Readonly<Record<string, string>>
}

/** A sentence about a key or an address that cannot be used. */
export interface KeyProblem {
  readonly problem: string
}

const ALL_HEADERS: ReadonlyArray<KeyHeader> = ["authorization", "x-api-key", "x-goog-api-key"]
/** Shorter values occur in ordinary text, where they could not be replaced. */
const SHORTEST_KEY = 8
const KEY = /^[!-~]+$/

/** The service at an address; `undefined` if it is not one of HTTP. */
export const keyServiceOf = (address: string): KeyService | undefined => {
  if (!URL.canParse(address)) return undefined
  const { hostname, port, protocol } = new URL(address)
  const host = canonicalHost(hostname)
  const isSecure = protocol === "https:"
  const number = portOf(port === "" ? (isSecure ? "443" : "80") : port)
  return host === undefined || number === undefined || (!isSecure && protocol !== "http:")
    ? undefined
    : { target: { host, port: number }, isSecure }
}

/** Variables with keys: those of the adapter, and others that the setting lists. */
const keysOf = ({ declared, entry: { addresses = {} } }: KeySources): ReadonlyArray<RuntimeKey> => [
  ...declared,
  ...Object.keys(addresses)
    .filter((name) => !declared.some(({ variable }) => variable === name))
    .map((variable) => ({ variable, headers: ALL_HEADERS, hosts: [] }))
]

/** Names of the variables that can have a key. */
export const keyVariables = (declared: ReadonlyArray<RuntimeKey>, entry: KeyEntry): ReadonlyArray<string> => [
  ...new Set([...declared.map(({ variable }) => variable), ...Object.keys(entry.addresses ?? {})])
]

/** Addresses of a key's services. An address of the environment counts if the run has it, too. */
const addressesOf = (
  { addressVariable = "", hosts, variable }: RuntimeKey,
  { entry, env, environment }: KeySources
): ReadonlyArray<string> => {
  const listed = entry.addresses?.[variable]
  if (listed !== undefined) return listed
  const named = environment[addressVariable]
  return named !== undefined && named !== "" && named === env[addressVariable]
    ? [named]
    : hosts.map((host) => `https://${host}`)
}

/** Keys of the run; empty if it has none. */
export const keysOfRun = (sources: KeySources): ReadonlyArray<RunKey> | KeyProblem => {
  const found: Array<RunKey> = []
  for (const declared of keysOf(sources)) {
    const { headers, prefix = "sk-", variable } = declared
    const key = (sources.env[variable] ?? "").trim()
    if (key === "") continue
    if (key.length < SHORTEST_KEY || !KEY.test(key))
      return {
        problem: `The value of ${variable} does not look like a key, so the proxy cannot add it to requests.`
      }
    const services: Array<KeyService> = []
    for (const address of addressesOf(declared, sources)) {
      const service = keyServiceOf(address)
      if (service === undefined)
        return { problem: `The address of the service for ${variable} is not one of http or https.` }
      services.push(service)
    }
    found.push({ variable, key, prefix, headers, services })
  }
  return found
}

/** Whether both are the same server. This machine has several names. */
export const isSameTarget = (a: NetworkTarget, b: NetworkTarget): boolean =>
  a.port === b.port && (a.host === b.host || (isLoopbackHost(a.host) && isLoopbackHost(b.host)))
