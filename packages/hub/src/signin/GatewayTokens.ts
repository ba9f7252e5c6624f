/**
 * The tokens that Gateways hold: from the settings, several while one is being replaced. Without any there is no Gateway.
 */
import { Context, Layer, Redacted } from "effect"
import { createHash, timingSafeEqual } from "node:crypto"

export class GatewayTokens extends Context.Service<
  GatewayTokens,
  {
    /** Whether that is one of them; how long it takes does not tell how near it is. */
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
