/**
 * Keys by which the rate limit counts callers: a token that was valid recently, otherwise the address. Invented tokens count for their address. A
 * Gateway counts separately for each chat account. Also the address of a caller.
 */
import { Context, Effect, Layer } from "effect"
import type { IncomingMessage } from "node:http"
import { createHash } from "node:crypto"
import { type Credential, GatewayTokens } from "../signin/HubCredentials.ts"
import { credentialOf } from "./RequestCredential.ts"
import { type ClientAddressOf, clientAddresses, clientNetwork } from "@corral/service/http/ClientAddress"
import { HubConfig } from "../config/HubConfig.ts"

// Address that a request comes from, behind the proxies that the settings trust. Refusals are logged with it. Limits count by its network,
// which is the address itself for IPv4 and the /64 for IPv6.

export class ClientAddress extends Context.Service<
  ClientAddress,
  { readonly of: ClientAddressOf; readonly networkOf: ClientAddressOf }
>()("corral/hub/ClientAddress") {
  static readonly layer = Layer.effect(
    ClientAddress,
    Effect.map(HubConfig, ({ trustedProxies }) => {
      const of = clientAddresses(trustedProxies)
      return ClientAddress.of({ of, networkOf: (headers, peer) => clientNetwork(of(headers, peer)) })
    })
  )
}

/** Valid tokens in memory. Beyond this, the least recently used one is dropped and counts for its address once. */
const MAX_TOKENS = 10_000

const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64url")

export class Callers extends Context.Service<
  Callers,
  {
    readonly keyOf: (request: IncomingMessage) => string
    /** Reports a valid credential. */
    readonly reportValid: (credential: Credential) => void
  }
>()("corral/hub/Callers") {
  static readonly layer = Layer.effect(
    Callers,
    Effect.gen(function* () {
      const addresses = yield* ClientAddress
      const gateways = yield* GatewayTokens
      const valid = new Set<string>()
      const nameOf = ({ bearer, chatAccount = "", cookie }: Credential): string | undefined => {
        const token = bearer ?? cookie
        if (token === undefined) return undefined
        // From other callers, the account is an ignored header.
        return hashOf(gateways.isGatewayToken(token) ? `${token} ${chatAccount}` : token)
      }
      const remember = (name: string): void => {
        // Moves the name to the end of the order of use.
        valid.delete(name)
        valid.add(name)
        if (valid.size <= MAX_TOKENS) return
        const [oldest] = valid
        if (oldest !== undefined) valid.delete(oldest)
      }
      return Callers.of({
        keyOf: ({ headers, socket }) => {
          const name = nameOf(credentialOf(headers))
          if (name === undefined || !valid.has(name))
            return addresses.networkOf(headers, socket.remoteAddress)
          remember(name)
          return name
        },
        reportValid: (credential) => {
          const name = nameOf(credential)
          if (name !== undefined) remember(name)
        }
      })
    })
  )
}
