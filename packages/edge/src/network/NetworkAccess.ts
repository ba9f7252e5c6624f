/** The network of this machine, as confined runs reach it. Replaceable, for tests without other machines. */
import { Context, Data, Effect, type Scope } from "effect"
import { lookup } from "node:dns/promises"
import { connect, isIP, type LookupFunction, type Socket } from "node:net"
import { networkInterfaces } from "node:os"

/** No address, or no connection. */
export class HostUnreachable extends Data.TaggedError("HostUnreachable")<{
  readonly reason: "unresolved" | "unreachable"
}> {}

export interface NetworkAccess {
  /** Addresses of a name. */
  readonly resolve: (name: string) => Effect.Effect<ReadonlyArray<string>, HostUnreachable>
  /** A connection to the first of the addresses that accepts one. It is destroyed with the scope. */
  readonly connect: (
    addresses: ReadonlyArray<string>,
    port: number
  ) => Effect.Effect<Socket, HostUnreachable, Scope.Scope>
  /** Addresses of this machine. */
  readonly ownAddresses: () => ReadonlySet<string>
  /** Authorities of certificates, PEM, in addition to those that Node trusts. */
  readonly authorities?: ReadonlyArray<string> | undefined
}

const WITHIN = "10 seconds"

const within = <A, E, R>(effect: Effect.Effect<A, E, R>, reason: HostUnreachable["reason"]) =>
  Effect.timeoutOrElse(effect, {
    duration: WITHIN,
    orElse: () => Effect.fail(new HostUnreachable({ reason }))
  })

const resolve: NetworkAccess["resolve"] = (name) =>
  within(
    Effect.tryPromise({
      try: async () => (await lookup(name, { all: true, verbatim: true })).map(({ address }) => address),
      catch: () => new HostUnreachable({ reason: "unresolved" })
    }),
    "unresolved"
  )

/** Answers with the addresses that were judged, so that the name is not resolved again. */
const lookupOf =
  (addresses: ReadonlyArray<string>): LookupFunction =>
  (_, __, answer) =>
    answer(
      null,
      addresses.map((address) => ({ address, family: isIP(address) }))
    )

const opened = (addresses: ReadonlyArray<string>, port: number): Effect.Effect<Socket, HostUnreachable> =>
  Effect.callback((resume) => {
    const socket = connect({
      host: "resolved.invalid",
      port,
      lookup: lookupOf(addresses),
      autoSelectFamily: true,
      noDelay: true,
      allowHalfOpen: true
    })
    socket.once("connect", () => resume(Effect.succeed(socket)))
    socket.on("error", () => resume(Effect.fail(new HostUnreachable({ reason: "unreachable" }))))
    return Effect.sync(() => void socket.destroy())
  })

const systemAccess: NetworkAccess = {
  resolve,
  connect: (addresses, port) =>
    Effect.acquireRelease(
      within(opened(addresses, port), "unreachable"),
      (socket) => Effect.sync(() => void socket.destroy()),
      { interruptible: true }
    ),
  ownAddresses: () =>
    new Set(Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address)))
}

export const NetworkAccess = Context.Reference<NetworkAccess>("corral/edge/NetworkAccess", {
  defaultValue: () => systemAccess
})
