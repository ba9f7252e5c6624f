/** Reasons for which a connection of a confined run is refused, with the response and the line in the run's timeline. */
import type { HttpRefusal } from "@corral/service/http/Refusal"
import { type NetworkTarget, showTarget } from "./NetworkTarget.ts"

export type RefusalReason =
  | "certificate"
  | "denied"
  | "encoded"
  | "local_address"
  | "malformed"
  | "mode"
  | "other_host"
  | "too_many"
  | "undecided"
  | "unreachable"
  | "unresolved"

const sentences: Readonly<Record<RefusalReason, (host: string) => string>> = {
  certificate: (host) =>
    `The certificate of ${host} is not valid, so the request and the key for it were not sent. Check the address, or name the authority with NODE_EXTRA_CA_CERTS for the Edge.`,
  denied: (host) => `The connection to ${host} was not approved.`,
  encoded: (host) =>
    `The response of ${host} is compressed, although the request did not allow it. It was not read, because it may contain the key.`,
  local_address: (host) =>
    `${host} is an address of this machine or its network. The owner of the Edge can allow it with CORRAL_EDGE_RUN_HOSTS.`,
  malformed: () =>
    "The proxy of this run expects CONNECT with a host and a port, or a request with an http address.",
  mode: (host) => `The mode of this run does not allow a connection to ${host}.`,
  other_host: (host) => `A request on a connection to ${host} named another host, or a full address.`,
  too_many: (host) => `The connection to ${host} was refused, because this run requested too many hosts.`,
  undecided: (host) => `The connection to ${host} needs a decision. Try again when it is made.`,
  unreachable: (host) => `There is no connection to ${host}.`,
  unresolved: (host) => `No address was found for ${host}.`
}

/** Reasons that are no decision: the host is allowed. */
const isFailure = (reason: RefusalReason): boolean => reason === "unreachable" || reason === "unresolved"

/** Response of the proxy. */
export const networkRefusal = (reason: RefusalReason, target: NetworkTarget | undefined): HttpRefusal => ({
  code: isFailure(reason) ? "not_found" : reason === "denied" ? "approval_rejected" : "permission_denied",
  message: sentences[reason](target === undefined ? "this host" : showTarget(target)),
  details: { reason: `network_${reason}`, ...target }
})

/** Line for the timeline; `undefined` for what needs none. */
export const timelineOf = (reason: RefusalReason, target: NetworkTarget | undefined): string | undefined =>
  isFailure(reason) || reason === "undecided" || target === undefined
    ? undefined
    : sentences[reason](showTarget(target))
