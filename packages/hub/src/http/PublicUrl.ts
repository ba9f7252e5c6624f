/**
 * Origin at which users reach this Hub: from the configuration or the listener, never from a request. Known once the Hub listens.
 */
import { Context, type Effect } from "effect"

export class PublicUrl extends Context.Service<PublicUrl, Effect.Effect<string>>()("corral/hub/PublicUrl") {}
