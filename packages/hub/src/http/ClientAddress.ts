/** Address that a request comes from, behind the proxies that the settings trust: what limits count by and what refusals are logged with. */
import { type ClientAddressOf, clientAddresses } from "@corral/service/http/ClientAddress"
import { Context, Layer } from "effect"

export class ClientAddress extends Context.Service<ClientAddress, { readonly of: ClientAddressOf }>()(
  "corral/hub/ClientAddress"
) {
  static readonly layer = (trusted?: ReadonlyArray<string>) =>
    Layer.sync(ClientAddress, () => ClientAddress.of({ of: clientAddresses(trusted) }))
}
