/**
 * Hosts that an adapter declares or an owner lists (`example.com`, `*.example.com`, `example.com:8443`, `127.0.0.1:11434`), the rules of one confined run that are made of them, and the decision
 * about a connection: by its host before the name is resolved, then by the addresses. Pure.
 *
 * Guarantees: a name is resolved only after its host is allowed, because the question for a name reaches servers, too. Addresses of this machine and its networks are reached only through an entry of
 * the Edge's owner, also if an allowed name resolves to one.
 */
import type { GrantRule } from "@corral/domain/approval/Grant"
import type { RunMode } from "@corral/domain/run/Run"
import type { RuntimeNetwork } from "@corral/domain/run/RuntimeNetwork"
import { isIP } from "node:net"
import {
  addressKind,
  canonicalHost,
  isLoopbackHost,
  type NetworkTarget,
  portOf,
  splitPort
} from "./NetworkTarget.ts"

// Rules for the hosts of one confined run: from its adapter, the Edge's settings, and the grants of its workspace. Pure.

interface HostSources {
  readonly mode: RunMode
  readonly declared: RuntimeNetwork | undefined
  /** Entries of the setting. */
  readonly hosts: ReadonlyArray<string>
  readonly grants: ReadonlyArray<GrantRule>
  /** The Edge's own environment, which its user sets. The variables of a request declare nothing. */
  readonly environment: Readonly<Record<string, string>>
  /** Services that the owner lists for keys. */
  readonly services?: ReadonlyArray<NetworkTarget> | undefined
}

/** Each port has a program that listens in the run. */
const MAX_PORTS = 8
/** Ports below it need a capability. */
const LOWEST_PORT = 1_024

/** A grant without a tool. A tool's grant is for what that tool reports. */
const grantedHosts = (grants: ReadonlyArray<GrantRule>): ReadonlyArray<string> =>
  grants.flatMap((rule) => (rule.action === "network" && rule.tool === undefined ? [rule.host] : []))

export const rulesOfRun = ({
  declared,
  environment,
  grants,
  hosts,
  mode,
  services: listed = []
}: HostSources): NetworkRules => {
  const isLimited = mode === "read_only" || mode === "plan"
  const entries = (texts: ReadonlyArray<string>) => texts.flatMap((text) => hostEntryOf(text) ?? [])
  const services = (declared?.addressVariables ?? []).flatMap(
    (name) => hostEntryOfUrl(environment[name] ?? "") ?? []
  )
  return {
    declared: entries(declared?.hosts ?? []),
    // The modes that change nothing refuse a granted action, too.
    owned: [
      ...entries(hosts),
      ...services,
      ...listed.map(({ host, port }) => ({ host, isBelow: false, port })),
      ...(isLimited ? [] : entries(grantedHosts(grants)))
    ],
    mayAsk: !isLimited
  }
}

const isLoopback = ({ host, isBelow }: HostEntry): boolean => !isBelow && isLoopbackHost(host)

/** Ports of this machine that the entries name. */
export const grantedPorts = (entries: ReadonlyArray<HostEntry>): ReadonlyArray<number> => {
  const ports = entries.flatMap((entry) => (isLoopback(entry) ? (entry.port ?? []) : []))
  return [...new Set(ports)].filter((port) => port >= LOWEST_PORT).slice(0, MAX_PORTS)
}

interface HostEntry {
  readonly host: string
  /** Whether it stands for all names below `host`, and not for `host` itself. */
  readonly isBelow: boolean
  /** `undefined`: the ports of HTTP and HTTPS. */
  readonly port: number | undefined
}

const BELOW = "*."
const WEB_PORTS: ReadonlyArray<number> = [443, 80]

/** The entry of a text; `undefined` if the text names no host. */
export const hostEntryOf = (text: string): HostEntry | undefined => {
  const isBelow = text.startsWith(BELOW)
  const [written, writtenPort] = splitPort(isBelow ? text.slice(BELOW.length) : text)
  const host = canonicalHost(written)
  const port = writtenPort === undefined ? undefined : portOf(writtenPort)
  if (host === undefined || (writtenPort !== undefined && port === undefined)) return undefined
  return { host, isBelow, port }
}

/** The entry of the server that an address with `http` or `https` names. */
export const hostEntryOfUrl = (url: string): HostEntry | undefined => {
  if (!URL.canParse(url)) return undefined
  const { hostname, port, protocol } = new URL(url)
  const host = canonicalHost(hostname)
  const isWeb = protocol === "http:" || protocol === "https:"
  return host === undefined || !isWeb ? undefined : { host, isBelow: false, port: portOf(port) }
}

/** Whether one of the entries names the target. */
const isListed = (entries: ReadonlyArray<HostEntry>, { host, port }: NetworkTarget): boolean =>
  entries.some(
    (entry) =>
      (entry.isBelow ? host.endsWith(`.${entry.host}`) : host === entry.host) &&
      (entry.port === undefined ? WEB_PORTS.includes(port) : port === entry.port)
  )

export interface NetworkRules {
  /** Hosts that the adapter declares. */
  readonly declared: ReadonlyArray<HostEntry>
  /** Hosts that the owner of the Edge lists. */
  readonly owned: ReadonlyArray<HostEntry>
  /** Whether another host is a question to the user. */
  readonly mayAsk: boolean
}

/** Addresses that a host may have: `local` includes those of this machine and its private networks. */
export type Reach = "public" | "local"

export type HostVerdict =
  | { readonly _tag: "Allow"; readonly reach: Reach }
  | { readonly _tag: "Ask" }
  | { readonly _tag: "Refuse"; readonly reason: "local_address" | "mode" }

/** Whether a host is on this machine or in its networks, as its spelling says. */
const isLocal = (host: string): boolean =>
  host === "localhost" || host.endsWith(".localhost") || (isIP(host) !== 0 && addressKind(host) !== "public")

export const judgeHost = ({ declared, mayAsk, owned }: NetworkRules, target: NetworkTarget): HostVerdict => {
  if (isListed(owned, target)) return { _tag: "Allow", reach: "local" }
  if (isLocal(target.host)) return { _tag: "Refuse", reason: "local_address" }
  if (isListed(declared, target)) return { _tag: "Allow", reach: "public" }
  return mayAsk ? { _tag: "Ask" } : { _tag: "Refuse", reason: "mode" }
}

/** The addresses of an allowed host that may be connected to. `ownAddresses`: of this machine. */
export const reachableAddresses = (
  { host }: NetworkTarget,
  reach: Reach,
  addresses: ReadonlyArray<string>,
  ownAddresses: ReadonlySet<string>
): ReadonlyArray<string> =>
  addresses.filter((address) => {
    const kind = addressKind(address)
    if (reach === "public") return kind === "public" && !ownAddresses.has(address)
    return kind !== "reserved" || isIP(host) !== 0
  })
