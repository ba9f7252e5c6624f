/**
 * URL at which users reach this Hub, without a slash at its end: its origin, and its path in another program's server. From the configuration
 * and the server's address, never from a request.
 */
import { Context } from "effect"

export class PublicUrl extends Context.Service<PublicUrl, string>()("corral/hub/PublicUrl") {}
