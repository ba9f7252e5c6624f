/**
 * Decisions about the hosts of one confined run, and the reasons for which a connection is refused, with the response and the line in the run's
 * timeline.
 *
 * Guarantees: the user is asked once per host and port. The question stays open when the client disconnects, and the next attempt uses its
 * answer. A flood of hosts is refused.
 */
import type { HttpRefusal } from "@corral/service/http/Refusal"
import { Deferred, Effect, type Scope } from "effect"
import { type NetworkTarget, showTarget } from "./NetworkTarget.ts"
import { judgeHost, type NetworkRules, type Reach } from "./HostEntry.ts"

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

/** `unavailable`: the user cannot be asked now. */
export type HostAnswer = "allowed" | "denied" | "unavailable"

export type HostPermission =
  | { readonly _tag: "Allowed"; readonly reach: Reach }
  | { readonly _tag: "Refused"; readonly reason: RefusalReason }

/** Open questions of one run. */
const MAX_OPEN = 8
/** Hosts of one run that a user is asked about. */
const MAX_ASKED = 256
/** How long a connection waits for a decision. Clients give up after a few minutes. */
const WAIT = "2 minutes"

const refused = (reason: RefusalReason): HostPermission => ({ _tag: "Refused", reason })

const permissions: Readonly<Record<HostAnswer, HostPermission>> = {
  allowed: { _tag: "Allowed", reach: "public" },
  denied: refused("denied"),
  unavailable: refused("too_many")
}

export class HostDecisions {
  readonly #rules: NetworkRules
  readonly #ask: (target: NetworkTarget) => Effect.Effect<HostAnswer>
  readonly #scope: Scope.Scope
  readonly #answers = new Map<string, Deferred.Deferred<HostAnswer>>()
  #open = 0

  /** `ask` requests the approval of a user, until `scope` closes. */
  constructor(
    rules: NetworkRules,
    ask: (target: NetworkTarget) => Effect.Effect<HostAnswer>,
    scope: Scope.Scope
  ) {
    this.#rules = rules
    this.#ask = ask
    this.#scope = scope
  }

  permissionFor(target: NetworkTarget): Effect.Effect<HostPermission> {
    return Effect.suspend(() => {
      const verdict = judgeHost(this.#rules, target)
      if (verdict._tag === "Allow") return Effect.succeed({ _tag: "Allowed" as const, reach: verdict.reach })
      if (verdict._tag === "Refuse") return Effect.succeed(refused(verdict.reason))
      return this.#decided(target)
    })
  }

  #decided(target: NetworkTarget): Effect.Effect<HostPermission> {
    const pending = this.#answers.get(showTarget(target))
    if (pending !== undefined) return awaitAnswer(pending)
    if (this.#open >= MAX_OPEN || this.#answers.size >= MAX_ASKED) return Effect.succeed(refused("too_many"))
    return Effect.flatMap(this.#request(target), awaitAnswer)
  }

  /** Asks the user, independently of the connection. */
  #request(target: NetworkTarget): Effect.Effect<Deferred.Deferred<HostAnswer>> {
    return this.continueWith(showTarget(target), this.#ask(target))
  }

  /** Waits for the answer to a question about a host and port that was asked. */
  continueWith(
    key: string,
    question: Effect.Effect<HostAnswer>
  ): Effect.Effect<Deferred.Deferred<HostAnswer>> {
    const answer = Deferred.makeUnsafe<HostAnswer>()
    this.#answers.set(key, answer)
    this.#open++
    return question.pipe(
      Effect.tap((received) => {
        this.#open--
        if (received === "unavailable") this.#answers.delete(key)
        return Deferred.succeed(answer, received)
      }),
      Effect.forkIn(this.#scope),
      Effect.as(answer)
    )
  }
}

const awaitAnswer = (answer: Deferred.Deferred<HostAnswer>): Effect.Effect<HostPermission> =>
  Effect.timeoutOption(Deferred.await(answer), WAIT).pipe(
    Effect.map((received) => (received._tag === "None" ? refused("undecided") : permissions[received.value]))
  )
