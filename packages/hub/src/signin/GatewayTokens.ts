/** Tokens of Gateways, from the settings. Several are valid during a rotation; without any, no Gateway is admitted. */
import { Context, Effect, Layer, Redacted } from "effect"
import { createHash, timingSafeEqual } from "node:crypto"
import { HubConfig } from "../config/HubConfig.ts"

export class GatewayTokens extends Context.Service<
  GatewayTokens,
  {
    /** Whether a token is one of them. The comparison takes constant time. */
    readonly isGatewayToken: (token: string) => boolean
  }
>()("corral/hub/GatewayTokens") {
  static readonly layer = Layer.effect(
    GatewayTokens,
    Effect.map(HubConfig, ({ gatewayTokens = [] }) => {
      const hashes = gatewayTokens.map((token) => sha256(Redacted.value(token)))
      return GatewayTokens.of({
        isGatewayToken: (token) => {
          const hash = sha256(token)
          return hashes.filter((stored) => timingSafeEqual(stored, hash)).length > 0
        }
      })
    })
  )
}

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()
