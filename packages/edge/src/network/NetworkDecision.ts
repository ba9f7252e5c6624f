/**
 * Decision about a connection of a confined run: by its host before the name is resolved, then by the addresses. Pure.
 *
 * Guarantees: a name is resolved only after its host is allowed, because the question for a name reaches servers, too. Addresses of this
 * machine and its networks are reached only through an entry of the Edge's owner, also if an allowed name resolves to one.
 */
import { isIP } from "node:net"
import { type HostEntry, isListed } from "./HostEntry.ts"
import { addressKind } from "./NetworkAddress.ts"
import type { NetworkTarget } from "./NetworkTarget.ts"

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
