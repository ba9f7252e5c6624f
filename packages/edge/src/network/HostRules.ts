/** Rules for the hosts of one confined run: from its adapter, the Edge's settings, and the grants of its workspace. Pure. */
import type { GrantRule } from "@corral/domain/approval/Grant"
import type { RunMode } from "@corral/domain/run/Run"
import type { RuntimeNetwork } from "@corral/domain/run/RuntimeNetwork"
import { type HostEntry, hostEntryOf, hostEntryOfUrl } from "./HostEntry.ts"
import { isLoopbackHost } from "./NetworkAddress.ts"
import type { NetworkRules } from "./NetworkDecision.ts"
import type { NetworkTarget } from "./NetworkTarget.ts"

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
