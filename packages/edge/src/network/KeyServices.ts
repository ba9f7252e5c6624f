/**
 * Keys of one run, the services that accept them, and the placeholders that the run has instead: random values in the shape of keys, which only the proxy of the run accepts. Pure.
 *
 * Guarantees: the services of a key come from the adapter, the setting, or a variable of the Edge's own environment. A request for a run cannot name one. No variable of the run contains a key. A key
 * is in a request only if the request has its placeholder, for a service of the key.
 */
import type { KeyHeader, RuntimeKey } from "@corral/domain/run/RuntimeNetwork"
import { randomBytes } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import type { KeyEntry } from "../config/EdgeConfig.ts"
import { canonicalHost, isLoopbackHost, type NetworkTarget, portOf } from "./NetworkTarget.ts"

/** A server that accepts keys. */
interface KeyService {
  readonly target: NetworkTarget
  readonly isSecure: boolean
}

/** A key that stays outside of a run. */
interface RunKey {
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

interface PlacedKey extends RunKey {
  readonly placeholder: string
}

/** A service with the keys that it accepts. */
export interface KeyedService extends KeyService {
  readonly keys: ReadonlyArray<PlacedKey>
}

const BEARER = /^bearer +/i

export class PlaceholderKeys {
  readonly services: ReadonlyArray<KeyedService>
  readonly #keys: ReadonlyArray<PlacedKey>

  constructor(keys: ReadonlyArray<RunKey>) {
    const byKey = new Map<string, string>()
    for (const { key, prefix } of keys)
      if (!byKey.has(key)) byKey.set(key, `${prefix}${randomBytes(24).toString("hex")}`)
    this.#keys = keys.map((each) => ({ ...each, placeholder: byKey.get(each.key) ?? "" }))
    const services: Array<KeyService> = []
    for (const service of keys.flatMap((each) => each.services))
      if (!services.some(({ target }) => isSameTarget(target, service.target))) services.push(service)
    this.services = services.map((service) => ({
      ...service,
      keys: this.#keys.filter((each) =>
        each.services.some(
          ({ isSecure, target }) => isSecure === service.isSecure && isSameTarget(target, service.target)
        )
      )
    }))
  }

  serviceAt(target: NetworkTarget): KeyedService | undefined {
    return this.services.find((service) => isSameTarget(service.target, target))
  }

  /** The environment with placeholders, also inside of other values. */
  environmentOf(env: Readonly<Record<string, string>>): Record<string, string> {
    // The longest first: a key may begin with another one.
    const longestFirst = this.#keys.toSorted((a, b) => b.key.length - a.key.length)
    const placed = Object.entries(env).map(([name, value]): [string, string] => [
      name,
      longestFirst.reduce((text, { key, placeholder }) => text.replaceAll(key, placeholder), value)
    ])
    return Object.fromEntries(placed)
  }
}

/** Headers that replace those with a placeholder of the service; empty without any. */
export const keyHeaders = (
  { keys }: KeyedService,
  headers: IncomingHttpHeaders
): Readonly<Record<string, string>> => {
  const replaced: Record<string, string> = {}
  for (const { headers: names, key, placeholder } of keys)
    for (const name of names) {
      const value = headers[name]
      if (name !== "authorization") {
        if (value === placeholder) replaced[name] = key
      } else if (typeof value === "string" && BEARER.test(value) && value.replace(BEARER, "") === placeholder)
        replaced[name] = `Bearer ${key}`
    }
  return replaced
}
