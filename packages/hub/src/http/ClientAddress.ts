/**
 * Address that a request comes from, behind the proxies that the settings trust. Refusals are logged with it. Limits count by its network,
 * which is the address itself for IPv4 and the /64 for IPv6.
 */
import { type ClientAddressOf, clientAddresses, clientNetwork } from "@corral/service/http/ClientAddress"
import { Context, Effect, Layer } from "effect"
import { HubConfig } from "../config/HubConfig.ts"

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
