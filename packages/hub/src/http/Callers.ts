/**
 * By which callers are told apart when their requests are counted: a token that was found good lately, else the address. A made-up token
 * counts for where it comes from, however many are made up. A Gateway counts once for each chat account that it asks for.
 */
import { Context, Effect, Layer } from "effect"
import type { IncomingMessage } from "node:http"
import { createHash } from "node:crypto"
import type { Credential } from "../signin/Credentials.ts"
import { GatewayTokens } from "../signin/GatewayTokens.ts"
import { ClientAddress } from "./ClientAddress.ts"
import { credentialOf } from "./Guard.ts"

/** So many are remembered; the ones that were not used longest are forgotten, and then count for their address once. */
const MOST = 10_000

const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64url")

export class Callers extends Context.Service<
  Callers,
  {
    readonly nameOf: (request: IncomingMessage) => string
    /** That what somebody came with is worth something. */
    readonly vouch: (credential: Credential) => void
  }
>()("corral/hub/Callers") {
  static readonly layer = Layer.effect(
    Callers,
    Effect.gen(function* () {
      const addresses = yield* ClientAddress
      const gateways = yield* GatewayTokens
      const good = new Set<string>()
      const nameOf = ({ bearer, chatAccount = "", cookie }: Credential): string | undefined => {
        const token = bearer ?? cookie
        if (token === undefined) return undefined
        // Of anybody else the account's name is a header like any other.
        return hashOf(gateways.holds(token) ? `${token} ${chatAccount}` : token)
      }
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
          const name = nameOf(credentialOf(headers))
          if (name === undefined || !good.has(name)) return addresses.networkOf(headers, socket.remoteAddress)
          keep(name)
          return name
        },
        vouch: (credential) => {
          const name = nameOf(credential)
          if (name !== undefined) keep(name)
        }
      })
    })
  )
}
