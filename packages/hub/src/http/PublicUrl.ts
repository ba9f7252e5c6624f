/**
 * The origin at which people reach this Hub: from the configuration, or where it listens, and never from a request. Known once it listens.
 */
import { Context, type Effect } from "effect"

export class PublicUrl extends Context.Service<PublicUrl, Effect.Effect<string>>()("corral/hub/PublicUrl") {}
