/** Origin at which users reach this Hub: from the configuration or the server's address, never from a request. */
import { Context } from "effect"

export class PublicUrl extends Context.Service<PublicUrl, string>()("corral/hub/PublicUrl") {}
