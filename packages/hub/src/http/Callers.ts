/**
 * By which callers are told apart when their requests are counted: a token that was found good lately, else the address. A made-up token
 * counts for where it comes from, however many are made up.
 */
import { Context, Layer } from "effect"
import type { IncomingMessage } from "node:http"
import { createHash } from "node:crypto"
import { credentialOf } from "./Guard.ts"

/** So many are remembered; the ones that were not used longest are forgotten, and then count for their address once. */
const MOST = 10_000

const nameOf = (token: string): string => createHash("sha256").update(token).digest("base64url")

export class Callers extends Context.Service<
  Callers,
  {
    readonly nameOf: (request: IncomingMessage) => string
    /** That a token is worth something. */
    readonly vouch: (token: string) => void
  }
>()("corral/hub/Callers") {
  static readonly layer = Layer.sync(Callers, () => {
    const good = new Set<string>()
    const keep = (name: string): void => {
      // Last in the order of use.
      good.delete(name)
      good.add(name)
      if (good.size <= MOST) return
      const [oldest] = good
      if (oldest !== undefined) good.delete(oldest)
    }
    return Callers.of({
      nameOf: ({ headers, socket }) => {
        const { bearer, cookie } = credentialOf(headers)
        const token = bearer ?? cookie
        const name = token === undefined ? undefined : nameOf(token)
        if (name === undefined || !good.has(name)) return socket.remoteAddress ?? ""
        keep(name)
        return name
      },
      vouch: (token) => keep(nameOf(token))
    })
  })
}
