/** Tokens of Gateways, from the settings. Several are valid during a rotation; without any, no Gateway is admitted. */
import { Context, Layer, Redacted } from "effect"
import { createHash, timingSafeEqual } from "node:crypto"

export class GatewayTokens extends Context.Service<
  GatewayTokens,
  {
    /** Whether a token is one of them. The comparison takes constant time. */
    readonly holds: (token: string) => boolean
  }
>()("corral/hub/GatewayTokens") {
  static readonly layer = (tokens: ReadonlyArray<Redacted.Redacted> = []) =>
    Layer.sync(GatewayTokens, () => {
      const hashes = tokens.map((token) => sha256(Redacted.value(token)))
      return GatewayTokens.of({
        holds: (token) => {
          const hash = sha256(token)
          return hashes.filter((known) => timingSafeEqual(known, hash)).length > 0
        }
      })
    })
}

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()
