/** The internet of a test: names with their addresses, and a server on this machine behind every public one. */
import { Effect } from "effect"
import { HostUnreachable, type NetworkAccess } from "../../src/network/NetworkAccess.ts"
import { connectLoopback } from "../../src/preview/Loopback.ts"

/** An address of nothing. Connections to it reach the server of the test. */
export const PUBLIC = "93.184.216.34"

export class Outside {
  readonly resolved: Array<string> = []
  /** Addresses and ports, in the order of the connections. */
  readonly connected: Array<string> = []
  readonly access: NetworkAccess

  /** `names`: addresses of each name. `port`: of the server of the test. */
  constructor(port: number, names: Readonly<Record<string, ReadonlyArray<string>>> = {}) {
    const unresolved = new HostUnreachable({ reason: "unresolved" })
    this.access = {
      resolve: (name) =>
        Effect.suspend(() => {
          this.resolved.push(name)
          const addresses = names[name]
          return addresses === undefined ? Effect.fail(unresolved) : Effect.succeed(addresses)
        }),
      connect: (addresses, to) =>
        Effect.suspend(() => {
          this.connected.push(...addresses.map((address) => `${address} ${to}`))
          return Effect.mapError(connectLoopback(port), () => new HostUnreachable({ reason: "unreachable" }))
        }),
      ownAddresses: () => new Set(["93.184.216.99"])
    }
  }
}
